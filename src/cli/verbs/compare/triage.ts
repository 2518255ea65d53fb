import { CRITERION_FORMS, criterionText, parseCriterion } from '../../../findings/compare/bisect/criterion.js';
import { judgeCommit } from '../../../findings/compare/bisect/judge-commit.js';
import { parseTolerances } from '../../../findings/measure/tolerances.js';
import { pushAll } from '../../../model/lists.js';
import type { Measurement } from '../../../model/measurement.js';
import type { TriageResult } from '../../../model/results/compare.js';
import { wordedJudgement } from '../../../report/compare/judgement-words.js';
import { triageText } from '../../../report/compare/triage-text.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT_OF_JUDGEMENT } from '../../exit-codes.js';
import { resolveGolden, resolveMeasured } from '../../golden-operand.js';
import { operand, option, required, TOLERANCE } from '../../options.js';

export const verb = defineVerb({
  name: 'triage',
  group: 'Compare',
  summary: 'judge runs of one commit for `git bisect run`: exit 0 good, 1 bad, 125 cannot tell, 255 otherwise',
  operands: {
    operands: operand('<run...>', 'runs of the commit: a path, or runs of the store; several are judged together'),
  },
  options: {
    golden: required(
      '--golden <golden>',
      'golden values: a name, a golden file, or a run of a good commit',
      'judge by what? --golden NAME, FILE or RUN',
    ),
    criterion: option('--on <criterion>', `what is hunted: ${CRITERION_FORMS}`, parseCriterion, 'oom'),
    like: option(
      '--like <run>',
      'a run that has what is hunted: another OOM is then no bad commit, and tolerances lie half-way',
    ),
    tolerance: TOLERANCE,
  },
  examples: [
    'triage out/ --golden llama3-70b',
    'triage out/ --golden golden.json --on memory --like runs/bad',
    'triage out-1 out-2 out-3 --golden llama3-70b --on throughput --json',
  ],
  async ask({ operands, criterion, like, ...given }, session): Promise<TriageResult> {
    const tolerances = parseTolerances(given.tolerance);
    const golden = await resolveGolden(given.golden, session);
    const hunted = like === undefined ? null : (await resolveMeasured(like, session)).runs[0]!;
    const runs: Measurement[] = [];
    for (const operand of operands) pushAll(runs, (await resolveMeasured(operand, session)).runs);
    const rules = session.keep(await openWithoutTables());
    const input = { criterion, golden: golden.runs, goldenName: golden.name, runs, hunted, tolerances };
    const judged = await judgeCommit(rules, input);
    return {
      schema: 'mbforensics/triage@1',
      ...wordedJudgement(judged),
      criterion: criterionText(criterion),
      run: runs.map(({ run }) => run).join(', '),
      commit: runs[0]!.commit,
      golden: golden.name,
    };
  },
  render: triageText,
  exitCode: ({ judgement }) => EXIT_OF_JUDGEMENT[judgement],
  judges: true,
});
