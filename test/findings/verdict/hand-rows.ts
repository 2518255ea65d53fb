/** Facts made by hand as rows of `oom_fact` and its tables. */
import { testCauses } from '../../../src/derive/derive.js';
import { type Judged, readJudged } from '../../../src/derive/verdict/combine.js';
import type { OomFacts as ReadFacts } from '../../../src/derive/verdict/facts.js';
import type { Counterfactual } from '../../../src/model/verdict.js';
import type { IncidentKind } from '../../../src/model/vocabulary.js';
import type { Store } from '../../../src/store/store.js';
import type { SqlValue } from '../../../src/store/to-duckdb.js';
import type { Figure, FreeSpace, OomFacts } from './hand-facts.js';

export interface FailureInput {
  readonly facts: OomFacts;
  /** Of the message; without one the failure is a trace's. */
  readonly kind?: IncidentKind | undefined;
  readonly text?: string;
  readonly counterfactual?: Counterfactual;
}

/** Replaces all runs of a store by these, and tests their failures. */
export async function writeByHand(store: Store, runs: readonly (readonly FailureInput[])[]): Promise<void> {
  const now = new Date();
  const keyed = runs.flatMap((failures, run_id) => failures.map((of, failure) => ({ of, key: { run_id, failure } })));
  await store.transaction(async () => {
    for (const table of ['run', 'oom_fact', 'oom_step', 'oom_keeping_site']) await store.run(`DELETE FROM ${table}`);
    await store.insertRows(
      'run',
      runs.map((_, i) => ({ run_id: i, name: String(i), root_path: '', created_at: now, touched_at: now })),
    );
    await store.insertRows(
      'oom_fact',
      keyed.map(({ of, key }) => ({ ...key, ...factRow(of) })),
    );
    await store.insertRows(
      'oom_step',
      keyed.flatMap(({ of, key }) => stepsOf(of.facts).map((step, i) => ({ ...key, step: i, ...step }))),
    );
    await store.insertRows(
      'oom_keeping_site',
      keyed.flatMap(({ of, key }) => keptOf(of.facts).map((site) => ({ ...key, ...site }))),
    );
  });
  await testCauses(
    store,
    runs.map((_, i) => i),
  );
}

/** The verdicts on failures that have nothing to do with each other. */
export async function judgeSeparately(scratch: Store, failures: readonly FailureInput[]): Promise<Judged[]> {
  await writeByHand(
    scratch,
    failures.map((failure) => [failure]),
  );
  return readJudged(scratch, null);
}

function stepsOf({ trace }: OomFacts): ReadFacts['steps'] {
  return (trace?.steps ?? []).map(({ settled, peakBytes, endBytes }) => ({
    ...{ is_settled: settled, peak_bytes: peakBytes, end_bytes: endBytes },
  }));
}

function keptOf({ trace }: OomFacts): ReadFacts['kept'] {
  return (trace?.keeping ?? []).map(({ bytesPerStep, ...site }) => ({ ...site, bytes_per_step: bytesPerStep }));
}

/** A reserve in the parts of `oom_account`. */
function partsOf({ reserved, pending, privatePools, privatePoolFree }: OomFacts, free: FreeSpace) {
  const pools = privatePools?.bytes ?? 0;
  const poolFree = privatePoolFree?.bytes ?? 0;
  const parts = {
    pending_free: pending?.bytes ?? 0,
    private_pools_live: pools - poolFree,
    private_pools_free: poolFree,
    cached_too_small: free.usable.bytes,
    cached_other_stream: free.otherStream.bytes,
    cached_other_size_class: free.otherClass.bytes,
  };
  const divided = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
  return new Map(Object.entries({ ...parts, requested: (reserved?.bytes ?? 0) - divided }));
}

