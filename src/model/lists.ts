/**
 * Lists of any length. An array that is spread into a call is put on the call stack, element by element; about 120,000
 * of them overflow it. A log of 4,096 ranks and nine launches has more figures than that.
 */

export function pushAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}

/** -Infinity without any, as `Math.max()`. */
export function maxOf(values: Iterable<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** Infinity without any, as `Math.min()`. */
export function minOf(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const value of values) least = Math.min(least, value);
  return least;
}

export function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** The first of those for which it is largest; undefined without any. */
export function maxBy<T>(items: Iterable<T>, of: (item: T) => number): T | undefined {
  let best: T | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = of(item);
    if (best !== undefined && !(value > most)) continue;
    best = item;
    most = value;
  }
  return best;
}
