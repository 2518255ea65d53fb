import { describeState } from '../../../findings/state/describe-state.js';
import { MOMENT_FORMS, parseMoment } from '../../../findings/trace/moment.js';
import { atText } from '../../../report/moment/at-text.js';
import { defineVerb } from '../../define-verb.js';
import { count, ONE_DEVICE, operand, option, SNAPSHOT } from '../../options.js';

export const verb = defineVerb({
  name: 'at',
  group: 'Memory at a moment',
  summary: 'the allocator at any moment of a trace: live set, holes, pools, streams, what pins which segment',
  operands: { moment: operand('<moment>', MOMENT_FORMS, parseMoment), snapshot: SNAPSHOT },
  options: {
    device: ONE_DEVICE,
    limit: option('--limit <n>', 'call sites, holes and pinned segments to show; 0 = all', count, '8'),
  },
  examples: [
    'at peak',
    'at oom snapshot_oom_rank-3.pickle',
    'at seq:23998 night-shift/3/snapshot#1 --json',
    'at step:4 --limit 0',
  ],
  async ask({ moment, snapshot, device, limit }, session) {
    const { store, chosen } = await session.device(snapshot, moment, device);
    return describeState(store, chosen, moment, { limit });
  },
  render: atText,
});
