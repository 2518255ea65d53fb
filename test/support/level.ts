/**
 * What depends on the level. *Each change* is `npm test` (`NAME.test.ts`) and what `.ci/run` adds (`NAME.ci.test.ts`:
 * needs the corpus, a browser, root or Python, or takes long). *Nightly* (`npm run test:nightly`) runs all of these
 * with larger numbers, and `NAME.nightly.test.ts`; each change runs one test of every such file, see
 * `levels/nightly-sample.ts`.
 */
export const NIGHTLY = process.env['MBF_LEVEL'] === 'nightly';

/** Another one for each commit; MBF_SEED repeats a run. */
export const SEED = Number(process.env['MBF_SEED'] ?? 1);

/** The number of runs of a property, of files, or of moments, at the level that runs. */
export const runs = (change: number, nightly: number): number => (NIGHTLY ? nightly : change);

/** One of `every` items, spread over the list, others at the next change; nightly all. */
export const sampled = <T>(list: readonly T[], every: number): readonly T[] =>
  NIGHTLY ? list : list.filter((_, i) => (i + SEED) % every === 0);
