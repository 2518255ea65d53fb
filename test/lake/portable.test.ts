/** The SQL that DuckDB, Spark and Polars share: what is of it, what is refused, and that our questions are. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLakeForWriting } from '../../src/lake/lake-files.js';
import { openLake } from '../../src/lake/open-lake.js';
import { checkPortable } from '../../src/lake/portable/check-portable.js';
import { loadQuestion, ownQuestion, questionNames, statementOf } from '../../src/lake/questions.js';
import { repoRoot } from '../store/scratch.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const ORDER = 'ORDER BY run ASC NULLS LAST';
const ROWS = 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW';

/** What is refused; the construct that the error names; what to write instead. */
const REFUSED: readonly (readonly [statement: string, construct: string, portable: string])[] = [
  ['SELECT run, count(*) AS n FROM verdict GROUP BY ALL', 'GROUP BY ALL', 'GROUP BY column'],
  [
    'SELECT run FROM verdict QUALIFY row_number() OVER (ORDER BY run) = 1',
    'QUALIFY',
    'ROW_NUMBER() AS place in a WITH',
  ],
  [
    'SELECT run, ROW_NUMBER() OVER (ORDER BY run ASC NULLS LAST) AS n FROM verdict QUALIFY n = 1',
    'QUALIFY',
    'WHERE place = 1',
  ],
  ['FROM verdict', 'FROM before SELECT', 'SELECT columns FROM'],
  ['FROM verdict SELECT run', 'FROM before SELECT', 'SELECT columns FROM'],
  ['SELECT * FROM verdict', '*', 'names of the columns'],
  ['SELECT * EXCLUDE (run) FROM verdict', '* EXCLUDE', 'names of the columns'],
  ['SELECT v.* REPLACE (1 AS run) FROM verdict AS v', '* REPLACE', 'names of the columns'],
  ['SELECT a.run AS run FROM verdict AS a ASOF JOIN oom AS b ON a.run = b.run', 'ASOF JOIN', ROWS],
  ['SELECT a.run AS run FROM verdict AS a ASOF LEFT JOIN oom AS b ON a.run = b.run', 'ASOF JOIN', ROWS],
  ['SELECT a.run AS run FROM verdict AS a LEFT ASOF JOIN oom AS b ON a.run = b.run', 'ASOF JOIN', ROWS],
  ['SELECT run FROM verdict NATURAL JOIN oom', 'NATURAL JOIN', 'a.column = b.column'],
  ['SELECT a.run AS run FROM verdict AS a SEMI JOIN oom AS b ON a.run = b.run', 'SEMI JOIN', 'distinct keys'],
  ['SELECT a.run AS run FROM verdict AS a ANTI JOIN oom AS b ON a.run = b.run', 'ANTI JOIN', 'IS NULL'],
  ['SELECT a.run AS run FROM verdict AS a, oom AS b', 'a comma between tables', 'JOIN'],
  ['SELECT a.run AS run FROM verdict AS a JOIN oom AS b', 'a JOIN without ON', 'ON a.column'],
  [
    'SELECT a.run AS run FROM verdict AS a JOIN oom AS b ON a.rank < b.rank',
    'a condition of a JOIN',
    'conditions in WHERE',
  ],
  ['SELECT count(*) FILTER (rank > 0) AS n FROM verdict', 'FILTER', 'CASE WHEN'],
  ['SELECT first(run ORDER BY rank) AS run FROM verdict', 'FIRST()', 'ROW_NUMBER()'],
  ['SELECT max(run ORDER BY rank) AS run FROM verdict', 'ORDER BY in an aggregate', 'ROW_NUMBER()'],
  ['SELECT max(run ORDER BY rank) FILTER (rank > 0) AS run FROM verdict', 'ORDER BY in an aggregate', 'ROW_NUMBER()'],
  [`SELECT [1, 2] AS numbers FROM verdict`, 'a list', 'a row for each value'],
  [`SELECT {'a': 1} AS numbers FROM verdict`, 'a struct or map', 'a column for each field'],
  [`SELECT MAP {'a': 1} AS numbers FROM verdict`, 'a map', 'a row for each value'],
  ['SELECT doubts[1] AS doubt FROM verdict', 'a list or an index', 'a row for each value'],
  ['SELECT run FROM verdict UNION ALL BY NAME SELECT run FROM oom', 'UNION BY NAME', 'same order'],
  ['SELECT run FROM verdict EXCEPT SELECT run FROM oom', 'EXCEPT', 'LEFT JOIN'],
  ['SELECT sum(bytes) AS bytes FROM peak_component', 'SUM() without CAST', 'DECIMAL(38, 0)'],
  [
    'SELECT CAST(sum(bytes) AS BIGINT) AS bytes FROM peak_component',
    'a sum of bytes with another type',
    'DECIMAL(38, 0)',
  ],
  ['SELECT CAST(1 + sum(rank) AS BIGINT) AS n FROM peak_component', 'SUM() without CAST', 'DECIMAL(38, 0)'],
  ['SELECT sum(bytes)::BIGINT AS bytes FROM peak_component', 'SUM() without CAST', 'DECIMAL(38, 0)'],
  ['SELECT rank::BIGINT AS rank FROM verdict', '::', 'CAST(value AS TYPE)'],
  ['SELECT CAST(rank AS VARCHAR) AS rank FROM verdict', 'the type VARCHAR', 'STRING'],
  ['SELECT CAST(rank AS HUGEINT) AS rank FROM verdict', 'the type HUGEINT', 'DECIMAL(38, 0)'],
  ['SELECT TRY_CAST(rank AS BIGINT) AS rank FROM verdict', 'TRY_CAST', 'CAST'],
  ['SELECT avg(rank) AS rank FROM verdict', 'AVG()', 'NULLIF(COUNT(value), 0)'],
  ['SELECT list(rank) AS ranks FROM verdict', 'LIST()', 'a row for each value'],
  ['SELECT regexp_matches(run, run) AS is_it FROM verdict', 'REGEXP_MATCHES()', 'one of COUNT'],
  ['SELECT rank / 2 AS half FROM verdict', '/', 'NULLIF'],
  ['SELECT rank // 2 AS half FROM verdict', '//', 'x - x % n'],
  ['SELECT 1.5 * rank AS more FROM verdict', 'a fraction', 'whole numbers'],
  ['SELECT rank + 1 FROM verdict', 'a column without a name', 'AS name'],
  ['SELECT v.rank FROM verdict AS v', 'a column without a name', 'AS name'],
  ['SELECT rank place FROM verdict', 'a name without AS', 'AS name'],
  ['SELECT v.rank AS rank FROM verdict v', 'a name without AS', 'table AS name'],
  ['SELECT rank AS "rank" FROM verdict', 'a name in quotes', 'lower-case'],
  ['SELECT rank AS Rank FROM verdict', 'a name with capital letters', 'rank'],
  [`SELECT rank FROM verdict WHERE run = 'it''s'`, 'a quote or backslash', '_ in its place'],
  [`SELECT rank FROM verdict WHERE run LIKE 'a\\_b'`, 'a quote or backslash', '_ in its place'],
  [`SELECT rank FROM verdict WHERE run ILIKE 'a%'`, 'ILIKE', 'LOWER'],
  ['SELECT rank FROM verdict WHERE run IN (SELECT run FROM oom)', 'a query in IN', 'JOIN'],
  ['SELECT rank FROM verdict WHERE rank = (SELECT 1 FROM oom)', 'a query as a value', 'JOIN'],
  ['SELECT rank FROM verdict WHERE EXISTS (SELECT 1 FROM oom)', 'EXISTS', 'JOIN'],
  ['SELECT rank FROM verdict WHERE rank IS DISTINCT FROM 1', 'IS with anything but NULL', 'IS NULL'],
  [`SELECT rank FROM verdict WHERE run > DATE '2026-01-01'`, 'a DATE', 'whole number'],
  ['SELECT rank FROM verdict ORDER BY rank', 'ORDER BY without NULLS', 'NULLS LAST'],
  ['SELECT rank FROM verdict ORDER BY 1 ASC NULLS LAST', 'a number in ORDER BY', 'name of the column'],
  ['SELECT rank FROM verdict ORDER BY ALL', 'ORDER BY ALL', 'NULLS LAST'],
  ['SELECT rank FROM verdict GROUP BY 1', 'a number in GROUP BY', 'name of the column'],
  ['SELECT count(*) AS n FROM verdict GROUP BY ROLLUP (rank)', 'GROUP BY ROLLUP', 'UNION ALL'],
  ['SELECT max(rank) OVER (ORDER BY rank ASC NULLS LAST) AS n FROM verdict', 'without a frame', ROWS],
  ['SELECT max(rank) OVER w AS n FROM verdict WINDOW w AS (ORDER BY rank)', 'a named window', 'OVER'],
  ['SELECT max(rank) OVER (ORDER BY rank ASC NULLS LAST ROWS 2 PRECEDING) AS n FROM verdict', 'another frame', ROWS],
  ['SELECT row_number() OVER (PARTITION BY run) AS n FROM verdict', 'ROW_NUMBER() OVER without ORDER BY', 'ORDER BY'],
  ['SELECT DISTINCT ON (run) run FROM verdict', 'DISTINCT ON', 'ROW_NUMBER()'],
  ['SELECT sum(DISTINCT rank) AS n FROM verdict', 'SUM() without CAST', 'DECIMAL'],
  ['SELECT max(DISTINCT rank) AS n FROM verdict', 'MAX(DISTINCT …)', 'distinct rows'],
  ["SELECT rank AS rank FROM read_parquet('x')", 'a function in FROM', 'a table of the lake'],
  ['SELECT rank AS rank FROM lake.verdict', 'a schema', 'alone'],
  ['WITH a AS MATERIALIZED (SELECT run FROM oom) SELECT run FROM a', 'MATERIALIZED', 'name AS'],
  ['WITH RECURSIVE a AS (SELECT run FROM oom) SELECT run FROM a', 'WITH RECURSIVE', 'joins'],
  ['WITH top AS (SELECT run FROM oom) SELECT run FROM top', '"top"', 'a name of a WITH'],
  ['SELECT run FROM verdict LIMIT 1 OFFSET 2', 'OFFSET', 'ROW_NUMBER()'],
  ['SELECT run FROM verdict; SELECT run FROM verdict', 'a second statement', 'one statement'],
  ['SELECT run FROM verdict WHERE rank = ?', '?', '$name'],
  ['DELETE FROM verdict', '"DELETE"', 'SELECT'],
  ['PIVOT verdict ON rank', 'PIVOT', 'CASE WHEN'],
  ['SELECT run FROM', 'the end of the statement', 'a name of a table'],
];

