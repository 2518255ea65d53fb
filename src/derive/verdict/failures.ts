/** The failures of a run, read from their rows: OOM entries of its traces, and messages of other ranks. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import { groupBy } from '../../model/group-by.js';
import type { Place } from '../../model/place.js';
import type { LogIncident } from '../../model/results/log.js';
import type { IncidentKind, WholeStepOutcome } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { readLogFacts } from '../run/log-facts.js';
import type { Message } from '../run/message.js';
import { factsOfRun } from '../settings/facts-of-run.js';
import { View } from '../settings/view.js';
import { readStacks } from '../stacks/read-stacks.js';
import { CAPACITY, type Figure, type Growth, type OomFacts, type RunSide, type TraceFacts } from './facts.js';
import { type FailingSite, failingSite, readFrames, type SizeContext } from './failing-site.js';
import { readEngineSign, readJobProcesses } from './job-processes.js';
import { type RankContext, type RunContext, readRunContext } from './run-context.js';
import { readTracedOoms, type SnapshotOom } from './traced-ooms.js';

type FactRow = QueryRow<'verdict.failures'>;

/** Where it failed, and what the size of its request is compared with. */
interface Located {
  readonly site: FailingSite | null;
  readonly sizes: SizeContext | null;
}

export interface TracedFailure extends Located {
  readonly facts: OomFacts;
  readonly oom: SnapshotOom;
  readonly message: Message | undefined;
  readonly rank: RankContext | undefined;
}

export interface MessageFailure extends Located {
  readonly facts: OomFacts;
  readonly oom: null;
  readonly message: Message;
  readonly rank: RankContext | undefined;
}

export interface RunFailures {
  /** In the order of their numbers. Of a run without an OOM its first failure, if it has one. */
  readonly failures: readonly (TracedFailure | MessageFailure)[];
  readonly traced: readonly SnapshotOom[];
  readonly first: FirstFailureResult | null;
  readonly incidents: readonly LogIncident[];
  readonly ranOut: boolean;
  /** Null without an OOM. */
  readonly context: RunContext | null;
  /** The device's total as messages of the run print it. */
  readonly total: Figure | undefined;
}

