import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../samples/generate/simulate/random.js';
import {
  ColumnBatch,
  LAYOUTS,
  NULL_I32,
  NULL_U8,
  putI64,
  putNullI64,
  type TableLayout,
} from '../../src/model/columns.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { SEED } from '../support/level.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { scratchDirectory } from './scratch.js';

async function freshStore(): Promise<Store> {
  const store = await newStore(join(scratchDirectory(), 'a.duckdb'), { threads: 2 });
  onTestFinished(() => store.close());
  return store;
}

const countOf = async (store: Store, table: string): Promise<unknown> =>
  (await store.select(`SELECT count(*) AS n FROM ${table}`))[0]!['n'];

const directory = temporaryDirectory();
const THINGS: TableLayout = {
  table: 'thing',
  columns: [
    { name: 'id', kind: 'i32' },
    { name: 'small', kind: 'u8', nullable: true },
    { name: 'label', kind: 'u8', values: ['red', 'green', 'blue'] },
    { name: 'signed', kind: 'i64', nullable: true },
    { name: 'address', kind: 'u64', nullable: true },
    { name: 'link', kind: 'i32', nullable: true },
  ],
};

async function thingStore(): Promise<Store> {
  const store = await freshStore();
  await store.run(`CREATE TYPE label AS ENUM ('red', 'green', 'blue')`);
  await store.run(
    'CREATE TABLE thing (id INTEGER, small UTINYINT, label label, signed BIGINT, address UBIGINT, link INTEGER)',
  );
  return store;
}

interface Thing {
  readonly small: number | null;
  readonly label: number;
  readonly signed: number | null;
  readonly address: number | null;
  readonly link: number | null;
}

function putThing(batch: ColumnBatch, id: number, thing: Thing): void {
  const row = batch.rows;
  batch.i32('id')[row] = id;
  batch.u8('small')[row] = thing.small ?? NULL_U8;
  batch.u8('label')[row] = thing.label;
  for (const name of ['signed', 'address'] as const) {
    if (thing[name] === null) putNullI64(batch.i64(name), row);
    else putI64(batch.i64(name), row, thing[name]);
  }
  batch.i32('link')[row] = thing.link ?? NULL_I32;
  batch.rows += 1;
}

const KNOWN: Thing = { small: 1, label: 1, signed: 1, address: 1, link: 1 };

/** A batch with one thing. */
function oneThing(): ColumnBatch {
  const batch = new ColumnBatch(THINGS, 1);
  putThing(batch, 0, KNOWN);
  return batch;
}

async function appendThings(store: Store, things: readonly Thing[], capacity: number): Promise<void> {
  await store.transaction(async () => {
    const appender = await store.appender(THINGS);
    const batch = new ColumnBatch(THINGS, capacity);
    for (const [id, thing] of things.entries()) {
      putThing(batch, id, thing);
      if (batch.rows < capacity && id + 1 < things.length) continue;
      appender.append(batch);
      batch.rows = 0;
    }
  });
}

async function readThings(store: Store): Promise<Thing[]> {
  const rows = await store.select(
    'SELECT small, (enum_code(label))::INTEGER AS label, signed, address, link FROM thing ORDER BY id',
  );
  return rows as unknown as Thing[];
}

