/** Sizes of the parallel groups, and what they must divide. */
import { above, all, any, below, given, not, numbers, off, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { IN_BRIDGE_OR_NEMO, IN_NEMO, sized, told, toldNone } from './mapping-terms.js';
import { MBC, MPC, TC } from './sources.js';

const STATE = 'Megatron-LM megatron/core/parallel_state.py initialize_model_parallel';

/** Few releases know encoders of their own: who does not speak of one has none. */
const NO_ENCODER = not(
  all(told('encoder_pipeline_model_parallel_size'), above('encoder_pipeline_model_parallel_size', 0)),
);

export const PARALLEL_RULES: readonly LintRule[] = [
  {
    id: 'sp-tp',
    severity: 'error',
    message: 'sequence_parallel needs tensor parallelism (TP {tensor_model_parallel_size}).',
    // Megatron-LM's arguments and Bridge from 0.6 on switch it off with a warning instead: `derived.ts`.
    when: all(IN_BRIDGE_OR_NEMO, on('sequence_parallel'), below('tensor_model_parallel_size', 2)),
    fix: 'Set sequence_parallel=False, or TP above 1.',
    error: 'Can not use sequence parallelism without tensor parallelism',
    source: MPC,
    evidence: 'asserted',
    statements: ['guide.tp-overlap'],
    fails: [
      {
        config: { sequence_parallel: true, tensor_model_parallel_size: 1 },
        framework: 'megatron-bridge',
        versions: { megatron_bridge: '0.4.0' },
      },
      { config: { sequence_parallel: true, tensor_model_parallel_size: 1 }, framework: 'nemo' },
    ],
    passes: [
      { config: { sequence_parallel: true, tensor_model_parallel_size: 2 }, framework: 'megatron-bridge' },
      { config: { sequence_parallel: false, tensor_model_parallel_size: 1 }, framework: 'megatron-bridge' },
      { config: { sequence_parallel: true, tensor_model_parallel_size: 1 }, framework: 'megatron-lm' },
    ],
  },
  {
    id: 'pp-dtype',
    severity: 'error',
    message: 'Pipeline parallelism (PP {pipeline_model_parallel_size}) needs a pipeline_dtype.',
    // Megatron-LM and Bridge take the dtype of the parameters, NeMo that of its precision plugin, which tells bf16 or fp16.
    when: all(IN_NEMO, above('pipeline_model_parallel_size', 1), off('bf16'), off('fp16'), toldNone('pipeline_dtype')),
    fix: 'Set pipeline_dtype=torch.bfloat16 on the model, or use the plugin MegatronMixedPrecision.',
    error: 'When using pipeline parallelism, pipeline_dtype must be specified',
    source: MPC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: { pipeline_model_parallel_size: 2, pipeline_dtype: null, bf16: false, fp16: false },
        framework: 'nemo',
      },
    ],
    passes: [
      {
        config: { pipeline_model_parallel_size: 2, pipeline_dtype: 'float32', bf16: false, fp16: false },
        framework: 'nemo',
      },
      { config: { pipeline_model_parallel_size: 2, pipeline_dtype: null, bf16: true }, framework: 'nemo' },
      { config: { pipeline_model_parallel_size: 1, pipeline_dtype: null, bf16: false }, framework: 'nemo' },
      { config: { pipeline_model_parallel_size: 2, pipeline_dtype: null, bf16: false }, framework: 'megatron-bridge' },
    ],
    unknown: [{ config: { pipeline_model_parallel_size: 2, bf16: false, fp16: false }, framework: 'nemo' }],
  },
  {
    id: 'heads-tp',
    severity: 'error',
    message: 'Attention heads or query groups cannot be divided among TP {tensor_model_parallel_size}.',
    when: all(
      above('tensor_model_parallel_size', 1),
      any(
        numbers(
          'num_attention_heads % tensor_model_parallel_size ≠ 0',
          ['num_attention_heads', 'tensor_model_parallel_size'],
          (heads, tp) => heads! % tp! !== 0,
        ),
        // Not told: as many as heads, or one.
        all(
          told('num_query_groups'),
          numbers(
            'num_query_groups and tensor_model_parallel_size divide neither one the other',
            ['num_query_groups', 'tensor_model_parallel_size'],
            (groups, tp) => groups! > 0 && groups! % tp! !== 0 && tp! % groups! !== 0,
          ),
        ),
      ),
    ),
    fix: 'Choose a TP that divides num_attention_heads and num_query_groups.',
    error: 'must be a multiple of tensor_model_parallel_size',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { num_attention_heads: 28, num_query_groups: 4, tensor_model_parallel_size: 8 } },
      { config: { num_attention_heads: 48, num_query_groups: 6, tensor_model_parallel_size: 4 } },
    ],
    passes: [
      { config: { num_attention_heads: 64, num_query_groups: 8, tensor_model_parallel_size: 8 } },
      { config: { num_attention_heads: 64, num_query_groups: null, tensor_model_parallel_size: 8 } },
      { config: { num_attention_heads: 28, num_query_groups: 4, tensor_model_parallel_size: 1 } },
    ],
    unknown: [{ config: { tensor_model_parallel_size: 8 } }],
  },
  {
    id: 'world-div',
    severity: 'error',
    message: '{world_size} ranks cannot be divided among the parallel groups.',
    when: all(
      NO_ENCODER,
      any(
        numbers(
          'world_size % (TP · PP · CP) ≠ 0',
          ['world_size', 'tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'],
          (world, tp, pp, cp) => world! % (tp! * pp! * cp!) !== 0,
        ),
        all(
          above('num_moe_experts', 1),
          // Without one it is the model's tensor parallelism: `derived.ts`.
          sized(
            'world_size % (ETP · EP · PP) ≠ 0',
            {
              world_size: undefined,
              expert_tensor_parallel_size: undefined,
              expert_model_parallel_size: 1,
              pipeline_model_parallel_size: 1,
            },
            (world, etp, ep, pp) => world! % (etp! * ep! * pp!) !== 0,
          ),
        ),
      ),
      numbers('world_size > 0', ['world_size'], (world) => world! > 0),
    ),
    fix: 'Use a number of GPUs that TP · PP · CP divides, and for experts ETP · EP · PP too.',
    error: 'is not divisible by total_model_size',
    source: `${STATE}; ${MBC}`,
    evidence: 'asserted',
    statements: ['guide.ep-decoupled', 'guide.etp-fold'],
    fails: [
      {
        config: {
          world_size: 24,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          context_parallel_size: 1,
          encoder_pipeline_model_parallel_size: 0,
        },
      },
      {
        config: {
          world_size: 32,
          tensor_model_parallel_size: 1,
          pipeline_model_parallel_size: 2,
          context_parallel_size: 1,
          encoder_pipeline_model_parallel_size: 0,
          num_moe_experts: 64,
          expert_model_parallel_size: 32,
          expert_tensor_parallel_size: 1,
        },
      },
      {
        config: {
          world_size: 32,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 1,
          context_parallel_size: 1,
          encoder_pipeline_model_parallel_size: 0,
          num_moe_experts: 64,
          expert_model_parallel_size: 16,
          expert_tensor_parallel_size: null,
        },
      },
    ],
    passes: [
      {
        config: {
          world_size: 32,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          context_parallel_size: 1,
          encoder_pipeline_model_parallel_size: 0,
          num_moe_experts: null,
        },
      },
      {
        config: {
          world_size: 32,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 1,
          context_parallel_size: 1,
          encoder_pipeline_model_parallel_size: 0,
          num_moe_experts: 64,
          expert_model_parallel_size: 16,
          expert_tensor_parallel_size: 1,
        },
      },
    ],
    unknown: [{ config: { tensor_model_parallel_size: 4, encoder_pipeline_model_parallel_size: 0 } }],
  },
  {
    id: 'batch-div',
    severity: 'error',
    message:
      'A global batch of {global_batch_size} is no multiple of MBS {micro_batch_size} · DP {data_parallel_size}.',
    when: all(
      given('global_batch_size'),
      numbers(
        'global_batch_size % (micro_batch_size · data_parallel_size) ≠ 0',
        ['global_batch_size', 'micro_batch_size', 'data_parallel_size'],
        (global, micro, dp) => global! % (micro! * dp!) !== 0,
      ),
    ),
    fix: 'Choose global_batch_size as a multiple of micro_batch_size · DP.',
    error: 'is not divisible by micro batch size',
    source: 'Megatron-LM megatron/core/num_microbatches_calculator.py',
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { global_batch_size: 100, micro_batch_size: 2, data_parallel_size: 8 } }],
    passes: [
      { config: { global_batch_size: 128, micro_batch_size: 2, data_parallel_size: 8 } },
      { config: { global_batch_size: null, micro_batch_size: 2, data_parallel_size: 8 } },
    ],
    unknown: [{ config: { global_batch_size: 100, micro_batch_size: 2 } }],
  },
];
