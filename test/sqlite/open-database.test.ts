/** What the reader does with each feature of the file format, mostly by comparison with SQLite itself. */
import type { Database } from 'node-sqlite3-wasm';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { MbfError } from '../../src/model/errors.js';
import type { RandomAccess } from '../../src/model/parser.js';
import { CELL } from '../../src/model/table-source.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { columnNames, expectSameAsSqlite, makeDatabase, memoryAccess, readTable } from './oracle.js';

const MIXED = `
  CREATE TABLE events(start INTEGER NOT NULL, name TEXT, ratio REAL, payload BLOB, deviceId INT);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO events SELECT i * 1000000007 * (i % 3 - 1), CASE WHEN i % 5 THEN 'kernel ' || i END, i / 7.0, zeroblob(i % 40), i % 8 FROM n;
  CREATE TABLE long(id INTEGER PRIMARY KEY, value TEXT, after INTEGER);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO long SELECT i * 3, hex(zeroblob(i * i * 4)) || i, i FROM n;
  CREATE INDEX by_name ON events(name);
`;

/** What opening throws. */
function refusal(bytes: Uint8Array, companions: Readonly<Record<string, number>> = {}): MbfError {
  try {
    openDatabase(memoryAccess(bytes, companions));
  } catch (error) {
    expect(error).toBeInstanceOf(MbfError);
    return error as MbfError;
  }
  throw new Error('it was opened');
}

/** The same file with other bytes somewhere. */
function patched(bytes: Buffer, offset: number, ...values: number[]): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(values, offset);
  return copy;
}

describe('a file that is not a readable database', () => {
  const good = makeDatabase(MIXED);
  const next = createRandom(1);
  const random = Buffer.from(Array.from({ length: 8192 }, () => next() * 256));
  const lfs = Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:b8\n');
  const reserved = patched(makeDatabase(MIXED, { pageSize: 512 }), 20, 100);

  it.each<[string, Buffer, string, RegExp]>([
    ['empty', Buffer.alloc(0), 'MBF2701', /empty/],
    ['a Git LFS pointer', lfs, 'MBF2701', /not an SQLite/],
    ['zeros', Buffer.alloc(4096), 'MBF2701', /not an SQLite/],
    ['cut within its magic', good.subarray(0, 9), 'MBF2701', /after 9 of the 100/],
    ['cut within its header', good.subarray(0, 99), 'MBF2701', /after 99 of the 100/],
    ['cut within its first page', good.subarray(0, 4095), 'MBF2701', /4095 of the 4096/],
    ['encrypted', random, 'MBF2702', /encrypted/],
    ['with pages of 0 bytes', patched(good, 16, 0, 0), 'MBF2701', /pages of 0/],
    ['with pages of 1000 bytes', patched(good, 16, 3, 232), 'MBF2701', /pages of 1000/],
    ['with pages that are all reserved', reserved, 'MBF2701', /reserves 100/],
    ['with other payload fractions', patched(good, 21, 65), 'MBF2701', /fractions/],
    ['of a later file format', patched(good, 18, 3, 3), 'MBF2702', /version 3/],
    ['of a later schema format', patched(good, 44, 0, 0, 0, 5), 'MBF2702', /schema format 5/],
    ['in UTF-16', patched(good, 56, 0, 0, 0, 2), 'MBF2702', /UTF-16/],
    ['in UTF-16, the other way', patched(good, 56, 0, 0, 0, 3), 'MBF2702', /UTF-16/],
    ['in no encoding', patched(good, 56, 1, 0, 0, 1), 'MBF2701', /text encoding 16777217/],
    ['without a list of tables', patched(good, 100, 0), 'MBF2701', /list of tables.*page 1/],
  ])('is refused: %s', (_, bytes, code, fact) => {
    const error = refusal(bytes);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(fact)]);
    expect(error.place.offset).toBeTypeOf('number');
    expect(error.place.file).toBeUndefined();
  });

  it('is refused with a non-empty write-ahead log and a remedy', () => {
    const wal = refusal(patched(good, 18, 2, 2), { '-wal': 4152 });
    expect(wal.code).toBe('MBF2702');
    expect(wal.message).toContain("sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'");
    expect(refusal(good, { '-wal': 1 }).code).toBe('MBF2702');
  });

  it('is refused with a hot journal', () => {
    expect(refusal(good, { '-journal': 513 }).code).toBe('MBF2702');
    expect(refusal(good, { '-journal': 8720 }).message).toContain('sqlite3 FILE');
  });

  it('is read where the log and the journal are empty, in write-ahead mode or not', async () => {
    for (const bytes of [good, patched(good, 18, 2, 2)]) {
      const database = openDatabase(memoryAccess(bytes, { '-wal': 0, '-journal': 512 }));
      expect((await readTable(database, 'events', ['start'])).rows).toBe(2000);
    }
  });

  it('is read in write-ahead mode as SQLite leaves it', async () => {
    const bytes = makeDatabase(`${MIXED}; PRAGMA journal_mode = WAL`);
    expect(bytes[18]).toBe(2);
    expect((await readTable(openDatabase(memoryAccess(bytes)), 'events', ['start'])).rows).toBe(2000);
  });

  it('is passed through what reading throws', () => {
    const failing: RandomAccess = {
      sizeBytes: good.length,
      readAt(target, position) {
        if (position > 0) throw new MbfError('MBF2007', 'no more');
        target.set(good.subarray(0, target.length));
        return target.length;
      },
      siblingBytes: () => undefined,
    };
    expect(() => openDatabase(failing)).not.toThrow();
    return expect(openDatabase(failing).scan('events', ['start'], () => {})).rejects.toMatchObject({ code: 'MBF2007' });
  });
});

