/** The `sqlite3` program makes a database of SQL: the file is whatever SQLite itself makes of it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';

export class MissingSqlite extends Error {}

export function hasSqlite(): boolean {
  return spawnSync('sqlite3', ['--version']).status === 0;
}

/** The bytes differ between versions of SQLite, the rows do not. */
export function databaseOf(sql: string): Buffer {
  if (!hasSqlite())
    throw new MissingSqlite(
      'an export of Nsight Systems is written by the sqlite3 program, and there is none: install sqlite3',
    );
  const directory = mkdtempSync(join(tmpdir(), 'nsys-export-'));
  try {
    const path = join(directory, 'export.sqlite');
    const run = spawnSync('sqlite3', ['-batch', '-bail', '-init', devNull, path], { input: sql, encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`sqlite3 failed: ${run.stderr}`);
    return readFileSync(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
