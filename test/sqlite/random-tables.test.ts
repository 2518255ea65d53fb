/** Random tables, written by SQLite and read by both. */
import fc from 'fast-check';
import type { Database, SQLiteValue } from 'node-sqlite3-wasm';
import { describe, it } from 'vitest';
import { runs, SEED } from '../support/level.js';
import { expectSameAsSqlite, makeDatabase, quote } from './oracle.js';

const TYPES = [
  ...['', 'INTEGER', 'INT', 'REAL', 'DOUBLE PRECISION', 'TEXT', 'VARCHAR(10)', 'DECIMAL(10, 5)', 'BLOB', 'BOOLEAN'],
  ...['integer'],
];
const TAILS = [
  ...['', '', '', ' -- x, (\n', ' /* , ) */', " DEFAULT ')'", ' CHECK (1 OR (2 > 1))', ' DEFAULT (1 + (2 * 3))'],
  ...[' COLLATE NOCASE', ' CONSTRAINT "primary" NULL'],
];
const GENERATED = [' AS (1 + 1)', ' GENERATED ALWAYS AS (5) STORED', " AS ('a, b') VIRTUAL"];
const DEFAULTS = [
  ...['', ' DEFAULT 7', ' DEFAULT -1.5', " DEFAULT 'added'", ' DEFAULT NULL', ' DEFAULT (3)', ' DEFAULT word'],
];

const name = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 8 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
    fc.constantFrom('key', 'order', 'a b', 'PRIMARY', 'it"s', 'x)', '--', '/*'),
  )
  .filter(
    (text) => !text.includes('\0') && !/^(?:rowid|oid|_rowid_)$/i.test(text) && Buffer.from(text).toString() === text,
  );

const names = (maxLength: number) =>
  fc.uniqueArray(name, { minLength: 1, maxLength, selector: (text) => text.toLowerCase() });

const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc
    .integer({ min: 0, max: 62 })
    .chain((power) => fc.bigInt({ min: -(2n ** BigInt(power)), max: 2n ** BigInt(power) })),
);
const length = fc.oneof({ weight: 20, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.nat(5000) });
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).map((value) => Buffer.from(value)),
  fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), length).map(([bytes, count]) => Buffer.alloc(count, bytes)),
);

/** How a value is bound: a text as its bytes, a whole real so that it stays one. */
type Bound = readonly [string, SQLiteValue];
const value: fc.Arbitrary<Bound> = fc.oneof(
  fc.constant<Bound>(['?', null]),
  integer.map((bound): Bound => ['?', bound]),
  fc.double({ noNaN: true }).map((bound): Bound => ['CAST(? AS REAL)', bound]),
  integer.map((bound): Bound => ['CAST(? AS REAL)', bound]),
  text.map((bound): Bound => ['CAST(? AS TEXT)', bound]),
  fc.tuple(fc.nat(255), length).map(([byte, count]): Bound => ['?', Buffer.alloc(count, byte)]),
);

const table = names(7).chain((columns) =>
  fc.record({
    columns: fc.constant(columns),
    types: fc.array(fc.constantFrom(...TYPES), { minLength: columns.length, maxLength: columns.length }),
    tails: fc.array(fc.constantFrom(...TAILS), { minLength: columns.length, maxLength: columns.length }),
    generated: fc.array(fc.constantFrom(...GENERATED), { maxLength: 2 }),
    key: fc.constantFrom('none', 'column', 'table'),
    keyed: fc.nat(columns.length - 1),
    rows: fc.array(fc.array(value, { minLength: columns.length, maxLength: columns.length }), { maxLength: 60 }),
    rowids: fc.uniqueArray(integer, { minLength: 60, maxLength: 60 }),
    hasRowids: fc.boolean(),
    added: fc.array(fc.tuple(fc.constantFrom(...TYPES), fc.constantFrom(...DEFAULTS)), { maxLength: 3 }),
    dropped: fc.integer({ min: 2, max: 9 }),
  }),
);
type Table = typeof table extends fc.Arbitrary<infer T> ? T : never;

function write(database: Database, name: string, of: Table): void {
  const { columns, types, tails, generated, key, keyed, rows, rowids, hasRowids, added, dropped } = of;
  const definitions = columns.map((column, i) => {
    const type = key !== 'none' && i === keyed ? 'INTEGER' : types[i]!;
    return `${quote(column)} ${type}${key === 'column' && i === keyed ? ' PRIMARY KEY' : ''}${tails[i]}`;
  });
  generated.forEach((tail, i) => {
    definitions.splice((i * 3) % definitions.length, 0, `"generated column ${i}" INT${tail}`);
  });
  if (key === 'table') definitions.push(`PRIMARY KEY (${quote(columns[keyed]!)})`);
  database.exec(`CREATE TABLE ${quote(name)} (${definitions.join(',')})`);

  const insert = (row: readonly Bound[], rowid: bigint) => {
    const values: Bound[] = row.map((bound, i) => (key !== 'none' && i === keyed ? ['?', rowid] : bound));
    const into = columns.map(quote);
    if (key === 'none' && hasRowids) {
      values.push(['?', rowid]);
      into.push('rowid');
    }
    database.run(
      `INSERT INTO ${quote(name)}(${into}) VALUES (${values.map(([as]) => as)})`,
      values.map(([, bound]) => bound),
    );
  };
  const half = Math.floor(rows.length / 2);
  rows.slice(0, half).forEach((row, i) => {
    insert(row, rowids[i]!);
  });
  added.forEach(([type, tail], i) => {
    database.exec(`ALTER TABLE ${quote(name)} ADD COLUMN "added column ${i}" ${type}${tail}`);
  });
  rows.slice(half).forEach((row, i) => {
    insert(row, rowids[half + i]!);
  });
  database.exec(`DELETE FROM ${quote(name)} WHERE rowid % ${dropped} = 1`);
}

describe('random tables', () => {
  it('are read as SQLite reads them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(table, { minLength: 1, maxLength: 3 }),
        names(3),
        fc.constantFrom(512, 1024, 4096, 65_536),
        fc.constantFrom(0, 0, 16),
        async (tables, tableNames, pageSize, reserved) => {
          const fill = (database: Database) => {
            database.exec('BEGIN');
            // SQLite keeps names that begin so to itself.
            for (const [i, tableName] of tableNames.entries())
              write(database, `_${tableName}`, tables[i % tables.length]!);
            database.exec('COMMIT');
          };
          await expectSameAsSqlite(makeDatabase(fill, { pageSize, reserved }));
        },
      ),
      { numRuns: runs(120, 1000), seed: SEED },
    );
  });
});
