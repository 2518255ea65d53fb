/** Whether memory grows from dump to dump. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import type { SeriesTrend } from '../../model/results/snapshot-series.js';

const LEAST_TOLERANCE_BYTES = threshold('snapshots.trend_tolerance_bytes');
const TOLERANCE_SHARE = threshold('snapshots.trend_tolerance_share');

export function trendTolerance(bytes: readonly number[]): number {
  return Math.max(LEAST_TOLERANCE_BYTES, Math.floor(TOLERANCE_SHARE * Math.max(0, maxOf(bytes))));
}

/** Of allocated bytes in the order of time. */
export function seriesTrend(bytes: readonly number[]): SeriesTrend {
  if (bytes.length < 3) return 'too_few';
  const tolerance = trendTolerance(bytes);
  const changes = bytes.slice(1).map((value, i) => value - bytes[i]!);
  const isFlat = (change: number): boolean => Math.abs(change) <= tolerance;
  if (changes.every(isFlat)) {
    // A slow leak stays below the tolerance every time and passes it in the end.
    const whole = bytes.at(-1)! - bytes[0]!;
    if (isFlat(whole)) return 'steady';
    if (changes.every((change) => change > 0)) return 'growing';
    return changes.every((change) => change < 0) ? 'falling' : 'varied';
  }
  if (changes.every((change) => change < -tolerance)) return 'falling';
  if (changes.every((change) => change > tolerance)) {
    const halves = changes.every((change, i) => i === 0 || change <= changes[i - 1]! / 2);
    return halves && changes.length >= 3 ? 'settling' : 'growing';
  }
  const lastChange = changes.findLastIndex((change) => !isFlat(change));
  const rising = changes.slice(0, lastChange + 1).every((change) => change > -tolerance);
  return rising && lastChange < changes.length - 1 && isFlat(bytes.at(-1)! - bytes[lastChange + 1]!)
    ? 'plateau'
    : 'varied';
}