describe('the shared SQL', () => {
  it.each(REFUSED)('refuses %s', (statement, construct, portable) => {
    // The line is counted over comments, texts and empty lines.
    const text = `-- GROUP BY ALL in a comment\n/* QUALIFY\n */\n${statement}`;
    let message = '';
    try {
      checkPortable(text);
    } catch (error) {
      message = String((error as Error).message);
    }
    const [named, written] = message.split(' is not in the shared SQL; write: ');
    expect(named).toContain('line 4: ');
    expect(named).toContain(construct);
    expect(written).toContain(portable);
  });

  it('finds the line of a construct inside a statement', () => {
    const text = `SELECT run AS run,\n  'QUALIFY\n' AS text,\n  count(*) FILTER (rank > 0) AS n\nFROM verdict`;
    expect(() => checkPortable(text)).toThrow(/^line 4: FILTER /);
  });

  it('takes words of refused constructs in texts, comments and names of columns', () => {
    const text = `SELECT run AS run, 'GROUP BY ALL; {}' AS exclude, first AS replace -- ASOF
      FROM missing AS natural_one WHERE run <> 'QUALIFY' ${ORDER};`;
    expect(checkPortable(text)).toEqual({ tables: ['missing'], parameters: [], isOrdered: true });
  });

  it('knows the tables that a WITH does not define, where it is defined', () => {
    const text = `WITH verdict AS (SELECT run FROM oom), other AS (SELECT run FROM verdict JOIN run_summary USING (run))
      SELECT run FROM other WHERE run = $name OR run = $name LIMIT $most`;
    expect(checkPortable(text)).toEqual({
      tables: ['oom', 'run_summary'],
      parameters: ['name', 'most'],
      isOrdered: false,
    });
  });
});

