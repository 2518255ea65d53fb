/** What a CREATE TABLE text defines about records, compared with SQLite's reading of the same text. */
import { describe, expect, it } from 'vitest';
import { parseCreateTable } from '../../src/sqlite/create-table.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { columnNames, expectSameAsSqlite, makeDatabase, memoryAccess, readTable } from './oracle.js';

/** Makes the table, fills every column of one row with its number, and compares with SQLite; returns what we read. */
async function ofTable(sql: string, insert = ''): Promise<{ names: string[]; cells: string[][] }> {
  const bytes = makeDatabase((database) => {
    database.exec(`${sql}; ${insert}`);
    if (insert !== '') return;
    const columns = database.all("SELECT name FROM pragma_table_xinfo('t') WHERE hidden = 0") as { name: string }[];
    const names = columns.map(({ name }) => `"${name.replaceAll('"', '""')}"`);
    database.exec(`INSERT INTO t(${names}) VALUES (${names.map((_, i) => 10 + i)})`);
  });
  await expectSameAsSqlite(bytes);
  const database = openDatabase(memoryAccess(bytes));
  const names = columnNames(database, 't');
  return { names, cells: (await readTable(database, 't', names)).cells };
}

describe('columns', () => {
  it.each<[string, string, string[]]>([
    [
      'with comments',
      'CREATE TABLE t -- of (a, b)\n(/* first, ( */ a INTEGER, -- REFERENCES x(y), "\n b /* c TEXT, */ TEXT /**/)',
      ['a', 'b'],
    ],
    [
      'with comments side by side, and one that is opened as others are closed',
      'CREATE TABLE t(a INTEGER /* one *//* b TEXT, */, /*/ c TEXT, /*/ d TEXT)',
      ['a', 'd'],
    ],
    ['with a comment at the end', 'CREATE TABLE t(a, b -- last\n)', ['a', 'b']],
    [
      'with quoted names',
      `CREATE TABLE "t"("a ""1""" INT, [b, (c)] TEXT, \`d\`\`e\` REAL, 'f''g' BLOB, "", [x-y])`,
      ['a "1"', 'b, (c)', 'd`e', "f'g", '', 'x-y'],
    ],
    [
      'with names that are words of SQL',
      'CREATE TABLE t(key, "primary", [check] INT, abort, desc TEXT, always, generated, rowid)',
      ['key', 'primary', 'check', 'abort', 'desc', 'always', 'generated', 'rowid'],
    ],
    ['in other scripts', 'CREATE TABLE t(größe INTEGER, 名 TEXT, a$1 REAL)', ['größe', '名', 'a$1']],
    [
      'with types in parentheses',
      'CREATE TABLE t(a DECIMAL(10, 5), b VARCHAR(255) NOT NULL, c NUMERIC(-3,+4), d DOUBLE PRECISION, e UNSIGNED BIG INT, f "My Type")',
      ['a', 'b', 'c', 'd', 'e', 'f'],
    ],
    [
      'with constraints',
      "CREATE TABLE t(a INTEGER CONSTRAINT \"primary\" NOT NULL ON CONFLICT FAIL, b TEXT COLLATE NOCASE DEFAULT ('),(' || 'x') CHECK (b <> ')' AND (1, 2) < (3, 4)), c REFERENCES p(x) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, d UNIQUE)",
      ['a', 'b', 'c', 'd'],
    ],
    [
      'with constraints of the table',
      'CREATE TABLE t(a, b INT, c, CONSTRAINT k UNIQUE (a, b) CHECK (b IN (11, 2)), FOREIGN KEY (c) REFERENCES p(x), PRIMARY KEY (c, a))',
      ['a', 'b', 'c'],
    ],
    [
      'that are generated',
      'CREATE TABLE t(a INT, v INT GENERATED ALWAYS AS (a * 2), b TEXT, w AS (a || b) VIRTUAL, s REAL AS (a + 1) STORED, u GENERATED ALWAYS AS (b) STORED, c)',
      ['a', 'b', 's', 'u', 'c'],
    ],
    ['of a strict table', 'CREATE TABLE t(a INT, b INTEGER PRIMARY KEY, c ANY, d REAL) STRICT', ['a', 'b', 'c', 'd']],
    ['of a table made if it did not exist', 'CREATE TABLE IF NOT EXISTS main.t(a, b)', ['a', 'b']],
  ])('%s', async (_, sql, names) => {
    expect((await ofTable(sql)).names).toEqual(names);
  });

  it('of a table made from a query', async () => {
    const { names, cells } = await ofTable(
      "CREATE TABLE t AS SELECT 1 AS one, 2.0 AS 'two, 2', 'x' AS \"x y\", NULL AS n",
    );
    expect(names).toEqual(['one', 'two, 2', 'x y', 'n']);
    expect(cells).toHaveLength(2);
  });

  it('of a table that was renamed, with columns renamed, added and dropped', async () => {
    const alter = `INSERT INTO t VALUES (1, 2, 3); ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'new'; ALTER TABLE t RENAME b TO "the ""b""";
      ALTER TABLE t DROP COLUMN c; ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t; ALTER TABLE t ADD e INT; INSERT INTO t(a) VALUES (9)`;
    const { names, cells } = await ofTable('CREATE TABLE t(a, b /* two */ INT, c)', alter);
    expect(names).toEqual(['a', 'the "b"', 'd', 'e']);
    expect(cells).toEqual([
      ['integer 1', 'integer 2', 'text new', 'null'],
      ['integer 9', 'null', 'text new', 'null'],
    ]);
  });
});

