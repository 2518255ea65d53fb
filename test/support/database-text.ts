/**
 * A database as the SQL that would make it: its tables and rows, without what the library that wrote it left of itself.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Needs the sqlite3 program. */
export function databaseText(bytes: Buffer): string {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-database-'));
  try {
    const path = join(directory, 'some.sqlite');
    writeFileSync(path, bytes);
    const run = spawnSync('sqlite3', ['-batch', '-init', devNull, path, '.dump'], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    if (run.status !== 0) throw new Error(`sqlite3 failed: ${run.stderr}`);
    return run.stdout;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
