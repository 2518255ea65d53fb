import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import { describeState } from '../../../findings/state/describe-state.js';
import { drawSegments } from '../../../findings/state/draw-segments.js';
import type { AtResult, SegmentsResult } from '../../../model/results/at.js';
import { segmentsDocument } from '../../../report/moment/segments-document.js';
import { stateDocument } from '../../../report/moment/state-document.js';
import { defineVerb } from '../../define-verb.js';
import { count, flag, ONE_DEVICE, option, SNAPSHOT } from '../../options.js';

/** Without the bar: address, size, share and hole. */
const MARGIN_COLUMNS = 62;
const NARROWEST_BAR = 16;
/** A bar wider than this cannot be taken in at a glance. */
const WIDEST_BAR = 160;

export const verb = defineVerb({
  name: 'state',
  operands: { snapshot: SNAPSHOT },
  options: {
    at: option('--at <moment>', `the moment: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    map: flag('--map', 'draw each segment: allocated, free, pending'),
    device: ONE_DEVICE,
    limit: option('--limit <n>', 'call sites, holes and segments to show (default: 8; with --map 20); 0 = all', count),
    width: option('--width <n>', 'with --map: columns of the screen', count),
    ascii: flag('--ascii', 'with --map: no block characters'),
  },
  async ask({ snapshot, at: moment, map, device, limit, width }, session): Promise<AtResult | SegmentsResult> {
    const { store, chosen } = await session.device(snapshot, moment, device);
    if (!map) return describeState(store, chosen, moment, { limit: limit ?? 8 });
    const columns = width ?? session.context.columns;
    const cells = Math.min(WIDEST_BAR, Math.max(NARROWEST_BAR, columns - MARGIN_COLUMNS));
    return drawSegments(store, chosen, moment, { cells, limit: limit ?? 20 });
  },
  document: (result, { ascii }, { unicode }) =>
    'groups' in result ? segmentsDocument(result, { ascii: ascii || !unicode }) : stateDocument(result),
});
