import type { Command } from 'commander';
import { diagnose } from '../../findings/flows/diagnose.js';
import { snapshotsToJudge } from '../../findings/verdict/traced-ooms.js';
import { MbfError } from '../../model/errors.js';
import { parseSize } from '../../model/units.js';
import { diagnoseText } from '../../report/diagnose-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly capacity?: string;
  readonly exitCode?: boolean;
}

export function registerDiagnose(program: Command, context: Context): void {
  withCommon(
    program
      .command('diagnose')
      .description('why did it run out of memory: verdict, evidence, accounting')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--capacity <size>', 'total memory of the device, e.g. 80GiB, where no message prints it')
      .option('--exit-code', 'exit 1 if a device ran out of memory, 3 if that stays undecided'),
    ['diagnose', 'diagnose runs/llama3-70b-sft', 'diagnose snapshot_oom_rank-3.pickle', 'diagnose night-shift --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    const capacityBytes = capacityOption(options.capacity);
    const opened = await openTarget(operand, options, context);
    const target = await withHistories(opened, await snapshotsToJudge(opened.store, opened.runId), options);
    try {
      const result = await diagnose(target.store, target.runId, target.run, {
        capacityBytes,
        advises: true,
        failedSources: target.failed,
      });
      answer(context, options, result, (one) =>
        diagnoseText(one, { operand, db: options.db, capacity: options.capacity }),
      );
      if (target.failed.length > 0) process.exitCode = EXIT.input;
      else if (options.exitCode === true) {
        if (result.verdicts.some((verdict) => verdict.cause === 'undecided')) process.exitCode = EXIT.undecided;
        if (result.verdicts.some((verdict) => verdict.cause !== 'undecided' && verdict.cause !== 'not_oom'))
          process.exitCode = EXIT.finding;
      }
    } finally {
      await target.close();
    }
  });
}

/** `--capacity 80GiB` in bytes; undefined if it was not given. Throws MBF1001 on anything that is no size. */
export function capacityOption(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseSize(text);
  if (bytes === undefined) throw new MbfError('MBF1001', `--capacity ${JSON.stringify(text)} is no size`);
  return bytes;
}