describe('every form of page', () => {
  it.each([512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536])('of %i bytes', async (pageSize) => {
    const bytes = makeDatabase(MIXED, { pageSize });
    expect(openDatabase(memoryAccess(bytes)).pageSize).toBe(pageSize);
    expect(await expectSameAsSqlite(bytes)).toBe(2060);
  });

  it.each([
    [512, 32],
    [1024, 255],
    [4096, 8],
    [65_536, 80],
  ])('of %i bytes of which %i are reserved', async (pageSize, reserved) => {
    const bytes = makeDatabase(MIXED, { pageSize, reserved });
    expect(bytes[20]).toBe(reserved);
    expect(await expectSameAsSqlite(bytes)).toBe(2060);
  });

  it('in a tree of four levels', async () => {
    const bytes = makeDatabase(
      `CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
        INSERT INTO t(rowid, a) SELECT i * 90000000000000, hex(zeroblob(60 + i % 40)) FROM n`,
      { pageSize: 512 },
    );
    expect(await expectSameAsSqlite(bytes)).toBe(12_000);
  });

  it('in a list of tables that is a tree itself', async () => {
    const tables = Array.from({ length: 120 }, (_, i) => `CREATE TABLE t${i}(a, -- ${'x'.repeat(i * 7)}\n b);`);
    const bytes = makeDatabase(`${tables.join('\n')} INSERT INTO t7 VALUES (1, 2); DROP TABLE t5`, { pageSize: 512 });
    expect(openDatabase(memoryAccess(bytes)).tables.length).toBe(119);
    expect(await expectSameAsSqlite(bytes)).toBe(1);
  });

  it('after deletions, updates and insertions, in no order', async () => {
    const bytes = makeDatabase(
      `${MIXED}
      DELETE FROM events WHERE rowid % 7 < 3 OR rowid BETWEEN 500 AND 900;
      UPDATE events SET name = name || hex(zeroblob(rowid % 300)) WHERE rowid % 11 = 0;
      UPDATE events SET name = 'x', payload = NULL WHERE rowid % 13 = 0;
      INSERT INTO events(rowid, start, name) SELECT 9000 - rowid * 2, start, name FROM events WHERE rowid % 2;
      UPDATE long SET value = 'short' WHERE id % 2;
      DELETE FROM long WHERE id % 5 = 0`,
      { pageSize: 1024 },
    );
    expect(await expectSameAsSqlite(bytes)).toBeGreaterThan(1000);
  });

  it('in a database that vacuums itself', async () => {
    await expectSameAsSqlite(makeDatabase(`PRAGMA auto_vacuum = FULL; ${MIXED}; DELETE FROM events WHERE rowid % 3`));
  });

  it('where pages of tables alternate or are in no order, without reading much more than them', async () => {
    const bytes = makeDatabase((database) => {
      database.exec(
        'CREATE TABLE a(x, t TEXT); CREATE TABLE b(x, t TEXT); CREATE TABLE r(id INTEGER PRIMARY KEY, t TEXT); CREATE TABLE s(t TEXT); BEGIN',
      );
      const insert = ['a', 'b'].map((name) => database.prepare(`INSERT INTO ${name} VALUES (?, hex(zeroblob(30)))`));
      const scattered = database.prepare('INSERT INTO r VALUES (?, hex(zeroblob(30)))');
      for (let i = 0; i < 6000; i++) {
        insert[i % 2]!.run([i]);
        scattered.run([(i * 3571) % 6007]);
      }
      for (const statement of [...insert, scattered]) statement.finalize();
      database.exec('INSERT INTO s SELECT t FROM r; COMMIT');
    });
    expect(await expectSameAsSqlite(bytes)).toBe(18_000);

    const memory = memoryAccess(bytes);
    let calls = 0;
    let read = 0;
    const database = openDatabase({
      ...memory,
      readAt(target, position) {
        calls += 1;
        read += target.length;
        return memory.readAt(target, position);
      },
    });
    for (const [table, maxCalls, maxPart] of [
      ['s', 12, 0.5],
      ['a', 40, 1.1],
      ['r', 400, 1.6],
    ] as const) {
      calls = 0;
      read = 0;
      await database.count(table);
      expect(calls, table).toBeLessThan(maxCalls);
      expect(read / bytes.length, table).toBeLessThan(maxPart);
    }
  });

  it('of which only the header is there', () => {
    const empty = makeDatabase('PRAGMA user_version = 1');
    expect(openDatabase(memoryAccess(empty)).tables).toEqual([]);
  });
});

