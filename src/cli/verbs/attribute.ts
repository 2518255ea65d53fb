import type { Command } from 'commander';
import { describeAttribution } from '../../findings/attribution/views/describe-attribution.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { ATTRIBUTE_KEYS } from '../../model/attribute-results.js';
import { MbfError } from '../../model/errors.js';
import { COMPONENTS } from '../../model/vocabulary.js';
import { attributeText } from '../../report/attribute-text.js';
import type { Context } from '../context.js';
import { countOption, deviceOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { oneOf } from '../one-of.js';
import { readRules } from '../rules-file.js';
import { openTarget } from '../target.js';
import { readTextFile } from '../text-input.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly at: string;
  readonly by?: string;
  readonly component?: string;
  readonly device?: string;
  readonly rules?: string;
  readonly annotate?: string;
  readonly share: string;
  readonly limit: string;
}

export function registerAttribute(program: Command, context: Context): void {
  withCommon(
    program
      .command('attribute')
      .description('whose every byte is that was live at the peak or at another moment: parameters, gradients, …')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--at <moment>', `the moment: ${MOMENT_FORMS}`, 'peak')
      .option('--by <key>', `also list by ${ATTRIBUTE_KEYS.join(', ')}`)
      .option('--component <name>', 'only this component in the list and the listing')
      .option('--annotate <file>', 'a source file, listed with the bytes that were live through each line')
      .option('--rules <file>', 'rules of your own (YAML), tried before the built-in ones; see `rules`')
      .option('--share <percent>', 'of the bytes that an accumulation point covers', '50')
      .option('--device <n>', 'only this device')
      .option('--limit <n>', 'rows of the list; 0 = all', '20'),
    [
      'attribute',
      'attribute snapshot_oom_rank-3.pickle --at oom',
      'attribute night-shift/3/snapshot#1 --by module --component activation',
      'attribute runs/llama3-70b-sft --annotate model.py',
      'attribute --rules my-rules.yaml --json',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const question = {
      moment: parseMoment(options.at),
      by: options.by === undefined ? undefined : oneOf('--by', options.by, ATTRIBUTE_KEYS),
      component: options.component === undefined ? undefined : oneOf('--component', options.component, COMPONENTS),
      device: deviceOption(options.device),
      limit: countOption('--limit', options.limit),
      share: shareOption(options.share),
      rulesFile: options.rules ?? null,
      rules: await readRules(options.rules),
      annotate:
        options.annotate === undefined
          ? undefined
          : { file: options.annotate, text: await readTextFile(options.annotate) },
    };
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      const result = await describeAttribution(target.store, filter, question);
      if (result.devices.length === 0 && question.device !== undefined)
        throw new MbfError('MBF1002', `no snapshot asked about has a device ${question.device}`);
      if (result.devices.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
      answer(context, options, result, attributeText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}

function shareOption(text: string): number {
  const percent = Number(text);
  if (!/^\d{1,3}(?:\.\d+)?$/.test(text) || !(percent > 0 && percent <= 100))
    throw new MbfError('MBF1001', `--share ${JSON.stringify(text)} is no percentage above 0, up to 100`);
  return percent / 100;
}
