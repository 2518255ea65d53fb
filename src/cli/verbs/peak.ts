import type { Command } from 'commander';
import { describePeaks } from '../../findings/state/live/peaks.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import { GROUP_KEYS, GROUPINGS } from '../../model/peak-results.js';
import { peakText } from '../../report/peak-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { oneOf } from '../one-of.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly limit: string;
  readonly by: string;
  readonly depth: string;
  readonly at: string;
  readonly grouping: string;
}

export function registerPeak(program: Command, context: Context): void {
  withCommon(
    program
      .command('peak')
      .description('what was live at the peak or at another moment, by call site, stack, module, stage, stream or pool')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--by <key>', `what to group by: ${GROUP_KEYS.join(', ')}`, 'site')
      .option('--depth <n>', 'frames that make a key of site and module: the site and its n − 1 callers', '1')
      .option('--at <moment>', `the moment: ${MOMENT_FORMS}`, 'peak')
      .option(
        '--grouping <whose>',
        `also print the figures of a peer, by its definitions: ${GROUPINGS.join(', ')}`,
        'ours',
      )
      .option('--limit <n>', 'groups to show, and a third as many stacks; 0 = all', '12'),
    [
      'peak',
      'peak snapshot_oom_rank-3.pickle',
      'peak runs/llama3-70b-sft --limit 0 --json',
      'peak night-shift/3/snapshot#1',
      'peak night-shift/3/snapshot#1 --by module --at oom',
      'peak snapshot_oom_rank-3.pickle --depth 3',
      'peak snapshot_oom_rank-3.pickle --grouping bridge',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const limit = count('--limit', options.limit, 0);
    const question = {
      moment: parseMoment(options.at),
      by: oneOf('--by', options.by, GROUP_KEYS),
      depth: count('--depth', options.depth, 1),
      grouping: oneOf('--grouping', options.grouping, GROUPINGS),
    };
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      const limits = { sites: limit, stacks: limit === 0 ? 0 : Math.ceil(limit / 3) };
      const result = await describePeaks(target.store, filter, limits, question);
      if (result.snapshots.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
      answer(context, options, result, peakText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}

function count(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least)
    throw new MbfError(
      'MBF1001',
      `${option} ${JSON.stringify(text)} is no count${least > 0 ? ` from ${least} on` : ''}`,
    );
  return value;
}
