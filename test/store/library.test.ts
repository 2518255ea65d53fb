/** The objects of `queries/library/` in the store: their columns, that any client has them, and who is believed. */
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { libraryObjects } from '../../src/store/install-library.js';
import { loadLibrary } from '../../src/store/load-queries.js';
import { migrate } from '../../src/store/migrate.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { blankText } from '../../src/store/query-file.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const cli = buildCli();
const root = temporaryDirectory();
const objects = libraryObjects();
const nameOf = ({ name }: { readonly name: string }): string => name.replace('library.', '');

/** A call of a macro that finds nothing; the name of a view. */
const spelled = (object: (typeof objects)[number]): string =>
  object.kind === 'view'
    ? nameOf(object)
    : `${nameOf(object)}(${object.params.map(({ type }) => (type === 'VARCHAR' ? "'0'" : '0')).join(', ')})`;

async function withStore<Result>(
  file: string,
  mode: 'READ_ONLY' | 'READ_WRITE',
  work: (run: (sql: string) => Promise<Record<string, unknown>[]>) => Promise<Result>,
): Promise<Result> {
  const instance = await DuckDBInstance.create(file, { access_mode: mode });
  const connection = await instance.connect();
  try {
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** The rows of each statement, in a process that has nothing but DuckDB's own package. */
function readWithStockClient(file: string, statements: readonly string[]): Record<string, unknown>[][] {
  const script = join(repoRoot, 'test', 'store', 'stock-client.mjs');
  const options = { encoding: 'utf8', maxBuffer: 1 << 26 } as const;
  const lines = execFileSync(process.execPath, [script, file, ...statements], options)
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>[]);
}

let store: string;

beforeAll(() => {
  store = join(root, 'store.duckdb');
  cli.expect(0, ['ingest', join(repoRoot, 'samples', 'llama3-70b-fragmentation'), '--db', store, '--quiet']);
});

describe('each object', () => {
  let columnsOf: (table: string) => Promise<string[]>;
  const base = new Map<string, string[]>();

  beforeAll(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await migrate(connection, 0, MIGRATIONS);
    const tables = await connection.runAndReadAll(
      'SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal',
    );
    for (const [table, column] of tables.getRows() as [string, string][])
      base.set(table, [...(base.get(table) ?? []), column]);
    columnsOf = async (table) =>
      withStore(store, 'READ_ONLY', async (run) =>
        (await run(`DESCRIBE FROM ${table}`)).map(
          (row) => `${row['column_name']} ${String(row['column_type']).replace(/^ENUM\(.*\)$/, 'ENUM')}`,
        ),
      );
  });

  it.each(objects.map((object) => [nameOf(object), object] as const))(
    '%s has the columns it declares',
    async (_, object) => {
      expect(await columnsOf(spelled(object))).toEqual(object.columns.map(({ name, type }) => `${name} ${type}`));
    },
  );

  it.each(objects.filter(({ kind }) => kind === 'macro').map((object) => [nameOf(object), object] as const))(
    '%s has no parameter with the name of a column',
    (_, object) => {
      // DuckDB would take the column, silently.
      const columns = new Set([...base.values(), ...objects.map((one) => one.columns.map(({ name }) => name))].flat());
      for (const { name } of object.params) expect(columns).not.toContain(name);
    },
  );

  it.each(objects.map((object) => [nameOf(object), object] as const))(
    '%s reads base relations and the library',
    (_, object) => {
      const ctes = new Set(
        [...blankText(object.statement).matchAll(/\b(\w+)(?:\([\w, ]*\))? AS (?:(?:NOT )?MATERIALIZED )?\(/g)].map(
          (m) => m[1]!,
        ),
      );
      const sources = [...blankText(object.statement).matchAll(/(?<!DISTINCT )\b(?:FROM|JOIN)\s+([a-z_]\w*)/g)].map(
        (match) => match[1]!,
      );
      const { names } = loadLibrary();
      for (const source of sources)
        expect(ctes.has(source) || base.has(source) || names.has(source), source).toBe(true);
    },
  );

  it.each(objects.map((object) => [nameOf(object), object] as const))('%s says what it is and why', (_, object) => {
    expect(object.title).not.toBe('');
    expect(object.why.length).toBeGreaterThan(20);
  });
});

describe('a client that has nothing of ours', () => {
  const statements = [
    'FROM peak_component ORDER BY ALL',
    'FROM peak_site ORDER BY ALL',
    'FROM rank_summary ORDER BY ALL',
    'FROM run_summary ORDER BY ALL',
    'FROM pools_at(1, 0, 23998) ORDER BY ALL',
    'FROM free_at(1, 0, 23998) ORDER BY ALL',
    'FROM components_at(1, 0, 23998) ORDER BY ALL',
    'FROM totals_at(1, 0, 23998)',
    'FROM account_at(1, 0, 23998) ORDER BY ALL',
    'FROM oom',
    'FROM oom_account ORDER BY ALL',
    'FROM oom_free ORDER BY ALL',
    'FROM oom_hole ORDER BY ALL',
    'FROM oom_contributor ORDER BY ALL',
    'FROM verdict ORDER BY ALL',
    'SELECT count(*) AS n, sum(actual_bytes) AS bytes FROM allocation_component',
  ];

  it('gets the rows that the program gets', () => {
    const results = readWithStockClient(store, statements);
    const plain = (value: unknown): unknown =>
      typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
    for (const [i, statement] of statements.entries()) {
      const theirs = results[i]!;
      const ours = cli
        .expect(0, ['sql', statement, '--db', store, '--format', 'jsonl'])
        .stdout.trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(theirs.length, statement).toBeGreaterThan(0);
      const spell = (rows: readonly Record<string, unknown>[]) =>
        rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(value)])));
      expect(spell(ours), statement).toEqual(spell(theirs));
    }
  });

  it('gets the figures that the verbs print', async () => {
    const peak = JSON.parse(cli.expect(0, ['peak', '--db', store, '--json']).stdout) as {
      snapshots: { devices: { active_bytes: number; blocks: number }[] }[];
    };
    const [sums] = await withStore(store, 'READ_ONLY', (run) =>
      run('SELECT sum(bytes) AS bytes, sum(blocks) AS blocks FROM peak_site'),
    );
    const device = peak.snapshots[0]!.devices[0]!;
    expect([Number(sums!['bytes']), Number(sums!['blocks'])]).toEqual([device.active_bytes, device.blocks]);
  });
});

