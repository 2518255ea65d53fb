/**
 * The facts of failures as rows of `oom_fact` and its tables, which the tests of causes read. One statement finds them
 * for any number of runs; what needs code is written first, as rows of `judged_run`, `judged_rank` and `judged_trace`.
 */
import { pushAll } from '../../model/lists.js';
import type { Store } from '../../store/store.js';
import type { SqlValue } from '../../store/to-duckdb.js';
import { namesCause } from '../run/first-failure.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { readLogFacts } from '../run/log-facts.js';
import { completedIterations, readRunTexts } from '../run/run-texts.js';
import { readMemoryLines } from './memory-lines.js';
import { type RanksFacts, readRankFacts } from './rank-facts.js';
import { readTraceFacts } from './trace-facts.js';

/** In one statement: each of its joins keeps blocks of memory, more of them with more rows. */
const MOST_RUNS = 32;
/** Whose live stacks are held at once. */
const MOST_OOMS = 256;
/** Instead of the version of the rules, until everything is derived. */
const UNFINISHED = 0;

type Row = Readonly<Record<string, SqlValue>>;

/** What code finds out about some runs. */
interface CodeFacts {
  readonly judged_run: Row[];
  readonly judged_rank: Row[];
  readonly judged_trace: Row[];
  readonly oom_step: Row[];
  readonly oom_keeping_site: Row[];
}

const CODE_TABLES: readonly (keyof CodeFacts)[] = [
  'judged_run',
  'judged_rank',
  'judged_trace',
  'oom_step',
  'oom_keeping_site',
];
/** Replaces the facts of runs. `capacityBytes`: the total that the user gives. */
export async function writeFacts(
  store: Store,
  runIds: readonly number[],
  { capacityBytes }: { readonly capacityBytes?: number | undefined } = {},
): Promise<void> {
  const rows: CodeFacts = { judged_run: [], judged_rank: [], judged_trace: [], oom_step: [], oom_keeping_site: [] };
  const failed: number[] = [];
  for (const runId of runIds) if (await addCodeFacts(store, runId, rows)) failed.push(runId);
  // Without a layout and lines it would only take time.
  const hasLines =
    rows.judged_run.some((run) => run['stage_stride'] != null) ||
    (await store.select('SELECT 1 FROM log_memory LIMIT 1')).length > 0;
  const judgedLaunches = new Map(rows.judged_run.map((run) => [run['run_id'], run['failed_attempt']]));
  await store.transaction(async () => {
    for (const table of [...CODE_TABLES, 'judged_lines', 'oom_fact'])
      await store.run(`DELETE FROM ${table} WHERE run_id IN (${runIds.join(', ')})`);
    for (const table of CODE_TABLES) await store.insertRows(table, rows[table]);
  });
  // What a transaction has not committed takes memory, and an ingest has little: the version of the rules comes last.
  for (let start = 0; start < failed.length; start += MOST_RUNS) {
    const ids = failed.slice(start, start + MOST_RUNS);
    if (hasLines && rows.judged_rank.length > 0) {
      const attempts = ids.map((id) => judgedLaunches.get(id)).join(',');
      const lines = { run_ids: ids.join(','), ranks: null, attempts };
      await store.transaction(() => store.insertQuery('judged_lines', 'verdict.lines', lines));
    }
    await insertFacts(store, ids, capacityBytes);
  }
}

/** To plan the statement takes a tenth of a second, however many runs there are. */
export async function insertFacts(store: Store, runIds: readonly number[], capacityBytes?: number): Promise<void> {
  const facts = { run_ids: runIds.join(','), capacity_bytes: capacityBytes ?? null };
  await store.transaction(() => store.insertQuery('oom_fact', 'verdict.facts', facts));
}

/** False for a run without a failure. */
async function addCodeFacts(store: Store, runId: number, rows: CodeFacts): Promise<boolean> {
  const { facts, incidents, layout, judged } = await readLogFacts(store, runId);
  const first = readFirstFailure(incidents, judged);
  const traced = await store.all('verdict.traced_ooms', { run_ids: String(runId) });
  const ooms = incidents.filter(({ is_oom: isOom, attempt }) => isOom && (attempt ?? 1) === judged);
  const judgedRun: Row = {
    run_id: runId,
    rules: UNFINISHED,
    world_size: layout?.worldSize ?? null,
    stages: facts.parallel.pp,
    stage_stride: layout?.axis('pp').stride ?? null,
    replicas: layout?.axis('dp').size ?? null,
    replica_stride: layout?.axis('dp').stride ?? null,
  };
  if (first === null && traced.length === 0 && ooms.length === 0) {
    rows.judged_run.push(judgedRun);
    return false;
  }
  const firstFailure: Row =
    first === null
      ? { failed_attempt: judged }
      : {
          kind: first.kind,
          text: incidents[first.incident]!.text,
          names_cause: namesCause(first.role, incidents[first.incident]!),
          rank: first.rank,
          device: first.device,
          failed_attempt: first.attempt,
        };
  if (traced.length === 0 && ooms.length === 0) {
    rows.judged_run.push({ ...judgedRun, ...firstFailure });
    return true;
  }
  const texts = await readRunTexts(store, runId);
  const factsOfRanks = await readRankFacts(store, runId);
  rows.judged_run.push({
    ...judgedRun,
    ...firstFailure,
    attempt: texts.attempt,
    completed_steps: completedIterations(texts),
    last_iteration: texts.iterations.find(({ attempt }) => attempt === texts.attempt)?.highest ?? null,
    has_environment: factsOfRanks.hasEnvironment,
  });
  const ranks = [...traced, ...ooms, ...(first === null ? [] : [first])].map(({ rank }) => rank);
  pushAll(rows.judged_rank, await rankRows(store, runId, factsOfRanks, new Set(ranks)));
  for (let start = 0; start < traced.length; start += MOST_OOMS)
    for (const { trace, steps, keeping } of await readTraceFacts(store, traced.slice(start, start + MOST_OOMS))) {
      rows.judged_trace.push(trace);
      pushAll(rows.oom_step, steps);
      pushAll(rows.oom_keeping_site, keeping);
    }
  return true;
}

async function rankRows(
  store: Store,
  runId: number,
  factsOfRanks: RanksFacts,
  ranks: ReadonlySet<number | null>,
): Promise<Row[]> {
  const memory = ranks.has(null) ? await readMemoryLines(store, runId, []) : null;
  return [...ranks].map((rank) => {
    const ownRank = rank ?? memory!.ownRank(rank);
    const { allocator, activity, nccl, driver, monitor } = factsOfRanks.of(ownRank);
    const outside = driver === null || driver.outside.length === 0 ? null : driver.outside;
    const maxSplit = allocator?.maxSplitBytes ?? Number.POSITIVE_INFINITY;
    return {
      run_id: runId,
      rank,
      own_rank: ownRank,
      is_expandable: allocator?.expandableSegments ?? null,
      max_split_bytes: Number.isFinite(maxSplit) ? maxSplit : null,
      activity: activity?.activity ?? null,
      nccl_signs: nccl.length,
      driver_outside_bytes: outside === null ? null : sumOf(outside),
      driver_nccl_bytes: outside === null ? null : sumOf(outside.filter(({ owner }) => owner === 'nccl')),
      driver_grown_bytes: driver?.grownBytes ?? null,
      monitored_total_bytes: monitor?.totalBytes ?? null,
      monitored_others_bytes: monitor?.others == null ? null : sumOf(monitor.others),
    };
  });
}

function sumOf(shares: readonly { readonly bytes: number }[]): number {
  return shares.reduce((sum, { bytes }) => sum + bytes, 0);
}
