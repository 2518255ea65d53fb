/**
 * Assigns the metrics of a run to its launches. A log marks its launches by banners and names; each launch makes a new
 * event file or W&B run, which has only times. Files whose times overlap were written by one launch, and the newest
 * launch that trained is the newest one with metrics: both lists are aligned at their ends.
 */
import { minOf, pushAll } from '../../model/lists.js';

/** A file of metrics with training iterations. Times in microseconds; null where its rows have none. */
export interface MetricsSpan {
  readonly sourceId: number;
  readonly firstUs: number | null;
  readonly lastUs: number | null;
}

export interface LaunchAlignment {
  /** By source of metrics: its launch, from 1. */
  readonly attempts: ReadonlyMap<number, number>;
  /** Launches to add to the numbers from the names of the other files: metrics include launches whose logs are gone. */
  readonly shift: number;
}

/**
 * @param spans files of metrics that hold iterations
 * @param trained launches of the other files that hold iterations, in ascending order
 * @param newest newest launch of the other files, trained or not; 1 where unknown
 */
export function alignLaunches(
  spans: readonly MetricsSpan[],
  trained: readonly number[],
  newest: number,
): LaunchAlignment {
  const groups = groupByTime(spans);
  const lastLaunches = groups.map((_, index) => {
    const fromEnd = groups.length - 1 - index;
    if (trained.length === 0) return newest - fromEnd;
    // Launches before the first one whose log is there come before it.
    return trained[trained.length - 1 - fromEnd] ?? trained[0]! - (fromEnd - trained.length + 1);
  });
  const shift = Math.max(0, 1 - Math.min(1, minOf(lastLaunches)));
  const attempts = new Map<number, number>();
  for (const [index, group] of groups.entries())
    for (const { sourceId } of group) attempts.set(sourceId, lastLaunches[index]! + shift);
  return { attempts, shift };
}

/** Files whose times overlap, oldest group first. Files without times go with the newest. */
function groupByTime(spans: readonly MetricsSpan[]): MetricsSpan[][] {
  const timed = spans
    .filter(({ firstUs, lastUs }) => firstUs !== null && lastUs !== null)
    .sort((a, b) => a.firstUs! - b.firstUs! || a.sourceId - b.sourceId);
  const groups: { lastUs: number; members: MetricsSpan[] }[] = [];
  for (const span of timed) {
    const last = groups.at(-1);
    if (last === undefined || span.firstUs! > last.lastUs) groups.push({ lastUs: span.lastUs!, members: [span] });
    else {
      last.members.push(span);
      last.lastUs = Math.max(last.lastUs, span.lastUs!);
    }
  }
  const untimed = spans.filter((span) => !timed.includes(span));
  if (untimed.length > 0) {
    if (groups.length === 0) groups.push({ lastUs: 0, members: [] });
    pushAll(groups.at(-1)!.members, untimed);
  }
  return groups.map(({ members }) => members);
}
