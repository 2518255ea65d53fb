/** A run of a lake as what a verb is about: a store of a few of its blocks, kept in the cache directory. */
import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore } from '../ingest/store-to-open.js';
import { nearest } from '../knowledge/nearest.js';
import { listParts, runNames } from '../lake/lake-files.js';
import { type LakeRunRow, lakeRuns, OF_RUNS, withCauses } from '../lake/lake-runs.js';
import { lakeTables } from '../lake/lake-tables.js';
import { openLake } from '../lake/open-lake.js';
import { RESTORED_RUN, restoreRun } from '../lake/restore-run.js';
import { MbfError } from '../model/errors.js';
import type { LakeRuns } from '../model/results/lake.js';
import { SCHEMA_VERSION } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { prune } from './cached-files.js';
import type { Context } from './context.js';
import { heldDirectory } from './interrupt.js';
import {
  failedSources,
  INGEST_RESOURCES,
  openedStore,
  type StoreResources,
  type Target,
  writableCache,
} from './path-store.js';
import { buildId } from './stored-answer.js';

/**
 * `RUN`, `RUN/RANK`, or nothing: the run that began last. `RUN` is a name in the lake, what begins only one, or what
 * its user calls it. Throws MBF1002 for what is not there, and MBF3009 for rows of another version of the tables.
 */
export async function openLakeTarget(
  directory: string,
  operand: string | undefined,
  context: Context,
  resources: StoreResources,
): Promise<Target> {
  const asked = await inLake(directory, operand);
  const { main, blocks } = asked;
  const { run } = asked.run;
  const lake = realpathSync(directory);
  const parts = listParts(
    lake,
    lakeTables().map(({ name }) => name),
    run,
  );
  if (!parts.some(({ table, block }) => table === 'diagnosis' && block === main)) {
    const fact = `the state of run ${run} is no longer kept; its answers are: \`sql --lake ${directory} "FROM verdict WHERE run = '${run}'"\``;
    throw new MbfError('MBF1002', fact);
  }
  const of = createHash('sha256').update(
    JSON.stringify([buildId(), lake, main, blocks, parts.map(({ path }) => path)]),
  );
  const cache = join(context.cacheDir, 'lakes');
  const file = join(cache, `${of.digest('hex').slice(0, 32)}-${SCHEMA_VERSION}.duckdb`);
  const isCached = (await writableCache(cache)) !== undefined;
  if (isCached && existsSync(file)) return targetOf(file, asked, resources);
  // In the same directory, so that it is only renamed.
  const { directory: work, dispose } = heldDirectory(isCached ? cache : undefined);
  try {
    const made = join(work, 'run.duckdb');
    const store = await openStore(made, {
      ...{ mode: 'write', exchangeDirectory: lake },
      ...INGEST_RESOURCES,
      ...resources,
    });
    try {
      await restoreRun(store, { lake, run, main, blocks, now: new Date() });
    } finally {
      await store.close();
    }
    if (!isCached) return await targetOf(made, asked, resources, dispose);
    await rename(made, file);
    await prune(cache);
  } catch (error) {
    await dispose();
    throw error;
  }
  await dispose();
  return targetOf(file, asked, resources);
}

/** Its conclusions are those of the tasks: what they were drawn from is not in the store. */
async function targetOf(
  file: string,
  { run, handle }: Pick<Awaited<ReturnType<typeof inLake>>, 'run' | 'handle'>,
  resources: StoreResources,
  dispose?: () => Promise<void>,
): Promise<Target> {
  const store = await openStore(file, { mode: 'read', ...resources });
  const failed = await failedSources(store, RESTORED_RUN);
  return { ...openedStore(store, failed, dispose), runId: RESTORED_RUN, run: run.run, handle, lake: run };
}

/** What the operand means, and which blocks are about it. */
async function inLake(directory: string, operand: string | undefined) {
  const store = await openLake(directory, `${OF_RUNS} rank_summary`);
  try {
    const asked = parseOperand(operand);
    const row = await find(store, asked.name, directory);
    const { run, schema_version: version, missing } = row;
    if (version !== SCHEMA_VERSION) {
      const fact = `the rows of run ${run} have version ${version} of the tables, not ${SCHEMA_VERSION}: \`sql --lake\` reads them, and adding the run again renews them`;
      throw new MbfError('MBF3009', fact, { file: directory });
    }
    const of = (await store.one('export.blocks_of_interest', { run, rank: asked.rank }))!;
    if (asked.rank !== null && of.of_rank === null)
      throw new MbfError('MBF1002', `run ${run} of ${directory} has no rank ${asked.rank}`);
    let first = 0;
    while (missing.includes(first)) first += 1;
    const main = of.of_rank ?? of.of_failure ?? of.of_peak ?? first;
    const [described] = await withCauses(store, [row]);
    return {
      run: { ...described!, rank: asked.rank },
      handle: asked.ordinal === undefined ? undefined : `${run}/${asked.rank ?? '-'}/snapshot#${asked.ordinal}`,
      main,
      // Files of no rank, such as logs, are in the first.
      blocks: [...new Set([main, first, of.of_peak ?? first])],
    };
  } finally {
    await store.close();
  }
}

/** `RUN`, `RUN/3`, `RUN/3/snapshot#1`. */
function parseOperand(operand: string | undefined) {
  const named = /^(?:run:|snapshot:)?(.*?)(?:\/(\d{1,7}|-)(?:\/snapshot#(\d{1,7}))?)?$/s.exec(operand ?? '');
  const [, name, rank, ordinal] = named ?? [];
  return {
    name: operand === undefined ? undefined : name!,
    rank: rank === undefined || rank === '-' ? null : Number(rank),
    ordinal,
  };
}

/** More than this many runs are counted. */
const MOST_RUNS = 10;

/** Of a name that is one in the lake, or begins only one, only that run is read. */
async function find(store: Store, name: string | undefined, lake: string): Promise<LakeRunRow> {
  const names = runNames(lake);
  const begun = name === undefined || name === '' ? [] : names.filter((each) => each.startsWith(name));
  const known = name !== undefined && begun.includes(name) ? name : begun.length === 1 ? begun[0]! : null;
  const runs = await lakeRuns(store, known);
  if (runs.length === 0 && known === null) throw new MbfError('MBF1004', 'the lake has no run', { file: lake });
  const run = known !== null || name === undefined ? runs[0] : runs.find((each) => each.name === name);
  if (run !== undefined) return run;
  const listed = [...new Set([...begun, ...nearest(name!, names), ...names])];
  const more = listed.length > MOST_RUNS ? `, and ${listed.length - MOST_RUNS} more` : '';
  const what = begun.length > 1 ? `begins ${begun.length} runs` : 'is not a run';
  throw new MbfError(
    'MBF1002',
    `${name} ${what} of ${lake}, which has ${listed.slice(0, MOST_RUNS).join(', ')}${more}`,
  );
}

/** Runs on the page of a report. */
const SHOWN_RUNS = 100;

/** The runs that began last, with the causes of their failures. */
export async function readLakeRuns(directory: string): Promise<LakeRuns> {
  const store = await openLake(directory, OF_RUNS);
  try {
    const all = await lakeRuns(store);
    return { runs: await withCauses(store, all.slice(0, SHOWN_RUNS)), more: Math.max(0, all.length - SHOWN_RUNS) };
  } finally {
    await store.close();
  }
}
