/** Packing of sequences. */
import { above, all, any, is, not, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { IN_BRIDGE, IN_BRIDGE_OR_NEMO } from './mapping-terms.js';
import { MBC } from './sources.js';

const OFFLINE = above('packed_sequence_size', 0);

export const DATA_RULES: readonly LintRule[] = [
  {
    id: 'pack-mbs',
    severity: 'error',
    message:
      'A micro-batch of {micro_batch_size} does not fit the kind of packing: packed beforehand needs 1, packed in the batch more than 1.',
    when: any(
      all(IN_BRIDGE_OR_NEMO, OFFLINE, above('micro_batch_size', 1)),
      all(IN_BRIDGE, on('packed_sequence'), not(OFFLINE), is('micro_batch_size', 1)),
    ),
    fix: 'Packed beforehand: micro_batch_size=1, and a longer packed_sequence_size instead. Packed in the batch: micro_batch_size above 1.',
    error: 'Micro batch size should be 1 when training with packed sequence',
    source: MBC,
    evidence: 'asserted',
    statements: ['guide.pack-mbs1', 'guide.pack-what'],
    fails: [
      { config: { packed_sequence_size: 4096, micro_batch_size: 2 }, framework: 'megatron-bridge' },
      { config: { packed_sequence_size: 4096, micro_batch_size: 2 }, framework: 'nemo' },
      {
        config: { packed_sequence: true, packed_sequence_size: null, micro_batch_size: 1 },
        framework: 'megatron-bridge',
      },
    ],
    passes: [
      { config: { packed_sequence_size: 4096, micro_batch_size: 1, packed_sequence: false }, framework: 'nemo' },
      {
        config: { packed_sequence: true, packed_sequence_size: null, micro_batch_size: 4 },
        framework: 'megatron-bridge',
      },
      {
        config: { packed_sequence: false, packed_sequence_size: -1, micro_batch_size: 4 },
        framework: 'megatron-bridge',
      },
    ],
  },
];