/** The facts as the program reads them from the tables of a store; the sums are those of `oom_sum`. */
export function readOf(facts: OomFacts): ReadFacts {
  const { trace, run, growth, free, allocated, reserved, deviceFree, allowed } = facts;
  const row = factRow({ facts });
  const printedPlace = { path: 'train.log', line: 9 };
  const place = (facts.request ?? reserved ?? allocated)?.source ?? printedPlace;
  const reach = reserved === null || deviceFree === null ? null : reserved.bytes + deviceFree.bytes;
  const live = allocated === null ? null : allocated.bytes + (facts.pending?.bytes ?? 0);
  const limit = reach === null || allowed === null ? reach : Math.min(reach, allowed.bytes);
  const early = run?.early ?? null;
  const next = (run?.otherStages ?? []).toSorted((a, b) => b.bytes - a.bytes)[0];
  const lineOf = (source: unknown): number => (source as { line?: number } | undefined)?.line ?? 1;
  const pathOf = (source: unknown): string | null => (source as { path?: string } | undefined)?.path ?? null;
  const more = {
    ...{ snapshot_id: free === null ? null : 1, site: facts.requestSite, impossible: facts.impossible ?? [] },
    ...{ live_bytes: live, limit_bytes: limit, step_outcome: trace?.wholeStep?.outcome ?? null },
    short_bytes: live === null || limit === null ? null : live + facts.requestAtLeastBytes - limit,
    steps_by: trace?.stepsBy ?? null,
    growth_first_iteration: growth?.firstIteration ?? null,
    growth_last_iteration: growth?.lastIteration ?? null,
    growth_bytes_per_iteration: growth?.bytesPerIteration ?? null,
    growth_path: pathOf(growth?.source),
    ...{
      own_stage_rank: run?.ownStage?.rank ?? null,
      next_stage: next?.stage ?? null,
      next_stage_rank: next?.rank ?? null,
    },
    ...{ lines_path: pathOf(run?.source), lines_line: lineOf(run?.source) },
    ...{ early_first_iteration: early?.firstIteration ?? null, early_path: pathOf(early?.source) },
    early_line: lineOf(early?.source),
    ...{ total: facts.total, place, printedPlace, freePlace: deviceFree?.source ?? place },
    allocatorPlace: facts.allocator?.source ?? null,
    activityPlace: trace?.activity == null ? (run?.activitySource ?? place) : trace.source,
    parts: free === null ? null : partsOf(facts, free),
    searched: free === null ? undefined : { pinned_segments: free.pinnedSegments, pinning_bytes: free.pinningBytes },
    ...{ steps: stepsOf(facts), kept: keptOf(facts), nccl: run?.nccl ?? [] },
    ...{ jobProcesses: facts.jobProcesses ?? [], engineSign: facts.engineSign ?? null },
    ...{ driver: facts.driver ?? null, monitor: facts.monitor ?? null },
  };
  return { ...row, ...more } as unknown as ReadFacts;
}

