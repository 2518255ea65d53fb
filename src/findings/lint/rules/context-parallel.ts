/** Context parallelism: how sequences are cut, and how the pieces are exchanged. */
import { above, all, any, type Condition, has, numbers, off, on, where } from '../../settings/condition.js';
import { asList, asNumber } from '../../settings/values.js';
import type { LintRule } from '../rule.js';
import { GRAPHS_ON, IN_BRIDGE, textHas } from './mapping-terms.js';
import { ARG, MBC } from './sources.js';

const HIERARCHY: Condition = where('product of hierarchical_context_parallel_sizes ≠ context_parallel_size', (view) => {
  const [levels, cp] = [view.setting('hierarchical_context_parallel_sizes'), view.setting('context_parallel_size')];
  if (levels.by === 'unknown' || cp.by === 'unknown') return [null, levels, cp];
  const sizes = asList(levels.value)?.map(asNumber);
  if (sizes === undefined || sizes.length === 0) return [true, levels, cp];
  const product = sizes.reduce<number>((whole, size) => whole * (size ?? Number.NaN), 1);
  return [product !== asNumber(cp.value), levels, cp];
});

const LIST_LENGTH: Condition = where('cp_comm_type a list whose length is not num_layers', (view) => {
  const [types, layers] = [view.setting('cp_comm_type'), view.setting('num_layers')];
  const count = asList(types.value)?.length ?? 0;
  // One entry is a word that was read as a list: the keys' dictionary says that it holds a list.
  if (types.by === 'unknown') return [null, types];
  if (count <= 1) return [false, types];
  return layers.by === 'unknown' ? [null, types, layers] : [count !== asNumber(layers.value), types, layers];
});

