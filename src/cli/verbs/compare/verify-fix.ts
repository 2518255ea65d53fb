import { readAdviceBefore, readSide } from '../../../findings/flows/read-side.js';
import { compareContract, TUNING } from '../../../findings/measure/contract.js';
import type { Side } from '../../../findings/verify/side.js';
import { verifyFix } from '../../../findings/verify/verify-fix.js';
import { verifyFixDocument } from '../../../report/compare/verify-fix-document.js';
import { summaryText } from '../../../report/verdict/cause-words.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT, EXIT_OF_VERDICT } from '../../exit-codes.js';
import { CAPACITY, flag, operand, option } from '../../options.js';

export const verb = defineVerb({
  name: 'verify-fix',
  operands: {
    before: operand('<before>', 'the run that failed: a path, a run, a commit or a label'),
    after: operand('<after>', 'the run with the change'),
  },
  options: {
    fix: option('--fix <id>', 'the fix of `advise` to hold it against; default: the one that the changes are'),
    capacity: CAPACITY,
    exitCode: flag('--exit-code', 'exit 1 if it is not fixed, 3 if that is undecided'),
  },
  async ask({ before, after, fix, capacity }, session) {
    const capacityBytes = capacity?.bytes ?? null;
    const targets = await session.two([before, after]);
    const read = (which: 0 | 1): Promise<Side> =>
      targets.use(which, (target) => {
        session.note(target);
        return readSide(target.store, target.runId, target.run, summaryText, capacityBytes);
      });
    const a = await read(0);
    const advice = await targets.use(0, ({ store, runId }) => readAdviceBefore(store, runId, a, capacityBytes));
    const b = await read(1);
    const { contract, rules } = await targets.use(1, async ({ store }) => ({
      contract: await compareContract(store, a.measurement, b.measurement, TUNING),
      rules: await store.all('compare.rules'),
    }));
    const noise = rules.find(({ rule }) => rule === 'time')!;
    return worded(verifyFix({ before: a, after: b, advice, fix, contract, noise }));
  },
  document: verifyFixDocument,
  exitCode: ({ verdict }, { exitCode }) => (exitCode ? EXIT_OF_VERDICT[verdict] : EXIT.done),
});
