import type { Command } from 'commander';
import { describePeaks } from '../../forensics/peaks.js';
import { MbfError } from '../../model/errors.js';
import { peakText } from '../../report/peak-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly limit?: string;
}

export function registerPeak(program: Command, context: Context): void {
  withCommon(
    program
      .command('peak')
      .description('what was live at the peak, by call site and by stack')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--limit <n>', 'call sites to show, and a third as many stacks; 0 = all', '12'),
    [
      'peak',
      'peak snapshot_oom_rank-3.pickle',
      'peak runs/llama3-70b-sft --limit 0 --json',
      'peak night-shift/3/snapshot#1',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const limit = Number(options.limit);
    if (!Number.isSafeInteger(limit) || limit < 0)
      throw new MbfError('MBF1001', `--limit ${JSON.stringify(options.limit)} is no count`);
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      const result = await describePeaks(target.store, filter, {
        sites: limit,
        stacks: limit === 0 ? 0 : Math.ceil(limit / 3),
      });
      if (result.snapshots.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
      answer(context, options, result, peakText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
