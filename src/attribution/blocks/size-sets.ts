/** Sets of equal sizes among older blocks: parameters, gradients, states. */
import { getOrAdd } from '../../model/group-by.js';
import { SizeCounts } from './size-counts.js';

/** Of the bytes of equal sizes, so much must be divisible by the number of sets. */
const LEAST_AGREEMENT = 0.9;
/** Of the bytes of equal sizes, so much must show a number of their own where no number divides most. */
const LEAST_EXACT = 0.6;
/** So many sizes, and parameters of them, must show the number of sets. */
const LEAST_VOTES = { sizes: 2, blocks: 4 } as const;
/** Parameters, gradients, and at most four states. */
const MOST_SETS = 6;

/**
 * How many blocks of each size make one set, of the older blocks of several sets and of what a pass makes for one.
 *
 * What is as large as a gradient of an activation too is made more often than there are parameters of it, so of the
 * numbers of sets that fit the largest is right: several sizes show it, and it divides the counts of nearly all. Where
 * no number does (a second state for some parameters only), sizes that show their own number count alone.
 */
export function sizesOfEachSet(older: SizeCounts, made: SizeCounts, leastSets: number): SizeCounts | undefined {
  const votes = new Map<number, { sizes: number; blocks: number }>();
  const common = [...older].filter(([size]) => made.has(size));
  for (const [size, count] of common) {
    const vote = getOrAdd(votes, count / made.countOf(size), () => ({ sizes: 0, blocks: 0 }));
    vote.sizes += 1;
    vote.blocks += made.countOf(size);
  }
  const numbers = [...votes]
    .filter(
      ([sets, { sizes, blocks }]) =>
        Number.isInteger(sets) &&
        sets >= leastSets &&
        sets <= MOST_SETS &&
        sizes >= LEAST_VOTES.sizes &&
        blocks >= LEAST_VOTES.blocks,
    )
    .map(([sets]) => sets)
    .sort((a, b) => b - a);
  const all = bytesOf(common);
  for (const sets of numbers) {
    if (bytesOf(common.filter(([, count]) => count % sets === 0)) < LEAST_AGREEMENT * all) continue;
    const sizes = new SizeCounts();
    for (const [size, count] of common) if (count >= sets) sizes.add(size, Math.floor(count / sets));
    return sizes;
  }
  const exact = common.filter(([size, count]) => numbers.includes(count / made.countOf(size)));
  if (bytesOf(exact) < LEAST_EXACT * all) return undefined;
  const sizes = new SizeCounts();
  for (const [size] of exact) sizes.add(size, made.countOf(size));
  return sizes;
}

function bytesOf(sizes: readonly (readonly [number, number])[]): number {
  return sizes.reduce((sum, [size, count]) => sum + size * count, 0);
}