export async function readFailures(store: Store, runId: number): Promise<RunFailures> {
  const { incidents, judged } = await readLogFacts(store, runId);
  const traced = await readTracedOoms(store, runId);
  const ranOut =
    traced.length > 0 || incidents.some(({ is_oom: isOom, attempt }) => isOom && (attempt ?? 1) === judged);
  const context = ranOut ? await readRunContext(store, runId) : null;
  const total = await readTotal(store, runId);
  return {
    failures: await failuresOf(store, runId, { traced, context, total }),
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
  const { total_bytes: bytes, total_precision_bytes: precisionBytes, path, line } = row;
  return { bytes, precisionBytes, source: { path, line } };
}

interface Surroundings {
  readonly traced: readonly SnapshotOom[];
  readonly context: RunContext | null;
  readonly total: Figure | undefined;
}

async function failuresOf(
  store: Store,
  runId: number,
  { traced, context, total }: Surroundings,
): Promise<(TracedFailure | MessageFailure)[]> {
  const steps = groupBy(await store.all('verdict.steps', { run_id: runId }), ({ failure }) => failure);
  const kept = groupBy(await store.all('verdict.kept', { run_id: runId }), ({ failure }) => failure);
  const rows = await store.all('verdict.failures', { run_id: runId });
  const hasOthers = rows.some(({ other_processes_bytes: bytes }) => bytes !== null && bytes > 0);
  const processesAt = hasOthers ? await readJobProcesses(store, runId) : () => [];
  const isShared = hasOthers || rows.some((row) => context?.of(row).monitor?.others != null);
  const engineSign = isShared ? await readEngineSign(store, runId) : null;
  const siteOf = await sitesOf(store, rows);
  const failures = rows.map((row): TracedFailure | MessageFailure => {
    const neighbours = { jobProcesses: processesAt(row.message_path, row.message_line), engineSign };
    const oom = traced[row.failure];
    const rank = context?.of(row);
    if (oom === undefined) return { ...messageFailureOf(row, rank, total, neighbours), site: siteOf(row) };
    const trace = traceOf(row, oom, { steps: steps.get(row.failure) ?? [], kept: kept.get(row.failure) ?? [] });
    const facts = { ...factsOf(row, { oom, rank, total }), trace, ...neighbours };
    return { facts, oom, message: messageOf(row), rank, site: siteOf(row), sizes: null };
  });
  const sizes = { failures, view: context === null ? null : new View(await factsOfRun(store, runId)) };
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

export function messageFailureOf(
  row: FactRow,
  rank?: RankContext,
  total?: Figure,
  neighbours: Pick<OomFacts, 'jobProcesses' | 'engineSign'> = {},
): MessageFailure {
  const site = failingSite(readFrames(row.frames), messagePlace(row), row.text ?? '');
  const facts = { ...factsOf(row, { oom: undefined, rank, total }), ...neighbours };
  return { facts, oom: null, message: messageOf(row)!, rank, site, sizes: null };
}

function messageOf({ kind, rank, device, text, ...row }: FactRow): Message | undefined {
  if (kind === null || text === null) return undefined;
  return { kind: kind as IncidentKind, rank, device, text, place: messagePlace(row) };
}

function messagePlace({
  message_path: path,
  message_line: line,
}: Pick<FactRow, 'message_path' | 'message_line'>): Place {
  return { path: path ?? '', line: line ?? 0 };
}

function factsOf(
  row: FactRow,
  {
    oom,
    rank,
    total,
  }: Pick<Surroundings, 'total'> & {
    readonly oom: SnapshotOom | undefined;
    readonly rank: RankContext | undefined;
  },
): OomFacts {
  const printed = messagePlace(row);
  const known = oom?.source ?? printed;
  const figure = (bytes: number | null, precisionBytes: number | null, source: Place): Figure | null =>
    bytes === null ? null : { bytes, precisionBytes: precisionBytes ?? 0, source };
  const totalSources: Readonly<Record<string, Place | undefined>> = {
    message: printed,
    capacity: CAPACITY,
    run: total?.source,
    monitor: rank?.monitor?.totalSource,
  };
  const others = figure(row.other_processes_bytes, row.other_processes_precision_bytes, printed);
  return {
    rank: row.rank,
    device: row.device,
    request: row.request_bytes === null ? null : { bytes: row.request_bytes, source: known },
    requestAtLeastBytes: row.least_request_bytes,
    segmentBytes: row.segment_request_bytes,
    requestSite: row.site,
    reserved: figure(row.reserved_bytes, row.reserved_precision_bytes, known),
    allocated: figure(row.allocated_bytes, row.allocated_precision_bytes, known),
    pending: figure(row.pending_bytes, 0, known),
    freedByWait: figure(row.freed_by_wait_bytes, 0, known),
    deviceFree: figure(
      row.device_free_bytes,
      row.device_free_precision_bytes,
      oom?.row.device_free_bytes == null ? printed : known,
    ),
    total: figure(row.total_bytes, row.total_precision_bytes, totalSources[row.total_from ?? ''] ?? printed),
    process: figure(row.process_bytes, row.process_precision_bytes, printed),
    otherProcesses: others === null ? [] : [others],
    impossible: row.impossible,
    allowed: figure(row.allowed_bytes, row.allowed_precision_bytes, printed),
    privatePools: figure(oom?.row.private_reserved_bytes ?? null, 0, known),
    privatePoolFree: figure(row.private_free_bytes, row.private_free_precision_bytes, known),
    oversizeSlack: figure(row.oversize_slack_bytes, 0, known),
    free: oom?.free ?? null,
    allocator:
      oom === undefined
        ? (rank?.allocator?.facts ?? null)
        : {
            expandableSegments: oom.expandableSegments,
            maxSplitBytes: row.max_split_bytes ?? Number.POSITIVE_INFINITY,
            source: known,
          },
    growth: growthOf(row),
    walk:
      oom === undefined
        ? null
        : {
            exact: oom.row.holds,
            violations: oom.row.violations,
            uncertainBlocks: oom.row.uncertain_blocks,
            uncertainBytes: oom.row.uncertain_bytes,
          },
    freedAfterOom: oom?.freedAfterOom ?? false,
    roundingWaste: figure(row.rounding_waste_bytes, 0, known),
    run: rank === undefined && row.run_activity === null ? null : runSideOf(row, rank, printed),
    bystanders:
      row.failed_alone === null
        ? null
        : {
            failedAlone: row.failed_alone,
            ranks: row.other_ranks ?? 0,
            mostReservedBytes: row.others_reserved_bytes,
            ownReservedBytes: row.own_reserved_bytes,
            hasEnvironment: row.has_environment,
          },
    driver: rank?.driver == null || rank.driver.outside.length === 0 ? null : rank.driver,
    monitor: rank?.monitor ?? null,
  };
}

function growthOf(row: FactRow): Growth | null {
  if (row.growth_samples === null) return null;
  return {
    samples: row.growth_samples,
    firstIteration: row.growth_first_iteration!,
    lastIteration: row.growth_last_iteration!,
    firstBytes: row.growth_first_bytes!,
    lastBytes: row.growth_last_bytes!,
    bytesPerIteration: row.growth_bytes_per_iteration!,
    r2: row.growth_r2!,
    lateBytes: row.growth_late_bytes,
    source: { path: row.growth_path! },
  };
}

/** `printed`: of the message. */
function runSideOf(row: FactRow, rank: RankContext | undefined, printed: Place): RunSide {
  const stageOf = (stage: number | null, ofRank: number | null, bytes: number | null) =>
    stage === null || ofRank === null || bytes === null ? [] : [{ stage, rank: ofRank, bytes }];
  return {
    completed: row.completed_steps,
    activity: row.run_activity as RunSide['activity'],
    activitySource: rank === undefined ? printed : (rank.activity?.source ?? null),
    highestBytes: row.highest_bytes,
    stage: row.stage,
    stages: row.stages,
    otherStages: stageOf(row.next_stage, row.next_stage_rank, row.next_stage_bytes),
    ownStage: stageOf(row.stage, row.own_stage_rank, row.own_stage_bytes)[0] ?? null,
    onlyThisStage: row.only_this_stage,
    severalReplicas: row.several_replicas,
    early:
      row.early_path === null
        ? null
        : {
            firstIteration: row.early_first_iteration!,
            secondIteration: row.early_second_iteration!,
            bytesPerIteration: row.early_bytes_per_iteration!,
            peakBytes: row.early_peak_bytes!,
            lastIteration: row.early_last_iteration!,
            source: { path: row.early_path, line: row.early_line! },
          },
    nccl: rank?.nccl ?? [],
    source: row.lines_path === null ? null : { path: row.lines_path, line: row.lines_line! },
  };
}

interface TraceRows {
  readonly steps: readonly QueryRow<'verdict.steps'>[];
  readonly kept: readonly QueryRow<'verdict.kept'>[];
}

function traceOf(row: FactRow, oom: SnapshotOom, { steps, kept }: TraceRows): TraceFacts {
  return {
    steps:
      row.steps_by === null
        ? null
        : steps.map(({ is_settled: settled, peak_bytes: peakBytes, end_bytes: endBytes }) => ({
            settled,
            peakBytes,
            endBytes,
          })),
    stepsBy: row.steps_by,
    whole: row.trace_is_whole!,
    hasEarlierStates: row.has_earlier_states!,
    keeping: kept.map(({ site, bytes, blocks, steps: whole, bytes_per_step: bytesPerStep }) => ({
      site,
      bytes,
      blocks,
      steps: whole,
      bytesPerStep,
    })),
    repeatedBytes: row.repeated_bytes!,
    activity: row.trace_activity as TraceFacts['activity'],
    activityBytes: row.activity_bytes!,
    copiedBytes: row.copied_bytes!,
    wholeStep:
      row.step_outcome === null
        ? null
        : {
            outcome: row.step_outcome as WholeStepOutcome,
            peakBytes: row.projected_bytes!,
            limitBytes: row.limit_bytes!,
            alikeShare: row.alike_share ?? 0,
          },
    source: oom.source,
  };
}
