/**
 * Stores of paths. A verb asked about paths makes a store in the cache directory, named after what the files are (real
 * path, size, time of change), so that the next verb on the same files finds it, and changed files make a new one.
 */
import { createHash } from 'node:crypto';
import { constants, createWriteStream, existsSync, rmSync } from 'node:fs';
import { access, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { asFailure } from '../ingest/as-failure.js';
import { discover, NOT_FOLLOWED } from '../ingest/discover/discover.js';
import { PARSER_VERSION } from '../ingest/parser-version.js';
import { openStore as openWhole, storeToOpen, type WaitingOptions } from '../ingest/store-to-open.js';
import { MbfError } from '../model/errors.js';
import { escapeControls } from '../model/escape-controls.js';
import type { Failure, IngestResult } from '../model/results/common.js';
import { SCHEMA_VERSION } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { makeTemporaryDirectory, sweepTemporaryFiles, temporaryName } from '../store/temporary-files.js';
import type { Context } from './context.js';
import { onInterrupt } from './interrupt.js';
import { openStore } from './open-store.js';
import { progressOf } from './progress.js';

/**
 * DuckDB's share while ingesting: the decoder needs about as much in addition, and appending uses one thread in any
 * case. Joining the facts of failures takes most: 96 MiB were too few for an ingest of 137 failed runs.
 */
export const INGEST_RESOURCES = { memoryLimitBytes: 192 * 1024 * 1024, threads: 1 } as const;
/** The first run of a store has this number. */
const ONLY_RUN = 1;
/** Cached stores beyond this many are removed, the oldest first. */
const MAX_CACHED = 32;

export interface OpenedStore {
  readonly store: Store;
  /** Files that could not be read. */
  readonly failed: readonly { readonly path: string; readonly error: Failure }[];
  close(): Promise<void>;
  /** What {@link close} does after closing the store. */
  dispose(): Promise<void>;
}

/** The store of a path, and its one run. */
export interface PathStore extends OpenedStore {
  readonly runId: number;
  readonly run: string;
}

/** What a verb asks of the database while it answers. */
export type StoreResources = Pick<WaitingOptions, 'memoryLimitBytes' | 'waitMs'>;

export function openedStore(
  store: Store,
  failed: OpenedStore['failed'],
  dispose: () => Promise<void> = async () => {},
): OpenedStore {
  const close = async (): Promise<void> => {
    await store.close();
    await dispose();
  };
  return { store, failed, close, dispose };
}

export async function failedSources(store: Store, runId: number): Promise<OpenedStore['failed']> {
  return (await store.all('store.sources', { run_id: runId }))
    .filter((source) => source.status === 'failed')
    .map((source) => ({ path: source.display_path, error: storedFailure(source.error_code, source.error_text) }));
}

/** The failure in a source row. */
export function storedFailure(code: string | null, text: string | null): Failure {
  const known = code ?? 'MBF9001';
  return { code: known, text: text ?? '', remedy: new MbfError(known as MbfError['code'], '').remedy, offset: null };
}

/** Opens the cached store of the paths of one run, making it first if the files are new or changed. */
export async function pathStore(
  paths: readonly string[],
  context: Context,
  resources: StoreResources = {},
): Promise<PathStore> {
  if (paths.includes('-')) return inputStore(paths, context, resources);
  for (const path of paths)
    if (!existsSync(path)) throw new MbfError('MBF1003', 'no such file or directory', { file: path });
  const name = `${await contentKey(paths, context)}.duckdb`;
  const cache = await cacheDirectory(context);
  let place = cache === undefined ? temporaryPlace() : { directory: cache, dispose: async () => {} };
  let result: IngestResult | undefined;
  try {
    if (!existsSync(join(place.directory, name))) {
      try {
        result = await makeStore(paths, join(place.directory, name), context);
      } catch (error) {
        if (place.directory !== cache || !isWithoutSpace(error)) throw error;
        context.err(`${cache} has no room for the store of these files; for this answer it is in ${tmpdir()}\n`);
        place = temporaryPlace();
        result = await makeStore(paths, join(place.directory, name), context);
      }
      if (place.directory === cache) await prune(cache);
    }
  } catch (error) {
    await place.dispose();
    throw error;
  }
  const { dispose } = place;
  // What this version has just ingested lacks nothing.
  const open = result === undefined ? openStore : openWhole;
  let store: Store;
  try {
    store = await open(join(place.directory, name), { mode: 'read', ...resources });
  } catch (error) {
    await dispose();
    throw error;
  }
  try {
    // By its number, as all later questions ask for it.
    const run = await store.one('store.runs', { run_id: ONLY_RUN });
    const failed = run === undefined ? [] : await failedSources(store, run.run_id);
    const usable = run !== undefined && (run.snapshots > 0 || run.sources > run.failed);
    if (!usable) {
      const first = failed[0];
      if (first !== undefined) throw new MbfError(first.error.code as MbfError['code'], first.error.text);
      throw nothingUsable(paths, result);
    }
    return { ...openedStore(store, failed, dispose), runId: run.run_id, run: run.name };
  } catch (error) {
    await store.close();
    await dispose();
    throw error;
  }
}

/** Made next to its place and renamed, so that a killed verb does not leave half a store under a valid name. */
async function makeStore(paths: readonly string[], file: string, context: Context): Promise<IngestResult> {
  const directory = dirname(file);
  sweepTemporaryFiles(directory);
  const work = temporaryName(file, 'new', directory);
  const forget = onInterrupt(() => removeStore(work));
  try {
    const result = await ingestAll(paths, work, context);
    if (!existsSync(work)) throw nothingUsable(paths, result);
    await rename(work, file);
    return result;
  } finally {
    forget();
    removeStore(work);
  }
}

/** A home over its quota, a full or read-only disk: another directory may have space. */
function isWithoutSpace(error: unknown): error is MbfError {
  const isOfStore = error instanceof MbfError && error.code === 'MBF3005';
  return (
    isOfStore && /no space|quota|file too large|read-only|permission|EDQUOT|EFBIG|EROFS|EACCES/i.test(error.message)
  );
}

interface Place {
  readonly directory: string;
  readonly dispose: () => Promise<void>;
}

function temporaryPlace(): Place {
  const directory = makeTemporaryDirectory();
  const remove = (): undefined => void rmSync(directory, { recursive: true, force: true });
  const forget = onInterrupt(remove);
  return {
    directory,
    dispose: async () => {
      forget();
      remove();
    },
  };
}

/** Standard input as a file of the run: it is read once, and a file is what parsers read twice. */
async function inputStore(paths: readonly string[], context: Context, resources: StoreResources): Promise<PathStore> {
  const { directory: folder, dispose } = temporaryPlace();
  try {
    const input = join(folder, STANDARD_INPUT);
    await pipeline(process.stdin, createWriteStream(input));
    const cacheDir = join(folder, 'cache');
    const named = paths.map((path) => (path === '-' ? input : path));
    const opened = await pathStore(named, { ...context, cacheDir }, resources);
    return { ...opened, ...openedStore(opened.store, opened.failed, dispose) };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** As the run, and messages, name it. */
const STANDARD_INPUT = 'stdin';

function nothingUsable(paths: readonly string[], result: IngestResult | undefined): MbfError {
  const skipped = result?.sources.find((source) => source.error !== null)?.error;
  return new MbfError('MBF2008', skipped?.text ?? 'nothing usable was found', { file: paths.join(', ') });
}

/** A store that was being made, with its log and what it spilled. */
function removeStore(file: string): undefined {
  for (const leftover of [file, `${file}.wal`, `${file}.tmp`]) rmSync(leftover, { recursive: true, force: true });
}

async function ingestAll(paths: readonly string[], work: string, context: Context): Promise<IngestResult> {
  // With the first paths whose files are new: most questions are about a store that exists, and the modules that read
  // take a fifth of their time to load.
  const { ingest } = await import('../ingest/ingest.js');
  const store = storeToOpen(work, { mode: 'write', ...INGEST_RESOURCES });
  const progress = progressOf(context);
  try {
    return await ingest({ store, paths, now: new Date(), progress });
  } finally {
    progress?.end();
    await store.close();
  }
}

/** Undefined where it cannot be written: a home over its quota (login nodes) must not prevent an answer. */
async function cacheDirectory(context: Context): Promise<string | undefined> {
  const directory = join(context.cacheDir, 'paths');
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK | constants.X_OK);
    return directory;
  } catch {
    return undefined;
  }
}

async function contentKey(paths: readonly string[], context: Context): Promise<string> {
  const { candidates, failed, skipped } = await discover(paths);
  for (const { rule, examples, count } of skipped) {
    if (rule !== NOT_FOLLOWED) continue;
    const [first] = examples;
    const more = count > 1 ? ` and ${count - 1} more` : '';
    context.err(`not followed: ${escapeControls(first!)}${more}; name it as a path, or use ingest --follow-links\n`);
  }
  const name = basename(resolve(paths[0]!));
  const key = createHash('sha256').update(`${SCHEMA_VERSION} ${PARSER_VERSION} ${name}\n`);
  for (const candidate of candidates) key.update(`${candidate.path} ${candidate.sizeBytes} ${candidate.mtimeMs}\n`);
  for (const entry of failed) key.update(`${entry.displayPath} ${asFailure(entry.error).text}\n`);
  return key.digest('hex').slice(0, 32);
}

async function prune(directory: string): Promise<void> {
  for (const file of (await newestFirst(directory)).slice(MAX_CACHED)) await rm(file, { force: true });
}

/** The cached stores, the newest first: where a handle that an earlier verb printed for a path can be found. */
export async function cachedStores(context: Context): Promise<string[]> {
  return newestFirst(join(context.cacheDir, 'paths'));
}

async function newestFirst(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const aged = await Promise.all(
    names
      .filter((name) => name.endsWith('.duckdb'))
      .map(async (name) => ({ file: join(directory, name), at: (await stat(join(directory, name))).mtimeMs })),
  );
  return aged.sort((a, b) => b.at - a.at).map(({ file }) => file);
}
