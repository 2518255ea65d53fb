/** What happened in each training step, and what each left behind. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { pick } from '../../model/pick.js';
import type { StepGrowth, StepRange, TimelineStep } from '../../model/results/timeline.js';
import type { Store } from '../../store/store.js';

const LEVEL_SHARE = threshold('trace.level_share');

/**
 * The figures of `steps`, which are disjoint, in order, and covered by the rows of `derived_bucket`, cut at {@link
 * stepCuts}. Two queries in all.
 */
export async function stepFigures(
  store: Store,
  snapshotId: number,
  device: number,
  steps: readonly StepRange[],
): Promise<TimelineStep[]> {
  if (steps.length === 0) return [];
  const params = {
    snapshot_id: snapshotId,
    device,
    firsts: steps.map((step) => step.first_seq).join(','),
    lasts: steps.map((step) => step.last_seq).join(','),
  };
  const states = new Map((await store.all('timeline.step_states', params)).map((row) => [row.nth, row]));
  const events = await store.all('timeline.step_events', params);
  return events.map(({ nth, ...counts }) => {
    const step = steps[nth]!;
    const state = states.get(nth);
    if (state === undefined) throw new Error(`no row of derived_bucket is in step ${step.step}`);
    return {
      ...step,
      ...pick(state, ['start_active_bytes', 'peak_active_bytes', 'peak_first_seq', 'peak_last_seq']),
      ...pick(state, ['peak_reserved_bytes', 'end_active_bytes', 'end_reserved_bytes']),
      ...counts,
      duration_us: step.start_us === null || step.end_us === null ? null : step.end_us - step.start_us,
    };
  });
}

/**
 * Growth from step to step: median, least and most of the differences between the active bytes at the ends of
 * successive whole steps. The first step of the trace is warm-up (optimizer states are born in it); partial ones end
 * where they were cut off, not where a step ends. Null with fewer than two left.
 */
export function stepGrowth(steps: readonly TimelineStep[], firstOfTrace: StepRange | undefined): StepGrowth | null {
  // A first step that the trace does not show from its start was the warm-up all the same.
  const counted = steps.filter((step) => step.partial === null && step.first_seq !== firstOfTrace?.first_seq);
  const first = counted[0];
  const last = counted.at(-1);
  if (first === undefined || last === undefined || counted.length < 2) return null;
  const ends = counted.map((step) => step.end_active_bytes);
  const differences = ends.slice(1).map((bytes, i) => bytes - ends[i]!);
  const sorted = [...differences].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : Math.round((sorted[middle - 1]! + sorted[middle]!) / 2);
  const lowest = ends.reduce((a, b) => Math.min(a, b));
  const highest = ends.reduce((a, b) => Math.max(a, b));
  return {
    trend: trendOf(ends, differences, highest - lowest, highest * LEVEL_SHARE),
    median_bytes_per_step: median,
    min_bytes_per_step: sorted[0]!,
    max_bytes_per_step: sorted.at(-1)!,
    n: differences.length,
    first_step: first.step,
    last_step: last.step,
    total_bytes: last.end_active_bytes - first.end_active_bytes,
    lowest_end_bytes: lowest,
    highest_end_bytes: highest,
  };
}

function trendOf(
  ends: readonly number[],
  differences: readonly number[],
  spread: number,
  levelBytes: number,
): StepGrowth['trend'] {
  // Exactly the same bytes twice are not a coincidence.
  if (spread === 0) return 'level';
  if (differences.length < 3) return null;
  // Even a leak far below the level's width is one if it never pauses.
  if (differences.every((bytes) => bytes > 0)) return 'rising';
  if (spread <= levelBytes) return 'level';
  const late = ends.slice(differences.length >> 1);
  const lateSpread = late.reduce((a, b) => Math.max(a, b)) - late.reduce((a, b) => Math.min(a, b));
  if (lateSpread <= levelBytes && ends.at(-1)! - ends[0]! > levelBytes) return 'plateau';
  return 'mixed';
}
