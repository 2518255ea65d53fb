import { earliestTorch } from '../../../../parsers/index.js';
import { describeSnapshots } from '../../../findings/state/describe-snapshots.js';
import { snapshotDocument } from '../../../report/moment/snapshot-document.js';
import { defineVerb } from '../../define-verb.js';
import { SNAPSHOT } from '../../options.js';
import { demandSnapshots } from '../../session.js';

export const verb = defineVerb({
  name: 'snapshot',
  operands: { snapshot: SNAPSHOT },
  async ask({ snapshot }, session) {
    const { store, run, filter } = await session.snapshots(snapshot);
    const result = await describeSnapshots(store, filter, earliestTorch);
    demandSnapshots(run, result.snapshots);
    return result;
  },
  document: snapshotDocument,
});