describe('the appender', () => {
  it('keeps every value, NULL and label through chunks and batches of any size', async () => {
    const store = await thingStore();
    const count = fc.constantFrom(1, 63, 64, 2047, 2048, 2049, 5000);
    const rate = fc.constantFrom(0, 0.001, 0.5, 1);
    const property = fc.asyncProperty(
      count,
      fc.constantFrom(1000, 2048, 4096, 5000),
      rate,
      fc.integer(),
      async (rows, capacity, nullRate, seed) => {
        await store.run('DELETE FROM thing');
        const random = createRandom(seed);
        // NULLs only in every other stretch of 2048 rows, so that chunks with and without a mask follow each other.
        const maybe = (id: number, value: number) => ((id >> 11) % 2 === 0 && random() < nullRate ? null : value);
        const things = Array.from(
          { length: rows },
          (_, id): Thing => ({
            small: maybe(id, Math.floor(random() * 255)),
            label: Math.floor(random() * 3),
            signed: maybe(id, Math.floor((random() - 0.5) * 2 ** 53)),
            address: maybe(id, Math.floor(random() * 2 ** 48)),
            link: maybe(id, Math.floor(random() * 2 ** 31)),
          }),
        );
        await appendThings(store, things, capacity);
        expect(await readThings(store)).toEqual(things);
      },
    );
    await fc.assert(property, { numRuns: 25, seed: SEED });
  });

  it('forgets the NULLs of a chunk in the next one', async () => {
    const store = await thingStore();
    const unknown: Thing = { small: null, label: 0, signed: null, address: null, link: null };
    const known: Thing = { small: 7, label: 1, signed: -5, address: 2 ** 47, link: 0 };
    const things = [2048, 2048, 100].flatMap((rows, part) => Array(rows).fill(part % 2 === 0 ? unknown : known));
    await appendThings(store, things, 2048);
    expect(await readThings(store)).toEqual(things);
  });

  it('keeps all 64 bits', async () => {
    const store = await thingStore();
    const batch = new ColumnBatch(THINGS, 3);
    const halves = [0xffffffff, 0x7fffffff, 0xffffffff, 0xffffffff, 1, 0x80000000];
    batch.i64('signed').set(halves);
    batch.i64('address').set(halves);
    batch.rows = 3;
    await store.transaction(async () => (await store.appender(THINGS)).append(batch));
    const rows = await store.select('SELECT signed::VARCHAR AS s, address::VARCHAR AS a FROM thing');
    expect(rows.map(({ s, a }) => `${s} ${a}`)).toEqual([
      '9223372036854775807 9223372036854775807',
      '-1 18446744073709551615',
      '-9223372036854775807 9223372036854775809',
    ]);
  });

  it('takes the layouts of the schema', async () => {
    const store = await freshStore();
    const layouts = [LAYOUTS.trace_entry, LAYOUTS.segment, LAYOUTS.block];
    await store.transaction(async () => {
      for (const layout of layouts) {
        const appender = await store.appender(layout);
        const batch = new ColumnBatch(layout, 10);
        batch.rows = 10;
        appender.append(batch);
        appender.close();
        appender.close();
      }
    });
    for (const { table } of layouts) expect(await countOf(store, table)).toBe(10);
  });

  it.each([
    ['a column of another name', { name: 'idd', kind: 'i32' }, /column 0 is id, not idd/],
    ['a column of another type', { name: 'id', kind: 'i64' }, /id is INTEGER, not i64/],
    ['labels for a plain column', { name: 'id', kind: 'u8', values: ['a'] }, /not an ENUM/],
  ] as const)('refuses a layout with %s', async (_, column, message) => {
    const store = await thingStore();
    const layout: TableLayout = { table: 'thing', columns: [column, ...THINGS.columns.slice(1)] };
    await expect(store.transaction(() => store.appender(layout))).rejects.toThrow(message);
    const fewer: TableLayout = { table: 'thing', columns: THINGS.columns.slice(1) };
    await expect(store.transaction(() => store.appender(fewer))).rejects.toThrow(/5 columns, not 6/);
  });

  it('refuses labels in another order, and codes without a label', async () => {
    const store = await thingStore();
    const swapped = THINGS.columns.map((column) =>
      column.values === undefined ? column : { ...column, values: ['green', 'red', 'blue'] },
    );
    await expect(store.transaction(() => store.appender({ table: 'thing', columns: swapped }))).rejects.toThrow(/ENUM/);
    await expect(appendThings(store, [{ ...KNOWN, label: 3 }], 10)).rejects.toThrow(/code 3 has no label/);
    expect(await readThings(store)).toEqual([]);
  });

  it('refuses to work outside a transaction', async () => {
    const store = await thingStore();
    await expect(store.appender(THINGS)).rejects.toThrow(/needs a transaction/);
  });
});