describe('values', () => {
  const EDGES = [
    ...[0n, 1n, 2n, 127n, 128n, 255n, 32_767n, 32_768n, 8_388_607n, 8_388_608n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n],
    ...[2n ** 47n - 1n, 2n ** 47n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n],
  ];
  const INTEGERS = EDGES.flatMap((edge) => [edge, -edge, -edge - 1n]);

  function insertEach(
    database: Database,
    values: readonly (bigint | number | string | Uint8Array)[],
    into = 't',
    as = '?',
  ): void {
    const statement = database.prepare(`INSERT INTO ${into} VALUES (${as})`);
    for (const value of values) statement.run([value]);
    statement.finalize();
  }

  it('of integers of all lengths are exact', async () => {
    const bytes = makeDatabase((database) => {
      database.exec('CREATE TABLE t(a INTEGER); CREATE TABLE u(a REAL); CREATE TABLE v(a)');
      for (const table of ['t', 'u', 'v']) insertEach(database, INTEGERS, table);
    });
    await expectSameAsSqlite(bytes);
    const { cells } = await readTable(openDatabase(memoryAccess(bytes)), 't', ['a']);
    expect(cells.flat()).toEqual(INTEGERS.map((value) => `integer ${value}`));
  });

  it('are also rowids, positive and negative', async () => {
    const bytes = makeDatabase((database) => {
      database.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a)');
      for (const value of new Set(INTEGERS)) database.run('INSERT INTO t VALUES (?, 1)', [value]);
    });
    await expectSameAsSqlite(bytes);
    const { cells } = await readTable(openDatabase(memoryAccess(bytes)), 't', ['id']);
    const ascending = [...new Set(INTEGERS)].sort((one, other) => (one < other ? -1 : 1));
    expect(cells.flat()).toEqual(ascending.map((value) => `integer ${value}`));
  });

  it('of reals have their bits, whole ones of REAL columns too', async () => {
    const reals = [
      ...[0.1, -0.0, 1e308, 5e-324, 2.5, -1e-7, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, -3, 2 ** 40],
      ...[2 ** 60],
    ];
    const bytes = makeDatabase((database) => {
      database.exec('CREATE TABLE t(a REAL); CREATE TABLE u(a DOUBLE); CREATE TABLE v(a); CREATE TABLE w(a NUMERIC)');
      for (const table of ['t', 'u', 'v', 'w']) insertEach(database, reals, table, 'CAST(? AS REAL)');
    });
    await expectSameAsSqlite(bytes);
    const kinds = new Set<number>();
    await openDatabase(memoryAccess(bytes)).scan('t', ['a'], (batch) => {
      for (let row = 0; row < batch.rows; row++) kinds.add(batch.columns[0]!.kinds[row]!);
    });
    expect([...kinds]).toEqual([CELL.real]);
  });

  it('that are not numbers are NULL to SQLite', async () => {
    const bytes = makeDatabase('CREATE TABLE t(a); INSERT INTO t VALUES (1.5)');
    const at = bytes.indexOf(Buffer.from('3ff8000000000000', 'hex'));
    const { cells } = await readTable(openDatabase(memoryAccess(patched(bytes, at, 0x7f))), 't', ['a']);
    expect(cells).toEqual([['null']]);
  });

  it('of text are kept whole: NUL, other scripts, a byte order mark, all lengths', async () => {
    const texts = [
      '',
      '\0',
      'a\0b',
      'ü',
      '核心',
      '🙂 smile',
      '\ufeffmark',
      '\ufffd',
      ...[5, 57, 58, 59, 500, 4000, 4060, 4100].map((length) => 'é'.repeat(length)),
    ];
    const bytes = makeDatabase((database) => {
      database.exec('CREATE TABLE t(a TEXT)');
      const bytesOf = texts.map((text) => Buffer.from(text));
      insertEach(database, bytesOf, 't', 'CAST(? AS TEXT)');
    });
    await expectSameAsSqlite(bytes);
    const read = await readTable(openDatabase(memoryAccess(bytes)), 't', ['a']);
    expect(read.cells.flat()).toEqual(texts.map((text) => `text ${text}`));
    expect(read.badTexts).toBe(0);
  });

  it('of text that is not UTF-8 are counted, if they are asked for', async () => {
    const bad = [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0x62, 0x80, 0x63]].map((item) => Buffer.from(item));
    const bytes = makeDatabase((database) => {
      database.exec('CREATE TABLE t(a TEXT, b INTEGER DEFAULT 5)');
      for (const text of [...bad, Buffer.from('good')])
        database.run('INSERT INTO t(a) VALUES (CAST(? AS TEXT))', [text]);
    });
    await expectSameAsSqlite(bytes);
    const database = openDatabase(memoryAccess(bytes));
    const read = await readTable(database, 't', ['a']);
    expect(read.badTexts).toBe(4);
    expect(read.cells[3]).toEqual(['text b\ufffdc']);
    expect((await readTable(database, 't', ['b'])).badTexts).toBe(0);
  });

  it('that are not what their column declares are what they are', async () => {
    const bytes = makeDatabase(
      "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES ('rubbish', x'00'), (1.5, 7), (x'61', NULL)",
    );
    const { cells } = await readTable(openDatabase(memoryAccess(bytes)), 't', ['a', 'b']);
    const real = expect.stringMatching(/^real/);
    expect(cells).toEqual([...[['text rubbish', 'blob']], [real, 'text 7'], ['blob', 'null']]);
  });

  it('in overflow pages are read no further than asked for', async () => {
    const bytes = makeDatabase(
      `CREATE TABLE t(a INTEGER, long TEXT, b INTEGER, blob BLOB, c TEXT);
       INSERT INTO t VALUES (1, hex(zeroblob(40000)), 2, zeroblob(300000), 'end'), (3, 'short', 4, zeroblob(100), 'end')`,
      { pageSize: 1024 },
    );
    await expectSameAsSqlite(bytes);
    let pages = 0;
    const memory = memoryAccess(bytes);
    const database = openDatabase({
      ...memory,
      readAt(target, position) {
        pages += target.length / 1024;
        return memory.readAt(target, position);
      },
    });
    pages = 0;
    expect((await readTable(database, 't', ['a'])).cells).toEqual([['integer 1'], ['integer 3']]);
    expect(pages).toBeLessThan(3);
    pages = 0;
    expect((await readTable(database, 't', ['b'])).cells).toEqual([['integer 2'], ['integer 4']]);
    expect(pages).toBeLessThan(100);
    expect((await readTable(database, 't', ['blob'])).cells).toEqual([['blob'], ['blob']]);
  });

  it('of a record whose header does not fit its page', async () => {
    const columns = Array.from({ length: 900 }, (_, i) => `c${i}`);
    const values = columns.map((_, i) =>
      i % 50 === 0 ? `'${'v'.repeat(i)}'` : i % 3 === 0 ? 'NULL' : String(i * 1000),
    );
    const bytes = makeDatabase(`CREATE TABLE t(${columns}); INSERT INTO t VALUES (${values}), (${values})`, {
      pageSize: 512,
    });
    expect(await expectSameAsSqlite(bytes)).toBe(2);
  });
});

