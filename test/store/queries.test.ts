/** Every query file is checked against an empty store of the newest schema: its header matches its output. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBType } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { lakeViews } from '../../src/lake/lake-views.js';
import { composeSql } from '../../src/store/compose-sql.js';
import { generateLayouts } from '../../src/store/generate-layouts.js';
import { generateQueryTypes } from '../../src/store/generate-query-types.js';
import { temporaryTable } from '../../src/store/install-library.js';
import { loadAllQueries, loadQuery, packageRoot } from '../../src/store/load-queries.js';
import {
  blankText,
  parseQueryFile,
  pathOfQueryName,
  type QueryField,
  type QueryFile,
  queryNameOfPath,
} from '../../src/store/query-file.js';
import { makeTables } from '../../src/store/schema.js';
import { PARAMETER_TYPES } from '../../src/store/to-duckdb.js';
import { repoRoot } from './scratch.js';

const queries = loadAllQueries();

/** A value of each parameter type that finds nothing and breaks nothing. */
const SAMPLES: ReadonlyMap<string, string> = new Map(
  [...PARAMETER_TYPES.keys()].map((type) => [
    type,
    type === 'VARCHAR' ? `'0'` : type === 'TIMESTAMP' ? `TIMESTAMP '1970-01-01'` : type === 'BOOLEAN' ? 'false' : '0',
  ]),
);

/** What steady_window takes. */
const LINES = `[{'iteration': 0::BIGINT, 'step_ms': 0::DOUBLE, 'tflops': 0::DOUBLE}]`;

describe('queries/', () => {
  let describeColumns: (query: QueryFile) => Promise<{ name: string; type: string }[]>;

  beforeAll(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await makeTables(connection);
    // Without views: what a store has under the name of one may be a stranger's, so queries read tables only.
    for (const query of queries) if (query.kind === 'table') await connection.run(temporaryTable(query));
    // Some read the files of a lake: here of one without any.
    for (const statement of lakeViews(''))
      if (/^CREATE (?:SCHEMA|VIEW) lake\b/.test(statement)) await connection.run(statement);
    const typeName = (type: DuckDBType) => String(type).replace(/^ENUM\(.*\)$/, 'ENUM');
    describeColumns = async (query) => {
      const values = query.params.map((param) => `${param.name} := ${SAMPLES.get(param.type)}::${param.type}`);
      // Of a table, its rule.
      if (query.kind === 'view' || query.kind === 'macro') {
        // As another query uses it.
        const [, name] = query.name.split('.');
        const passed = query.params
          .map(({ type }) => (type === 'STRUCT[]' ? LINES : `${SAMPLES.get(type)}::${type}`))
          .join(', ');
        const statement = `SELECT * FROM ${name}${query.kind === 'macro' ? `(${passed}) AS ${name}` : ''}`;
        const used = { ...query, name: 'test.user', kind: undefined, params: [], columns: [], statement };
        const result = await connection.run(composeSql(used));
        return result.columnNames().map((name, index) => ({ name, type: typeName(result.columnType(index)) }));
      }
      await connection.run(`PREPARE checked AS ${composeSql(query)}`);
      const result = await connection.run(`EXECUTE checked${values.length > 0 ? `(${values.join(', ')})` : ''}`);
      return result.columnNames().map((name, index) => ({ name, type: typeName(result.columnType(index)) }));
    };
  });

  it('holds queries, all of which the loader finds by name', () => {
    expect(queries.length).toBeGreaterThanOrEqual(2);
    for (const query of queries) expect(loadQuery(query.name)).toEqual(query);
  });

  it.each(queries.map((query) => [query.name, query] as const))(
    '%s returns the columns it declares',
    async (_, query) => {
      const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);
      const declared = query.columns.map(({ name, type }) => ({ name, type })).sort(byName);
      expect([...(await describeColumns(query))].sort(byName)).toEqual(declared);
    },
  );

  it.each(queries.map((query) => [query.name, query] as const))('%s says what it is and why', (_, query) => {
    expect(query.title).not.toBe('');
    expect(query.why.length).toBeGreaterThan(20);
    // Without an order, DuckDB's threads decide it, and no output could be compared with the last one.
    const isUnordered = query.kind !== undefined || query.title.endsWith('in no order');
    if (!query.name.startsWith('_') && !isUnordered) expect(blankText(query.statement)).toMatch(/ORDER BY|LIMIT 1\b/i);
  });

  it('has its types generated (npm run generate)', () => {
    expect(readFileSync(join(repoRoot, 'queries', 'queries.gen.ts'), 'utf8')).toBe(generateQueryTypes(queries));
    expect(readFileSync(join(repoRoot, 'queries', 'layouts.gen.ts'), 'utf8')).toBe(generateLayouts());
  });

  it('is in the package root', () => {
    expect(join(packageRoot(), '/')).toBe(repoRoot);
  });
});