it('has the example of docs/lake.md, and the text that engines are compared with', () => {
  const [, example] = /```sql\n(.*?)```/s.exec(readFileSync(join(repoRoot, 'docs', 'lake.md'), 'utf8'))!;
  for (const text of [example!, readFileSync(join(repoRoot, 'test', 'lake', 'shared.sql'), 'utf8')])
    expect(checkPortable(text)).toMatchObject({ isOrdered: true });
});

describe('queries/lake', () => {
  const lake = join(temporaryDirectory(), 'lake');
  mkdirSync(lake);
  openLakeForWriting(lake);

  it('has twelve questions', () => {
    expect(questionNames()).toHaveLength(12);
  });

  it.each(questionNames())('%s is of the shared SQL, ordered, and gives what its header says', async (name) => {
    const question = loadQuestion(name);
    expect(checkPortable(question.statement)).toMatchObject({ isOrdered: true });
    const { statement, tables } = statementOf(question, new Map());
    const store = await openLake(lake, tables);
    try {
      const rows = await store.openStream((connection) => connection.prepare(statement));
      const { result } = rows;
      const columns = result.columnNames().map((column, i) => `${column} ${result.columnType(i)}`);
      await rows.end();
      expect(question.columns.map((column) => `${column.name} ${column.type}`)).toEqual(columns);
    } finally {
      await store.close();
    }
  });

  it('takes values as text of their type alone', () => {
    const peaks = loadQuestion('peaks');
    const { statement } = statementOf(
      peaks,
      new Map([
        ['run', `'; $rank --`],
        ['rank', '-7'],
      ]),
    );
    expect(statement).toContain(`(''';  $rank --' = ''`.replace('  ', ' '));
    expect(statement).toContain('((-7) < 0 OR rank = (-7))');
    expect(() => statementOf(peaks, new Map([['rank', '1 OR true']]))).toThrow(
      'rank=1 OR true: expected a whole number',
    );
    expect(() => statementOf(peaks, new Map([['ranks', '1']]))).toThrow('no parameter "ranks"; it has: run, rank');
  });

  it('takes a file of the user, and names what is wrong with it', () => {
    const text = `-- @param run VARCHAR the run\n-- @default run x\nSELECT rank FROM verdict WHERE run = $run`;
    expect(statementOf(ownQuestion('a.sql', text), new Map())).toMatchObject({ tables: ['verdict'] });
    expect(() => ownQuestion('a.sql', 'SELECT rank FROM verdicts')).toThrow('no table of a lake is named verdicts');
    expect(() => ownQuestion('a.sql', 'SELECT rank FROM verdict WHERE run = $run')).toThrow('$run has no line');
  });
});
