import type { Command } from 'commander';
import { drawSegments } from '../../findings/state/draw-segments.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { segmentsText } from '../../report/segments-text.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { DEVICE_HELP, type DeviceOptions, withOneDevice } from '../one-device.js';
import { answer, withCommon } from '../verb.js';

interface Options extends DeviceOptions {
  readonly limit: string;
  readonly width?: string;
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
      .option('--device <n>', DEVICE_HELP)
      .option('--limit <n>', 'segments drawn per pool and stream, the largest first; 0 = all', '20')
      .option('--width <n>', 'columns of the screen; default: the terminal, else 100')
      .option('--ascii', 'no block characters'),
    ['segments oom', 'segments peak snapshot_3.pickle --width 160', 'segments seq:0 --limit 0 --ascii'],
  ).action(async (moment: string, operand: string | undefined, options: Options) => {
    const when = parseMoment(moment);
    const limit = parseCount('--limit', options.limit);
    const columns =
      options.width === undefined ? (context.terminalColumns ?? 100) : parseCount('--width', options.width);
    const cells = Math.min(WIDEST_BAR, Math.max(NARROWEST_BAR, columns - MARGIN_COLUMNS));
    const ascii = options.ascii === true || !context.unicode;
    await withOneDevice(operand, when, options, context, async (store, chosen) => {
      const result = await drawSegments(store, chosen, when, { cells, limit });
      answer(context, options, result, (drawn) => segmentsText(drawn, { ascii }));
    });
  });
}
