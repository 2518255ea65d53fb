import type { Command } from 'commander';
import { describeReplays } from '../../findings/replay/describe-replay.js';
import { replayText } from '../../report/replay-text.js';
import type { Context } from '../context.js';
import { deviceOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly device?: string;
}

export function registerReplay(program: Command, context: Context): void {
  withCommon(
    program
      .command('replay')
      .description(
        'does the allocator model reproduce the recording: every address, every driver call, the final state',
      )
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--device <n>', 'only this device'),
    ['replay snapshot_oom_rank-3.pickle', 'replay night-shift --json', 'replay night-shift/3/snapshot#1 --device 0'],
  ).action(async (operand: string | undefined, options: Options) => {
    const device = deviceOption(options.device);
    const opened = await openTarget(operand, options, context);
    const target = await targetWithHistories(opened, options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      answer(context, options, await describeReplays(target.store, filter, device), replayText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
