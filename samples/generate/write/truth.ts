/**
 * What is true by construction, from the run and its simulated allocators only: never from a verdict, a log or a file.
 */
import type { SegmentSnapshot } from '../../../src/allocator/caching/allocator-snapshot.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from '../causes/arithmetic.js';
import type { Attempt, DumpedSnapshot, RankProfile, SimulatedRank } from '../run.js';
import type { DriverCaller } from '../simulate/profile/recording.js';
import type { Traceback } from '../simulate/rank-process.js';
import { failed } from './failure-lines.js';
import { monitorTruth } from './monitor/monitor-truth.js';
import { completedIterations, lastIteration, type RunFacts } from './run-facts.js';
import { dumpIteration, snapshotName } from './snapshot-names.js';
import { dumpedSegments, dumpedTrace } from './snapshot-pickle.js';

/** Files of the run as the writer named them. */
export interface WrittenFiles {
  readonly logs: readonly string[];
  /** Survivors: a later attempt's snapshot replaces an earlier one of the same name. */
  readonly snapshots: ReadonlyMap<string, DumpedSnapshot>;
  readonly profiles: ReadonlyMap<string, RankProfile>;
  readonly maxEntries: number;
}

export function truth(facts: RunFacts, files: WrittenFiles): Readonly<Record<string, unknown>> {
  const { run } = facts;
  const last = run.attempts.at(-1)!;
  const first = last.ranks.find(({ rank }) => rank === run.truth.firstFailingRank);
  return {
    generator: { cause: run.causeName, seed: run.seed },
    cause: run.truth.cause,
    detail: run.truth.detail,
    is_oom: run.truth.isOom,
    because: run.truth.because,
    numbers: run.truth.numbers,
    step_need_bytes: last.needBytes ?? null,
    step_deficit_bytes: deficitOf(last),
    first_failing_rank: run.truth.firstFailingRank,
    failed_iteration: first === undefined || first.trainingStartUs === null ? null : lastIteration(last, first),
    logs: files.logs,
    attempts: run.attempts.map((attempt) => attemptTruth(attempt)),
    ranks: last.ranks.map((rank) => rankTruth(facts, files, rank)),
    snapshots: [...files.snapshots].map(([name, snapshot]) => snapshotTruth(facts, files, name, snapshot)),
    ...(files.profiles.size === 0
      ? {}
      : { profiles: [...files.profiles].map(([name, profile]) => profileTruth(facts, name, profile)) }),
    ...(run.monitors === undefined ? {} : { monitors: monitorTruth(facts) }),
  };
}

/** What the whole step needs less what the process could have; null where nothing ran out of memory. */
function deficitOf({ ranks, needBytes }: Attempt): number | null {
  const first = failedRanks(ranks)[0];
  if (needBytes === undefined || first === undefined || !ranOutOfMemory(first)) return null;
  return needBytes - oomArithmetic(first.ending.report).budgetBytes;
}

function attemptTruth(attempt: Attempt) {
  return {
    first_iteration: attempt.firstIteration,
    completed_iterations: completedIterations(attempt),
    out_of_memory_ranks: attempt.ranks.filter(({ ending }) => ending.kind === 'oom').map(({ rank }) => rank),
    failed_ranks: attempt.ranks.filter(failed).map(({ rank }) => rank),
  };
}

function rankTruth({ run }: RunFacts, files: WrittenFiles, rank: SimulatedRank) {
  const { ending, process } = rank;
  const attempt = run.attempts.length - 1;
  const own = [...files.snapshots].filter(
    ([, snapshot]) => snapshot.attempt === attempt && snapshot.rank === rank.rank,
  );
  const [name, dump] = own.find(([, { trigger }]) => trigger === 'oom') ?? own.at(-1) ?? [];
  const { allocator } = process;
  const { statistics } = allocator;
  const common = {
    rank: rank.rank,
    device: rank.device,
    stage: rank.stage,
    ending: ending.kind,
    snapshot: name ?? null,
    trace_entries: dump === undefined ? null : dumpedTrace(process, files.maxEntries, dump.state).length,
    reserved_bytes: statistics.reservedBytes.current,
    allocated_bytes: statistics.allocatedBytes.current,
    active_bytes: statistics.activeBytes.current,
    peak_active_bytes: statistics.activeBytes.peak,
    peak_reserved_bytes: statistics.reservedBytes.peak,
    alloc_retries: statistics.numAllocRetries,
  };
  if (ending.kind !== 'oom') return common;
  const { report } = ending;
  const segments = allocator.snapshot();
  // Free blocks of every pool, private ones included.
  const holes = blocksOf(segments, 'inactive');
  return {
    ...common,
    requested_bytes: report.requestedBytes,
    rounded_bytes: report.roundedBytes,
    segment_bytes: report.segmentBytes,
    device_total_bytes: report.deviceTotalBytes,
    device_free_bytes: report.deviceFreeBytes,
    non_torch_bytes: report.processBytes - report.reservedBytes,
    other_process_bytes: report.deviceTotalBytes - report.deviceFreeBytes - report.processBytes,
    pending_free_bytes: sum(blocksOf(segments, 'active_pending_free')),
    holes: holes.length,
    largest_hole_bytes: Math.max(0, ...holes),
    failing_function: ending.path[0]?.name ?? null,
  };
}

