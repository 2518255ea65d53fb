/**
 * Damaged databases: truncated anywhere, with bytes changed, with pages that point in circles. Nothing but an MbfError
 * is thrown, nothing hangs, and a row that was handed out is the row that was written, unless the damage is in its own
 * values.
 */
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { MbfError } from '../../src/model/errors.js';
import type { TableScan } from '../../src/model/table-source.js';
import { openDatabase, type SqliteDatabase } from '../../src/sqlite/open-database.js';
import { columnNames, makeDatabase, memoryAccess, type Read, readTable } from './oracle.js';

const PAGE = 512;
const INTACT = makeDatabase(
  `CREATE TABLE kernels(start INTEGER, name TEXT, grid INT, ratio REAL, stream INTEGER);
   CREATE TABLE strings(id INTEGER PRIMARY KEY, value TEXT);
   CREATE TABLE small(a, b);
   WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
     INSERT INTO kernels SELECT i * 1000003, 'kernel ' || (i % 9), i % 700, i / 3.0, i * i * i * i FROM n;
   WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
     INSERT INTO strings SELECT i * 2, hex(zeroblob(i * 17)) || ' name ' || i FROM n;
   INSERT INTO small VALUES (1, 'one'), (2, NULL), (3, x'00');
   CREATE INDEX by_start ON kernels(start);
   DELETE FROM kernels WHERE rowid % 10 = 0`,
  { pageSize: PAGE },
);
const TABLES = ['kernels', 'strings', 'small'];
const PAGES = INTACT.length / PAGE;

/** Deterministic numbers, 0 ≤ n < below. */
function generator(seed: number): (below: number) => number {
  const random = createRandom(seed);
  return (below) => Math.floor(random() * below);
}

async function readAll(database: SqliteDatabase): Promise<Map<string, Read>> {
  const reads = new Map<string, Read>();
  for (const { name } of database.tables) {
    reads.set(name, await readTable(database, name, columnNames(database, name)));
  }
  return reads;
}

/** The database, or undefined if opening throws as it may. */
function open(bytes: Uint8Array): SqliteDatabase | undefined {
  try {
    return openDatabase(memoryAccess(bytes));
  } catch (error) {
    expect(error).toBeInstanceOf(MbfError);
    expect(['MBF2701', 'MBF2702']).toContain((error as MbfError).code);
    return undefined;
  }
}

const original = await readAll(openDatabase(memoryAccess(INTACT)));

/** Rows that are not those of the original at the same place. */
function changedRows(name: string, { cells }: Read): number {
  const rows = original.get(name)!.cells;
  return cells.filter((row, i) => row.some((cell, column) => cell !== rows[i]?.[column])).length;
}

function patched(offset: number, ...values: number[]): Buffer {
  const copy = Buffer.from(INTACT);
  copy.set(values, offset);
  return copy;
}

/** The root page of a table, by the schema. */
const ROOTS = { kernels: 2, strings: 3, small: 4 };

/** Where a page is in the file. */
const at = (page: number) => (page - 1) * PAGE;

/** The first child of an interior page. */
function firstChild(page: number): number {
  return INTACT.readUInt32BE(at(page) + INTACT.readUInt16BE(at(page) + 12));
}

/** The rightmost leaf below an interior page. */
function lastChild(page: number): number {
  const child = INTACT.readUInt32BE(at(page) + 8);
  return INTACT[at(child)] === 5 ? lastChild(child) : child;
}

async function scanOf(bytes: Uint8Array): Promise<Read> {
  const database = openDatabase(memoryAccess(bytes));
  return await readTable(database, 'kernels', columnNames(database, 'kernels'));
}

describe('the intact database', () => {
  it('has the tables, levels and overflow pages that the tests below need', () => {
    expect([...original.keys()]).toEqual(TABLES);
    expect(original.get('kernels')!.rows).toBe(900);
    for (const root of [ROOTS.kernels, ROOTS.strings]) expect(INTACT[at(root)]).toBe(5);
    expect(INTACT[at(firstChild(ROOTS.kernels))]).toBe(5);
    expect(INTACT[at(ROOTS.small)]).toBe(13);
  });
});

