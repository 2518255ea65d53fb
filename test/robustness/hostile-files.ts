/** Files of others under the names of ours: what is no snapshot, and what is no export of Nsight Systems. */
import { makeDatabase } from '../sqlite/oracle.js';
import { smallExport, sqliteBytes } from '../support/nsys-export.js';
import { seeded } from './harness.js';
import type { Hostile } from './hostile.js';

const random = seeded(7);
const NOISE = Buffer.from(Uint8Array.from({ length: 16_384 }, () => random() * 256));
const MAGIC = Buffer.from('SQLite format 3\0');
const LFS = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5\n`;
const LOGIN = '<!DOCTYPE html><html><head><title>Sign in</title></head></html>';
const NO_KEY = '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>';

const named = (file: string, list: readonly (readonly [what: string, code: string, bytes: string | Buffer])[]) =>
  list.map(([what, code, bytes]): Hostile => ({ what, file, code, bytes: Buffer.from(bytes as string, 'latin1') }));
const somebody = { users: { columns: { id: 'INTEGER' }, rows: [{ id: 1 }] } };
const thirty = Object.fromEntries(
  Array.from({ length: 30 }, (_, i) => [`table_${i}`, { columns: { id: 'INTEGER' }, rows: [] }]),
);

export const FOREIGN: readonly Hostile[] = [
  ...named('x.pickle', [
    ['an empty file', 'MBF2004', ''],
    ['a Git LFS pointer', 'MBF2001', LFS],
    ['a login page', 'MBF2002', LOGIN],
    ['an object store error', 'MBF2002', NO_KEY],
    ['only zeros', 'MBF2006', '\0'.repeat(100_000)],
    ['a zip archive', 'MBF2008', 'PK\x03\x04 and so on'],
  ]),
  ...named('x.nsys-rep', [['an Nsight report', 'MBF2003', 'anything']]),
  ...named('x.pickle.gz', [['gzip of nothing', 'MBF2006', '\x1f\x8b\x08\0\0\0\0\0\0\x03']]),
  ...named('x.sqlite', [
    ['no database but an empty file', 'MBF2004', ''],
    ['no database but zeros', 'MBF2006', Buffer.alloc(8192)],
    ['no database but a Git LFS pointer', 'MBF2001', LFS],
    ['no database but a login page', 'MBF2002', LOGIN],
    ['no database, for it looks encrypted', 'MBF2702', NOISE],
    ['no database but some bytes', 'MBF2701', Buffer.from([0, 1, 2, 200, 201])],
    ['the magic of a database alone', 'MBF2701', MAGIC],
    ['a database with a header of nonsense', 'MBF2701', Buffer.concat([MAGIC, NOISE])],
    ['a database without tables', 'MBF2703', makeDatabase('PRAGMA user_version = 1')],
    ['a database of somebody else', 'MBF2703', sqliteBytes(somebody)],
    ['a database with one table of ours', 'MBF2703', sqliteBytes({ StringIds: smallExport()['StringIds']! })],
  ]),
  {
    ...{ what: 'a foreign database of 30 tables, of which some are named', file: 'x.sqlite', code: 'MBF2703' },
    ...{ fact: /table_0, table_1, .* and 25 more/, bytes: sqliteBytes(thirty) },
  },
];
