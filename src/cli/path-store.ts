/**
 * Stores of paths. A verb asked about paths makes a store in the cache directory, named after what the files are, so
 * that the next verb on the same files finds it, and changed files make a new one.
 */
import { constants, createWriteStream, existsSync, rmSync, statSync } from 'node:fs';
import { access, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { StoreToOpen } from '../ingest/options.js';
import { PARSER_VERSION } from '../ingest/parser-version.js';
import { openStore as openWhole, type WaitingOptions } from '../ingest/store-to-open.js';
import { remedyOf } from '../knowledge/errors.js';
import { type ErrorCode, MbfError } from '../model/errors.js';
import type { Failure, IngestResult } from '../model/results/common.js';
import type { AskedLakeRun } from '../model/results/lake.js';
import { MIB } from '../model/units.js';
import { SCHEMA_VERSION } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { makeDirectories, sweepTemporaryFiles, temporaryName } from '../store/temporary-files.js';
import { cachePlace, newestFirst, prune } from './cached-files.js';
import { contentKey } from './content-key.js';
import type { Context } from './context.js';
import { type HeldDirectory, heldDirectory, onInterrupt } from './interrupt.js';
import { openStore } from './open-store.js';
import { progressOf } from './progress.js';
import type { CachedFiles } from './stored-answer.js';

/**
 * DuckDB's share while ingesting: the decoder needs about as much in addition, and appending uses one thread in any
 * case. Joining the facts of failures takes most: 96 MiB were too few for an ingest of 137 failed runs.
 */
export const INGEST_RESOURCES = { memoryLimitBytes: 192 * 1024 * 1024, threads: 1 } as const;
/**
 * A store is asked before it is complete up to this size: that of 100,000 entries. An answer that is cut off (`| head`)
 * ends the process, and what took long to read must be kept by then.
 */
const MOST_UNFINISHED_BYTES = 32 * MIB;
/** The first run of a store has this number. */
const ONLY_RUN = 1;

export interface OpenedStore {
  readonly store: Store;
  /** Files that could not be read. */
  readonly failed: readonly { readonly path: string; readonly error: Failure }[];
  close(): Promise<void>;
}

/** What operands mean. */
export interface Target extends OpenedStore {
  /** Where the operands are paths. */
  readonly cached?: CachedFiles | undefined;
  /** The run a verb is about. */
  readonly runId: number;
  readonly run: string;
  /** Of a run of a lake: what its other ranks and blocks are. */
  readonly lake?: AskedLakeRun | undefined;
  /** Set if the operand named one snapshot. */
  readonly handle: string | undefined;
}

/** The store of a path, and its one run. */
export interface PathStore extends OpenedStore {
  readonly runId: number;
  readonly run: string;
  /** Undefined for standard input. */
  readonly cached: CachedFiles | undefined;
}

/** What a verb asks of the database while it answers. */
export type StoreResources = Pick<WaitingOptions, 'memoryLimitBytes' | 'waitMs'>;

export function openedStore(store: Store, failed: OpenedStore['failed'], dispose = async () => {}): OpenedStore {
  return { store, failed, close: () => store.close().then(dispose) };
}

export async function failedSources(store: Store, runId: number): Promise<OpenedStore['failed']> {
  return (await store.all('store.sources', { run_id: runId }))
    .filter((source) => source.status === 'failed')
    .map((source) => ({ path: source.display_path, error: storedFailure(source.error_code, source.error_text) }));
}

/** The failure in a source row. */
export function storedFailure(code: string | null, text: string | null): Failure {
  const known = code ?? 'MBF9001';
  return { code: known, text: text ?? '', remedy: remedyOf(known as ErrorCode), offset: null };
}

export interface PathStoreOptions extends StoreResources {
  /** See {@link contentKey}; where it was asked for already. */
  readonly contentKey?: string | undefined;
  /**
   * The question reads rows that ingest concluded, and nothing else. A small store that is made now is asked before it
   * is closed; its `close` then completes it.
   */
  readonly asWritten?: boolean;
}

/** Opens the cached store of the paths of one run, making it first if the files are new or changed. */
export async function pathStore(
  paths: readonly string[],
  context: Context,
  { contentKey: knownKey, asWritten = false, ...resources }: PathStoreOptions = {},
): Promise<PathStore> {
  if (paths.includes('-')) return inputStore(paths, context, { ...resources, asWritten });
  if (paths.length === 1) await refuseGolden(paths[0]!);
  const key = knownKey ?? (await contentKey(paths, context));
  const name = `${key}-${SCHEMA_VERSION}.${PARSER_VERSION}.duckdb`;
  const cache = await writableCache(cachePlace(context));
  let place: HeldDirectory = cache === undefined ? heldDirectory() : { directory: cache, dispose: async () => {} };
  let made: MadeStore | undefined;
  let store: Store | undefined;
  const dispose = async (): Promise<void> => {
    await made?.complete?.();
    await place.dispose();
  };
  try {
    if (!existsSync(join(place.directory, name))) {
      try {
        made = await makeStore(paths, join(place.directory, name), context, asWritten);
      } catch (error) {
        if (place.directory !== cache || !isWithoutSpace(error)) throw error;
        context.err(`${cache} has no room for the store of these files; for this answer it is in ${tmpdir()}\n`);
        place = heldDirectory();
        made = await makeStore(paths, join(place.directory, name), context, asWritten);
      }
      if (place.directory === cache) await prune(cache);
    }
    // What this version has just ingested lacks nothing.
    const open = made === undefined ? openStore : openWhole;
    store = made?.store ?? (await open(join(place.directory, name), { mode: 'read', ...resources }));
    // By its number, as all later questions ask for it.
    const run = await store.one('store.runs', { run_id: ONLY_RUN });
    const failed = run === undefined ? [] : await failedSources(store, run.run_id);
    if (run === undefined || (run.snapshots === 0 && run.sources === run.failed)) {
      const first = failed[0];
      if (first !== undefined) throw new MbfError(first.error.code as MbfError['code'], first.error.text);
      throw nothingUsable(paths, made?.result);
    }
    const cached = { directory: cachePlace(context), key };
    return { ...openedStore(store, failed, dispose), runId: run.run_id, run: run.name, cached };
  } catch (error) {
    await store?.close();
    await dispose();
    throw error;
  }
}

interface MadeStore {
  readonly result: IngestResult;
  /** Of one that is asked as it was written. */
  readonly store?: Store;
  /** Call it after the store was closed. */
  readonly complete?: () => Promise<void>;
}

/** Made next to its place and renamed, so that a killed verb does not leave half a store under a valid name. */
async function makeStore(
  paths: readonly string[],
  file: string,
  context: Context,
  asWritten: boolean,
): Promise<MadeStore> {
  const directory = dirname(file);
  sweepTemporaryFiles(directory);
  const work = temporaryName(file, 'new', directory);
  const forget = onInterrupt(() => removeStore(work));
  const remove = (): void => {
    forget();
    removeStore(work);
  };
  let store: Store | undefined;
  try {
    const open = async (): Promise<Store> => {
      store = await openWhole(work, { mode: 'write', ...INGEST_RESOURCES });
      return store;
    };
    const result = await ingestAll(paths, { file: work, isNew: true, open }, context, asWritten);
    if (store === undefined) throw nothingUsable(paths, result);
    // Closing writes the log into the file, and may fail at it.
    const complete = async (): Promise<void> => {
      try {
        if (!existsSync(`${work}.wal`)) await rename(work, file);
      } finally {
        remove();
      }
    };
    if (asWritten) {
      // The answer is given then, and the next question reads the files again.
      if (bytesOf(work) < MOST_UNFINISHED_BYTES) return { result, store, complete: () => complete().catch(() => {}) };
      await store.checkpoint();
    }
    await store.close();
    await complete();
    return { result };
  } catch (error) {
    await store?.close().catch(() => {});
    remove();
    throw error;
  }
}

const bytesOf = (file: string): number =>
  [file, `${file}.wal`].reduce((sum, each) => sum + (statSync(each, { throwIfNoEntry: false })?.size ?? 0), 0);

/** A home over its quota, a full or read-only disk: another directory may have space. */
function isWithoutSpace(error: unknown): error is MbfError {
  const isOfStore = error instanceof MbfError && error.code === 'MBF3005';
  return (
    isOfStore && /no space|quota|file too large|read-only|permission|EDQUOT|EFBIG|EROFS|EACCES/i.test(error.message)
  );
}

/** Standard input as a file of the run: it is read once, and a file is what parsers read twice. */
async function inputStore(paths: readonly string[], context: Context, options: PathStoreOptions): Promise<PathStore> {
  const { directory: folder, dispose } = heldDirectory();
  try {
    const input = join(folder, STANDARD_INPUT);
    await pipeline(process.stdin, createWriteStream(input));
    const cacheDir = join(folder, 'cache');
    const named = paths.map((path) => (path === '-' ? input : path));
    const opened = await pathStore(named, { ...context, cacheDir }, options);
    return { ...opened, close: () => opened.close().then(dispose), cached: undefined };
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

/** Golden values are read by verbs of their own; a larger file is not asked whether it has them. */
async function refuseGolden(path: string): Promise<void> {
  if (!/\.json$/i.test(path) || bytesOf(path) > MOST_GOLDEN_BYTES) return;
  const { isGoldenFile } = await import('./golden-file.js');
  if (!isGoldenFile(path)) return;
  const verbs = `\`golden show ${path}\` prints them, \`compare RUN --golden ${path}\` judges a run by them`;
  throw new MbfError('MBF2008', `golden values, not a run: ${verbs}`, { file: path });
}

const MOST_GOLDEN_BYTES = 4 * MIB;

/** A store that was being made, with its log and what it spilled. */
function removeStore(file: string): undefined {
  for (const leftover of [file, `${file}.wal`, `${file}.tmp`]) rmSync(leftover, { recursive: true, force: true });
}

async function ingestAll(
  paths: readonly string[],
  store: StoreToOpen,
  context: Context,
  keepsLog: boolean,
): Promise<IngestResult> {
  // With the first paths whose files are new: most questions are about a store that exists, and the modules that read
  // take a fifth of their time to load.
  const { ingest } = await import('../ingest/ingest.js');
  const progress = progressOf(context);
  try {
    const { formats } = context;
    return await ingest({ store, paths, formats, now: new Date(), progress, keepsLog, oneRun: true });
  } finally {
    progress?.end();
  }
}

/** Undefined where it cannot be written: a home over its quota (login nodes) must not prevent an answer. */
export async function writableCache(directory: string): Promise<string | undefined> {
  try {
    makeDirectories(directory);
    await access(directory, constants.W_OK | constants.X_OK);
    return directory;
  } catch {
    return undefined;
  }
}

/** The cached stores, the newest first: where a handle that an earlier verb printed for a path can be found. */
export async function cachedStores(context: Context): Promise<string[]> {
  return newestFirst(cachePlace(context), '.duckdb');
}