describe('a transaction', () => {
  it('commits what was appended without closing the appender, and shows it to its own queries', async () => {
    const store = await thingStore();
    await store.transaction(async () => {
      const appender = await store.appender(THINGS);
      appender.append(oneThing());
      expect(await countOf(store, 'thing')).toBe(1);
      appender.append(oneThing());
      const seen: number[] = [];
      for await (const { columns } of store.readColumns('FROM thing', {}, { link: 'i32' })) seen.push(...columns.link);
      expect(seen).toEqual([1, 1]);
    });
    expect(await countOf(store, 'thing')).toBe(2);
  });

  it('undoes everything when it fails, rows waiting in an appender included, and keeps the error', async () => {
    const store = await thingStore();
    const failure = new Error('the parser gave up');
    const work = store.transaction(async () => {
      const appender = await store.appender(THINGS);
      appender.append(oneThing());
      await store.run('INSERT INTO thing (id) VALUES (1)');
      await store.insertRows('thing', [{ id: 2, label: 'red' }]);
      appender.append(oneThing());
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await countOf(store, 'thing')).toBe(0);
    await appendThings(store, [KNOWN], 1);
    expect(await countOf(store, 'thing')).toBe(1);
  });

  it('survives a statement that aborts it', async () => {
    const store = await thingStore();
    const work = store.transaction(async () => {
      await store.run('INSERT INTO thing (id) VALUES (1)');
      await store.run(`SELECT 'x'::INTEGER`);
    });
    await expect(work).rejects.toThrow(/Conversion Error/);
    expect(await countOf(store, 'thing')).toBe(0);
  });

  it('reports a broken constraint of appended rows, not a later error', async () => {
    const store = await freshStore();
    await store.run('CREATE TABLE strict (i INTEGER NOT NULL)');
    const layout: TableLayout = { table: 'strict', columns: [{ name: 'i', kind: 'i32', nullable: true }] };
    const batch = new ColumnBatch(layout, 1);
    batch.i32('i')[0] = NULL_I32;
    batch.rows = 1;
    for (const work of [
      () => store.insertRows('strict', [{ i: null }]),
      async () => (await store.appender(layout)).append(batch),
    ])
      await expect(store.transaction(work)).rejects.toThrow(/NOT NULL constraint/);
    expect(await countOf(store, 'strict')).toBe(0);
  });

  it('does not nest', async () => {
    const store = await freshStore();
    await expect(store.transaction(() => store.transaction(async () => 1))).rejects.toThrow(/already open/);
    expect(await store.transaction(async () => 2)).toBe(2);
  });

  it('is undone by closing the store in its middle', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const store = await newStore(file);
    await store.run('CREATE TABLE t (i INTEGER)');
    const work = store.transaction(async () => {
      await store.run('INSERT INTO t VALUES (1)');
      await store.close();
    });
    await expect(work).rejects.toThrow();
    const again = await openStore(file, { mode: 'read' });
    expect(await countOf(again, 't')).toBe(0);
    await again.close();
  });
});

