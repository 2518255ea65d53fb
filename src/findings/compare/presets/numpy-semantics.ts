/**
 * The functions of numpy that upstream judges by, to the last bit where that is defined: a value exactly on a threshold
 * must fall to the same side, and a NaN must pass where it does upstream. Checked against numpy 2.4.
 */

/** `numpy.isclose(actual, golden, rtol, atol=0)`: infinities of one sign are close, NaN is close to nothing. */
export function isClose(actual: number, golden: number, rtol: number): boolean {
  return (Math.abs(actual - golden) <= rtol * Math.abs(golden) && Number.isFinite(golden)) || actual === golden;
}

/** `numpy.median`: of an even count the mean of the middle two; NaN if any value is, or if there is none. */
export function median(values: readonly number[]): number {
  if (values.length === 0 || values.some(Number.isNaN)) return Number.NaN;
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Values that numpy adds one after the other before it divides and conquers. */
const BLOCK = 128;
const LANES = 8;

/** `numpy.sum`, which adds pairwise: the order of the additions decides the last bits. */
export function sum(values: readonly number[], from = 0, count = values.length - from): number {
  if (count < LANES) {
    // numpy begins with -0.0, so that a sum of nothing but -0.0 is one; no comparison here sees it.
    let total = 0;
    for (let i = from; i < from + count; i += 1) total += values[i]!;
    return total;
  }
  if (count <= BLOCK) {
    const lanes = values.slice(from, from + LANES);
    let i = LANES;
    for (; i + LANES <= count; i += LANES) {
      for (let lane = 0; lane < LANES; lane += 1) lanes[lane]! += values[from + i + lane]!;
    }
    const [a, b, c, d, e, f, g, h] = lanes as [number, number, number, number, number, number, number, number];
    let total = a + b + (c + d) + (e + f + (g + h));
    for (; i < count; i += 1) total += values[from + i]!;
    return total;
  }
  const half = (count >> 1) - ((count >> 1) % LANES);
  return sum(values, from, half) + sum(values, from + half, count - half);
}

/** `numpy.mean`; NaN of nothing. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** `numpy.nanmean`: NaN counts as nothing; NaN if nothing is left. */
export function nanMean(values: readonly number[]): number {
  const known = values.filter((value) => !Number.isNaN(value)).length;
  return sum(values.map((value) => (Number.isNaN(value) ? 0 : value))) / known;
}

/** `numpy.std`: of the population, divided by N. */
export function standardDeviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(sum(values.map((value) => (value - centre) ** 2)) / values.length);
}

/**
 * `numpy.corrcoef(x, y)[0, 1]`: NaN if one of them does not vary. Its products are added by BLAS, so that the last bits
 * are any.
 */
export function correlation(x: readonly number[], y: readonly number[]): number {
  const [dx, dy] = [deviations(x), deviations(y)];
  // 1 / 0 for a single value: infinity times nothing is NaN, as in numpy.
  const scale = 1 / (x.length - 1);
  const covariance = (a: readonly number[], b: readonly number[]): number =>
    scale * a.reduce((total, value, i) => total + value * b[i]!, 0);
  const raw = covariance(dx, dy) / Math.sqrt(covariance(dx, dx)) / Math.sqrt(covariance(dy, dy));
  return Math.min(1, Math.max(-1, raw));
}

function deviations(values: readonly number[]): number[] {
  const centre = mean(values);
  return values.map((value) => value - centre);
}
