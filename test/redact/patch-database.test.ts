/** Texts of a database are replaced everywhere, deleted rows are gone, and SQLite finds nothing wrong. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import { expect, it } from 'vitest';
import { patchDatabase } from '../../src/redact/patch-database.js';
import { makeDatabase } from '../sqlite/oracle.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const directory = temporaryDirectory();
const NAME = 'zorblatt';
const REPLACEMENT = 'bcdfghjk';

function patched(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const readAt = (target: Uint8Array, position: number): number => {
    const piece = copy.subarray(position, position + target.length);
    target.set(piece);
    return piece.length;
  };
  const writeAt = (piece: Uint8Array, position: number): void => copy.set(piece, position);
  const rewrite = (text: string): string => text.replaceAll(NAME, REPLACEMENT);
  patchDatabase({ sizeBytes: copy.length, readAt, writeAt }, rewrite);
  return copy;
}

it.each([
  [512, 0],
  [1024, 1],
  [4096, 0],
  [4096, 2],
  [65_536, 0],
])('pages of %i bytes, auto_vacuum %i', (pageSize, vacuum) => {
  const bytes = makeDatabase(
    (database) => {
      database.exec(`PRAGMA auto_vacuum = ${vacuum}; VACUUM`);
      database.exec(
        'CREATE TABLE t (id INTEGER PRIMARY KEY, value TEXT, number REAL); CREATE TABLE w (a TEXT, b BLOB)',
      );
      const insert = database.prepare('INSERT INTO t (value, number) VALUES (?, ?)');
      for (let i = 0; i < 600; i += 1)
        insert.run([i % 50 === 0 ? `${'x'.repeat(i)}/home/${NAME}/`.repeat(400) : `/home/${NAME}/${i}`, i / 7]);
      insert.finalize();
      database.exec(`INSERT INTO w SELECT value, number FROM t LIMIT 90`);
      database.exec('DELETE FROM t WHERE id % 3 = 0');
      database.exec('DELETE FROM w WHERE b > 5');
    },
    { pageSize },
  );
  expect(bytes.includes(NAME)).toBe(true);
  // The largest root page, which only such a database has.
  expect(bytes.readUInt32BE(52) > 0).toBe(vacuum > 0);
  const result = patched(bytes);
  expect(result.length).toBe(bytes.length);
  expect(result.includes(NAME)).toBe(false);
  const file = join(directory, `${pageSize}-${vacuum}.sqlite`);
  writeFileSync(file, result);
  writeFileSync(`${file}.before`, bytes);
  const rows = (path: string): unknown[] => {
    const database = new sqlite.Database(path);
    try {
      expect(database.all('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      return [...database.all('SELECT * FROM t ORDER BY id'), ...database.all('SELECT * FROM w ORDER BY b')];
    } finally {
      database.close();
    }
  };
  const before = JSON.stringify(rows(`${file}.before`));
  expect(JSON.stringify(rows(file))).toBe(before.replaceAll(NAME, REPLACEMENT));
  expect(before).toContain(NAME);
});
