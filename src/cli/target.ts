/**
 * What a verb is asked about: a path, a handle, a run of the store, or the latest run.
 *
 * A path works without an ingest: its store is made in the cache directory, named after what the files are (real path, size, time of change), so
 * that the next verb on the same files finds it, and changed files make a new one.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { PARSERS } from '../../parsers/index.js';
import { discover } from '../ingest/discover.js';
import { asFailure, ingest, PARSER_VERSION } from '../ingest/ingest.js';
import { MbfError } from '../model/errors.js';
import type { Failure, IngestResult } from '../model/results.js';
import { SCHEMA_VERSION } from '../store/migrations.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import { progressLine } from './progress.js';

export const DEFAULT_DB = 'mbforensics.duckdb';
const INGEST_MEMORY_BYTES = 128 * 1024 * 1024;
/** Cached stores beyond this many are removed, the oldest first. */
const MAX_CACHED = 32;

export interface Target {
  readonly store: Store;
  /** The run a verb is about. */
  readonly runId: number;
  readonly run: string;
  /** Set if the operand named one snapshot. */
  readonly handle: string | undefined;
  readonly failed: readonly { readonly path: string; readonly error: Failure }[];
  close(): Promise<void>;
}

export interface DbOptions {
  readonly db?: string | undefined;
}

export function dbPath(options: DbOptions, context: Context): string {
  return options.db ?? context.envDb ?? DEFAULT_DB;
}

/** The store itself, for verbs that list or query all of it. A path operand means the store of that path. */
export async function openTargetStore(
  operand: string | undefined,
  options: DbOptions,
  context: Context,
): Promise<{ store: Store; failed: Target['failed']; close(): Promise<void> }> {
  if (operand !== undefined) return pathStore(stripPrefix(operand, 'path:'), context);
  const store = await openStore(dbPath(options, context), { mode: 'read' });
  return { store, failed: [], close: () => store.close() };
}