describe('insertRows', () => {
  /** Texts as they are stored. */
  async function kept(store: Store, texts: readonly (string | null)[]): Promise<unknown[]> {
    const rows = texts.map((text, id) => ({ id, text }));
    await store.insertRows('texts', rows);
    return (await store.select('SELECT text FROM texts ORDER BY id')).map(({ text }) => text);
  }

  it('keeps any string, or replaces what is not text', async () => {
    const store = await freshStore();
    await store.run('CREATE TABLE texts (id INTEGER, text VARCHAR)');
    const texts = [
      ...['', 'a\0b\0', '\0', 'x'.repeat(2 ** 20), '\u{1F600}'.repeat(5000), `quote ' " \\ ; -- /* $x`],
      ...['\u2028\uFEFF\r\n\t', 'exactly-12-b', '13-bytes-long'],
    ];
    expect(await kept(store, [...texts, 'a\uD800b', '\uDC00'])).toEqual([...texts, 'a\uFFFDb', '\uFFFD']);
    for (const text of texts) {
      const [row] = await store.select('SELECT count(*) AS n FROM texts WHERE text = $text', { text });
      expect(row).toEqual({ n: 1 });
    }
  });

  it('keeps any string, whatever its neighbours', async () => {
    const store = await freshStore();
    await store.run('CREATE TABLE texts (id INTEGER, text VARCHAR)');
    const text = fc.option(fc.string({ unit: 'binary', maxLength: 40 }));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 3000 }), async (texts) => {
        await store.run('DELETE FROM texts');
        expect(await kept(store, texts)).toEqual(texts);
      }),
      { numRuns: 20, seed: SEED },
    );
  });

  it('keeps the extremes of each type, and NULL for what is not named', async () => {
    const store = await freshStore();
    await store.run(
      `CREATE TABLE typed (b BOOLEAN, i INTEGER, l BIGINT, u UBIGINT, s UTINYINT, d DOUBLE, t TIMESTAMP, e ENUM('x', 'y'), v VARCHAR)`,
    );
    const when = '2024-02-29T12:34:56.789Z';
    const least = { b: true, i: -(2 ** 31), l: -(2n ** 63n), u: 2n ** 64n - 1n, s: 255, d: Number.MIN_VALUE };
    const most = { b: false, i: 2 ** 31 - 1, l: 2 ** 53 - 1, u: 0, s: 0, d: Number.POSITIVE_INFINITY, e: 'x' };
    await store.insertRows('typed', [{ ...least, t: new Date(when), e: 'y', v: 'z' }, { ...most, t: new Date(0) }, {}]);
    expect(await store.select('FROM typed')).toEqual([
      { ...least, t: when, e: 'y', v: 'z' },
      { ...most, t: '1970-01-01T00:00:00Z', v: null },
      Object.fromEntries([...'bilusdtev'].map((name) => [name, null])),
    ]);
  });

  it.each([
    [{ i: 2 ** 31 }, /typed\.i \(INTEGER\): 2147483648 is out of range/],
    [{ i: 1.5 }, /not an exact integer/],
    [{ i: Number.NaN }, /not an exact integer/],
    [{ l: 2 ** 60 }, /not an exact integer/],
    [{ l: 2n ** 63n }, /out of range/],
    [{ i: '1' }, /string is not an integer/],
    [{ v: 1 }, /number is not of type VARCHAR/],
    [{ e: 'z' }, /z/],
    [{ nope: 1 }, /typed has no column nope/],
  ] as const)('refuses %o and inserts nothing', async (row, message) => {
    const store = await freshStore();
    await store.run(`CREATE TABLE typed (i INTEGER, l BIGINT, e ENUM('x', 'y'), v VARCHAR)`);
    await expect(store.insertRows('typed', [{ i: 1 }, row])).rejects.toThrow(message);
    expect(await countOf(store, 'typed')).toBe(0);
    await store.insertRows('typed', [{ i: 1 }]);
  });

  it('inserts more rows than a chunk holds, in order', async () => {
    const store = await freshStore();
    await store.run('CREATE TABLE many (i INTEGER)');
    const rows = Array.from({ length: 10_000 }, (_, i) => ({ i }));
    await store.insertRows('many', rows);
    expect(await store.select('SELECT i FROM many')).toEqual(rows);
  });
});

