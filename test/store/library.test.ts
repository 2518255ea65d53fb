/** The objects of `queries/library/` in the store: their columns, that any client has them, and who is believed. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { libraryObjects } from '../../src/store/install-library.js';
import { loadLibrary } from '../../src/store/load-queries.js';
import { blankText } from '../../src/store/query-file.js';
import { makeTables } from '../../src/store/schema.js';
import { buildCli } from '../support/cli.js';
import { copyStore, samplePath, sampleStore } from '../support/stores.js';
import { onDuckDB, type Row, readDuckDB, readWithStockClient } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

const cli = buildCli();
const FRAGMENTATION = 'llama3-70b-fragmentation';
const objects = libraryObjects();
const nameOf = ({ name }: { readonly name: string }): string => name.replace('library.', '');
const sqlOf = (statement: string, db: string): Row[] =>
  cli
    .expect(0, ['sql', statement, '--db', db, '--format', 'jsonl'])
    .stdout.trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);

/** A call of a macro that finds nothing; the name of a view or table. */
const spelled = (object: (typeof objects)[number]): string =>
  object.kind !== 'macro'
    ? nameOf(object)
    : `${nameOf(object)}(${object.params.map(({ type }) => ({ VARCHAR: "'0'", 'STRUCT[]': '[]' })[type] ?? '0').join(', ')})`;

describe('each object', () => {
  const base = new Map<string, string[]>();
  let described: Row[][];

  beforeAll(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await makeTables(connection);
    const tables = await connection.runAndReadAll(
      'SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal',
    );
    for (const [table, column] of tables.getRows() as [string, string][])
      base.set(table, [...(base.get(table) ?? []), column]);
    connection.closeSync();
    const statements = objects.map((object) => `DESCRIBE FROM ${spelled(object)}`);
    described = await readDuckDB(sampleStore(FRAGMENTATION), ...statements);
  });

  it.each(objects.map((object, i) => [nameOf(object), object, i] as const))(
    '%s has the columns it declares, reads base relations and the library, and states its reason',
    (_, object, i) => {
      const typeOf = (row: Row): string => String(row['column_type']).replace(/^ENUM\(.*\)$/, 'ENUM');
      expect(described[i]!.map((row) => `${row['column_name']} ${typeOf(row)}`)).toEqual(
        object.columns.map(({ name, type }) => `${name} ${type}`),
      );
      const text = blankText(object.statement);
      const ctes = new Set(
        [...text.matchAll(/\b(\w+)(?:\([\w, ]*\))? AS (?:(?:NOT )?MATERIALIZED )?\(/g)].map((m) => m[1]!),
      );
      const { names } = loadLibrary();
      for (const [, source = ''] of text.matchAll(/(?<!DISTINCT )\b(?:FROM|JOIN)\s+([a-z_]\w*)/g))
        expect(ctes.has(source) || base.has(source) || names.has(source), source).toBe(true);
      expect(object.title).not.toBe('');
      expect(object.why.length).toBeGreaterThan(20);
      if (object.kind !== 'macro') return;
      // DuckDB would take the column, silently.
      const columns = new Set([...base.values(), ...objects.map((one) => one.columns.map(({ name }) => name))].flat());
      for (const { name } of object.params) expect(columns, 'a parameter named as a column').not.toContain(name);
    },
  );
});

describe('a client that has nothing of ours', () => {
  const ordered = [
    ...['peak_component', 'peak_site', 'rank_summary', 'run_summary', 'pools_at(1, 0, 23998)', 'free_at(1, 0, 23998)'],
    ...['components_at(1, 0, 23998)', 'totals_at(1, 0, 23998)', 'account_at(1, 0, 23998)', 'oom', 'oom_account'],
    ...['oom_free', 'oom_hole', 'oom_part', 'verdict'],
  ];
  const statements = [
    ...ordered.map((source) => `FROM ${source} ORDER BY ALL`),
    'SELECT count(*) AS n, sum(actual_bytes) AS bytes FROM allocation_component',
  ];

  it('gets the rows that the program gets', () => {
    const store = sampleStore(FRAGMENTATION);
    const results = readWithStockClient(store, statements);
    const plain = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value);
    const spell = (rows: readonly Row[]) =>
      rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(value)])));
    for (const [i, statement] of statements.entries()) {
      expect(results[i]!.length, statement).toBeGreaterThan(0);
      expect(spell(sqlOf(statement, store)), statement).toEqual(spell(results[i]!));
    }
  });

  it('gets the figures that the verbs print', async () => {
    const db = sampleStore(FRAGMENTATION);
    const peak = cli.expect(0, ['peak', '--db', db, '--json=full']).json<{
      snapshots: { devices: { active_bytes: number; blocks: number }[] }[];
    }>();
    const [sums] = await readDuckDB(db, 'SELECT sum(bytes) AS bytes, sum(blocks) AS blocks FROM peak_site');
    const device = peak.snapshots[0]!.devices[0]!;
    expect([sums![0]!['bytes'], sums![0]!['blocks']].map(Number)).toEqual([device.active_bytes, device.blocks]);
  });
});

interface Part {
  readonly part: string;
  readonly bytes: number;
  readonly of?: readonly Part[];
}
interface Printed {
  readonly rank: number | null;
  readonly device: number | null;
  readonly request: { readonly bytes: number } | null;
  readonly accounting_total: { readonly bytes: number } | null;
  readonly accounting: readonly Part[];
}

