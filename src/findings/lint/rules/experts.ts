/** Mixture of experts: how they are spread, routed and fed. */
import {
  above,
  all,
  any,
  capabilityBelow,
  given,
  has,
  is,
  isNot,
  missing,
  not,
  numbers,
  off,
  on,
  where,
} from '../../settings/condition.js';
import { asList } from '../../settings/values.js';
import type { LintRule } from '../rule.js';
import { beyondNvlink, IN_MEGATRON_LM, isDeepEp, sized, told } from './mapping-terms.js';
import { ARG, TC } from './sources.js';

const GUIDES = 'NeMo and Megatron Bridge performance guides, expert parallelism';

/** Dropping tokens needs a loss that balances, or none at all. */
const BALANCED = ['aux_loss', 'seq_aux_loss', 'global_aux_loss', 'none'];
const OTHER_BALANCING = where('moe_router_load_balancing_type neither an auxiliary loss nor none', (view) => {
  const found = view.setting('moe_router_load_balancing_type');
  // None as a list of one is read as None.
  const items = asList(found.value) ?? [];
  return [found.by === 'unknown' ? null : items.some((item) => !BALANCED.includes(item)), found];
});

export const EXPERT_RULES: readonly LintRule[] = [
  {
    id: 'moe-experts',
    severity: 'error',
    message: 'The experts ({num_moe_experts}) cannot be divided among EP {expert_model_parallel_size}.',
    when: all(
      above('expert_model_parallel_size', 1),
      sized(
        'no experts, or num_moe_experts % expert_model_parallel_size ≠ 0',
        { num_moe_experts: 0, expert_model_parallel_size: 1 },
        (experts, ep) => experts === 0 || experts! % ep! !== 0,
      ),
    ),
    fix: 'Choose an EP that divides num_moe_experts; a dense model has EP 1.',
    error: 'Number of experts should be a multiple of expert model parallel_size',
    source: `${TC}; ${ARG}`,
    evidence: 'asserted',
    statements: ['guide.ep-definition'],
    fails: [
      { config: { num_moe_experts: 60, expert_model_parallel_size: 8 } },
      { config: { num_moe_experts: null, expert_model_parallel_size: 8 } },
    ],
    passes: [
      { config: { num_moe_experts: 64, expert_model_parallel_size: 8 } },
      { config: { num_moe_experts: null, expert_model_parallel_size: 1 } },
    ],
  },
  {
    id: 'moe-topk',
    severity: 'error',
    message: 'Each token is to go to {moe_router_topk} of {num_moe_experts} experts.',
    when: numbers(
      'moe_router_topk > num_moe_experts',
      ['moe_router_topk', 'num_moe_experts'],
      (topk, experts) => experts! > 0 && topk! > experts!,
    ),
    fix: 'Set moe_router_topk to at most num_moe_experts.',
    error: null,
    source: 'Megatron-LM megatron/core/transformer/moe/moe_utils.py topk_routing_with_score_function',
    evidence: 'documented',
    statements: [],
    fails: [{ config: { moe_router_topk: 8, num_moe_experts: 4 } }],
    passes: [
      { config: { moe_router_topk: 8, num_moe_experts: 8 } },
      { config: { moe_router_topk: 8, num_moe_experts: null } },
    ],
  },
  {
    id: 'moe-router',
    severity: 'error',
    message: 'With one expert for each token the softmax must come before the choice.',
    when: all(
      above('num_moe_experts', 0),
      is('moe_router_topk', 1),
      is('moe_router_score_function', 'softmax'),
      off('moe_router_pre_softmax'),
      not(has('moe_router_load_balancing_type', 'sinkhorn')),
    ),
    fix: 'Set moe_router_pre_softmax=True.',
    error: 'Please use --moe-router-pre-softmax when topk is 1',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: {
          num_moe_experts: 8,
          moe_router_topk: 1,
          moe_router_score_function: 'softmax',
          moe_router_pre_softmax: false,
          moe_router_load_balancing_type: 'aux_loss',
        },
      },
    ],
    passes: [
      {
        config: {
          num_moe_experts: 8,
          moe_router_topk: 1,
          moe_router_score_function: 'softmax',
          moe_router_pre_softmax: true,
        },
      },
      { config: { num_moe_experts: 8, moe_router_topk: 2 } },
    ],
  },
  {
    id: 'moe-cap',
    severity: 'error',
    message: 'The capacity of experts is asked for in a way that the dispatcher or the router cannot give.',
    when: any(
      all(on('moe_pad_expert_input_to_capacity'), missing('moe_expert_capacity_factor')),
      all(
        numbers('moe_expert_capacity_factor ≥ 0', ['moe_expert_capacity_factor'], (factor) => factor! >= 0),
        OTHER_BALANCING,
      ),
      all(
        on('moe_pad_expert_input_to_capacity'),
        is('moe_token_dispatcher_type', 'flex'),
        any(on('moe_enable_deepep'), isDeepEp),
      ),
      all(
        told('moe_expert_rank_capacity_factor'),
        given('moe_expert_rank_capacity_factor'),
        isNot('moe_flex_dispatcher_backend', 'hybridep', 'ncclep'),
      ),
    ),
    fix: 'Set moe_expert_capacity_factor with padding, an auxiliary loss with dropping, and the hybridep backend for moe_expert_rank_capacity_factor.',
    error: 'moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { moe_pad_expert_input_to_capacity: true, moe_expert_capacity_factor: null } },
      { config: { moe_expert_capacity_factor: 1, moe_router_load_balancing_type: ['sinkhorn'] } },
      {
        config: {
          moe_pad_expert_input_to_capacity: true,
          moe_expert_capacity_factor: 1,
          moe_router_load_balancing_type: ['aux_loss'],
          moe_token_dispatcher_type: 'flex',
          moe_enable_deepep: true,
        },
      },
      { config: { moe_expert_rank_capacity_factor: 1.5, moe_flex_dispatcher_backend: 'deepep' } },
    ],
    passes: [
      {
        config: {
          moe_pad_expert_input_to_capacity: true,
          moe_expert_capacity_factor: 1,
          moe_router_load_balancing_type: ['aux_loss'],
          moe_token_dispatcher_type: 'alltoall',
        },
      },
      {
        config: {
          moe_pad_expert_input_to_capacity: false,
          moe_expert_rank_capacity_factor: 1.5,
          moe_flex_dispatcher_backend: 'hybridep',
        },
      },
      { config: { moe_pad_expert_input_to_capacity: false } },
    ],
  },
  {
    id: 'moe-dispatcher',
    severity: 'error',
    message:
      'DeepEP needs the flex dispatcher, and overlap of shared experts the alltoall or flex dispatcher: this is {moe_token_dispatcher_type}.',
    when: all(
      isNot('moe_token_dispatcher_type', 'flex'),
      any(
        on('moe_enable_deepep'),
        all(on('moe_shared_expert_overlap'), isNot('moe_token_dispatcher_type', 'alltoall')),
      ),
    ),
    fix: 'Set moe_token_dispatcher_type=flex for DeepEP, alltoall or flex for moe_shared_expert_overlap.',
    error: 'backend is only supported with flex token dispatcher',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { moe_token_dispatcher_type: 'alltoall', moe_enable_deepep: true } },
      { config: { moe_token_dispatcher_type: 'allgather', moe_shared_expert_overlap: true } },
    ],
    passes: [
      { config: { moe_token_dispatcher_type: 'flex', moe_enable_deepep: true } },
      { config: { moe_token_dispatcher_type: 'alltoall', moe_enable_deepep: false, moe_shared_expert_overlap: true } },
    ],
  },
  {
    id: 'moe-grouped',
    severity: 'error',
    message: 'moe_grouped_gemm has no kernels for {device}: it needs compute capability 8 (Ampere) and above.',
    when: all(IN_MEGATRON_LM, on('moe_grouped_gemm'), capabilityBelow(8)),
    fix: 'Set moe_grouped_gemm=False on this GPU.',
    error: 'Unsupported compute capability for GroupedGEMM kernels',
    source: ARG,
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { moe_grouped_gemm: true }, gpu: 'v100', framework: 'megatron-lm' }],
    passes: [
      { config: { moe_grouped_gemm: true }, gpu: 'h100', framework: 'megatron-lm' },
      { config: { moe_grouped_gemm: false }, gpu: 'v100', framework: 'megatron-lm' },
    ],
    unknown: [{ config: { moe_grouped_gemm: true }, framework: 'megatron-lm' }],
  },
  {
    id: 'soft-grouped-gemm',
    severity: 'note',
    message:
      '{num_moe_experts} experts over EP {expert_model_parallel_size} are several for each GPU, computed one after the other.',
    when: all(
      numbers(
        'num_moe_experts / expert_model_parallel_size > 1',
        ['num_moe_experts', 'expert_model_parallel_size'],
        (experts, ep) => experts! / ep! > 1,
      ),
      off('moe_grouped_gemm'),
    ),
    fix: 'Set moe_grouped_gemm=True.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.grouped-gemm'],
    fails: [{ config: { num_moe_experts: 64, expert_model_parallel_size: 8, moe_grouped_gemm: false } }],
    passes: [
      { config: { num_moe_experts: 64, expert_model_parallel_size: 8, moe_grouped_gemm: true } },
      { config: { num_moe_experts: 8, expert_model_parallel_size: 8, moe_grouped_gemm: false } },
      { config: { num_moe_experts: null, moe_grouped_gemm: false } },
    ],
  },
  {
    id: 'soft-etp',
    severity: 'note',
    message:
      'Experts are split by tensor parallelism (ETP {expert_tensor_parallel_size}): their matrices are small, and the communication costs more than it saves.',
    when: all(above('num_moe_experts', 1), above('expert_tensor_parallel_size', 1)),
    fix: 'Set expert_tensor_parallel_size=1 and raise EP instead.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.etp1', 'guide.etp-fold'],
    fails: [
      { config: { num_moe_experts: 64, expert_tensor_parallel_size: 2 } },
      // Not told: that of the model.
      { config: { num_moe_experts: 64, tensor_model_parallel_size: 4 } },
    ],
    passes: [
      { config: { num_moe_experts: 64, expert_tensor_parallel_size: 1 } },
      { config: { num_moe_experts: null, expert_tensor_parallel_size: 2 } },
    ],
  },
  {
    id: 'soft-ep-nvlink',
    severity: 'note',
    message:
      'EP {expert_model_parallel_size} reaches beyond the GPUs that share NVLink: tokens are sent over the network.',
    when: all(
      above('num_moe_experts', 1),
      beyondNvlink('expert_model_parallel_size'),
      off('overlap_moe_expert_parallel_comm'),
    ),
    fix: 'Keep EP within NVLink, or hide the exchange: overlap_moe_expert_parallel_comm=True, or the flex dispatcher with DeepEP or HybridEP.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.ep-nvlink', 'guide.ep-overlap-future'],
    fails: [
      {
        config: { num_moe_experts: 256, expert_model_parallel_size: 64, overlap_moe_expert_parallel_comm: false },
        gpu: 'h100',
      },
    ],
    passes: [
      {
        config: { num_moe_experts: 256, expert_model_parallel_size: 64, overlap_moe_expert_parallel_comm: false },
        gpu: 'gb200',
      },
      {
        config: { num_moe_experts: 256, expert_model_parallel_size: 64, overlap_moe_expert_parallel_comm: true },
        gpu: 'h100',
      },
      { config: { num_moe_experts: 64, expert_model_parallel_size: 8 }, gpu: 'h100' },
    ],
    unknown: [
      {
        config: { num_moe_experts: 256, expert_model_parallel_size: 64, overlap_moe_expert_parallel_comm: false },
      },
    ],
  },
];
