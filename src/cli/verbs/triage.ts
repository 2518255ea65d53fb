import type { Command } from 'commander';
import { CRITERION_FORMS, criterionText, parseCriterion } from '../../findings/compare/bisect/criterion.js';
import { judgeCommit } from '../../findings/compare/bisect/judge-commit.js';
import { parseTolerances } from '../../findings/measure/tolerances.js';
import type { TriageResult } from '../../model/compare-results.js';
import { MbfError } from '../../model/errors.js';
import type { Measurement } from '../../model/measurement.js';
import { toJson } from '../../report/json.js';
import { triageText } from '../../report/triage-text.js';
import type { Context } from '../context.js';
import { resolveGolden, resolveMeasured } from '../golden-operand.js';
import { endJudged } from '../judgement.js';
import { type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly golden?: string;
  readonly on: string;
  readonly like?: string;
  readonly tolerance?: string;
}

export function registerTriage(program: Command, context: Context): void {
  withCommon(
    program
      .command('triage')
      .description('judge runs of one commit for `git bisect run`: exit 0 good, 1 bad, 125 cannot tell, 255 otherwise')
      .argument('<run...>', 'runs of the commit: a path, or runs of the store; several are judged together')
      .option('--golden <golden>', 'golden values: a name, a golden file, or a run of a good commit')
      .option('--on <criterion>', `what is hunted: ${CRITERION_FORMS}`, 'oom')
      .option(
        '--like <run>',
        'a run that has what is hunted: another OOM is then no bad commit, and tolerances lie half-way',
      )
      .option('--tolerance <list>', 'least relative changes that count, such as memory=1%,time=3%'),
    [
      'triage out/ --golden llama3-70b',
      'triage out/ --golden golden.json --on memory --like runs/bad',
      'triage out-1 out-2 out-3 --golden llama3-70b --on throughput --json',
    ],
  ).action(async (operands: string[], options: Options) => {
    if (options.golden === undefined) throw new MbfError('MBF1001', 'judge by what? --golden NAME, FILE or RUN');
    const criterion = parseCriterion(options.on);
    const tolerances = parseTolerances(options.tolerance);
    const golden = await resolveGolden(options.golden, options, context);
    const hunted = options.like === undefined ? null : (await resolveMeasured(options.like, options, context)).runs[0]!;
    const runs: Measurement[] = [];
    for (const operand of operands) runs.push(...(await resolveMeasured(operand, options, context)).runs);
    const judged = judgeCommit({ criterion, golden: golden.runs, goldenName: golden.name, runs, hunted, tolerances });
    const result: TriageResult = {
      schema: 'mbforensics/triage@1',
      ...judged,
      criterion: criterionText(criterion),
      run: runs.map(({ run }) => run).join(', '),
      commit: runs[0]!.commit,
      golden: golden.name,
    };
    await endJudged(result.judgement, options.json === true ? toJson(result) : triageText(result));
  });
}