describe('a database that was cut off', () => {
  const random = generator(1);
  const lengths = [
    ...Array.from({ length: PAGES }, (_, page) => page * PAGE),
    ...Array.from({ length: 100 }, () => random(INTACT.length)),
  ];

  it('ends where it was cut, at every page and within pages', async () => {
    let opened = 0;
    for (const length of lengths) {
      const database = open(INTACT.subarray(0, length));
      if (database === undefined) {
        expect(length).toBeLessThan(PAGE);
        continue;
      }
      opened += 1;
      expect([database.pages, database.statedPages]).toEqual([Math.floor(length / PAGE), PAGES]);
      let problems = 0;
      for (const [name, read] of await readAll(database)) {
        expect(changedRows(name, read)).toBe(0);
        const isWhole = read.rows === original.get(name)!.rows;
        expect(read.problem === undefined, `${name} of ${length} bytes`).toBe(isWhole);
        if (!isWhole)
          expect(read.problem).toMatchObject({ fact: expect.stringMatching(/page \d+/), offset: expect.any(Number) });
        if (read.problem !== undefined) problems += 1;
        expect((await database.count(name)).rows).toBeGreaterThanOrEqual(read.rows);
      }
      // Page 1 alone lists the tables, and has none of their pages.
      if (length < 2 * PAGE) expect(problems).toBe(TABLES.length);
    }
    expect(opened).toBeGreaterThan(PAGES);
  });

  it('reports that it was', async () => {
    const read = await scanOf(INTACT.subarray(0, 20 * PAGE));
    expect(read.problem?.fact).toMatch(
      new RegExp(`^page \\d+ points to page \\d+, but the file ends after page 20, of ${PAGES} that its header states`),
    );
  });

  it('ends within a page that is shorter than the file header states', async () => {
    const memory = memoryAccess(INTACT);
    const cut = 30 * PAGE + 7;
    const shrunk = {
      ...memory,
      readAt: (target: Uint8Array, position: number) =>
        memory.readAt(target.subarray(0, Math.max(0, Math.min(target.length, cut - position))), position),
    };
    const database = openDatabase(shrunk);
    const read = await readTable(database, 'kernels', columnNames(database, 'kernels'));
    expect(read.problem).toMatchObject({ fact: expect.stringContaining('cut off'), offset: expect.any(Number) });
    expect(changedRows('kernels', read)).toBe(0);
  });
});

describe('a database with a changed byte', () => {
  const flips = 300;

  it.each([11, 12])('is read unchanged, or reports where it is damaged (seed %i)', async (seed) => {
    const random = generator(seed);
    let reported = 0;
    for (let i = 0; i < flips; i++) {
      // Half of them where the structure is: at the beginning of a page, and in its cell pointers.
      const offset = i % 2 ? random(INTACT.length) : random(PAGES) * PAGE + random(60);
      const bytes = patched(offset, random(256));
      const database = open(bytes);
      if (database === undefined) {
        reported += 1;
        continue;
      }
      const isSchema = offset < PAGE;
      for (const { name } of database.tables) {
        const names = columnNames(database, name);
        const read = await readTable(database, name, names);
        const count: TableScan = await database.count(name);
        if (read.problem !== undefined) reported += 1;
        // A byte of the schema may rename or move a table.
        if (isSchema || !original.has(name)) continue;
        const where = `${name}, byte ${offset}: ${bytes[offset]} for ${INTACT[offset]}`;
        expect(changedRows(name, read), where).toBeLessThanOrEqual(1);
        if (read.problem === undefined) expect(read.rows, where).toBe(original.get(name)!.rows);
        if (count.problem === undefined && read.problem === undefined) expect(count.rows, where).toBe(read.rows);
      }
    }
    expect(reported).toBeGreaterThan(flips / 10);
  });

  it('and many more never ends in anything but an answer', async () => {
    const random = generator(21);
    for (let i = 0; i < 100; i++) {
      const bytes = Buffer.from(INTACT);
      for (let changes = 1 + random(200); changes > 0; changes--)
        bytes[PAGE + random(bytes.length - PAGE)] = random(256);
      const database = open(bytes);
      if (database === undefined) continue;
      for (const [name, { rows }] of await readAll(database)) {
        expect(rows).toBeLessThanOrEqual(2000);
        await database.count(name);
      }
    }
  });

  it('in pages put elsewhere, neither', async () => {
    const random = generator(31);
    for (let i = 0; i < 100; i++) {
      const bytes = Buffer.from(INTACT);
      for (let changes = 1 + random(3); changes > 0; changes--) {
        const from = random(PAGES) * PAGE;
        bytes.copy(bytes, PAGE + random(PAGES - 1) * PAGE, from, from + PAGE);
      }
      const database = open(bytes);
      if (database === undefined) continue;
      for (const { rows } of (await readAll(database)).values()) expect(rows).toBeLessThanOrEqual(2000);
    }
  });
});

