import type { Command } from 'commander';
import { chooseDevice } from '../../forensics/choose-snapshot.js';
import { describeState } from '../../forensics/describe-state.js';
import { MOMENT_FORMS, parseMoment } from '../../forensics/history/moment.js';
import { atText } from '../../report/at-text.js';
import type { Context } from '../context.js';
import { deviceOption, parseCount } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly limit: string;
  readonly device?: string;
}

export function registerAt(program: Command, context: Context): void {
  withCommon(
    program
      .command('at')
      .description('the allocator at any moment of a trace: live set, holes, pools, streams, what pins which segment')
      .argument('<moment>', MOMENT_FORMS)
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--device <n>', 'device ordinal; default: the one that ran out, else the one with the longest trace')
      .option('--limit <n>', 'call sites, holes and pinned segments to show; 0 = all', '8'),
    [
      'at peak',
      'at oom snapshot_oom_rank-3.pickle',
      'at seq:23998 night-shift/3/snapshot#1 --json',
      'at step:4 --limit 0',
    ],
  ).action(async (moment: string, operand: string | undefined, options: Options) => {
    const when = parseMoment(moment);
    const limit = parseCount('--limit', options.limit);
    const device = deviceOption(options.device);
    const opened = await openTarget(operand, options, context);
    let target = opened;
    try {
      const filter = opened.handle === undefined ? { runId: opened.runId } : { handle: opened.handle };
      const chosen = await chooseDevice(opened.store, filter, when, device);
      target = await withHistories(opened, [chosen.snapshotId], options);
      const result = await describeState(target.store, chosen, when, { limit });
      answer(context, options, result, atText);
      if (chosen.others > 0)
        context.err(
          `${chosen.others + 1} snapshots in run ${target.run}; this is ${chosen.handle}, name another by its handle\n`,
        );
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