describe('the rowid', () => {
  it.each<[string, boolean]>([
    ['CREATE TABLE t(id INTEGER PRIMARY KEY, a)', true],
    ['CREATE TABLE t(a, id integer NOT NULL primary key AUTOINCREMENT)', true],
    ['CREATE TABLE t(id INTEGER CONSTRAINT pk PRIMARY KEY ASC ON CONFLICT REPLACE, a)', true],
    ['CREATE TABLE t(id /* the */ INTEGER -- key\n PRIMARY KEY, a)', true],
    ['CREATE TABLE t(id INTEGER, a, PRIMARY KEY(id))', true],
    ['CREATE TABLE t(id INTEGER, a, CONSTRAINT pk PRIMARY KEY("ID" COLLATE NOCASE DESC))', true],
    ['CREATE TABLE t(id INTEGER, a, UNIQUE (a) PRIMARY KEY (id ASC))', true],
    ["CREATE TABLE t(id INTEGER, a, CHECK (id <> ')') PRIMARY KEY ('id' AUTOINCREMENT))", true],
    ['CREATE TABLE t(id INT PRIMARY KEY, a)', false],
    ['CREATE TABLE t(id INTEGER PRIMARY KEY DESC, a)', false],
    ['CREATE TABLE t(id BIGINT PRIMARY KEY, a)', false],
    ['CREATE TABLE t(id INTEGER(8) PRIMARY KEY, a)', false],
    ['CREATE TABLE t(id "integer" PRIMARY KEY, a)', true],
    ['CREATE TABLE t(id INTEGER, a, PRIMARY KEY(id, a))', false],
    ['CREATE TABLE t(id INTEGER UNIQUE, a)', false],
  ])('and its other name: %s', async (sql, isAlias) => {
    const { names, cells } = await ofTable(sql);
    expect(parseCreateTable(sql)!.rowidColumn >= 0).toBe(isAlias);
    expect(cells[0]![names.indexOf('id')]).toBe(`integer ${10 + names.indexOf('id')}`);
  });
});