describe('batches', () => {
  const bytes = makeDatabase(
    `CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, 'row ' || i, i * i FROM n`,
  );
  const database = openDatabase(memoryAccess(bytes));

  it('have up to 8192 rows, and the columns asked for in that order', async () => {
    const sizes: number[] = [];
    let next = 1;
    const scan = await database.scan('t', ['b', 'id', 'b'], ({ rows, columns: [b, id, again] }) => {
      sizes.push(rows);
      expect(again).toBe(b);
      for (let row = 0; row < rows; row++, next++) {
        expect([id!.bits[2 * row], b!.bits[2 * row]! + b!.bits[2 * row + 1]! * 2 ** 32]).toEqual([next, next * next]);
      }
    });
    expect(sizes).toEqual([8192, 8192, 3616]);
    expect(scan).toEqual({ rows: 20_000, problem: undefined, badTexts: 0 });
  });

  it('may lack columns', async () => {
    expect((await readTable(database, 't', [])).rows).toBe(20_000);
  });

  it('end early where texts are large', async () => {
    const large = makeDatabase(
      `CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO t SELECT hex(zeroblob(500000)) FROM n`,
    );
    const sizes: number[] = [];
    await openDatabase(memoryAccess(large)).scan('t', ['a'], ({ rows, columns: [a] }) => {
      sizes.push(rows);
      expect(a!.texts[rows - 1]).toHaveLength(1_000_000);
    });
    expect(sizes).toEqual([17, 17, 6]);
  });

  it('of scans that overlap do not mix', async () => {
    const scans = [1, 2, 3].map(() => readTable(database, 't', ['id', 'a']));
    let isNested = false;
    await database.scan('t', ['id'], () => {
      if (isNested) return;
      isNested = true;
      scans.push(readTable(database, 't', ['id', 'a']));
    });
    const [first, ...others] = await Promise.all(scans);
    expect(first!.cells[19_999]).toEqual(['integer 20000', 'text row 20000']);
    for (const value of others) expect(value).toEqual(first);
  });

  it('of long scans leave turns to others, and do not mix either', async () => {
    const rows = 1200;
    const large = makeDatabase(
      `CREATE TABLE t(a INTEGER, b BLOB); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
        INSERT INTO t SELECT i, zeroblob(33000) FROM n`,
      { pageSize: 65_536 },
    );
    const shared = openDatabase(memoryAccess(large));
    let isOver = false;
    const turn = new Promise<boolean>((resolve) => setImmediate(() => resolve(isOver)));
    const scans = await Promise.all([1, 2].map(() => readTable(shared, 't', ['a']).finally(() => (isOver = true))));
    expect(await turn).toBe(false);
    for (const { cells } of scans) expect(cells).toEqual(Array.from({ length: rows }, (_, i) => [`integer ${i + 1}`]));
  });

  it('pass on what their taker throws', async () => {
    const scan = database.scan('t', ['id'], () => {
      throw new RangeError('full');
    });
    await expect(scan).rejects.toThrow(RangeError);
  });

  it('are asked for by names that exist', async () => {
    await expect(database.scan('other', [], () => {})).rejects.toMatchObject({ code: 'MBF9001' });
    await expect(database.scan('t', ['c'], () => {})).rejects.toMatchObject({ code: 'MBF9001' });
    await expect(database.count('T')).rejects.toMatchObject({ code: 'MBF9001' });
  });
});

