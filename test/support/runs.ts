/**
 * Sizes that depend on the suite. A test file whose long form belongs to `npm run test:full` uses {@link runs}; beside
 * it, a file `NAME.full.test.ts` imports it.
 */
export const FULL = process.env['MBF_SUITE'] === 'full';

/** The number of runs of a property, of files, or of moments, in the suite that runs. */
export const runs = (quick: number, full: number): number => (FULL ? full : quick);