/** Resolves as path, then handle, then run name, then commit; `run:`, `snapshot:`, `commit:` and `path:` force one of them. */
export async function openTarget(operand: string | undefined, options: DbOptions, context: Context): Promise<Target> {
  const forced = /^(run|snapshot|commit|path):(.*)$/s.exec(operand ?? '');
  const [kind, name] = forced === null ? [undefined, operand] : [forced[1], forced[2]!];
  if (name !== undefined && (kind === 'path' || (kind === undefined && existsSync(name)))) {
    const opened = await pathStore(name, context);
    return { ...opened, ...(await latestRun(opened.store)), handle: undefined };
  }
  const store = await openStore(dbPath(options, context), { mode: 'read' });
  try {
    const close = (): Promise<void> => store.close();
    const runs = await store.all('store.runs', { run_id: null });
    if (name === undefined) {
      const run = await latestRun(store);
      return { store, ...run, handle: undefined, failed: await failedOf(store, run.runId), close };
    }
    if (kind === undefined || kind === 'snapshot') {
      const [snapshot] = await store.all('snapshot.list', { run_id: null, handle: name });
      const run = runs.find((row) => row.name === snapshot?.run);
      if (snapshot !== undefined && run !== undefined)
        return { store, runId: run.run_id, run: run.name, handle: name, failed: [], close };
    }
    const run =
      (kind === undefined || kind === 'run' ? runs.find((row) => row.name === name) : undefined) ??
      (kind === undefined || kind === 'commit'
        ? runs.find((row) => name.length >= 7 && row.commit_sha?.startsWith(name) === true)
        : undefined);
    if (run === undefined) {
      const what = kind === undefined ? 'neither a path, nor a snapshot, run or commit' : `no ${kind}`;
      throw new MbfError('MBF1002', `${JSON.stringify(name)} is ${what} of ${store.file}`);
    }
    return {
      store,
      runId: run.run_id,
      run: run.name,
      handle: undefined,
      failed: await failedOf(store, run.run_id),
      close,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function latestRun(store: Store): Promise<{ runId: number; run: string }> {
  const [run] = await store.all('store.runs', { run_id: null });
  if (run === undefined) throw new MbfError('MBF1004', 'the store holds no run', { file: store.file });
  return { runId: run.run_id, run: run.name };
}

async function failedOf(store: Store, runId: number): Promise<Target['failed']> {
  return (await store.all('store.sources', { run_id: runId }))
    .filter((source) => source.status === 'failed')
    .map((source) => ({ path: source.display_path, error: storedFailure(source.error_code, source.error_text) }));
}

/** The failure a source row tells. */
export function storedFailure(code: string | null, text: string | null): Failure {
  const known = code ?? 'MBF9001';
  return { code: known, text: text ?? '', remedy: new MbfError(known as MbfError['code'], '').remedy, offset: null };
}

function stripPrefix(operand: string, prefix: string): string {
  return operand.startsWith(prefix) ? operand.slice(prefix.length) : operand;
}

/** Opens the cached store of a path, making it first if the files are new or changed. */
async function pathStore(
  path: string,
  context: Context,
): Promise<{ store: Store; failed: Target['failed']; close(): Promise<void> }> {
  const { directory, temporary } = await cacheDirectory(context);
  const file = join(directory, `${await contentKey(path)}.duckdb`);
  let result: IngestResult | undefined;
  if (!existsSync(file)) {
    // Made beside its place and renamed, so that a killed verb leaves no half store behind a valid name.
    const work = `${file}.${process.pid}.tmp`;
    try {
      result = await ingestPath(path, work, context);
      await rename(work, file);
    } finally {
      for (const leftover of [work, `${work}.wal`]) await rm(leftover, { force: true });
    }
    if (!temporary) await prune(directory);
  }
  const store = await openStore(file, { mode: 'read' });
  const close = async (): Promise<void> => {
    await store.close();
    if (temporary) await rm(directory, { recursive: true, force: true });
  };
  try {
    const [run] = await store.all('store.runs', { run_id: null });
    const failed = run === undefined ? [] : await failedOf(store, run.run_id);
    const usable = run !== undefined && (run.snapshots > 0 || run.sources > run.failed);
    if (!usable) {
      const first = failed[0];
      if (first !== undefined) throw new MbfError(first.error.code as MbfError['code'], first.error.text);
      const skipped = result?.sources.find((source) => source.error !== null)?.error;
      throw new MbfError(
        'MBF2008',
        skipped === undefined || skipped === null ? 'nothing usable was found' : skipped.text,
        { file: path },
      );
    }
    return { store, failed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function ingestPath(path: string, work: string, context: Context): Promise<IngestResult> {
  const store = await openStore(work, { mode: 'write', memoryLimitBytes: INGEST_MEMORY_BYTES });
  const progress = progressLine(context);
  try {
    return await ingest({ store, parsers: PARSERS, paths: [path], now: new Date(), progress: progress.update });
  } finally {
    progress.clear();
    await store.close();
  }
}

async function cacheDirectory(context: Context): Promise<{ directory: string; temporary: boolean }> {
  const directory = join(context.cacheDir, 'paths');
  try {
    await mkdir(directory, { recursive: true });
    return { directory, temporary: false };
  } catch {
    // A home that cannot be written (login nodes over quota) must not keep anybody from an answer.
    return { directory: await mkdtemp(join(tmpdir(), 'mbforensics-')), temporary: true };
  }
}

async function contentKey(path: string): Promise<string> {
  const { candidates, failed } = await discover([path]);
  const key = createHash('sha256').update(`${SCHEMA_VERSION} ${PARSER_VERSION} ${basename(resolve(path))}\n`);
  for (const candidate of candidates) key.update(`${candidate.path} ${candidate.sizeBytes} ${candidate.mtimeMs}\n`);
  for (const entry of failed) key.update(`${entry.displayPath} ${asFailure(entry.error).text}\n`);
  return key.digest('hex').slice(0, 32);
}

async function prune(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.duckdb'));
  if (names.length <= MAX_CACHED) return;
  const aged = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  );
  aged.sort((a, b) => b.at - a.at);
  for (const { name } of aged.slice(MAX_CACHED)) await rm(join(directory, name), { force: true });
}
