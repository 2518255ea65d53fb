/**
 * What depends on the suite. A test file with a long part, which belongs to `npm run test:full`, has a file
 * `NAME.full.test.ts` that imports it.
 */
import { describe } from 'vitest';

export const FULL = process.env['MBF_SUITE'] === 'full';

/** The number of runs of a property, of files, or of moments, in the suite that runs. */
export const runs = (quick: number, full: number): number => (FULL ? full : quick);

/** A `describe` of the full suite. */
export const describeFull = (name: string, tests: () => void): void => {
  if (FULL) describe(name, tests);
};
