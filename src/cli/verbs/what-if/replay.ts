import { describeReplays } from '../../../findings/replay/describe-replay.js';
import { replayDocument } from '../../../report/what-if/replay-document.js';
import { defineVerb } from '../../define-verb.js';
import { ONLY_DEVICE, SNAPSHOT } from '../../options.js';

export const verb = defineVerb({
  name: 'replay',
  operands: { snapshot: SNAPSHOT },
  options: { device: ONLY_DEVICE },
  async ask({ snapshot, device }, session) {
    const { store, filter } = await session.snapshots(snapshot);
    return describeReplays(store, filter, device);
  },
  document: replayDocument,
});
