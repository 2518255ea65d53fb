import type { Command } from 'commander';
import { chooseDevice } from '../../forensics/choose-snapshot.js';
import { drawSegments } from '../../forensics/describe-state.js';
import { MOMENT_FORMS, parseMoment } from '../../forensics/history/moment.js';
import { segmentsText } from '../../report/segments-text.js';
import type { Context } from '../context.js';
import { deviceOption, parseCount } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly limit: string;
  readonly width?: string;
  readonly device?: string;
  readonly ascii?: boolean;
}

/** Beside the bar: address, size, share and hole. */
const MARGIN_COLUMNS = 62;
const NARROWEST_BAR = 16;
/** A bar wider than this cannot be taken in at a glance. */
const WIDEST_BAR = 160;

export function registerSegments(program: Command, context: Context): void {
  withCommon(
    program
      .command('segments')
      .description('the allocator drawn as text: every segment, and where it is full, free or waiting')
      .argument('<moment>', MOMENT_FORMS)
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--device <n>', 'device ordinal; default: the one that ran out, else the one with the longest trace')
      .option('--limit <n>', 'segments drawn per pool and stream, the largest first; 0 = all', '20')
      .option('--width <n>', 'columns of the screen; default: the terminal, else 100')
      .option('--ascii', 'no block characters'),
    ['segments oom', 'segments peak snapshot_3.pickle --width 160', 'segments seq:0 --limit 0 --ascii'],
  ).action(async (moment: string, operand: string | undefined, options: Options) => {
    const when = parseMoment(moment);
    const limit = parseCount('--limit', options.limit);
    const device = deviceOption(options.device);
    const columns =
      options.width === undefined ? (context.terminalColumns ?? 100) : parseCount('--width', options.width);
    const opened = await openTarget(operand, options, context);
    let target = opened;
    try {
      const filter = opened.handle === undefined ? { runId: opened.runId } : { handle: opened.handle };
      const chosen = await chooseDevice(opened.store, filter, when, device);
      target = await withHistories(opened, [chosen.snapshotId], options);
      const cells = Math.min(WIDEST_BAR, Math.max(NARROWEST_BAR, columns - MARGIN_COLUMNS));
      const result = await drawSegments(target.store, chosen, when, { cells, limit });
      answer(context, options, result, (drawn) =>
        segmentsText(drawn, { ascii: options.ascii === true || !context.unicode }),
      );
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
