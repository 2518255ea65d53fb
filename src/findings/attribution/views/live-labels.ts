/** The labels of the blocks that are live in a state. */
import type { AllocatorState } from '../../../allocator/walk/allocator-state.js';
import { labelAt } from '../../../attribution/blocks/attribution.js';
import type { BlockLabel } from '../../../attribution/blocks/labels.js';
import type { DeviceAttribution } from '../attribute-device.js';

export interface LiveLabels {
  /** By block of the state. */
  readonly labelOf: (block: number) => BlockLabel;
  /** Row among the lives, by block of the state. */
  readonly rowOf: Int32Array;
}

/** Every block of a state is one of the attribution's lives, by its number. */
export function liveLabels(of: DeviceAttribution, { blocks }: AllocatorState): LiveLabels {
  const rowOf = blocks.block ?? new Int32Array(blocks.count).fill(-1);
  return { rowOf, labelOf: (block) => (rowOf[block]! < 0 ? UNKNOWN_BLOCK : labelAt(of, rowOf[block]!)) };
}

/** Only where the trace contradicts itself: a block that no entry and no start accounts for. */
const UNKNOWN_BLOCK: BlockLabel = {
  component: 'unattributed',
  sub_component: 'contradicted',
  phase: 'unknown',
  by: 'none',
  rules: [],
  confidence: 'low',
};