const HEADER = `-- @name topic.some_question
-- @title A question
-- @param run_id INTEGER? the run
-- @col bytes BIGINT? how many
--   of them
-- @why Because.
`;

describe('parseQueryFile', () => {
  const parse = (text: string) => parseQueryFile('topic/some-question.sql', text);

  it('reads the header and the statement', () => {
    expect(
      parse(`${HEADER}-- a remark that belongs to the reason\nSELECT 1 AS bytes WHERE $run_id = ';' -- ;\n;\n`),
    ).toEqual({
      name: 'topic.some_question',
      title: 'A question',
      why: 'Because. a remark that belongs to the reason',
      params: [{ name: 'run_id', type: 'INTEGER', nullable: true, text: 'the run' }],
      columns: [{ name: 'bytes', type: 'BIGINT', nullable: true, text: 'how many of them' }],
      defaults: new Map(),
      uses: [],
      needs: [],
      statement: `SELECT 1 AS bytes WHERE $run_id = ';' -- ;`,
    });
  });

  it.each([
    ['SELECT 1', /needs one @name/],
    [`${HEADER}`, /holds no statement/],
    [`${HEADER}SELECT 1; SELECT 2`, /more than one statement/],
    [`${HEADER}SELECT $other`, /uses \$other without a @param/],
    [`${HEADER}-- @nmae x\nSELECT 1`, /unknown tag @nmae/],
    [`${HEADER}-- @title again\nSELECT 1`, /needs one @title/],
    [`${HEADER}-- @col bytes BIGINT\nSELECT 1`, /names a @col twice/],
    [`${HEADER}-- @col Bytes BIGINT\nSELECT 1`, /cannot read the field/],
    [`${HEADER}-- @param x GEOMETRY\nSELECT $x`, /cannot be GEOMETRY/],
    [`-- hello\n${HEADER}SELECT 1`, /must begin with/],
    [`${HEADER.replace('some_question', 'other')}SELECT 1`, /the path gives topic\.some_question/],
  ])('refuses a malformed file (%#)', (text, message) => {
    expect(() => parse(text)).toThrow(message);
    expect(() => parse(text)).toThrow(/^queries\/topic\/some-question\.sql: /);
  });

  describe('columns of a table', () => {
    const known: readonly QueryField[] = ['rank', 'device', 'bytes'].map((name) => ({
      ...{ name, type: 'BIGINT', nullable: name === 'device', text: `the ${name}` },
    }));
    const columnsOf = (...header: readonly string[]): readonly QueryField[] =>
      parseQueryFile(
        'topic/some-question.sql',
        ['-- @name topic.some_question', '-- @title A', ...header, '-- @why B', 'SELECT 1'].join('\n'),
        (table) => (table === 'block' ? known : undefined),
      ).columns;

    it('are all of them, or those that are named', () => {
      expect(columnsOf('-- @of block')).toEqual(known);
      expect(columnsOf('-- @of block: bytes', '--   rank')).toEqual([known[2], known[0]]);
      expect(columnsOf('-- @of block: device', '-- @col site VARCHAR').map(({ name }) => name)).toEqual([
        'device',
        'site',
      ]);
    });

    it.each([
      ['-- @of blocks', /names an unknown table @of blocks/],
      ['-- @of block: pool', /block has no column pool/],
      ['-- @of block\n-- @col rank BIGINT', /names a @col twice/],
    ])('%j is refused', (header, message) => {
      expect(() => columnsOf(header)).toThrow(message);
    });
  });

  it('names files and queries both ways', () => {
    for (const [path, name] of [
      ['store/runs.sql', 'store.runs'],
      ['diagnosis/largest-hole-by-pool.sql', 'diagnosis.largest_hole_by_pool'],
      ['_views/segments-at.sql', '_views.segments_at'],
    ] as const) {
      expect(queryNameOfPath(path)).toBe(name);
      expect(pathOfQueryName(name)).toBe(path);
    }
  });

  it('blanks literals and comments, and nothing else', () => {
    expect(blankText(`a'b''c'd--e\nf/*g*/h"i'j"$$k;$$l`)).toBe(`a      d   \nf     h"i'j"      l`);
  });
});