describe('results', () => {
  let only: Promise<Store> | undefined;
  const shared = (): Promise<Store> => (only ??= newStore(join(directory, 'only.duckdb')));
  afterAll(async () => (await only)?.close());

  it.each<readonly [sql: string, value: unknown]>([
    ['9007199254740991', 2 ** 53 - 1],
    ['9007199254740992', 2n ** 53n],
    ['-9007199254740992', -(2n ** 53n)],
    ['18446744073709551615::UBIGINT', 2n ** 64n - 1n],
    ["TIMESTAMP '2024-01-02 03:04:05'", '2024-01-02T03:04:05Z'],
    ["TIMESTAMP '1969-12-31 23:59:59.999999'", '1969-12-31T23:59:59.999999Z'],
    ["TIMESTAMP '290000-01-01'", '290000-01-01 00:00:00'],
    ["'infinity'::TIMESTAMP", 'infinity'],
    ['[1, NULL, 3]', [1, null, 3]],
    ['[[1]::UTINYINT[]]', [[1]]],
    ["{'a': 1, 'b': [TIMESTAMP '1970-01-01']}", { a: 1, b: ['1970-01-01T00:00:00Z'] }],
    ["MAP {'k': 5}", [{ key: 'k', value: 5 }]],
    ['1.25::DECIMAL(9, 2)', 1.25],
    ["DATE '2024-01-02'", '2024-01-02'],
    ["'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID", '6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
    ['(SELECT sum(i) FROM range(3) AS rows(i))', 3],
  ])('come as plain data: %s', async (sql, value) => {
    const store = await shared();
    expect(await store.select(`SELECT ${sql} AS value`)).toEqual([{ value }]);
  });

  it('of a named query are typed by its header', async () => {
    const store = await freshStore();
    const created_at = new Date('2024-01-01T00:00:00Z');
    const run = (run_id: number, name: string) => ({ run_id, name, root_path: `/${name}`, created_at });
    await store.insertRows('run', [
      { ...run(1, 'old'), touched_at: created_at },
      { ...run(2, 'new'), label: 'golden', touched_at: new Date() },
    ]);
    const source = { run_id: 1, attempt: 0, path: '/p', parser_version: 1, ingested_at: created_at };
    await store.insertRows('source', [
      { ...source, source_id: 1, display_path: 'b', status: 'ingested', file_bytes: 2n ** 60n },
      { ...source, source_id: 2, display_path: 'a', status: 'failed', file_bytes: 5, error_code: 'MBF2101' },
    ]);
    await store.insertRows('ingest_note', [{ source_id: 2, kind: 'odd', severity: 'info', text: 't', count: 4 }]);
    const runs = await store.all('store.runs');
    expect(runs.map((row) => [row.name, row.label, row.sources, row.failed].join())).toEqual([
      'new,golden,0,0',
      'old,,2,1',
    ]);
    const old = { name: 'old', label: null, created_at: '2024-01-01T00:00:00Z' };
    expect(await store.one('store.runs', { run_id: 1 })).toMatchObject(old);
    expect(await store.one('store.runs', { run_id: 3 })).toBeUndefined();
    const sources = await store.all('store.sources', { run_id: 1 });
    // BIGINT is a number in typed rows, beyond 2^53 the nearest one.
    expect(sources.map((row) => [row.display_path, row.file_bytes, row.notes, row.error_code])).toEqual([
      ['a', 5, 1, 'MBF2101'],
      ['b', 2 ** 60, 0, null],
    ]);
    expect(await store.all('store.sources', { run_id: null })).toHaveLength(2);
    // @ts-expect-error: not a parameter of this query
    await expect(store.all('store.sources', { run: 1 })).rejects.toThrow(/no parameter \$run/);
  });

  it('of a store that is open for reading are kept, until a statement changes what they are read from', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await (await newStore(file)).close();
    const store = await openStore(file, { mode: 'read' });
    onTestFinished(() => store.close());
    const names = async (): Promise<string[]> =>
      (await store.all('store.runs', { run_id: null })).map((row) => row.name);
    expect(await names()).toEqual([]);
    await store.run('CREATE TEMP TABLE run AS FROM main.run LIMIT 0');
    await store.run(`INSERT INTO temp.run (run_id, name, root_path, created_at, touched_at)
      VALUES (7, 'other', '/', now()::TIMESTAMP, now()::TIMESTAMP)`);
    expect(await names()).toEqual(['other']);
    const [kept] = await store.all('store.runs', { run_id: null });
    expect(await store.one('store.runs', { run_id: null })).toBe(kept);
    expect(() => Object.assign(kept!, { name: 'changed' })).toThrow(TypeError);
    await store.run('DROP TABLE temp.run');
    expect(await names()).toEqual([]);
  });

  it('refuse a value for a parameter that is not there, and out of range', async () => {
    const store = await freshStore();
    await expect(store.select('SELECT $a AS a', { b: 1 })).rejects.toThrow(/no parameter \$b/);
    await expect(store.all('store.runs', { run_id: 2 ** 40 })).rejects.toThrow(/out of range/);
    expect(await store.select('SELECT $a AS a, $b AS b, $c AS c', { a: 'a\0b', b: 2n ** 70n, c: 1.5 })).toEqual([
      { a: 'a\0b', b: 2n ** 70n, c: 1.5 },
    ]);
  });

  it('count what a statement changed', async () => {
    const store = await thingStore();
    expect(await store.run('INSERT INTO thing (id) SELECT i::INTEGER FROM range(5) AS rows(i)')).toBe(5);
    expect(await store.run('DELETE FROM thing WHERE id < $limit', { limit: 2 })).toBe(2);
  });
});

