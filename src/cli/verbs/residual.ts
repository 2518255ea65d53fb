import type { Command } from 'commander';
import { describeResidual } from '../../findings/estimate/residual/describe-residual.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { residualText } from '../../report/residual-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { readRules } from '../rules-file.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly at: string;
  readonly rules?: string;
}

export function registerResidual(program: Command, context: Context): void {
  withCommon(
    program
      .command('residual')
      .description('measured memory less the theoretical estimate, by component, and what the difference means')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--at <moment>', `the moment: ${MOMENT_FORMS}`, 'peak')
      .option('--rules <file>', 'attribution rules of your own (YAML)'),
    ['residual', 'residual runs/llama3-70b-sft', 'residual night-shift --at oom --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    const moment = parseMoment(options.at);
    const rules = await readRules(options.rules);
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const question = { moment, rules, handle: target.handle };
      answer(context, options, await describeResidual(target.store, target.runId, target.run, question), residualText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