function blocksOf(segments: readonly SegmentSnapshot<Traceback>[], state: string): number[] {
  return segments.flatMap(({ blocks }) =>
    blocks.filter((block) => block.state === state).map(({ sizeBytes }) => sizeBytes),
  );
}

function snapshotTruth(facts: RunFacts, files: WrittenFiles, name: string, dump: DumpedSnapshot) {
  const attempt = facts.run.attempts[dump.attempt]!;
  const rank = attempt.ranks.find((candidate) => candidate.rank === dump.rank)!;
  const { process } = rank;
  const segments = dumpedSegments(process, dump.state);
  const trace = dumpedTrace(process, files.maxEntries, dump.state);
  const recorded = dump.state?.traceEntries ?? process.trace.length;
  const { statistics } = process.allocator;
  // The statistics are those of the whole life: they are the dump's own only where it is the end and the ring kept
  // everything.
  const isWhole = dump.state === undefined && trace.length === recorded;
  return {
    file: name,
    attempt: dump.attempt,
    rank: dump.rank,
    device: rank.device,
    trigger: dump.trigger,
    iteration: dump.trigger === 'step' ? dumpIteration(facts, dump) : null,
    trace_entries: trace.length,
    overwritten_entries: recorded - trace.length,
    segments: segments.length,
    blocks: sum(segments.map(({ blocks }) => blocks.length)),
    reserved_bytes: sum(segments.map(({ totalBytes }) => totalBytes)),
    allocated_bytes: sum(segments.map(({ allocatedBytes }) => allocatedBytes)),
    active_bytes: sum(segments.map(({ activeBytes }) => activeBytes)),
    peak_active_bytes: isWhole ? statistics.activeBytes.peak : null,
    peak_reserved_bytes: isWhole ? statistics.reservedBytes.peak : null,
  };
}

const OWNERS: Readonly<Record<DriverCaller, 'torch' | 'nccl' | 'cublas'>> = {
  torch: 'torch',
  torch_backward: 'torch',
  nccl_init: 'nccl',
  nccl_connect: 'nccl',
  nccl_proxy: 'nccl',
  cublas: 'cublas',
};

/** Whose the driver's memory was when it refused some for the last time, and what the profiler saw beside that. */
function profileTruth(facts: RunFacts, name: string, { attempt, rank, recording, unseenBytes }: RankProfile) {
  const { calls, ranges, kernels } = recording;
  const refused = calls.filter(({ address }) => address === null);
  const lastUs = refused.at(-1)?.startUs ?? Number.POSITIVE_INFINITY;
  const held = new Map<number, (typeof calls)[number]>();
  for (const call of calls) {
    if (call.address === null || call.startUs > lastUs) continue;
    if (call.kind === 'malloc') held.set(call.address, call);
    else held.delete(call.address);
  }
  const bytes: Record<string, number> = {};
  for (const call of held.values()) bytes[OWNERS[call.caller]] = (bytes[OWNERS[call.caller]] ?? 0) + call.bytes;
  const steps = ranges.flatMap(({ text, endUs }) =>
    endUs === null ? [] : (/^iteration (\d+)$/.exec(text)?.[1] ?? []),
  );
  return {
    file: name,
    attempt,
    rank,
    pid: facts.pid(attempt, rank),
    driver_bytes_at_oom: bytes,
    unseen_bytes: unseenBytes,
    mallocs: calls.filter(({ kind, address }) => kind === 'malloc' && address !== null).length,
    frees: calls.filter(({ kind }) => kind === 'free').length,
    refused: refused.length,
    complete_steps: steps.map(Number),
    ranges: ranges.length,
    kernels: kernels.length,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Name of every surviving snapshot, in the order of the dumps. */
export function survivingSnapshots(facts: RunFacts): Map<string, DumpedSnapshot> {
  const surviving = new Map<string, DumpedSnapshot>();
  for (const snapshot of facts.run.snapshots) {
    const name = snapshotName(facts, snapshot);
    surviving.delete(name);
    surviving.set(name, snapshot);
  }
  return surviving;
}
