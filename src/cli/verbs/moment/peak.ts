import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import { describePeaks } from '../../../findings/state/live/peaks.js';
import { GROUP_KEYS, GROUPINGS } from '../../../model/results/peak.js';
import { peakDocument } from '../../../report/moment/peak-document.js';
import { defineVerb } from '../../define-verb.js';
import { choice, count, countFromOne, flag, MARKDOWN, ONLY_DEVICE, option, REDACT, SNAPSHOT } from '../../options.js';
import { demandSnapshots } from '../../session.js';

export const verb = defineVerb({
  name: 'peak',
  operands: { snapshot: SNAPSHOT },
  options: {
    by: choice('--by <key>', 'what to group by', GROUP_KEYS, 'site'),
    depth: option(
      '--depth <n>',
      'frames that make a key of site and module: the site and its n − 1 callers',
      countFromOne,
      '1',
    ),
    device: ONLY_DEVICE,
    rawFrames: flag('--raw-frames', 'stacks with native frames'),
    moment: option('--at <moment>', `the moment: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    grouping: choice('--grouping <whose>', 'also print the figures of a peer, by its definitions', GROUPINGS, 'ours'),
    limit: option('--limit <n>', 'groups to show, and a third as many stacks; 0 = all', count, '12'),
    markdown: MARKDOWN,
    ...REDACT,
  },
  async ask({ snapshot, by, depth, moment, grouping, limit, device, rawFrames }, session) {
    const { store, run, filter } = await session.snapshots(snapshot);
    const limits = { sites: limit, stacks: limit === 0 ? 0 : Math.ceil(limit / 3) };
    const result = await describePeaks(store, filter, limits, { by, depth, moment, grouping, device, rawFrames });
    demandSnapshots(run, result.snapshots);
    return result;
  },
  document: (result, { limit, device, rawFrames }) =>
    peakDocument(result, { isWhole: limit === 0 || rawFrames || device !== undefined }),
});
