/**
 * The exit code of a verb that judges a commit for `git bisect run`. Git takes 1 to 127 but for 125 for "bad", and stops at more; so a typo, a
 * missing file or a bug of ours must never end with one of those. `main.ts` makes every exit 255 until a judgement is noted here.
 */
import type { Judgement } from '../model/compare-results.js';

/** Read by `main.ts`, which imports nothing. */
const JUDGED = Symbol.for('mbforensics.judgement');

export const EXIT_OF_JUDGEMENT: Readonly<Record<Judgement, number>> = { good: 0, bad: 1, skip: 125 };

/** Prints the judgement, waits until it is out, and only then lets the process end with its code. */
export async function endJudged(judgement: Judgement, text: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    process.stdout.write(text, (error) => (error == null ? done() : fail(error)));
  });
  Object.assign(process, { [JUDGED]: EXIT_OF_JUDGEMENT[judgement] });
  process.exitCode = EXIT_OF_JUDGEMENT[judgement];
}