describe('tables that are not read', () => {
  const bytes = makeDatabase(`
    CREATE TABLE plain(a); INSERT INTO plain VALUES (1);
    CREATE TABLE keyed(name TEXT PRIMARY KEY, value) WITHOUT ROWID; INSERT INTO keyed VALUES ('a', 1);
    CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO counted VALUES (5);
    CREATE VIEW seen AS SELECT a FROM plain;
  `);

  it('are listed where they are tables of the user', () => {
    const column = (name: string, type: string) => ({ name, type });
    expect(openDatabase(memoryAccess(bytes)).tables).toEqual([
      { name: 'plain', columns: [column('a', '')] },
      { name: 'keyed', columns: [column('name', 'TEXT'), column('value', '')] },
      { name: 'counted', columns: [column('id', 'INTEGER')] },
    ]);
  });

  it('report it when they are scanned or counted', async () => {
    const database = openDatabase(memoryAccess(bytes));
    const problem = { fact: expect.stringContaining('WITHOUT ROWID') };
    expect(await readTable(database, 'keyed', ['name'])).toMatchObject({ rows: 0, problem });
    expect(await database.count('keyed')).toMatchObject({ rows: 0, problem });
    expect(await database.count('counted')).toEqual({ rows: 1, problem: undefined });
  });

  it('report a root that is that of another, page 1, or missing', async () => {
    for (const root of ["(SELECT rootpage FROM sqlite_schema WHERE name = 'u')", '1', '0', '-5', "'x'", 'NULL']) {
      const database = openDatabase(
        memoryAccess(
          makeDatabase(
            `CREATE TABLE t(a); CREATE TABLE u(a); CREATE TABLE v(a); INSERT INTO v VALUES (1);
             PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = ${root} WHERE name = 't'`,
          ),
        ),
      );
      expect(await database.count('t')).toMatchObject({ rows: 0, problem: { fact: expect.stringContaining('root') } });
      expect(await database.count('v')).toEqual({ rows: 1, problem: undefined });
    }
  });

  it('report it when they are virtual', async () => {
    const virtual = makeDatabase(
      "CREATE TABLE t(a); PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING other(a, b)')",
    );
    const database = openDatabase(memoryAccess(virtual));
    expect(columnNames(database, 'v')).toEqual([]);
    expect(await database.count('v')).toMatchObject({ rows: 0, problem: { fact: expect.stringContaining('virtual') } });
  });
});
