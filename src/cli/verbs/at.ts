import type { Command } from 'commander';
import { describeState } from '../../findings/state/describe-state.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { atText } from '../../report/at-text.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { DEVICE_HELP, type DeviceOptions, withOneDevice } from '../one-device.js';
import { answer, withCommon } from '../verb.js';

interface Options extends DeviceOptions {
  readonly limit: string;
}

export function registerAt(program: Command, context: Context): void {
  withCommon(
    program
      .command('at')
      .description('the allocator at any moment of a trace: live set, holes, pools, streams, what pins which segment')
      .argument('<moment>', MOMENT_FORMS)
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--device <n>', DEVICE_HELP)
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
    await withOneDevice(operand, when, options, context, async (store, chosen) => {
      answer(context, options, await describeState(store, chosen, when, { limit }), atText);
    });
  });
}