function factRow({ facts, kind, text }: FailureInput): Record<string, SqlValue> {
  const { trace, run, growth, free, walk, allocator, bystanders, driver, monitor } = facts;
  const maxSplit = allocator?.maxSplitBytes ?? Number.POSITIVE_INFINITY;
  const next = (run?.otherStages ?? []).toSorted((a, b) => b.bytes - a.bytes)[0];
  return {
    rank: facts.rank,
    device: facts.device,
    kind: kind ?? null,
    text: text ?? null,
    request_bytes: facts.request?.bytes ?? null,
    // Half of a printed digit may be a fraction of a byte.
    least_request_bytes: Math.round(facts.requestAtLeastBytes),
    segment_request_bytes: facts.segmentBytes,
    ...figure('reserved', facts.reserved),
    ...figure('allocated', facts.allocated),
    pending_bytes: facts.pending?.bytes ?? null,
    freed_by_wait_bytes: facts.freedByWait?.bytes ?? null,
    ...figure('device_free', facts.deviceFree),
    ...figure('total', facts.total),
    ...figure('process', facts.process),
    other_processes_bytes: facts.otherProcesses.reduce((sum, { bytes }) => sum + bytes, 0),
    other_processes_precision_bytes: Math.round(
      facts.otherProcesses.reduce((sum, { precisionBytes }) => sum + precisionBytes, 0),
    ),
    ...figure('allowed', facts.allowed),
    ...figure('private_free', facts.privatePoolFree),
    oversize_slack_bytes: facts.oversizeSlack?.bytes ?? null,
    rounding_waste_bytes: facts.roundingWaste?.bytes ?? null,
    has_free_space: free !== null,
    usable_bytes: free?.usable.bytes ?? null,
    largest_usable_bytes: free?.usable.largestBytes ?? null,
    other_stream_bytes: free?.otherStream.bytes ?? null,
    other_class_bytes: free?.otherClass.bytes ?? null,
    is_expandable: allocator?.expandableSegments ?? null,
    max_split_bytes: Number.isFinite(maxSplit) ? maxSplit : null,
    walk_is_exact: walk?.exact ?? null,
    uncertain_bytes: walk?.uncertainBytes ?? null,
    has_trace: trace != null,
    has_steps: trace?.steps != null,
    trace_is_whole: trace?.whole ?? null,
    has_earlier_states: trace?.hasEarlierStates ?? null,
    repeated_bytes: trace?.repeatedBytes ?? null,
    trace_activity: trace?.activity ?? null,
    activity_bytes: trace?.activityBytes ?? null,
    copied_bytes: trace?.copiedBytes ?? null,
    // Its outcome and limit follow from these.
    projected_bytes: trace?.wholeStep?.peakBytes ?? null,
    alike_share: trace?.wholeStep?.alikeShare ?? null,
    growth_samples: growth?.samples ?? null,
    growth_first_bytes: growth?.firstBytes ?? null,
    growth_last_bytes: growth?.lastBytes ?? null,
    growth_late_bytes: growth?.lateBytes ?? null,
    growth_r2: growth?.r2 ?? null,
    reserved_growth_samples: facts.reservedGrowth?.samples ?? null,
    reserved_growth_bytes:
      facts.reservedGrowth == null ? null : facts.reservedGrowth.lastBytes - facts.reservedGrowth.firstBytes,
    reserved_growth_last_bytes: facts.reservedGrowth?.lastBytes ?? null,
    reserved_growth_r2: facts.reservedGrowth?.r2 ?? null,
    run_activity: run?.activity ?? null,
    completed_steps: run?.completed ?? null,
    highest_bytes: run?.highestBytes ?? null,
    stage: run?.stage ?? null,
    stages: run?.stages ?? null,
    own_stage_bytes: run?.ownStage?.bytes ?? null,
    next_stage_bytes: next?.bytes ?? null,
    only_this_stage: run?.onlyThisStage ?? false,
    several_replicas: run?.severalReplicas ?? false,
    early_second_iteration: run?.early?.secondIteration ?? null,
    early_last_iteration: run?.early?.lastIteration ?? null,
    early_bytes_per_iteration: run?.early?.bytesPerIteration ?? null,
    early_peak_bytes: run?.early?.peakBytes ?? null,
    nccl_signs: run?.nccl.length ?? 0,
    failed_alone: bystanders?.failedAlone ?? null,
    other_ranks: bystanders?.ranks ?? null,
    others_reserved_bytes: bystanders?.mostReservedBytes ?? null,
    own_reserved_bytes: bystanders?.ownReservedBytes ?? null,
    has_environment: bystanders?.hasEnvironment ?? false,
    driver_outside_bytes: driver?.outside.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
    driver_nccl_bytes: driver == null ? null : (driver.outside.find(({ owner }) => owner === 'nccl')?.bytes ?? 0),
    monitored_others_bytes: monitor?.others?.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
  };
}

function figure(name: string, known: Figure | null): Record<string, number | null> {
  return {
    [`${name}_bytes`]: known?.bytes ?? null,
    [`${name}_precision_bytes`]: known === null ? null : Math.round(known.precisionBytes),
  };
}
