/** The failures of a run, read from their rows: OOM entries of its traces, and messages of other ranks. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import { groupBy } from '../../model/group-by.js';
import type { Place } from '../../model/place.js';
import type { LogIncident } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { readLogFacts } from '../run/log-facts.js';
import { factsOfRun } from '../settings/facts-of-run.js';
import { View } from '../settings/view.js';
import { readStacks } from '../stacks/read-stacks.js';
import { type Arranged, numbersOf } from './combine.js';
import { CAPACITY, type Figure, type OomFacts, type TracedOom } from './facts.js';
import { type FailingSite, failingSite, readFrames, type SizeContext } from './failing-site.js';
import { readJobProcesses } from './job-processes.js';
import { type MemoryLines, readMemoryLines } from './memory-lines.js';
import { type RankContext, type RunContext, readRunContext } from './run-context.js';

type FactRow = QueryRow<'verdict.failures'>;

export interface Failure {
  readonly facts: OomFacts;
  /** Null of a message alone. */
  readonly oom: TracedOom | null;
  readonly context: RankContext | undefined;
  readonly site: FailingSite | null;
  /** What the size of its request is compared with. */
  readonly sizes: SizeContext | null;
}

export type CountedFailure = Omit<QueryRow<'verdict.counted'>, 'counted_with'>;

export interface RunFailures {
  /** In the order in which they were asked for. Of a run without an OOM its first failure, if it has one. */
  readonly failures: readonly Failure[];
  /** Those that are counted with another one, by its number. */
  readonly counted: ReadonlyMap<number, readonly CountedFailure[]>;
  /** Of the ranks of these failures. */
  readonly lines: MemoryLines;
  readonly traced: readonly TracedOom[];
  readonly first: FirstFailureResult | null;
  readonly incidents: readonly LogIncident[];
  readonly ranOut: boolean;
  /** Null without an OOM. */
  readonly context: RunContext | null;
  /** The device's total as messages of the run print it. */
  readonly total: Figure | undefined;
}

/** `arranged`: those to read. */
export async function readFailures(
  store: Store,
  runId: number,
  arranged: readonly Pick<Arranged, 'number' | 'failure' | 'rank'>[],
): Promise<RunFailures> {
  const { incidents, judged } = await readLogFacts(store, runId);
  const traced = await store.all('verdict.traced_ooms', { run_ids: String(runId) });
  const ranOut =
    traced.length > 0 || incidents.some(({ is_oom: isOom, attempt }) => isOom && (attempt ?? 1) === judged);
  const ranks = arranged.map(({ rank }) => rank);
  const lines = await readMemoryLines(store, runId, ranks);
  const context = ranOut ? await readRunContext(store, runId, lines) : null;
  const total = await readTotal(store, runId);
  const counted = groupBy(await store.all('verdict.counted', { run_id: runId }), (one) => one.counted_with);
  return {
    failures: await failuresOf(store, runId, { arranged, counted, traced, context, total }),
    counted,
    lines,
    traced,
    first: readFirstFailure(incidents, judged),
    incidents,
    ranOut,
    context,
    total,
  };
}

async function readTotal(store: Store, runId: number): Promise<Figure | undefined> {
  const row = await store.one('incident.run_total', { run_ids: String(runId) });
  if (row === undefined) return undefined;
  const { total_bytes: bytes, path, line } = row;
  return { bytes, source: { path, line } };
}

