/** The causes a run can be generated with, in the order `--cause` lists them. */
import { capacity } from './capacity.js';
import { checkpointSaveSpike } from './checkpoint-save-spike.js';
import { fractionLimit } from './fraction-limit.js';
import { fragmentationOtherStream } from './fragmentation-other-stream.js';
import { fragmentationOversizeRule } from './fragmentation-oversize-rule.js';
import { fragmentationPagePinning } from './fragmentation-page-pinning.js';
import { fragmentationSplitRemainder } from './fragmentation-split-remainder.js';
import type { GeneratedCause } from './generated-cause.js';
import { graphPools } from './graph-pools.js';
import { hostOom } from './host-oom.js';
import { imbalance } from './imbalance.js';
import { impossibleRequest } from './impossible-request.js';
import { leak } from './leak.js';
import { ncclGrowth } from './nccl-growth.js';
import { noOom } from './no-oom.js';
import { notAnOom } from './not-an-oom.js';
import { otherProcess } from './other-process.js';
import { pendingFrees } from './pending-frees.js';
import { transientLogitsSpike } from './transient-logits-spike.js';

export type { GeneratedCause } from './generated-cause.js';

export const CAUSES_TO_GENERATE: readonly GeneratedCause[] = [
  fragmentationSplitRemainder,
  fragmentationOtherStream,
  fragmentationPagePinning,
  fragmentationOversizeRule,
  capacity,
  otherProcess,
  ncclGrowth,
  leak,
  graphPools,
  pendingFrees,
  transientLogitsSpike,
  imbalance,
  impossibleRequest,
  checkpointSaveSpike,
  fractionLimit,
  hostOom,
  noOom,
  notAnOom,
];
