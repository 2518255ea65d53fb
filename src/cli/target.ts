/** What a verb is asked about: paths, a handle, a run of the store, or the latest run. */
import { existsSync } from 'node:fs';
import { nearest } from '../knowledge/nearest.js';
import { MbfError } from '../model/errors.js';
import type { RowOf } from '../model/results/row-of.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import { openStore } from './open-store.js';
import { type DbOptions, isFileName, type Kind, type Operands, partsOf, pathsOf, resourcesOf } from './operands.js';
import { misuse } from './options.js';
import {
  cachedStores,
  failedSources,
  type OpenedStore,
  openedStore,
  type PathStoreOptions,
  pathStore,
  type StoreResources,
  type Target,
} from './path-store.js';

export type { Target } from './path-store.js';

/** The store itself, for verbs that list or query all of it. A path operand means the store of that path. */
export async function openTargetStore(
  operand: string | undefined,
  options: DbOptions,
  context: Context,
): Promise<OpenedStore> {
  const resources = resourcesOf(options);
  if (options.lake !== undefined) return openTarget(operand, options, context);
  if (operand !== undefined) return pathStore([operand.replace(/^path:/, '')], context, resources);
  return openedStore(await openStore(options.db ?? context.db, { mode: 'read', ...resources }), []);
}

/**
 * Resolves as path, then handle, then run name, then commit (of `ingest --commit`, or printed in a log), then label;
 * `run:`, `snapshot:`, `commit:`, `label:` and `path:` force one of them. Of several runs of a commit or label, the
 * latest. Of several operands, each is a path. Throws MBF1002 for an unknown name, MBF1003 for a missing path.
 */
export async function openTarget(
  operands: Operands,
  options: DbOptions,
  context: Context,
  ofPaths: Pick<PathStoreOptions, 'contentKey' | 'asWritten'> = {},
): Promise<Target> {
  const resources = resourcesOf(options);
  if (options.lake !== undefined) {
    const { openLakeTarget } = await import('./lake-target.js');
    return openLakeTarget(options.lake, onlyOne(operands), context, resources);
  }
  const paths = pathsOf(operands);
  if (paths !== undefined)
    return { ...(await pathStore(paths, context, { ...resources, ...ofPaths })), handle: undefined };
  if (options.formats !== undefined)
    throw misuse('--formats is for paths; logs of a store are read with it by `ingest --formats`');
  const { kind, name } = partsOf(typeof operands === 'string' ? operands : operands?.[0]);
  const file = options.db ?? context.db;
  if (name === undefined || existsSync(file)) {
    const found = await inStore(file, kind, name, resources);
    if (found !== undefined) return found;
  }
  if (name !== undefined && (kind === undefined || kind === 'snapshot') && name.includes('/snapshot#')) {
    for (const cached of await cachedStores(context)) {
      const found = await inStore(cached, 'snapshot', name, resources).catch((error: unknown) => {
        // What another build has cached is not in the way.
        if (error instanceof MbfError && error.code === 'MBF3003') return undefined;
        throw error;
      });
      if (found !== undefined) return found;
    }
  }
  if (!existsSync(file)) throw new MbfError('MBF1003', 'no such file or directory', { file: name });
  if (kind === undefined && isFileName(name!))
    throw new MbfError('MBF1003', `no such file or directory, and no such run in ${file}`, { file: name });
  const what =
    kind === undefined ? 'no such file or directory, and no such run, snapshot or commit' : `no such ${kind}`;
  throw new MbfError('MBF1002', `${name}: ${what} in ${file}${await runsOf(file, name!, resources)}`);
}

function onlyOne(operands: Operands): string | undefined {
  if (typeof operands === 'string' || operands === undefined) return operands;
  if (operands.length > 1) throw misuse(`a verb is about one run of a lake, not ${operands.length}`);
  return operands[0];
}

/** More than this many runs are counted. */
const MOST_RUNS = 10;

/** The runs that there are, those with a similar name first. */
async function runsOf(file: string, name: string, resources: StoreResources): Promise<string> {
  const store = await openStore(file, { mode: 'read', ...resources });
  try {
    const names = (await store.all('store.runs', { run_id: null })).map((run) => run.name);
    if (names.length === 0) return ', which has none';
    const listed = [...new Set([...nearest(name, names), ...names])];
    const more = listed.length > MOST_RUNS ? `, and ${listed.length - MOST_RUNS} more` : '';
    return `, which has the ${listed.length === 1 ? 'run' : 'runs'} ${listed.slice(0, MOST_RUNS).join(', ')}${more}`;
  } finally {
    await store.close();
  }
}

/** What `name` means in one store (nothing: the latest run); undefined if the store does not know it. */
async function inStore(
  file: string,
  kind: Kind,
  name: string | undefined,
  resources: StoreResources,
): Promise<Target | undefined> {
  const store = await openStore(file, { mode: 'read', ...resources });
  let found: Target | undefined;
  try {
    const runs = await store.all('store.runs', { run_id: null });
    const named = name === undefined ? { run: latestRun(store, runs) } : await lookUp(store, runs, kind, name);
    if (named?.run === undefined) return undefined;
    const { run_id: runId, name: run } = named.run;
    found = { ...openedStore(store, await failedSources(store, runId)), runId, run, handle: named.handle };
    return found;
  } finally {
    if (found === undefined) await store.close();
  }
}

type RunRow = RowOf<'store.runs'>;

/** The handle of a snapshot is of one of the runs. */
async function lookUp(
  store: Store,
  runs: readonly RunRow[],
  kind: Kind,
  name: string,
): Promise<{ readonly run: RunRow | undefined; readonly handle?: string }> {
  const is = (wanted: Kind): boolean => kind === undefined || kind === wanted;
  if (is('snapshot')) {
    const [snapshot] = await store.all('snapshot.list', { run_id: null, handle: name });
    const run = runs.find((row) => row.name === snapshot?.run);
    if (run !== undefined) return { run, handle: name };
  }
  // Shorter than git's own abbreviation is a typo, not a commit.
  const isCommit = is('commit') && name.length >= 7;
  const run =
    (is('run') ? runs.find((row) => row.name === name) : undefined) ??
    (isCommit ? runs.find((row) => row.commit_sha?.startsWith(name)) : undefined) ??
    (isCommit ? await runThatPrints(store, name, runs) : undefined) ??
    (is('label') ? runs.find((row) => row.label === name) : undefined);
  return { run };
}

/** The latest run whose log prints the commit. */
async function runThatPrints(store: Store, commit: string, runs: readonly RunRow[]): Promise<RunRow | undefined> {
  if (!/^[0-9a-f]{7,64}$/i.test(commit)) return undefined;
  const rows = await store.all('store.runs_of_commit', { commit: commit.toLowerCase() });
  return runs.find((run) => rows.some((row) => row.run_id === run.run_id));
}

function latestRun(store: Store, runs: readonly RunRow[]): RunRow {
  const run = runs.find(({ sources, failed }) => sources > failed) ?? runs[0];
  if (run === undefined) throw new MbfError('MBF1004', 'the store has no run', { file: store.file });
  return run;
}