describe('the views of OOMs have the figures that diagnose prints', () => {
  // With a snapshot and a message, and with a message alone.
  it.each([FRAGMENTATION, 'nccl-outside', 'other-process'])('of %s', async (sample) => {
    const db = sampleStore(sample);
    const { verdicts } = cli
      .expect(0, ['diagnose', '--db', db, '--json=full'])
      .json<{ verdicts: readonly Printed[] }>();
    const [ooms = [], parts = []] = await readDuckDB(
      db,
      'FROM oom',
      'SELECT part, bytes FROM oom_account WHERE bytes <> 0',
    );
    expect(ooms.length).toBe(verdicts.length);
    for (const { rank, device, request, accounting_total, accounting } of verdicts) {
      const oom = ooms.find((row) => row['rank'] === rank && row['device'] === device)!;
      const figure = (name: string): number => Number(oom[`${name}_bytes`]);
      const part = (name: string): number => accounting.find((one) => one.part === name)?.bytes ?? 0;
      expect([figure('requested'), figure('total')]).toEqual([request!.bytes, accounting_total!.bytes]);
      expect(figure('free')).toBe(part('device_free'));
      if (oom['snapshot_id'] === null) {
        const allocated = part('allocated');
        expect([figure('allocated'), figure('reserved')]).toEqual([allocated, allocated + part('cached')]);
        expect(figure('outside')).toBe(part('outside_pytorch'));
        continue;
      }
      expect(figure('process') - figure('reserved')).toBe(part('outside_pytorch_this_process'));
      expect(figure('total') - figure('process') - figure('free')).toBe(part('rounding_of_message'));
      const leaves = accounting.flatMap((one) => one.of ?? [one]).map((one) => [one.part, one.bytes]);
      const inside: Record<string, number> = Object.fromEntries(
        parts.map((row) => [row['part'], Number(row['bytes'])]),
      );
      expect(Object.fromEntries(leaves)).toMatchObject(inside);
      expect(Object.values(inside).reduce((sum, bytes) => sum + bytes, 0)).toBe(figure('reserved'));
    }
  });
});

describe('what is concluded, in a client that has nothing of ours', () => {
  const COLUMNS = ['rank', 'device', 'cause', 'detail', 'confidence', 'basis', 'reason'] as const;
  const ruled = objects.filter(({ kind }) => kind === 'table').map(nameOf);
  const statements = [
    `SELECT ${COLUMNS.join(', ')} FROM verdict ORDER BY number`,
    'SELECT verdict, number, code FROM evidence ORDER BY verdict, number',
    ...ruled.flatMap((table) => [`FROM ${table} ORDER BY ALL`, `FROM rule_${table} ORDER BY ALL`]),
  ];

  // A run that ran out, one with an exact replay, and one in which nothing did.
  it.each([FRAGMENTATION, 'capacity', 'leak', 'profiler-timeline'])('is what diagnose prints, of %s', (sample) => {
    const file = sampleStore(sample);
    const [rows, evidence, ...tables] = readWithStockClient(file, statements);
    const { verdicts } = cli.expect(0, ['diagnose', '--db', file, '--json=full']).json<{
      verdicts: readonly (Row & { readonly evidence: readonly { readonly id: string; readonly kind: string }[] })[];
    }>();
    expect(rows).toEqual(verdicts.map((verdict) => Object.fromEntries(COLUMNS.map((name) => [name, verdict[name]]))));
    expect(evidence).toEqual(
      verdicts.flatMap((verdict, i) =>
        verdict.evidence.map(({ id, kind }) => ({ verdict: i + 1, number: Number(id.slice(1)), code: kind })),
      ),
    );
    // A table has the rows of its rule.
    for (const [i, table] of ruled.entries()) expect(tables[2 * i], table).toEqual(tables[2 * i + 1]);
  });
});

describe('what a stranger has put into a store', () => {
  const forge = async (name: string, ...statements: string[]): Promise<string> => {
    const file = copyStore(join(scratchDirectory(), `${name}.duckdb`), samplePath(FRAGMENTATION));
    await onDuckDB(file, ...statements);
    return file;
  };
  const OTHER_BUILD = "UPDATE mbforensics_library SET hash = 'other'";

  it('as a view is not what a statement gets', async () => {
    const file = await forge('view', "CREATE OR REPLACE VIEW attempt AS SELECT 'forged' AS origin");
    expect(sqlOf('SELECT origin FROM attempt', file)).toEqual([{ origin: 'launch: torchrun' }]);
  });

  it('as a derived table of another shape is refused', async () => {
    const file = await forge('table', 'DROP TABLE run_summary', 'CREATE VIEW run_summary AS SELECT 42 AS forged');
    expect(cli.expect(5, ['sql', 'FROM run_summary', '--db', file]).stderr).toContain('table run_summary');
  });

  it('as a list of objects drops no table of the schema, and runs nothing', async () => {
    const listed = [
      ['table', 'source'],
      ['TABLE run; DROP TABLE run; --', 'x'],
      ['view', 'run_summary"; DROP TABLE run; --'],
    ];
    const file = await forge(
      'list',
      ...listed.map(([kind, name]) => `INSERT INTO mbforensics_library VALUES ('other', '${kind}', '${name}', '')`),
      OTHER_BUILD,
    );
    expect(sqlOf('SELECT name, count(*) AS files FROM run JOIN source USING (run_id) GROUP BY name', file)).toEqual([
      { name: FRAGMENTATION, files: 7 },
    ]);
  });

  it('as rows of another build is derived again, in the file', async () => {
    const file = await forge(
      'rows',
      "UPDATE run_summary SET run = 'forged'",
      "UPDATE verdict SET cause = 'leak'",
      OTHER_BUILD,
    );
    expect(sqlOf('SELECT run.run, cause FROM run_summary AS run JOIN verdict USING (run_id)', file)).toEqual([
      { run: FRAGMENTATION, cause: 'fragmentation' },
    ]);
    const [rows] = await readDuckDB(file, 'SELECT run FROM run_summary');
    expect(rows).toEqual([{ run: FRAGMENTATION }]);
  });
});
