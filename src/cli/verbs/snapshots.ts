import type { Command } from 'commander';
import { describeSeries } from '../../findings/snapshots/describe-series.js';
import { MbfError } from '../../model/errors.js';
import { snapshotSeriesText } from '../../report/snapshot-series-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly sites: string;
}

export function registerSnapshots(program: Command, context: Context): void {
  withCommon(
    program
      .command('snapshots')
      .description('the memory snapshots of each rank in the order of time: growth, what was lost between them')
      .argument('[run]', 'a run, a path, or the handle of one snapshot of a series; default: the run ingested last')
      .option('--sites <n>', 'call sites that grew, a series; 0 = all that changed', '3'),
    ['snapshots', 'snapshots runs/llama3-70b-sft --json', 'snapshots night-shift/3/snapshot#1 --sites 10'],
  ).action(async (operand: string | undefined, options: Options) => {
    const sites = countOption('--sites', options.sites) ?? 0;
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const { runId, run, handle } = target;
      const result = await describeSeries(target.store, { runId, run, handle, sites });
      if (result.series.length === 0) throw new MbfError('MBF1002', `run ${run} has no memory snapshot`);
      answer(context, options, result, snapshotSeriesText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
