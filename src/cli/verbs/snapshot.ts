import type { Command } from 'commander';
import { earliestTorch } from '../../../parsers/index.js';
import { describeSnapshots } from '../../findings/state/describe-snapshots.js';
import { MbfError } from '../../model/errors.js';
import { snapshotText } from '../../report/snapshot-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

export function registerSnapshot(program: Command, context: Context): void {
  withCommon(
    program
      .command('snapshot')
      .description('what is in a memory snapshot: sizes, states, pools, actions, settings, features, what is lost')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last'),
    ['snapshot snapshot_3.pickle', 'snapshot runs/llama3-70b-sft --json', 'snapshot night-shift/3/snapshot#1'],
  ).action(async (operand: string | undefined, options: CommonOptions) => {
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      const result = await describeSnapshots(target.store, filter, earliestTorch);
      if (result.snapshots.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
      answer(context, options, result, snapshotText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
