/** Figures of memory outside PyTorch over moments. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { OutsidePoint, OutsideStatistics } from '../../model/results/outside.js';

const LEAST_FOR_SLOPE = threshold('outside.least_for_slope');
/** Most points of one device in a result: more than any screen is wide. */
const MOST_POINTS = 400;

/** Null without a point. Points are in the order of time. */
export function outsideStatistics(points: readonly OutsidePoint[]): OutsideStatistics | null {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return null;
  const sorted = points.map(({ outside_bytes: bytes }) => bytes).sort((a, b) => a - b);
  const line = fitLine(
    points.flatMap(({ time_us: time, outside_bytes: bytes }) => (time === null ? [] : [[time, bytes] as const])),
  );
  return {
    first_bytes: first.outside_bytes,
    last_bytes: last.outside_bytes,
    min_bytes: sorted[0]!,
    median_bytes: sorted[Math.floor((sorted.length - 1) / 2)]!,
    max_bytes: sorted.at(-1)!,
    growth_bytes: line === null ? null : Math.round(line.slope * line.span),
    growth_us: line === null ? null : line.span,
    growth_r2: line === null ? null : line.r2,
  };
}

function fitLine(
  points: readonly (readonly [x: number, y: number])[],
): { slope: number; span: number; r2: number | null } | null {
  if (points.length < LEAST_FOR_SLOPE) return null;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - meanY);
    yy += (y - meanY) ** 2;
  }
  if (xx === 0) return null;
  // A flat line fits exactly: the values do not vary.
  return { slope: xy / xx, span: points.at(-1)![0] - points[0]![0], r2: yy === 0 ? null : (xy * xy) / (xx * yy) };
}

/** Every nth, with the first, the last and both extremes. */
export function thinned(points: readonly OutsidePoint[]): OutsidePoint[] {
  if (points.length <= MOST_POINTS) return [...points];
  const stride = Math.ceil(points.length / (MOST_POINTS - 3));
  let least = 0;
  let most = 0;
  for (const [index, { outside_bytes: bytes }] of points.entries()) {
    if (bytes < points[least]!.outside_bytes) least = index;
    if (bytes > points[most]!.outside_bytes) most = index;
  }
  return points.filter(
    (_, index) => index % stride === 0 || index === least || index === most || index === points.length - 1,
  );
}