describe('the views of OOMs have the figures that diagnose prints', () => {
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
  // With a snapshot and a message, and with a message alone.
  it.each(['llama3-70b-fragmentation', 'nccl-outside', 'other-process'])('of %s', async (sample) => {
    const db = join(root, `${sample}.duckdb`);
    cli.expect(0, ['ingest', join(repoRoot, 'samples', sample), '--db', db, '--quiet']);
    const { verdicts } = JSON.parse(cli.expect(0, ['diagnose', '--db', db, '--json']).stdout) as {
      verdicts: readonly Printed[];
    };
    const [ooms, parts] = await withStore(db, 'READ_ONLY', async (run) => [
      await run('FROM oom'),
      await run('SELECT part, bytes FROM oom_account WHERE bytes <> 0'),
    ]);
    expect(ooms.length).toBe(verdicts.length);
    for (const { rank, device, request, accounting_total, accounting } of verdicts) {
      const oom = ooms.find((row) => row['rank'] === rank && row['device'] === device)!;
      const figure = (name: string): number => Number(oom[`${name}_bytes`]);
      const part = (name: string): number => accounting.find((one) => one.part === name)?.bytes ?? 0;
      expect([figure('requested'), figure('total')]).toEqual([request!.bytes, accounting_total!.bytes]);
      expect(figure('free')).toBe(part('device_free'));
      if (oom['snapshot_id'] === null) {
        expect([figure('allocated'), figure('reserved')]).toEqual([
          part('allocated'),
          part('allocated') + part('cached'),
        ]);
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

describe('the views of causes, in a client that has nothing of ours', () => {
  const COLUMNS = ['rank', 'device', 'cause', 'detail', 'confidence', 'basis', 'reason'] as const;

  // A replay may change the confidence, and only `diagnose` replays: its answers are in TEMP tables of its own
  // connection. The confidence of these runs is not changed by theirs.
  it.each(['llama3-70b-fragmentation', 'capacity', 'leak'])(
    'have the verdicts that diagnose prints, of %s',
    (sample) => {
      const file = join(root, `verdict-${sample}.duckdb`);
      cli.expect(0, ['ingest', join(repoRoot, 'samples', sample), '--db', file, '--quiet']);
      const statements = [
        `SELECT ${COLUMNS.join(', ')} FROM verdict ORDER BY failure`,
        'SELECT run_id, failure, cause, place, outcome, reason, detail, confidence, capture, doubts, numbers FROM cause_test ORDER BY ALL',
        'FROM oom_test ORDER BY ALL',
        'FROM cause_rule',
      ];
      const afterIngest = readWithStockClient(file, statements);
      const { verdicts } = JSON.parse(cli.expect(0, ['diagnose', '--db', file, '--json']).stdout) as {
        verdicts: readonly Record<(typeof COLUMNS)[number], unknown>[];
      };
      const printed = verdicts.map((verdict) => Object.fromEntries(COLUMNS.map((name) => [name, verdict[name]])));
      const [rows, computed, stored, rules] = afterIngest;
      expect(rows!.length).toBeGreaterThan(0);
      expect(rows).toEqual(printed);
      // The answers are stored; the views that they are from give the same.
      expect(stored!.length).toBe(rules!.length * rows!.length);
      expect(computed).toEqual(stored);
      expect(readWithStockClient(file, statements)).toEqual(afterIngest);
    },
  );
});

describe('an object of a stranger', () => {
  it('is not what a statement gets, and opening for writing replaces it', async () => {
    const forged = join(root, 'forged.duckdb');
    copyFileSync(store, forged);
    await withStore(forged, 'READ_WRITE', async (run) => {
      await run('CREATE OR REPLACE VIEW run_summary AS SELECT 42 AS forged');
      await run("UPDATE mbforensics_library SET hash = 'other'");
    });
    const { stdout } = cli.expect(0, ['sql', 'FROM run_summary', '--db', forged, '--format', 'jsonl']);
    expect(stdout).toContain('"run":"llama3-70b-fragmentation"');
    cli.expect(0, ['ingest', join(repoRoot, 'samples', 'capacity'), '--db', forged, '--quiet']);
    const rows = await withStore(forged, 'READ_ONLY', (run) => run('SELECT run FROM run_summary ORDER BY run'));
    expect(rows.map((row) => row['run'])).toEqual(['capacity', 'llama3-70b-fragmentation']);
  });
});