async function failuresOf(
  store: Store,
  runId: number,
  {
    arranged,
    counted,
    traced,
    context,
    total,
  }: Pick<RunFailures, 'counted' | 'traced' | 'context' | 'total'> & {
    readonly arranged: readonly Pick<Arranged, 'number' | 'failure'>[];
  },
): Promise<Failure[]> {
  if (arranged.length === 0) return [];
  const steps = groupBy(await store.all('verdict.steps', { run_id: runId }), ({ failure }) => failure);
  const kept = groupBy(await store.all('verdict.kept', { run_id: runId }), ({ failure }) => failure);
  const keyOf = (of: Pick<TracedOom, 'snapshot_id' | 'device'>): string => `${of.snapshot_id} ${of.device}`;
  const hasTraces = traced.length > 0;
  const free = hasTraces ? await store.all('verdict.oom_free', { run_id: runId }) : [];
  const searched = new Map(free.filter((one) => one.class === 'searched').map((one) => [keyOf(one), one]));
  const parts = groupBy(hasTraces ? await store.all('verdict.oom_account', { run_id: runId }) : [], keyOf);
  const facts = await store.all('verdict.failures', { run_id: runId, failures: numbersOf(arranged) });
  const rowOf = new Map(facts.map((row) => [row.failure, row]));
  const rows = arranged.map(({ failure }) => rowOf.get(failure)!);
  const hasOthers = rows.some(({ other_processes_bytes: bytes }) => bytes !== null && bytes > 0);
  const processesAt = hasOthers ? await readJobProcesses(store, runId) : () => [];
  const isShared = hasOthers || rows.some(({ rank }) => context?.of(rank).monitor?.others != null);
  const engineSign = isShared ? ((await store.one('incident.engine_sign', { run_id: runId })) ?? null) : null;
  const siteOf = await sitesOf(store, rows);
  const failures = rows.map((row): Failure => {
    const more = { jobProcesses: processesAt(row.message_path, row.message_line), engineSign };
    const oom = traced[row.failure] ?? null;
    const failure = { ...failureOf(row, { oom, context: context?.of(row.rank), total }, more), site: siteOf(row) };
    if (oom === null) return failure;
    const key = keyOf(oom);
    return {
      ...failure,
      facts: {
        ...failure.facts,
        parts: new Map((parts.get(key) ?? []).map(({ part, bytes }) => [part, bytes])),
        searched: searched.get(key),
        steps: steps.get(row.failure) ?? [],
        kept: kept.get(row.failure) ?? [],
      },
    };
  });
  const neighbours = failures.flatMap(({ facts, site }, i) =>
    [facts, ...(counted.get(arranged[i]!.number) ?? [])].map((of) => ({ facts: of, site })),
  );
  const view = context === null ? null : new View(await factsOfRun(store, runId));
  const sizes = { failures: neighbours, view };
  return failures.map((failure) => ({ ...failure, sizes }));
}

/** From the stack of a trace, else from the traceback of the message; ranks fail in the same place. */
async function sitesOf(store: Store, rows: readonly FactRow[]): Promise<(row: FactRow) => FailingSite | null> {
  const stacks = await readStacks(
    store,
    rows.flatMap(({ snapshot_id: snapshot, stack_id: id }) => (snapshot === null || id === null ? [] : [id])),
  );
  const sites = new Map<string, FailingSite | null>();
  const siteOf = (row: FactRow): FailingSite | null => {
    const { stack_id: id, frames, text } = row;
    const key = id === null ? `${frames ?? ''} ${text?.split('CUDA')[0]}` : String(id);
    let site = sites.get(key);
    if (site === undefined) {
      const stack = (id === null ? undefined : stacks.get(id)) ?? readFrames(frames);
      site = failingSite(stack, messagePlace(row), text ?? '');
      sites.set(key, site);
    }
    return site === null ? null : { ...site, place: messagePlace(row) };
  };
  return (row) => {
    const place = messagePlace(row);
    const site = siteOf(row);
    if (row.is_evaluating && (site?.activity ?? null) === null)
      return { site: null, innermost: '', code: null, ...site, activity: 'evaluation', place };
    if (site !== null || row.hint_frames === null) return site;
    const hint = failingSite(readFrames(row.hint_frames), place);
    return hint === null ? null : { ...hint, ofRank: row.hint_rank };
  };
}

function messagePlace({ message_path: path, message_line: line }: FactRow): Place {
  return { path: path ?? '', line: line ?? 0 };
}

/** With what is known of it without further queries. */
export function failureOf(
  row: FactRow,
  { oom, context, total }: Pick<Failure, 'oom' | 'context'> & Partial<Pick<RunFailures, 'total'>>,
  more: Pick<OomFacts, 'jobProcesses' | 'engineSign'>,
): Failure {
  const printedPlace = messagePlace(row);
  const place = oom === null ? printedPlace : { path: oom.display_path, entry: oom.seq };
  const totalPlaces: Readonly<Record<string, Place | undefined>> = {
    capacity: CAPACITY,
    run: total?.source,
    monitor: context?.monitor?.totalSource,
  };
  const facts: OomFacts = {
    ...row,
    ...more,
    total:
      row.total_bytes === null
        ? null
        : { bytes: row.total_bytes, source: totalPlaces[row.total_from ?? ''] ?? printedPlace },
    place,
    printedPlace,
    freePlace: oom?.device_free_bytes == null ? printedPlace : place,
    allocatorPlace: oom === null ? (context?.allocator?.source ?? null) : place,
    activityPlace: row.trace_activity === null ? (context?.activity?.source ?? place) : place,
    parts: null,
    searched: undefined,
    steps: [],
    kept: [],
    nccl: context?.nccl ?? [],
    driver: context?.driver ?? null,
    monitor: context?.monitor ?? null,
  };
  return { facts, oom, context, site: null, sizes: null };
}
