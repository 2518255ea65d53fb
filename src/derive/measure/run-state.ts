/**
 * What a reader wants to know of a run from its texts: how far it came, its fullest rank, its pace, what grows. The
 * figures are those of `log`, and of the library's `memory_of_ranks` and `steady_steps`.
 */

import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf, minOf } from '../../model/lists.js';
import type { MemoryMetricResult, MemoryRank } from '../../model/results/log.js';
import type { LaunchOoms, RunGrowth, RunPeak, RunState, RunStateName, RunStep } from '../../model/run-state.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, readSettings } from '../run/config.js';
import { iterationSummaries } from '../run/iterations.js';
import { type LogFacts, readLogFacts } from '../run/log-facts.js';
import { memoryRanks, steadyGrowth } from '../run/memory.js';
import { deriveStep, readRates } from '../run/pace.js';

/** Null where no text is about training. `totalBytes`: of the device; where a line or an option gives it. */
export async function readRunState(store: Store, runId: number, totalBytes: number | null): Promise<RunState | null> {
  const { facts, layout, ends, judged, incidents } = await readLogFacts(store, runId);
  const launches = await iterationSummaries(store, runId);
  const lines = launches.find(({ attempt }) => attempt === judged);
  const ranks = await memoryRanks(store, runId, layout, { attempt: judged });
  const total = totalBytes ?? facts.gpu.total_bytes;
  const [printed] = await store.all('log.printed_share', { run_id: runId, attempt: judged });
  const peak = peakOf(ranks, total, printed === undefined ? null : printed.percent / 100);
  const isLast = launches.every(({ attempt }) => attempt === null || attempt <= judged);
  const step = lines === undefined || isLast ? await stepOf(store, runId, facts.world_size) : null;
  const ending = ends[judged - 1]?.ending ?? 'unknown';
  if (lines === undefined && peak === null && step === null) return null;
  // Without an iteration, texts that report no end are of anything.
  if (ending === 'unknown' && lines === undefined && step === null) return null;
  const isEnded = incidents.some(({ attempt, survived }) => (attempt ?? 1) === judged && !survived);
  const state: RunStateName = ending !== 'unknown' ? ending : isEnded ? 'ended_by_launcher' : 'running_or_cut';
  return {
    state,
    last_iteration: lines?.highest ?? null,
    target_iteration: lines?.target ?? null,
    peak,
    step,
    growth: await growthOf(store, { runId, attempt: judged }, ranks, peak),
  };
}

// ---- memory

const RESERVED = ['max_reserved', 'reserved'] as const;
const ALLOCATED = ['max_allocated', 'max_active', 'allocated', 'active'] as const;

const largestOf = ({ metrics }: MemoryRank, names: readonly string[]): number | null => {
  const values = metrics.flatMap(({ metric, max_bytes: bytes }) =>
    bytes !== null && names.includes(metric) ? [bytes] : [],
  );
  return values.length === 0 ? null : maxOf(values);
};

function peakOf(ranks: readonly MemoryRank[], total: number | null, printed: number | null): RunPeak | null {
  for (const [of, names] of [
    ['reserved', RESERVED],
    ['allocated', ALLOCATED],
  ] as const) {
    const peaks = ranks.flatMap((rank) => {
      const bytes = largestOf(rank, names);
      return bytes === null || bytes <= 0 ? [] : [{ rank, bytes }];
    });
    if (peaks.length === 0) continue;
    const fullest = peaks.reduce((best, one) => (one.bytes > best.bytes ? one : best));
    const { bytes } = fullest;
    // A larger figure than the total: the total is of another device.
    const known = total !== null && total >= bytes ? total : null;
    const share = known !== null ? bytes / known : of === 'reserved' ? printed : null;
    return {
      of,
      bytes,
      rank: fullest.rank.rank,
      allocated_bytes: of === 'reserved' ? largestOf(fullest.rank, ALLOCATED) : null,
      ranks: peaks.length,
      least_bytes: minOf(peaks.map((one) => one.bytes)),
      total_bytes: known,
      share,
      share_by: share === null ? null : known === null ? 'printed' : 'total',
      headroom_bytes: known !== null ? known - bytes : share === null ? null : Math.round(bytes / share - bytes),
    };
  }
  return null;
}

// ---- pace

async function stepOf(store: Store, runId: number, worldSize: number | null): Promise<RunStep | null> {
  const [steady] = await store.all('measure.steady_steps', { run_id: runId });
  if (steady?.median_ms != null)
    return {
      ms: steady.median_ms,
      from_iteration: steady.first_iteration,
      to_iteration: steady.last_iteration,
      iterations: steady.iterations,
      derived_from: null,
      tflops_per_gpu: steady.median_tflops,
    };
  const rates = await readRates(store, runId);
  const derived = await deriveStep(store, runId, rates, effectiveConfig(await readSettings(store, runId)), worldSize);
  if (derived === null) return null;
  const { ms, from } = derived;
  const none = { from_iteration: null, to_iteration: null, iterations: null, tflops_per_gpu: null };
  return { ms, ...none, derived_from: from };
}

