import { diagnose } from '../../../findings/flows/diagnose.js';
import { diagnoseText } from '../../../report/start/diagnose-text.js';
import { wordDiagnosis } from '../../../report/verdict/word-verdict.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { CAPACITY, flag, RUN } from '../../options.js';

export const verb = defineVerb({
  name: 'diagnose',
  group: 'Start here',
  summary: 'why did it run out of memory: verdict, evidence, accounting',
  operands: { run: RUN },
  options: {
    capacity: CAPACITY,
    exitCode: flag('--exit-code', 'exit 1 if a device ran out of memory, 3 if that stays undecided'),
  },
  examples: [
    'diagnose',
    'diagnose runs/llama3-70b-sft',
    'diagnose snapshot_oom_rank-3.pickle',
    'diagnose night-shift --json',
  ],
  async ask({ run, capacity }, session) {
    const target = await session.target(run);
    const diagnosis = await diagnose(target.store, target.runId, target.run, {
      capacityBytes: capacity?.bytes,
      advises: true,
      failedSources: target.failed,
    });
    return wordDiagnosis(diagnosis);
  },
  render: (result, { run, db, capacity }) => diagnoseText(result, { operand: run, db, capacity: capacity?.text }),
  exitCode({ verdicts }, { exitCode }) {
    if (!exitCode) return EXIT.done;
    if (verdicts.some(({ cause }) => cause !== 'undecided' && cause !== 'not_oom')) return EXIT.finding;
    return verdicts.some(({ cause }) => cause === 'undecided') ? EXIT.undecided : EXIT.done;
  },
});