describe('readColumns', () => {
  it('streams every row in order across batches, with NULL as the sentinel of its kind', async () => {
    const store = await freshStore();
    const sql = `SELECT
        CASE WHEN i % 7 = 0 THEN NULL ELSE i::INTEGER END AS a,
        CASE WHEN i % 11 = 0 THEN NULL ELSE i * 100003 - 5000000000 END AS b,
        CASE WHEN i % 13 = 0 THEN NULL ELSE (i % 250)::UTINYINT END AS c,
        CASE WHEN i % 3 = 0 THEN 'y' ELSE 'x' END::ENUM('x', 'y') AS e,
        i / 4 AS d, (i % 2 = 0) AS f, (18446744073709551615 - i % 2)::UBIGINT AS u, 'ignored' AS other
      FROM range(150000) AS rows(i) WHERE i < $limit ORDER BY i`;
    const limit = 140_001;
    let at = 0;
    const sizes: number[] = [];
    const spec = { a: 'i32', b: 'f64', c: 'u8', e: 'u8', d: 'f64', f: 'u8', u: 'f64' } as const;
    for await (const { rows, columns } of store.readColumns(sql, { limit }, spec)) {
      sizes.push(rows);
      expect(columns.a).toHaveLength(rows);
      for (let row = 0; row < rows; row += 1, at += 1) {
        const actual = [columns.a[row], columns.b[row], columns.c[row], columns.e[row], columns.d[row], columns.f[row]];
        const expected = [
          at % 7 === 0 ? -1 : at,
          at % 11 === 0 ? Number.NaN : at * 100003 - 5000000000,
          at % 13 === 0 ? 255 : at % 250,
          at % 3 === 0 ? 1 : 0,
          at / 4,
          at % 2 === 0 ? 1 : 0,
        ];
        if (actual.some((value, index) => !Object.is(value, expected[index])))
          expect(actual, `row ${at}`).toEqual(expected);
      }
      expect(columns.u[0]).toBe(2 ** 64);
    }
    expect(at).toBe(limit);
    expect(sizes.length).toBeGreaterThan(1);
  });

  it('gives nothing for no rows, and refuses columns and kinds that do not fit', async () => {
    const store = await freshStore();
    const read = async (sql: string, spec: Record<string, 'i32' | 'f64' | 'u8'>) => {
      let rows = 0;
      for await (const batch of store.readColumns(sql, {}, spec)) rows += batch.rows;
      return rows;
    };
    expect(await read('SELECT 1 AS i WHERE false', { i: 'i32' })).toBe(0);
    await expect(read('SELECT 1 AS i', { j: 'i32' })).rejects.toThrow(/no column j/);
    const misread = read('SELECT 1::BIGINT AS i', { i: 'i32' });
    await expect(misread).rejects.toThrow(/i is BIGINT, which cannot be read as i32/);
    await expect(read(`SELECT 'x' AS i`, { i: 'f64' })).rejects.toThrow(/VARCHAR/);
  });

  it('fails with the reason when the statement does, also after many rows, and inside a transaction', async () => {
    const store = await freshStore();
    const sql = `SELECT CASE WHEN i = $bad THEN error('row ' || i) ELSE i::INTEGER END AS i FROM range(3000000) AS rows(i)`;
    const read = async (bad: number) => {
      for await (const batch of store.readColumns(sql, { bad }, { i: 'i32' })) expect(batch.rows).toBeGreaterThan(0);
    };
    await expect(read(5)).rejects.toThrow('row 5');
    await expect(read(2_500_000)).rejects.toThrow('row 2500000');
    await expect(store.transaction(() => read(2_500_000))).rejects.toThrow(/failed while its rows/);
    await store.transaction(() => read(-1));
  });

  it('does not disturb other statements meanwhile', async () => {
    const store = await freshStore();
    let rows = 0;
    const sql = 'SELECT i::INTEGER AS i FROM range(300000) AS rows(i)';
    for await (const batch of store.readColumns(sql, {}, { i: 'i32' })) {
      expect(await store.select('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      rows += batch.rows;
    }
    expect(rows).toBe(300_000);
  });

  it('streams a query of queries/ by its header', async () => {
    const store = await freshStore();
    const now = new Date();
    await store.insertRows('run', [{ run_id: 5, name: 'n', root_path: '/', created_at: now, touched_at: now }]);
    const ids: number[] = [];
    for await (const { columns } of store.readQueryColumns('store.runs', {}, { run_id: 'i32' }))
      ids.push(...columns.run_id);
    expect(ids).toEqual([5]);
  });
});
