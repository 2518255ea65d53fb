/**
 * What depends on the suite. A test file with a long part, which belongs to `npm run test:full`, has a file
 * `NAME.full.test.ts` that imports it.
 */
import { describe } from 'vitest';

export const FULL = process.env['MBF_SUITE'] === 'full';

/** `MBF_LONG=1 npm run test:full`: more seeds, cuts and files than a change needs. */
export const LONG = FULL && process.env['MBF_LONG'] === '1';

/** The number of runs of a property, of files, or of moments, in the suite that runs. */
export const runs = (quick: number, full: number, long = full): number => (LONG ? long : FULL ? full : quick);

/** One of `every` items, spread over the list; all with `MBF_LONG=1`. */
export const sampled = <T>(list: readonly T[], every: number): readonly T[] =>
  LONG ? list : list.filter((_, i) => i % every === 0);

/** A `describe` of the full suite. */
export const describeFull = (name: string, tests: () => void): void => {
  if (FULL) describe(name, tests);
};
