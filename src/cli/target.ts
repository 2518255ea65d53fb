/** What a verb is asked about: paths, a handle, a run of the store, or the latest run. */
import { existsSync } from 'node:fs';
import { MbfError } from '../model/errors.js';
import { MIB, parseSize } from '../model/units.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import { openStore } from './open-store.js';
import {
  cachedStores,
  failedSources,
  type OpenedStore,
  openedStore,
  pathStore,
  type StoreResources,
} from './path-store.js';

export interface Target extends OpenedStore {
  /** The run a verb is about. */
  readonly runId: number;
  readonly run: string;
  /** Set if the operand named one snapshot. */
  readonly handle: string | undefined;
}

export interface DbOptions {
  readonly db?: string | undefined;
  readonly memoryLimit?: string | undefined;
  readonly wait?: string | undefined;
}

/**
 * `--memory-limit` and `--wait` for the database. Throws MBF1001 below 64 MiB, as no question is answered with less,
 * and for a time that is none.
 */
export function resourcesOf(options: DbOptions): StoreResources {
  const waiting = options.wait === undefined ? {} : { waitMs: waitOf(options.wait) };
  if (options.memoryLimit === undefined) return waiting;
  const memoryLimitBytes = parseSize(options.memoryLimit);
  if (memoryLimitBytes === undefined || memoryLimitBytes < 64 * MIB) {
    throw new MbfError(
      'MBF1001',
      `invalid --memory-limit ${JSON.stringify(options.memoryLimit)}; expected a size of at least 64MiB`,
    );
  }
  return { memoryLimitBytes, ...waiting };
}

function waitOf(text: string): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(seconds))
    throw new MbfError('MBF1001', `invalid --wait ${JSON.stringify(text)}; expected a number of seconds`);
  return 1000 * seconds;
}

/** The store itself, for verbs that list or query all of it. A path operand means the store of that path. */
export async function openTargetStore(
  operand: string | undefined,
  options: DbOptions,
  context: Context,
): Promise<OpenedStore> {
  const resources = resourcesOf(options);
  if (operand !== undefined) return pathStore([operand.replace(/^path:/, '')], context, resources);
  return openedStore(await openStore(options.db ?? context.db, { mode: 'read', ...resources }), []);
}

type Kind = 'run' | 'snapshot' | 'commit' | 'label' | 'path' | undefined;

/** Of a verb: none is the run ingested last, several are the paths of one run, `-` is standard input. */
export type Operands = string | readonly string[] | undefined;

/**
 * Resolves as path, then handle, then run name, then commit (of `ingest --commit`, or printed in a log), then label;
 * `run:`, `snapshot:`, `commit:`, `label:` and `path:` force one of them. Of several runs of a commit or label, the
 * latest. Of several operands, each is a path. Throws MBF1002 for an unknown name, MBF1003 for a missing path.
 */
export async function openTarget(operands: Operands, options: DbOptions, context: Context): Promise<Target> {
  const resources = resourcesOf(options);
  const words = typeof operands === 'string' ? [operands] : (operands ?? []);
  if (words.length > 1 || words[0] === '-') {
    const paths = words.map((word) => word.replace(/^path:/, ''));
    return { ...(await pathStore(paths, context, resources)), handle: undefined };
  }
  const [operand] = words;
  const forced = /^(run|snapshot|commit|label|path):(.*)$/s.exec(operand ?? '');
  const kind = forced?.[1] as Kind;
  const name = forced?.[2] ?? operand;
  if (name !== undefined && (kind === 'path' || (kind === undefined && existsSync(name)))) {
    return { ...(await pathStore([name], context, resources)), handle: undefined };
  }
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
  if (!existsSync(file)) {
    throw new MbfError('MBF1003', 'no such file or directory', { file: name });
  }
  const what =
    kind === undefined ? 'no such file or directory, and no such run, snapshot or commit' : `no such ${kind}`;
  throw new MbfError('MBF1002', `${name}: ${what} in ${file}`);
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
    const run =
      name === undefined ? { ...(await latestRun(store)), handle: undefined } : await lookUp(store, kind, name);
    if (run !== undefined) {
      found = { ...openedStore(store, await failedSources(store, run.runId)), ...run };
    }
    return found;
  } finally {
    if (found === undefined) await store.close();
  }
}

async function lookUp(
  store: Store,
  kind: Kind,
  name: string,
): Promise<{ runId: number; run: string; handle: string | undefined } | undefined> {
  const runs = await store.all('store.runs', { run_id: null });
  const is = (wanted: Kind): boolean => kind === undefined || kind === wanted;
  if (is('snapshot')) {
    const [snapshot] = await store.all('snapshot.list', { run_id: null, handle: name });
    const run = runs.find((row) => row.name === snapshot?.run);
    if (run !== undefined) return { runId: run.run_id, run: run.name, handle: name };
  }
  // Shorter than git's own abbreviation is a typo, not a commit.
  const isCommit = is('commit') && name.length >= 7;
  const run =
    (is('run') ? runs.find((row) => row.name === name) : undefined) ??
    (isCommit ? runs.find((row) => row.commit_sha?.startsWith(name)) : undefined) ??
    (isCommit ? await runThatPrints(store, name, runs) : undefined) ??
    (is('label') ? runs.find((row) => row.label === name) : undefined);
  return run === undefined ? undefined : { runId: run.run_id, run: run.name, handle: undefined };
}

/** The latest run whose log prints the commit. */
async function runThatPrints<Run extends { readonly run_id: number }>(
  store: Store,
  commit: string,
  runs: readonly Run[],
): Promise<Run | undefined> {
  if (!/^[0-9a-f]{7,64}$/i.test(commit)) return undefined;
  const found = new Set(
    (await store.all('store.runs_of_commit', { commit: commit.toLowerCase() })).map((row) => row.run_id),
  );
  return runs.find((row) => found.has(row.run_id));
}

async function latestRun(store: Store): Promise<{ runId: number; run: string }> {
  const runs = await store.all('store.runs', { run_id: null });
  const run = runs.find(({ sources, failed }) => sources > failed) ?? runs[0];
  if (run === undefined) throw new MbfError('MBF1004', 'the store has no run', { file: store.file });
  return { runId: run.run_id, run: run.name };
}