describe('a tree that is none', () => {
  const root = ROOTS.kernels;
  const child = firstChild(root);
  const cell = at(root) + INTACT.readUInt16BE(at(root) + 12);
  const leaf = firstChild(child);

  function pointing(offset: number, page: number): Buffer {
    const bytes = Buffer.from(INTACT);
    bytes.writeUInt32BE(page, offset);
    return bytes;
  }

  /** The first leaf with a free block. */
  function freeBlock(block: number, content: readonly number[]): Buffer {
    const bytes = patched(at(leaf) + block, ...content);
    bytes.writeUInt16BE(block, at(leaf) + 1);
    return bytes;
  }

  /** Where the child has its pointers, and the leaf its cells. */
  const pointer = (n: number): number => at(child) + INTACT.readUInt16BE(at(child) + 12 + 2 * n);
  const inChild = (offset: number, ...values: number[]): Buffer => patched(at(child) + offset, ...values);
  const inLeaf = (offset: number, ...values: number[]): Buffer => patched(at(leaf) + offset, ...values);
  const byte = (offset: number): number => INTACT[at(leaf) + offset]!;
  const strange = lastChild(ROOTS.strings);
  const notOurs = /its rowids are not between those of its neighbours|it is not as deep/;
  const beyond = /^page 2 points to page 4000000000, but the file ends after page/;

  it.each<[string, Buffer, RegExp, number]>([
    ['whose root points to itself', pointing(cell, root), /^page 2: it points to page 2, which is above it/, 0],
    ['whose child points to the root', pointing(pointer(0), root), /points to page 2, which is above it/, 0],
    ['whose rightmost child is the root', pointing(at(root) + 8, root), /^page 2: it points to page 2/, 1],
    ['that points to page 0', pointing(cell, 0), /^page 2 points to page 0/, 0],
    ['that points beyond the file', pointing(cell, 4_000_000_000), beyond, 0],
    ['that points to a leaf too early', pointing(at(root) + 8, leaf), /no page of this table: it is not as deep/, 1],
    ['that points to the same child twice', pointing(at(root) + 8, child), /out of order/, 1],
    ['that points to another table', pointing(pointer(0), strange), notOurs, 0],
    ['that points to a page of zeros', inLeaf(0, ...Buffer.alloc(PAGE)), /its type is 0/, 0],
    ['with an index in it', inLeaf(0, 10), /belongs to an index/, 0],
    ['with an interior page without cells', inChild(3, 0, 0), /do not add up|without cells/, 0],
    ['with an interior page of too few cells', inChild(3, 0, 5), /do not add up/, 0],
    ['with a leaf without rows', inLeaf(3, 0, 0), /a leaf without rows/, 0],
    ['with a leaf of too many cells', inLeaf(3, 255, 0), /its header states 65280 cells/, 0],
    ['with a leaf of too few cells', inLeaf(4, byte(4) - 1), /its cells fill \d+ bytes, by its header \d+/, 1],
    ['with free blocks in a circle', freeBlock(500, [1, 244, 0, 4]), /free blocks is damaged at 500/, 0],
    ['with a free block beyond the page', freeBlock(500, [0, 0, 0, 13]), /free blocks is damaged at 500/, 0],
    ['with the same leaf twice', pointing(pointer(1), leaf), /not between those/, 1],
    ['with a cell outside its page', inLeaf(10, 255, 255), /cell at byte 65535: it does not begin within/, 1],
    ['with a cell among the pointers', inLeaf(10, 0, 9), /cell at byte 9: it does not begin within/, 1],
    ['with the same cell twice', inLeaf(10, byte(8), byte(9)), /rowid is not above/, 1],
  ])('ends: %s', async (_, bytes, fact, minRows) => {
    const read = await scanOf(bytes);
    expect(read.problem?.fact).toMatch(fact);
    expect(read.problem?.offset).toBeLessThan(bytes.length);
    expect(read.rows).toBeGreaterThanOrEqual(minRows);
    expect(read.rows).toBeLessThan(900);
    expect(changedRows('kernels', read)).toBe(0);
  });

  it('deeper than any tree of SQLite ends', async () => {
    // Each of 30 pages has the next as its only child.
    const deep = Buffer.alloc(30 * PAGE);
    for (let level = 0; level < 30; level++) {
      const page = deep.subarray(level * PAGE, (level + 1) * PAGE);
      page.set([5, 0, 0, 0, 1, 1, 251, 0]);
      page.writeUInt32BE(3, 8);
      page.writeUInt16BE(507, 12);
      page.writeUInt32BE(PAGES + level + 2, 507);
      page[511] = 100 - level;
    }
    const bytes = Buffer.concat([pointing(cell, PAGES + 1), deep]);
    const { problem } = await scanOf(bytes);
    expect(problem?.fact).toMatch(/^page \d+: its children are 20 levels below the root/);
  });

  it('that branches into itself everywhere does not hang', async () => {
    // Every pointer of every interior page points to one page: 20 levels of 50 children each, if unchecked.
    const bytes = Buffer.from(INTACT);
    const targets = [child, firstChild(ROOTS.strings)];
    for (let page = 2; page <= PAGES; page++) {
      if (bytes[at(page)] !== 5) continue;
      for (let i = 0; i < bytes.readUInt16BE(at(page) + 3); i++) {
        bytes.writeUInt32BE(targets[i % 2]!, at(page) + bytes.readUInt16BE(at(page) + 12 + 2 * i));
      }
      bytes.writeUInt32BE(targets[0]!, at(page) + 8);
    }
    const database = openDatabase(memoryAccess(bytes));
    for (const name of TABLES.slice(0, 2)) {
      expect((await database.scan(name, [], () => {})).problem).toBeDefined();
      expect((await database.count(name)).problem).toBeDefined();
    }
  });

  it('is counted with the same checks', async () => {
    for (const bytes of [pointing(cell, root), pointing(at(root) + 8, child), inChild(3, 0, 5), inLeaf(3, 255, 0)]) {
      const database = openDatabase(memoryAccess(bytes));
      expect((await database.count('kernels')).problem?.fact).toBe((await scanOf(bytes)).problem?.fact);
    }
  });
});