describe('composeSql', () => {
  const file = (name: string, statement: string, uses: string[] = [], params = ''): QueryFile =>
    parseQueryFile(
      pathOfQueryName(name),
      `-- @name ${name}\n-- @title t\n-- @why w\n-- @col n INTEGER\n${params}${uses.map((use) => `-- @uses ${use}\n`).join('')}${statement}`,
    );
  const library = new Map(
    [
      file('_views.one', 'SELECT 1 AS n'),
      file('_views.two', 'SELECT n + 1 AS n FROM one', ['_views.one']),
      file('_views.given', 'SELECT $x AS n', [], '-- @param x INTEGER\n'),
      file('_views.a', 'FROM b', ['_views.b']),
      file('_views.b', 'FROM a', ['_views.a']),
    ].map((query) => [query.name, query]),
  );
  const compose = (query: QueryFile) => composeSql(query, (name) => library.get(name)!);

  it.each([
    ['SELECT sum(n)::INTEGER AS n FROM (FROM one UNION ALL FROM two)', 3],
    ['WITH own AS (FROM two) SELECT n FROM own', 2],
    [
      '-- WITH\nWITH RECURSIVE own AS (SELECT n FROM two UNION ALL SELECT n + 1 FROM own WHERE n < 9) SELECT max(n) AS n FROM own',
      9,
    ],
  ])('puts used queries first: %s', async (statement, expected) => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const sql = compose(
      file('topic.q', statement.startsWith('--') ? `\n${statement}` : statement, ['_views.two', '_views.one']),
    );
    expect((await connection.runAndReadAll(sql)).getRows()).toEqual([[expected]]);
  });

  it('refuses circles, and parameters that the user of a query does not declare', () => {
    expect(() => compose(file('topic.q', 'FROM a', ['_views.a']))).toThrow(/_views\.a uses itself/);
    expect(() => compose(file('topic.q', 'FROM given', ['_views.given']))).toThrow(/must declare its @param x INTEGER/);
  });
});

describe('generateQueryTypes', () => {
  it('maps types and NULLs, documents fields, and leaves private queries out', () => {
    const query = parseQueryFile(
      'topic/q.sql',
      `-- @name topic.q
-- @title Title
-- @param a BIGINT first
-- @param b VARCHAR?
-- @col i INTEGER an int */
-- @col u UBIGINT?
-- @col l BIGINT[]?
-- @col e ENUM
-- @why w
SELECT $a, $b`,
    );
    const text = generateQueryTypes([{ ...query, name: '_views.q' }, query]);
    expect(text).toBe(`// Generated from queries/**/*.sql by \`npm run generate\`. Do not edit.

export interface Queries {
  /** Title */
  'topic.q': {
    params: {
      /** first */
      a: number | bigint;
      b?: string | null | undefined;
    };
    row: {
      /** an int * / */
      i: number;
      u: number | bigint | null;
      l: readonly (number)[] | null;
      e: string;
    };
  };
}
`);
    expect(() => generateQueryTypes([{ ...query, columns: [{ ...query.columns[0]!, type: 'BLOB' }] }])).toThrow(/BLOB/);
  });
});