describe('columns that were added later', () => {
  const TYPES = ['', 'INTEGER', 'TEXT', 'REAL', 'NUMERIC', 'BLOB', 'VARCHAR(3)', 'FLOAT'];
  const LITERALS = [
    ...[
      ...['NULL', '5', '-5', '+5', '- 7', '1.5', '-1.5e3', '1e300', '5.0', '.5', '5.', '-0', '-0.0', '007', '1e3'],
      ...['1e999'],
    ],
    ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '12345678901'],
    ...[
      ...['0x10', '-0x10', '0xffffffff', '0x7fffffffffffffff', "'text'", "'12'", "'12.0'", "'1e3'", "' 7 '", "''"],
      ...["'0x10'"],
    ],
    ...["'it''s, (x)'", '"double"', 'word', 'true', 'FALSE', '(5)', '((-5))', "('x')", "x'0102'", "('1' )", '(+3)'],
  ];

  it.each(TYPES)('have their DEFAULT in rows from before, of type "%s"', async (type) => {
    const added = LITERALS.map((literal, i) => `ALTER TABLE t ADD COLUMN c${i} ${type} DEFAULT ${literal} /* , */;`);
    const { cells } = await ofTable(
      'CREATE TABLE t(a)',
      `INSERT INTO t VALUES (1); ${added.slice(0, 20).join('\n')} INSERT INTO t(a) VALUES (2); ${added.slice(20).join('\n')} INSERT INTO t(a) VALUES (3)`,
    );
    expect(cells).toHaveLength(3);
  });

  it('are NULL without one', async () => {
    const { cells } = await ofTable(
      'CREATE TABLE t(a)',
      'INSERT INTO t VALUES (1); ALTER TABLE t ADD b TEXT; ALTER TABLE t ADD c INT CHECK (c > 0)',
    );
    expect(cells).toEqual([['integer 1', 'null', 'null']]);
  });

  it('end the scan where the DEFAULT is an expression, which SQLite lets no row lack', async () => {
    await expectSameAsSqlite(makeDatabase('CREATE TABLE t(a, b DEFAULT (1 + 1)); INSERT INTO t(a) VALUES (1)'));
    const bytes = makeDatabase(
      "CREATE TABLE t(a); INSERT INTO t VALUES (1); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a, b DEFAULT (1 + 1))'",
    );
    const database = openDatabase(memoryAccess(bytes));
    expect(await readTable(database, 't', ['a', 'b'])).toMatchObject({
      rows: 0,
      problem: { fact: expect.stringContaining('an expression as DEFAULT') },
    });
    expect((await readTable(database, 't', ['a'])).cells).toEqual([['integer 1']]);
  });
});

describe('a text that is not CREATE TABLE', () => {
  it.each([
    '',
    'CREATE',
    'CREATE TABLE',
    'CREATE TABLE t',
    'CREATE TABLE t(',
    'CREATE TABLE t()',
    'CREATE TABLE t(a',
    'CREATE TABLE t(a, (b)',
    'CREATE TABLE t(a "b)',
    'CREATE TABLE t(a, /* b)',
    'CREATE TABLE t(a, , b)',
    'CREATE TABLE t(PRIMARY KEY (a))',
    'CREATE VIRTUAL TABLE t USING x(a)',
    'CREATE INDEX t ON u(a)',
    `CREATE TABLE t(a ${'x'.repeat(1_000_000)})`,
  ])('is not understood: %.40s', (sql) => {
    expect(parseCreateTable(sql)).toBeUndefined();
  });

  it('ends, however deep', () => {
    const deep = 100_000;
    expect(
      parseCreateTable(`CREATE TABLE t(a DEFAULT ${'('.repeat(deep)}1${')'.repeat(deep)})`)?.columns[0]?.whenMissing,
    ).toBeUndefined();
    expect(parseCreateTable(`CREATE TABLE t(a${' CHECK (a > (1))'.repeat(10_000)}, b)`)?.columns).toHaveLength(2);
    expect(parseCreateTable(`CREATE TABLE t(${'('.repeat(deep)}`)).toBeUndefined();
  });

  it('makes a table that has rows but no columns', async () => {
    const bytes = makeDatabase(
      "CREATE TABLE t(a); INSERT INTO t VALUES (1); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a'",
    );
    const database = openDatabase(memoryAccess(bytes));
    expect(database.tables).toEqual([{ name: 't', columns: [] }]);
    expect(await database.scan('t', [], () => {})).toMatchObject({
      rows: 0,
      problem: { fact: expect.stringContaining('CREATE TABLE') },
    });
  });
});