// ---- growth

/** Live memory first: the reserve follows it. A figure that is a largest value rises in any run, at first. */
const GROWING = ['allocated', 'active', 'reserved', 'max_allocated', 'max_reserved'] as const;
const LEAST_RISES = threshold('run_state.least_rises');
/** Iterations that are named. */
const MOST_RISES = 3;
const LEAST_GROWN_SHARE = threshold('run_state.least_grown_share');

interface Launch {
  readonly runId: number;
  readonly attempt: number;
}

async function growthOf(
  store: Store,
  launch: Launch,
  ranks: readonly MemoryRank[],
  peak: RunPeak | null,
): Promise<RunGrowth | null> {
  if (peak === null) return null;
  const full = peak.total_bytes ?? (peak.headroom_bytes === null ? null : peak.bytes + peak.headroom_bytes);
  const steady = ranks.flatMap((rank) => {
    const grown = GROWING.flatMap((name) => {
      const metric = rank.metrics.find((one) => one.metric === name);
      const slope = metric === undefined ? null : steadyGrowth(metric);
      return metric === undefined || slope === null
        ? []
        : [{ rank, metric, slope, full: fullAt(rank, metric, slope, full) }];
    });
    return grown.slice(0, 1);
  });
  // The rank that is full first; where no total is known, the one that grows fastest.
  steady.sort((a, b) => (a.full ?? Infinity) - (b.full ?? Infinity) || b.slope - a.slope);
  for (const { rank, metric, slope, full: iteration } of steady.slice(0, 1)) {
    const rises = await risesOf(store, launch, rank.rank, metric);
    if (rises !== null && rises.rises >= LEAST_RISES)
      return { ...rises, bytes_per_iteration: slope, full_at_iteration: iteration };
  }
  const fullest = ranks.find(({ rank }) => rank === peak.rank);
  const names: readonly string[] = peak.of === 'reserved' ? RESERVED : ALLOCATED;
  const metric = fullest?.metrics.find((one) => names.includes(one.metric) && one.metric.startsWith('max_'));
  if (metric === undefined) return null;
  const rises = await risesOf(store, launch, peak.rank, metric);
  if (rises === null || rises.grown_bytes < LEAST_GROWN_SHARE * peak.bytes) return null;
  return { ...rises, bytes_per_iteration: null, full_at_iteration: null };
}

/** The peak of a rank grows with what it holds. */
function fullAt(rank: MemoryRank, metric: MemoryMetricResult, slope: number, full: number | null): number | null {
  const peak = largestOf(rank, metric.metric.includes('reserved') ? RESERVED : ALLOCATED);
  if (full === null || peak === null || metric.last_iteration === null) return null;
  return Math.ceil(metric.last_iteration + Math.max(0, full - peak) / slope);
}

async function risesOf(
  store: Store,
  { runId, attempt }: Launch,
  rank: number | null,
  { metric }: MemoryMetricResult,
): Promise<Omit<RunGrowth, 'bytes_per_iteration' | 'full_at_iteration'> | null> {
  const rows = await store.all('log.memory_rises', { run_id: runId, attempt, rank, metric, most: MOST_RISES });
  const [last] = rows;
  if (last === undefined) return null;
  const at = rows.map(({ iteration }) => iteration).reverse();
  return { metric, rank, rises: last.rises, at_iterations: at, grown_bytes: last.grown_bytes };
}

// ---- other launches

/** Launches other than the judged one that ran out of memory; those with the same figures together. */
export function launchOoms({ ends, judged, incidents }: Pick<LogFacts, 'ends' | 'judged' | 'incidents'>): LaunchOoms[] {
  const groups = new Map<string, LaunchOoms & { readonly attempts: number[] }>();
  for (const { attempt, ending, ending_file: file, ending_line: line } of ends) {
    if (ending !== 'oom' || attempt === judged || file === null || line === null) continue;
    const incident = incidents.find((one) => (one.attempt ?? 1) === attempt && one.file === file && one.line === line);
    const { frame } = incident ?? {};
    const figures = {
      rank: incident?.rank ?? null,
      device: incident?.device ?? null,
      requested_bytes: incident?.requested_bytes ?? null,
      free_bytes: incident?.free_bytes ?? null,
      total_bytes: incident?.total_bytes ?? null,
      frame: frame == null ? null : `${frame.function} at ${frame.file}:${frame.line}`,
      iteration: incident?.iteration_origin === 'same file' ? incident.iteration : null,
    };
    const key = JSON.stringify(figures);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { attempts: [attempt], ...figures, file, line });
    else known.attempts.push(attempt);
  }
  return [...groups.values()];
}
