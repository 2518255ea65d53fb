import { existsSync } from 'node:fs';
import { CRITERION_FORMS, criterionText, parseCriterion } from '../../../findings/compare/bisect/criterion.js';
import { evidenceOf, judgeCommit, notJudged } from '../../../findings/compare/bisect/judge-commit.js';
import { parseAllowedChanges } from '../../../findings/measure/contract.js';
import { parseTolerances } from '../../../findings/measure/tolerances.js';
import { MbfError } from '../../../model/errors.js';
import { pushAll } from '../../../model/lists.js';
import type { Measurement } from '../../../model/measurement.js';
import type { TriageResult } from '../../../model/results/compare.js';
import { wordedJudgement } from '../../../report/compare/judgement-words.js';
import { triageDocument } from '../../../report/compare/triage-document.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT_OF_JUDGEMENT } from '../../exit-codes.js';
import { resolveGolden, resolveMeasured } from '../../golden-operand.js';
import { ALLOW_CHANGE, operand, option, required, TOLERANCE, type Values } from '../../options.js';
import type { Session } from '../../session.js';

/** What verbs that judge a commit declare alike. */
export const JUDGING = {
  golden: required(
    '--golden <golden>',
    'golden values: a name, a golden file, or a run of a good commit',
    'judge by what? --golden NAME, FILE or RUN',
  ),
  criterion: option('--on <criterion>', `what is hunted: ${CRITERION_FORMS}`, parseCriterion, 'oom'),
  like: option(
    '--like <run>',
    'a run that has what is hunted: another OOM is then no bad commit, and tolerances are half-way',
  ),
  tolerance: TOLERANCE,
  allowChange: ALLOW_CHANGE,
};

/** By what these options mean. */
export async function judgedBy(given: Omit<Values<typeof JUDGING>, 'criterion'>, session: Session) {
  const tolerances = parseTolerances(given.tolerance);
  const allowed = parseAllowedChanges(given.allowChange);
  const golden = await resolveGolden(given.golden, session);
  const hunted = given.like === undefined ? null : (await resolveMeasured(given.like, session)).runs[0]!;
  return { golden, tolerances, allowed, hunted };
}

export const verb = defineVerb({
  name: 'triage',
  lakeless: true,
  operands: {
    operands: operand('<run...>', 'runs of the commit: a path, or runs of the store; several are judged together'),
  },
  options: JUDGING,
  async ask({ operands, criterion, ...given }, session): Promise<TriageResult> {
    const { golden, ...by } = await judgedBy(given, session);
    const runs: Measurement[] = [];
    const problems: string[] = [];
    for (const operand of operands) {
      const read = await readOutput(operand, session);
      pushAll(runs, read.runs);
      pushAll(problems, read.problems);
    }
    const rules = session.keep(await openWithoutTables());
    const input = { ...by, criterion, golden: golden.runs, goldenName: golden.name, runs };
    // Golden values that cannot judge are an error, whatever the commit left.
    if (runs.length === 0) await judgeCommit(rules, { ...input, runs: golden.runs });
    const judged = runs.length === 0 ? notJudged({ code: 'not_readable' }) : await judgeCommit(rules, input);
    return {
      schema: 'mbforensics/triage@1',
      ...wordedJudgement({ ...judged, unreadable: problems }, evidenceOf(golden.runs)),
      criterion: criterionText(criterion),
      run: runs.length === 0 ? operands.join(', ') : runs.map(({ run }) => run).join(', '),
      commit: runs[0]?.commit ?? null,
      golden: golden.name,
    };
  },
  document: triageDocument,
  exitCode: ({ judgement }) => EXIT_OF_JUDGEMENT[judgement],
  judges: true,
});

/** What a commit left that cannot be read does not stop a bisection: the commit cannot be judged. */
async function readOutput(
  operand: string,
  session: Session,
): Promise<{ readonly runs: readonly Measurement[]; readonly problems: readonly string[] }> {
  const path = operand.replace(/^path:/, '');
  // A name without a slash that is nowhere is misspelt; a path that is not there was not written.
  if (path.includes('/') && !/^\w+:/.test(path) && !existsSync(path))
    return { runs: [], problems: [`${path}: does not exist`] };
  try {
    const { runs, failed } = await resolveMeasured(operand, session);
    return { runs, problems: failed };
  } catch (error) {
    if (!(error instanceof MbfError) || (error.kind !== 'input' && error.code !== 'MBF1004')) throw error;
    return { runs: [], problems: [error.describe()] };
  }
}
