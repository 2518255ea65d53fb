import { drawSegments } from '../../../findings/state/draw-segments.js';
import { MOMENT_FORMS, parseMoment } from '../../../findings/trace/moment.js';
import { segmentsText } from '../../../report/moment/segments-text.js';
import { defineVerb } from '../../define-verb.js';
import { count, flag, ONE_DEVICE, operand, option, SNAPSHOT } from '../../options.js';

/** Besides the bar: address, size, share and hole. */
const MARGIN_COLUMNS = 62;
const NARROWEST_BAR = 16;
/** A bar wider than this cannot be taken in at a glance. */
const WIDEST_BAR = 160;

export const verb = defineVerb({
  name: 'segments',
  group: 'Memory at a moment',
  summary: 'the allocator drawn as text: every segment, and where it is full, free or waiting',
  operands: { moment: operand('<moment>', MOMENT_FORMS, parseMoment), snapshot: SNAPSHOT },
  options: {
    device: ONE_DEVICE,
    limit: option('--limit <n>', 'segments drawn per pool and stream, the largest first; 0 = all', count, '20'),
    width: option('--width <n>', 'columns of the screen; default: the terminal, else 100', count),
    ascii: flag('--ascii', 'no block characters'),
  },
  examples: ['segments oom', 'segments peak snapshot_3.pickle --width 160', 'segments seq:0 --limit 0 --ascii'],
  async ask({ moment, snapshot, device, limit, width }, session) {
    const columns = width ?? session.context.terminalColumns ?? 100;
    const cells = Math.min(WIDEST_BAR, Math.max(NARROWEST_BAR, columns - MARGIN_COLUMNS));
    const { store, chosen } = await session.device(snapshot, moment, device);
    return drawSegments(store, chosen, moment, { cells, limit });
  },
  render: (drawn, { ascii }, { unicode }) => segmentsText(drawn, { ascii: ascii || !unicode }),
});