describe('an overflow chain', () => {
  /** A table of one row whose text fills three overflow pages. */
  const bytes = makeDatabase('CREATE TABLE t(a INT, b TEXT, c INT); INSERT INTO t VALUES (1, hex(zeroblob(850)), 2)', {
    pageSize: PAGE,
  });
  const leaf = PAGE;
  const cell = leaf + bytes.readUInt16BE(leaf + 8);
  const chain: number[] = [];
  // The local part ends with the page, and its last four bytes are the pointer.
  for (let page = bytes.readUInt32BE(2 * PAGE - 4); page !== 0; page = bytes.readUInt32BE(at(page))) chain.push(page);
  const [first, second, third] = chain as [number, number, number];

  function pointing(offset: number, page: number): Buffer {
    const copy = Buffer.from(bytes);
    copy.writeUInt32BE(page, offset);
    return copy;
  }
  const scan = (of: Buffer, ...columns: string[]) => readTable(openDatabase(memoryAccess(of)), 't', columns);

  it('is whole here', async () => {
    expect(chain).toHaveLength(3);
    expect((await scan(bytes, 'b')).cells[0]![0]).toHaveLength('text '.length + 1700);
  });

  it.each<[string, Buffer, RegExp]>([
    ['that ends early', pointing(at(second), 0), /overflow chain ends after \d+ of 17\d\d bytes/],
    ['that goes on', pointing(at(third), first), /overflow chain goes on to page/],
    ['that runs in a circle', pointing(at(second), second), /overflow chain goes on to page/],
    ['that leaves the file', pointing(at(first), 99), /points to page 99, but the file ends/],
    ['that never begins', pointing(2 * PAGE - 4, 0), /overflow chain ends after/],
  ])('ends the scan of who needs it: %s', async (_, damaged, fact) => {
    const read = await scan(damaged, 'c');
    expect(read).toMatchObject({ rows: 0, problem: { fact: expect.stringMatching(fact), offset: expect.any(Number) } });
    expect((await scan(damaged, 'a')).cells).toEqual([['integer 1']]);
  });

  it.each<[string, number[], RegExp]>([
    ['than the file', [0x8f, 0xff, 0xff, 0xff, 0x7f], /longer than the whole file/],
    ['than any number', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], /longer than the whole file/],
  ])('is not followed for a payload longer %s', async (_, payload, fact) => {
    const copy = Buffer.from(bytes);
    copy.set([...payload, 1, 4, 9, 13, 9], cell);
    const read = await scan(copy, 'a', 'b');
    expect(read).toMatchObject({ rows: 0, problem: { fact: expect.stringMatching(fact) } });
  });
});