export const CONTEXT_PARALLEL_RULES: readonly LintRule[] = [
  {
    id: 'cp-seq',
    severity: 'error',
    message: 'A sequence of {seq_length} is no multiple of 2 · CP ({context_parallel_size}).',
    when: all(
      above('context_parallel_size', 1),
      numbers(
        'seq_length % (2 · context_parallel_size) ≠ 0',
        ['seq_length', 'context_parallel_size'],
        (length, cp) => length! % (2 * cp!) !== 0,
      ),
    ),
    fix: 'Pad or choose seq_length as a multiple of 2 · context_parallel_size.',
    error: 'Sequence length must be divisible by 2 * context parallel size',
    source: `${MBC}; ${ARG}`,
    evidence: 'asserted',
    statements: ['guide.cp-long-seq'],
    fails: [{ config: { seq_length: 4100, context_parallel_size: 4 } }],
    passes: [
      { config: { seq_length: 8192, context_parallel_size: 4 } },
      { config: { seq_length: 4100, context_parallel_size: 1 } },
    ],
    unknown: [{ config: { context_parallel_size: 4 } }],
  },
  {
    id: 'cp-sft',
    severity: 'error',
    message:
      'Fine-tuning with CP {context_parallel_size} needs calculate_per_token_loss=True and average_in_collective=False, or ranks whose tokens are all masked turn the loss into NaN.',
    when: all(
      IN_BRIDGE,
      above('context_parallel_size', 1),
      any(textHas('dataset._target_', /Finetun/), above('packed_sequence_size', 0)),
      any(off('calculate_per_token_loss'), on('average_in_collective')),
    ),
    fix: 'Set model.calculate_per_token_loss=True and ddp.average_in_collective=False.',
    error: 'When finetuning with CP>1',
    source: MBC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: { context_parallel_size: 2, packed_sequence_size: 4096, calculate_per_token_loss: false },
        framework: 'megatron-bridge',
      },
      {
        config: {
          context_parallel_size: 2,
          'dataset._target_': 'megatron.bridge.training.config.FinetuningDatasetConfig',
          calculate_per_token_loss: true,
          average_in_collective: true,
        },
        framework: 'megatron-bridge',
      },
    ],
    passes: [
      {
        config: {
          context_parallel_size: 2,
          packed_sequence_size: 4096,
          calculate_per_token_loss: true,
          average_in_collective: false,
        },
        framework: 'megatron-bridge',
      },
      {
        config: { context_parallel_size: 1, packed_sequence_size: 4096, calculate_per_token_loss: false },
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'hcp',
    severity: 'error',
    message:
      'cp_comm_type {cp_comm_type} needs hierarchical_context_parallel_sizes whose product is CP {context_parallel_size}; without them training is silently broken, with a throughput that is too high.',
    when: all(above('context_parallel_size', 1), has('cp_comm_type', 'a2a+p2p'), HIERARCHY),
    fix: 'Set hierarchical_context_parallel_sizes, e.g. [2, 4] for CP 8, or use cp_comm_type=p2p.',
    error: 'hierarchical_context_parallel_sizes must be set',
    source: `${MBC}; ${ARG}`,
    evidence: 'asserted',
    statements: ['guide.cp-a2ap2p', 'guide.cp-comm-overlap'],
    fails: [
      {
        config: { context_parallel_size: 8, cp_comm_type: ['a2a+p2p'], hierarchical_context_parallel_sizes: null },
      },
      {
        config: { context_parallel_size: 8, cp_comm_type: ['a2a+p2p'], hierarchical_context_parallel_sizes: [2, 2] },
      },
    ],
    passes: [
      {
        config: { context_parallel_size: 8, cp_comm_type: ['a2a+p2p'], hierarchical_context_parallel_sizes: [2, 4] },
      },
      { config: { context_parallel_size: 8, cp_comm_type: ['p2p'], hierarchical_context_parallel_sizes: null } },
    ],
  },
  {
    id: 'hybrid-cp',
    severity: 'error',
    message:
      'hybrid_context_parallel does not work with pipeline parallelism, CUDA graphs, Megatron-FSDP or a loss per sequence.',
    when: all(
      on('hybrid_context_parallel'),
      any(
        above('pipeline_model_parallel_size', 1),
        GRAPHS_ON,
        on('use_megatron_fsdp'),
        off('calculate_per_token_loss'),
      ),
    ),
    fix: 'Use PP 1, cuda_graph_impl=none, no Megatron-FSDP and calculate_per_token_loss=True.',
    error: 'Hybrid context parallelism not supported',
    source: ARG,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { hybrid_context_parallel: true, pipeline_model_parallel_size: 2 } },
      { config: { hybrid_context_parallel: true, cuda_graph_impl: 'local' } },
      { config: { hybrid_context_parallel: true, use_megatron_fsdp: true } },
      { config: { hybrid_context_parallel: true, calculate_per_token_loss: false } },
    ],
    passes: [
      {
        config: {
          hybrid_context_parallel: true,
          pipeline_model_parallel_size: 1,
          cuda_graph_impl: 'none',
          use_megatron_fsdp: false,
          calculate_per_token_loss: true,
        },
      },
      { config: { hybrid_context_parallel: false, pipeline_model_parallel_size: 2 } },
    ],
  },
  {
    id: 'cp-comm-list',
    severity: 'error',
    message: 'cp_comm_type has another number of entries than there are layers ({num_layers}).',
    when: LIST_LENGTH,
    fix: 'Give one word for all layers, or one entry for each layer.',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, context parallelism',
    evidence: 'documented',
    statements: ['guide.cp-type-per-layer'],
    fails: [{ config: { cp_comm_type: ['p2p', 'a2a'], num_layers: 32 } }],
    passes: [
      { config: { cp_comm_type: ['p2p', 'a2a'], num_layers: 2 } },
      { config: { cp_comm_type: ['p2p'], num_layers: 32 } },
    ],
    unknown: [{ config: { cp_comm_type: ['p2p', 'a2a'] } }],
  },
  {
    id: 'cp-a2a-heads',
    severity: 'error',
    message:
      'cp_comm_type a2a scatters attention heads: the heads of a TP rank ({num_attention_heads} / TP {tensor_model_parallel_size}) must be divisible by CP {context_parallel_size}.',
    when: all(
      above('context_parallel_size', 1),
      has('cp_comm_type', 'a2a'),
      numbers(
        'num_attention_heads % (tensor_model_parallel_size · context_parallel_size) ≠ 0',
        ['num_attention_heads', 'tensor_model_parallel_size', 'context_parallel_size'],
        (heads, tp, cp) => heads! % (tp! * cp!) !== 0,
      ),
    ),
    fix: 'Lower CP or TP until their product divides the heads, or use cp_comm_type=p2p.',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, context parallelism',
    evidence: 'documented',
    statements: ['guide.cp-a2a-heads', 'guide.cp-a2a'],
    fails: [
      {
        config: {
          cp_comm_type: ['a2a'],
          num_attention_heads: 32,
          tensor_model_parallel_size: 8,
          context_parallel_size: 8,
        },
      },
    ],
    passes: [
      {
        config: {
          cp_comm_type: ['a2a'],
          num_attention_heads: 64,
          tensor_model_parallel_size: 8,
          context_parallel_size: 8,
        },
      },
      {
        config: {
          cp_comm_type: ['p2p'],
          num_attention_heads: 32,
          tensor_model_parallel_size: 8,
          context_parallel_size: 8,
        },
      },
    ],
    unknown: [{ config: { cp_comm_type: ['a2a'], context_parallel_size: 8, tensor_model_parallel_size: 1 } }],
  },
];
