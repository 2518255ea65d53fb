/**
 * The best piecewise constant fit of a series under a bounded loss: each point costs ((x − level)/σ)², but at most a
 * cap, and each change costs a penalty. With a bounded loss, an outlier cannot become a segment of its own (Fearnhead
 * and Rigaill, "Changepoint detection in the presence of outliers", 2019). Instead of their functional pruning the
 * level runs over a lattice: exact to an eighth of the noise, and points × levels, which is linear in the points.
 */
import type { KnownPoint } from './point-levels.js';

/** Lattice cells of one σ. */
const PER_SIGMA = 4;
/** Two values of one segment differ by at most twice what the cap allows; between such, every cell is a level. */
const BRIDGED_SIGMA = 7;
const MOST_LEVELS = 4096;

/** Indices at which a new level begins, ascending. `sigma` must be above 0. */
export function fitLevels(points: readonly KnownPoint[], sigma: number, penalty: number, cap: number): number[] {
  const count = points.length;
  if (count < 2) return [];
  const levels = lattice(points, sigma);
  const cost = new Float64Array(levels.length);
  const start = new Int32Array(levels.length);
  /** Start of the segment that ends best at each point. */
  const bestStart = new Int32Array(count);
  let least = 0;
  for (let i = 0; i < count; i += 1) {
    const { value, isLowerBound } = points[i]!;
    const changed = i === 0 ? Number.POSITIVE_INFINITY : least + penalty;
    let best = Number.POSITIVE_INFINITY;
    let bestLevel = 0;
    for (let level = 0; level < levels.length; level += 1) {
      let total = cost[level]!;
      if (changed < total) {
        total = changed;
        start[level] = i;
      }
      const off = (value - levels[level]!) / sigma;
      if (!(isLowerBound && off <= 0)) {
        const loss = off * off;
        total += Math.min(loss, cap);
      }
      cost[level] = total;
      if (total < best) {
        best = total;
        bestLevel = level;
      }
    }
    least = best;
    bestStart[i] = start[bestLevel]!;
  }
  const changes: number[] = [];
  for (let at = bestStart[count - 1]!; at > 0; at = bestStart[at - 1]!) changes.push(at);
  return changes.reverse();
}

/**
 * The lattice at the points, and between points that one segment may hold. Coarser where that would be too many levels.
 */
function lattice(points: readonly KnownPoint[], sigma: number): Float64Array {
  for (let step = sigma / PER_SIGMA; ; step *= 2) {
    const taken = [...new Set(points.map(({ value }) => Math.round(value / step)))].sort((a, b) => a - b);
    const bridged = step < sigma ? Math.ceil((BRIDGED_SIGMA * sigma) / step) : 0;
    const cells: number[] = [];
    for (const [i, cell] of taken.entries()) {
      const before = taken[i - 1];
      if (before !== undefined && cell - before <= bridged)
        for (let between = before + 1; between < cell; between += 1) cells.push(between);
      cells.push(cell);
    }
    // A series with a wide range has few points per level: coarse cells are less harmful there than hours of work.
    if (cells.length <= (step < sigma ? MOST_LEVELS : 4 * MOST_LEVELS))
      return Float64Array.from(cells, (cell) => cell * step);
  }
}
