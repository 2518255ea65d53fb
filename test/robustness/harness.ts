/**
 * What every test here needs: a store in a temporary directory, one file at a time into it, and the means to see that
 * nothing moved.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { remedyOf } from '../../src/knowledge/errors.js';
import { type ErrorCode, kindOfError } from '../../src/model/errors.js';
import type { IngestSource } from '../../src/model/results/common.js';
import type { Store } from '../../src/store/store.js';
import { type Answer, buildCli } from '../support/cli.js';
import { SNAPSHOTS, snapshotPickles } from '../support/corpus.js';
import { withLibrary } from '../support/library-sql.js';
import { newStore } from '../support/new-store.js';

/** A failing case must fail again tomorrow. */
export { createRandom as seeded } from '../../samples/generate/simulate/random.js';
export { temporaryDirectory } from '../support/temporary-directory.js';

/** Tables about sources, not data: a failed file leaves its row in `source` and its notes. */
const BOOKKEEPING = new Set(['run', 'attempt', 'source', 'ingest_note', 'mbforensics_schema']);

/** Pickles of the corpus of real files, if there is one, from small to large. */
export function corpusPickles(): { readonly name: string; readonly bytes: Buffer }[] {
  return snapshotPickles()
    .map((name) => ({ name, bytes: readFileSync(join(SNAPSHOTS, name)) }))
    .filter(({ bytes }) => bytes[0] === 0x80)
    .sort((a, b) => a.bytes.length - b.bytes.length);
}

export type Counts = Readonly<Record<string, number>>;

const countStatements = new WeakMap<Store, string>();

export async function dataCounts(store: Store): Promise<Counts> {
  let sql = countStatements.get(store);
  if (sql === undefined) {
    sql = await countStatement(store);
    countStatements.set(store, sql);
  }
  return Object.fromEntries((await store.select(sql)).map((row) => [String(row['name']), Number(row['n'])]));
}

async function countStatement(store: Store): Promise<string> {
  const tables = (await store.select('SELECT table_name AS name FROM duckdb_tables() WHERE NOT internal ORDER BY 1'))
    .map((row) => String(row['name']))
    .filter((name) => !BOOKKEEPING.has(name));
  return tables.map((name) => `SELECT '${name}' AS name, count(*) AS n FROM ${name}`).join(' UNION ALL ');
}

/** Tables of texts, which the files of a store have in common. */
const SHARED: ReadonlySet<string> = new Set(['text_value', 'frame', 'stack', 'stack_frame', 'mbforensics_library']);

export interface Outcome {
  readonly source: IngestSource;
  readonly before: Counts;
  readonly after: Counts;
}

export interface Bench {
  readonly store: Store;
  readonly directory: string;
  /** Ingests these bytes as a run of their own, and checks what must hold whatever they are. */
  take(name: string, bytes: Buffer): Promise<Outcome>;
  takePath(path: string): Promise<Outcome>;
  /** Many files as one run, and the same checks of all of them together. */
  takeAll(files: readonly Buffer[], name: string): Promise<IngestSource[]>;
  close(): Promise<void>;
}

let benches = 0;