describe('a record', () => {
  /** One row; `record` replaces its header and values. */
  async function scanRecord(record: readonly number[], columns = ['a', 'b', 'c']): Promise<Read> {
    const bytes = makeDatabase(
      "CREATE TABLE t(a, b, c); INSERT INTO t VALUES (x'000102030405060708090a0b0c0d0e0f', 1, 2)",
      { pageSize: PAGE },
    );
    const cell = PAGE + bytes.readUInt16BE(PAGE + 8);
    expect(bytes[cell]).toBe(21);
    bytes.set(record, cell + 2);
    return await readTable(openDatabase(memoryAccess(bytes)), 't', columns);
  }
  const value = Array.from({ length: 16 }, (_, i) => i);

  it.each<[string, number[], RegExp]>([
    ['whose header is empty', [0], /header of 0 bytes/],
    ['whose header is longer than it', [22], /header of 22 bytes/],
    ['whose header is far longer', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], /header of -1 bytes/],
    ['whose header ends within a serial type', [4, 44, 9, 0x81, ...value], /does not add up/],
    ['whose values are shorter', [4, 42, 9, 1, ...value], /does not add up/],
    ['whose values are longer', [4, 44, 4, 4, ...value], /does not add up/],
    ['with a text beyond it', [4, 45, 9, 127, ...value], /a text goes beyond its record/],
    ['with a text of a terabyte', [8, 9, 0x81, 0x80, 0x80, 0x80, 0x80, 0x01], /longer than SQLite allows/],
    ['with a reserved serial type', [4, 10, 8, 44, ...value], /serial type 10/],
    ['with another reserved serial type', [4, 11, 8, 44, ...value], /serial type 11/],
    ['with too many values', [6, 42, 8, 8, 8, 8, ...value.slice(1)], /more values than the table has columns/],
  ])('ends the scan: %s', async (_, record, fact) => {
    // A column that is not asked for is only added up.
    const added = /does not add up|a text goes|longer than SQLite allows|serial type|more values|header of/;
    for (const [columns, message] of [['abc', fact] as const, ['cb', added] as const]) {
      const problem = { fact: expect.stringMatching(message), offset: expect.any(Number) };
      expect(await scanRecord(record, [...columns])).toMatchObject({ rows: 0, problem });
    }
  });
});
