/**
 * What every test here needs: a store in a temporary directory, one file at a time into it, and the means to see that
 * nothing moved.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { ERROR_REMEDIES, type ErrorCode, kindOfError } from '../../src/model/errors.js';
import type { ParserSpec } from '../../src/model/parser.js';
import type { IngestSource } from '../../src/model/results/common.js';
import type { Store } from '../../src/store/store.js';
import { SNAPSHOTS, snapshotPickles } from '../support/corpus.js';
import { newStore } from '../support/new-store.js';

/** A failing case must fail again tomorrow. */
export { createRandom as seeded } from '../../samples/generate/simulate/random.js';
export { temporaryDirectory } from '../support/temporary-directory.js';

/** A process that has not ended by then hangs, and is killed. */
const HANG_MS = 300_000;

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
  /** Many files as one run, in order: half the time a file, and the same checks after every single one. */
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
    const result = await ingest({ store, parsers: PARSERS, paths: [path], now: new Date(0) });
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
    // The state before a file is the state after the one before it: read where its parser begins, when nothing was
    // written yet.
    const marks: { file: string; counts: Counts }[] = [];
    const parsers = PARSERS.map(
      (parser): ParserSpec => ({
        ...parser,
        async parse(source, sink, context) {
          marks.push({ file: context.name, counts: await dataCounts(store) });
          return parser.parse(source, sink, context);
        },
      }),
    );
    const result = await ingest({ store, parsers, paths: [folder], now: new Date(0) });
    rmSync(folder, { recursive: true, force: true });
    counts = await dataCounts(store);
    for (const source of result.sources) {
      if (source.status === 'ingested') continue;
      expectClearError(source);
      const at = marks.findIndex(({ file }) => file === source.path);
      if (at < 0) continue;
      const after = marks[at + 1]?.counts ?? counts;
      expect(after, `${source.path} failed, yet data tables moved`).toEqual(marks[at]!.counts);
    }
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
  expect(ERROR_REMEDIES[code], error.code).toBeDefined();
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
  const bySnapshot = (
    await store.select(
      "SELECT DISTINCT table_name AS name FROM duckdb_columns() WHERE column_name = 'snapshot_id' AND NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables()) AND table_name <> 'snapshot'",
    )
  ).map((row) => String(row['name']));
  expect(bySnapshot).toContain('event');
  const orphan = (what: string, from: string, where: string): string =>
    `SELECT '${what}' AS what, count(*) AS n FROM ${from} WHERE ${where}`;
  const reference = (table: string, column: string, target: string, key: string): string =>
    orphan(
      `${table}.${column}`,
      table,
      `${column} IS NOT NULL AND ${column} NOT IN (SELECT ${key} FROM ${target} WHERE ${key} IS NOT NULL)`,
    );
  const checks = [
    ...bySnapshot.map((table) => reference(table, 'snapshot_id', 'snapshot', 'snapshot_id')),
    orphan(
      'snapshot of no ingested source',
      'snapshot',
      "source_id NOT IN (SELECT source_id FROM source WHERE status = 'ingested')",
    ),
    orphan(
      'incident of no ingested source',
      'incident',
      "source_id NOT IN (SELECT source_id FROM source WHERE status = 'ingested')",
    ),
    reference('ingest_note', 'source_id', 'source', 'source_id'),
    reference('incident_value', 'incident_id', 'incident', 'incident_id'),
    ...['event', 'segment', 'block', 'stack_frame'].map((table) => reference(table, 'stack_id', 'stack', 'stack_id')),
    reference('stack_frame', 'frame_id', 'frame', 'frame_id'),
    ...['compile_context_id', 'user_metadata_id'].map((column) => reference('event', column, 'text_value', 'text_id')),
    reference('annotation', 'name_id', 'text_value', 'text_id'),
    ...[
      ['text_value', 'text_id'],
      ['frame', 'frame_id'],
      ['stack', 'stack_id'],
      ['snapshot', 'snapshot_id'],
      ['source', 'source_id'],
      ['run', 'run_id'],
    ].map(
      ([table, key]) =>
        `SELECT '${table} ids given twice' AS what, count(*) - count(DISTINCT ${key}) AS n FROM ${table}`,
    ),
    `SELECT 'equal stacks with two ids' AS what, count(*) - count(DISTINCT content_key) AS n FROM stack`,
    `SELECT 'equal texts with two ids' AS what, count(*) - count(DISTINCT text) AS n FROM text_value`,
    `SELECT 'stacks of another depth' AS what, count(*) AS n FROM stack LEFT JOIN (SELECT stack_id, count(*) AS frames FROM stack_frame GROUP BY stack_id) AS counted USING (stack_id) WHERE depth <> coalesce(frames, 0)`,
    `SELECT 'events beside the counted' AS what, count(*) AS n FROM (SELECT snapshot_id, device, count(*) AS n, max(seq) + 1 AS last FROM event GROUP BY ALL) AS counted FULL JOIN (SELECT snapshot_id, device, events FROM snapshot_device WHERE events > 0) AS stated USING (snapshot_id, device) WHERE n IS DISTINCT FROM events OR last <> n`,
  ];
  // One after the other: all at once need more than the little memory these stores have.
  const bad: unknown[] = [];
  for (const check of checks) bad.push(...(await store.select(check)).filter((row) => Number(row['n']) !== 0));
  expect(bad).toEqual([]);
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real process, with a cache directory of its own. Killed if it hangs. */
export function runCli(build: string, args: readonly string[], cwd: string): Promise<CliResult> {
  const child = spawn(process.execPath, [join(build, 'src', 'cli', 'main.js'), ...args], {
    cwd,
    env: { ...process.env, XDG_CACHE_HOME: join(cwd, 'cache'), HOME: cwd, MBF_DB: '', CI: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part;
  });
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
}

/** `mbforensics: error CODE: FACT` and its remedy, two lines and nothing else. */
export function expectCliError(result: CliResult, code: number, mbf: string, fact: string | RegExp): void {
  expect(result.code, result.stderr).toBe(code);
  const lines = result.stderr.split('\n');
  expect(lines[0]).toMatch(new RegExp(`^mbforensics: error ${mbf}: `));
  expect(lines[0]).toMatch(fact);
  expect(lines[1]).toMatch(/^ {2}\S/);
  expect(lines.slice(2)).toEqual(['']);
  expect(result.stdout).toBe('');
}

export function isSparse(path: string): boolean {
  const stats = statSync(path);
  return stats.blocks * 512 < stats.size / 2;
}