export async function openBench(): Promise<Bench> {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-bench-'));
  // The CLI's own limits: a test that gives DuckDB more memory would not see what a user sees.
  const store = await newStore(join(directory, 'store.duckdb'), { memoryLimitBytes: 96 * 1024 * 1024 });
  let counts = await dataCounts(store);
  const takePath = async (path: string): Promise<Outcome> => {
    const before = counts;
    const result = await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], now: new Date(0) });
    const [source] = result.sources;
    if (source === undefined) throw new Error(`no source for ${path}`);
    counts = await dataCounts(store);
    if (source.status !== 'ingested') {
      expect(counts, `${source.path} failed, yet data tables moved`).toEqual(before);
      expectClearError(source);
    }
    return { source, before, after: counts };
  };
  const takeAll = async (files: readonly Buffer[], name: string): Promise<IngestSource[]> => {
    const folder = join(directory, String(benches++));
    mkdirSync(folder);
    files.forEach((bytes, i) => {
      writeFileSync(join(folder, `${String(i).padStart(5, '0')}-${name}`), bytes);
    });
    const before = counts;
    const result = await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [folder], now: new Date(0) });
    counts = await dataCounts(store);
    const unread = result.sources.filter(({ status }) => status !== 'ingested');
    for (const source of unread) {
      // A foreign file in a folder is skipped.
      if (source.status === 'failed') expectClearError(source);
      rmSync(join(folder, source.path), { force: true });
    }
    // Without the files that failed, a store has the same rows.
    if (unread.length > 0 && unread.length < result.sources.length) {
      const good = await newStore(join(directory, `good-${benches++}.duckdb`));
      await ingest({ rowsOnly: true, store: good, parsers: PARSERS, paths: [folder], now: new Date(0) });
      const added = Object.entries(counts).map(([table, n]) => [table, n - (before[table] ?? 0)] as const);
      const expected = await dataCounts(good);
      for (const [table, n] of added)
        if (!SHARED.has(table)) expect([table, n], 'rows of files that failed').toEqual([table, expected[table]]);
      await good.close();
    }
    rmSync(folder, { recursive: true, force: true });
    return [...result.sources];
  };
  return {
    store,
    directory,
    takePath,
    takeAll,
    async take(name, bytes) {
      const folder = join(directory, String(benches++));
      mkdirSync(folder);
      const path = join(folder, name);
      writeFileSync(path, bytes);
      try {
        return await takePath(path);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    async close() {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** One line of bounded length, with a known code that blames the input. */
export function expectClearError(source: IngestSource): void {
  const error = source.error;
  expect(error, `${source.path} has no error`).not.toBeNull();
  if (error === null) return;
  const code = error.code as ErrorCode;
  expect(remedyOf(code), error.code).toBeDefined();
  expect(kindOfError(code), `${error.code} ${error.text}`).toBe('input');
  expect(error.text.length, error.text.slice(0, 300)).toBeLessThan(400);
  expect(error.text).not.toMatch(/\n|undefined|NaN|\[object/);
  expect(error.text).toContain(source.path);
  expect(error.remedy).not.toBe('');
}

/**
 * References that lead nowhere, and rows of sources that are not whole: all must be 0 in any store, whatever went into
 * it.
 */
export async function expectSound(store: Store): Promise<void> {
  const tables = await store.select(
    `SELECT DISTINCT table_name AS name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)
     WHERE column_name = 'snapshot_id' AND NOT duckdb_tables.internal AND table_name <> 'snapshot'`,
  );
  const bySnapshot = tables.map((row) => String(row['name']));
  expect(bySnapshot).toContain('block_life');
  const count = (what: string, n: string, from: string): string => `SELECT '${what}' AS what, ${n} AS n FROM ${from}`;
  const reference = (table: string, column: string, target: string, key = column): string =>
    count(
      `${table}.${column}`,
      `count(${column})`,
      `${table} WHERE ${column} NOT IN (SELECT ${key} FROM ${target} WHERE ${key} IS NOT NULL)`,
    );
  const ofIngested = (table: string): string =>
    count(
      `${table} of no ingested source`,
      'count(*)',
      `${table} WHERE source_id NOT IN (SELECT source_id FROM source WHERE status = 'ingested')`,
    );
  const repeated = (what: string, table: string, key: string): string =>
    count(`${table}: ${what}`, `count(*) - count(DISTINCT ${key})`, table);
  const checks = [
    ...bySnapshot.map((table) => reference(table, 'snapshot_id', 'snapshot')),
    ...['snapshot', 'incident'].map(ofIngested),
    reference('ingest_note', 'source_id', 'source'),
    reference('incident_value', 'incident_id', 'incident'),
    ...['trace_entry', 'segment', 'block', 'block_life', 'stack_frame'].map((table) =>
      reference(table, 'stack_id', 'stack'),
    ),
    reference('block_life', 'free_stack_id', 'stack'),
    reference('stack_frame', 'frame_id', 'frame'),
    ...['trace_entry', 'block_life'].flatMap((table) =>
      ['compile_context_id', 'user_metadata_id'].map((column) => reference(table, column, 'text_value', 'text_id')),
    ),
    reference('annotation', 'name_id', 'text_value', 'text_id'),
    ...['text_value', 'frame', 'stack', 'snapshot', 'source', 'run'].map((table) =>
      repeated('ids given twice', table, `${table.replace('_value', '')}_id`),
    ),
    repeated('equal stacks with two ids', 'stack', 'content_key'),
    repeated('equal texts with two ids', 'text_value', 'text'),
    `SELECT 'stacks of another depth' AS what, count(*) AS n FROM stack LEFT JOIN (SELECT stack_id, count(*) AS frames
     FROM stack_frame GROUP BY stack_id) AS counted USING (stack_id) WHERE depth <> coalesce(frames, 0)`,
    `SELECT 'events beside the counted' AS what, count(*) AS n FROM (SELECT snapshot_id, device, count(*) AS n,
     max(seq) + 1 AS last FROM event GROUP BY ALL) AS counted FULL JOIN (SELECT snapshot_id, device, events
     FROM snapshot_device WHERE events > 0) AS stated USING (snapshot_id, device)
     WHERE n IS DISTINCT FROM events OR last <> n`,
  ];
  // One after the other: all at once need more than the little memory these stores have.
  const bad: unknown[] = [];
  for (const check of checks)
    bad.push(...(await store.select(withLibrary(check))).filter((row) => Number(row['n']) !== 0));
  expect(bad).toEqual([]);
}

/** Asks the command line that stays, with a home and a cache below `root`. */
export function cliBelow(root: string): (cwd: string, ...args: string[]) => Answer {
  const env = { XDG_CACHE_HOME: join(root, 'cache'), HOME: root, CI: '1' };
  return (cwd, ...args) => buildCli().run(args, { cwd, env });
}

/** `mbforensics: error CODE: FACT` and its remedy, two lines and nothing else. */
export function expectCliError(answer: Answer, status: number, mbf: string, fact: string | RegExp): void {
  expect(answer.status, answer.stderr).toBe(status);
  const lines = answer.stderr.split('\n');
  expect(lines[0]).toMatch(new RegExp(`^mbforensics: error ${mbf}: `));
  expect(lines[0]).toMatch(fact);
  expect(lines[1]).toMatch(/^ {2}\S/);
  expect(lines.slice(2)).toEqual(['']);
  expect(answer.stdout).toBe('');
}

/** A copy with `count` bytes changed from `from` up to `to`. */
export function changedBytes(bytes: Buffer, random: () => number, count: number, from = 0, to = bytes.length): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < count; i++) copy[from + Math.floor(random() * (to - from))] = Math.floor(random() * 256);
  return copy;
}
