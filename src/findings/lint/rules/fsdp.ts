/** Sharded data parallelism (Megatron-FSDP, torch FSDP2) and NCCL user buffers. */
import { above, all, any, before, env, given, is, isNot, known, off, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { asked, envTest, GRAPHS_ON, IN_BRIDGE, IN_MEGATRON_LM, told } from './mapping-terms.js';
import { ARG, DDPC, MBC } from './sources.js';

const EITHER_FSDP = any(on('use_megatron_fsdp'), on('use_torch_fsdp2'));
/** As Megatron-Core looks for it: a whole entry between commas. */
const LITERALLY_EXPANDABLE = envTest('PYTORCH_CUDA_ALLOC_CONF', 'has the entry expandable_segments:True', (text) =>
  text.split(',').includes('expandable_segments:True'),
);
const EXPANDABLE_ENV = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' } as const;
/** What FSDP2 accepts, so that one thing at a time can be wrong. */
const FSDP2 = {
  use_torch_fsdp2: true,
  pipeline_model_parallel_size: 1,
  expert_model_parallel_size: 1,
  use_distributed_optimizer: false,
  gradient_accumulation_fusion: false,
  fp16: false,
  share_embeddings_and_output_weights: false,
  ckpt_format: 'torch_dist',
} as const;
/** The same for version 2 of Megatron-FSDP. */
const V2 = {
  use_megatron_fsdp: true,
  megatron_fsdp_version: 2,
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 1,
  context_parallel_size: 1,
  expert_model_parallel_size: 1,
  num_moe_experts: null,
  virtual_pipeline_model_parallel_size: null,
  num_distributed_optimizer_instances: 1,
  use_precision_aware_optimizer: false,
  optimizer_cpu_offload: false,
  fp8: null,
  fp16: false,
  cuda_graph_impl: 'none',
} as const;

export const FSDP_RULES: readonly LintRule[] = [
  {
    id: 'ub-expand',
    severity: 'error',
    message: 'NCCL user buffers (nccl_ub) do not work with PYTORCH_CUDA_ALLOC_CONF={PYTORCH_CUDA_ALLOC_CONF}.',
    // Megatron-Core asks for the version of torch since May 2026 only; before, it refuses the pair whatever torch can do.
    when: all(
      on('nccl_ub'),
      LITERALLY_EXPANDABLE,
      any(before('torch', '2.11'), known(before('megatron_core', '0.17'))),
    ),
    fix: 'Drop expandable_segments or nccl_ub, or use torch 2.11, whose memory pools take expandable segments, with Megatron-Core of May 2026 or newer.',
    error: 'expandable_segments:True is currently not supported with nccl_ub',
    source: `${DDPC}; the copy in Megatron-FSDP`,
    evidence: 'asserted',
    statements: ['mem.expandable-ncclub', 'mem.diag-ncclub'],
    fails: [
      { config: { nccl_ub: true }, env: EXPANDABLE_ENV, versions: { torch: '2.9.0' } },
      { config: { nccl_ub: true }, env: EXPANDABLE_ENV, versions: { torch: '2.11.0', megatron_core: '0.16.1' } },
    ],
    passes: [
      { config: { nccl_ub: true }, env: EXPANDABLE_ENV, versions: { torch: '2.11.0a0+git' } },
      { config: { nccl_ub: true }, env: EXPANDABLE_ENV, versions: { torch: '2.11.0', megatron_core: '0.19.0' } },
      { config: { nccl_ub: false }, env: EXPANDABLE_ENV, versions: { torch: '2.9.0' } },
      { config: { nccl_ub: true }, versions: { torch: '2.9.0' } },
    ],
    unknown: [
      { config: { nccl_ub: true }, env: EXPANDABLE_ENV },
      { config: { nccl_ub: true }, env: 'unknown', versions: { torch: '2.9.0' } },
    ],
  },
  {
    id: 'uvm-expand',
    severity: 'error',
    message: 'Unified memory of the inference engine does not work with expandable segments.',
    // Who speaks of no inference has none.
    when: all(
      told('inference_dynamic_batching_unified_memory_level'),
      above('inference_dynamic_batching_unified_memory_level', 0),
      LITERALLY_EXPANDABLE,
    ),
    fix: 'Unset expandable_segments, or set the unified memory level to 0.',
    error: 'unified memory is not compatible with expandable_segments',
    source: 'Megatron-LM megatron/core/inference/unified_memory.py',
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { inference_dynamic_batching_unified_memory_level: 1 }, env: EXPANDABLE_ENV }],
    passes: [
      { config: { inference_dynamic_batching_unified_memory_level: 0 }, env: EXPANDABLE_ENV },
      { config: { inference_dynamic_batching_unified_memory_level: 1 } },
    ],
    unknown: [{ config: { inference_dynamic_batching_unified_memory_level: 1 }, env: 'unknown' }],
  },
  {
    id: 'ub-manual',
    severity: 'error',
    message: 'fsdp_manual_registration needs Megatron-FSDP and nccl_ub.',
    when: all(on('fsdp_manual_registration'), any(off('use_megatron_fsdp'), off('nccl_ub'))),
    fix: 'Set use_megatron_fsdp and nccl_ub, or drop fsdp_manual_registration.',
    error: 'FSDP manual registration is only supported with',
    source: `${ARG}; ${MBC}`,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { fsdp_manual_registration: true, use_megatron_fsdp: true, nccl_ub: false } },
      { config: { fsdp_manual_registration: true, use_megatron_fsdp: false, nccl_ub: true } },
    ],
    passes: [
      { config: { fsdp_manual_registration: true, use_megatron_fsdp: true, nccl_ub: true } },
      { config: { fsdp_manual_registration: false } },
    ],
  },
  {
    id: 'fsdp-conn',
    severity: 'error',
    message: 'FSDP does not work with CUDA_DEVICE_MAX_CONNECTIONS={CUDA_DEVICE_MAX_CONNECTIONS}.',
    when: all(EITHER_FSDP, env('CUDA_DEVICE_MAX_CONNECTIONS', '1')),
    fix: 'Unset CUDA_DEVICE_MAX_CONNECTIONS, or set it above 1.',
    error: 'FSDP requires CUDA_DEVICE_MAX_CONNECTIONS',
    source: `${ARG}; ${MBC}`,
    evidence: 'asserted',
    statements: ['mem.slurm-env-block'],
    fails: [
      { config: { use_megatron_fsdp: true }, env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' } },
      { config: { use_torch_fsdp2: true }, env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' } },
    ],
    passes: [
      { config: { use_megatron_fsdp: true }, env: { CUDA_DEVICE_MAX_CONNECTIONS: '32' } },
      { config: { use_megatron_fsdp: true } },
      {
        config: { use_megatron_fsdp: false, use_torch_fsdp2: false },
        env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
      },
    ],
    unknown: [{ config: { use_megatron_fsdp: true }, env: 'unknown' }],
  },
  {
    id: 'soft-fsdp-tp',
    severity: 'note',
    message:
      'FSDP beside tensor or context parallelism: before Blackwell they want opposite values of CUDA_DEVICE_MAX_CONNECTIONS (unset or above 1 against 1).',
    when: all(EITHER_FSDP, any(above('tensor_model_parallel_size', 1), above('context_parallel_size', 1))),
    fix: 'Leave CUDA_DEVICE_MAX_CONNECTIONS unset, and check on a timeline that TP communication still overlaps.',
    error: null,
    source: ARG,
    evidence: 'documented',
    statements: ['guide.fsdp-with-tp'],
    fails: [{ config: { use_megatron_fsdp: true, tensor_model_parallel_size: 2 } }],
    passes: [
      { config: { use_megatron_fsdp: true, tensor_model_parallel_size: 1, context_parallel_size: 1 } },
      { config: { use_megatron_fsdp: false, use_torch_fsdp2: false, tensor_model_parallel_size: 2 } },
    ],
  },
  {
    id: 'fsdp-ckpt',
    severity: 'error',
    message: 'Megatron-FSDP and the checkpoint format fsdp_dtensor go together, not with {ckpt_format}.',
    when: any(
      all(
        on('use_megatron_fsdp'),
        isNot('ckpt_format', 'fsdp_dtensor'),
        any(given('save'), given('load'), IN_MEGATRON_LM),
      ),
      all(is('ckpt_format', 'fsdp_dtensor'), off('use_megatron_fsdp'), any(given('save'), given('load'))),
    ),
    fix: 'Set ckpt_format=fsdp_dtensor with Megatron-FSDP, torch_dist without.',
    error: 'Megatron FSDP only supports fsdp_dtensor checkpoint format',
    source: `${ARG}; ${MBC}`,
    evidence: 'asserted',
    statements: ['nemo.fsdp-select'],
    fails: [
      { config: { use_megatron_fsdp: true, ckpt_format: 'torch_dist', save: '/ckpt' } },
      { config: { use_megatron_fsdp: true, ckpt_format: 'torch_dist' }, framework: 'megatron-lm' },
      { config: { use_megatron_fsdp: false, ckpt_format: 'fsdp_dtensor', load: '/ckpt' } },
    ],
    passes: [
      { config: { use_megatron_fsdp: true, ckpt_format: 'fsdp_dtensor', save: '/ckpt' } },
      {
        config: { use_megatron_fsdp: true, ckpt_format: 'torch_dist', save: null, load: null },
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'fsdp2',
    severity: 'error',
    message: 'torch FSDP2 refuses what stands beside it.',
    when: all(
      IN_MEGATRON_LM,
      on('use_torch_fsdp2'),
      any(
        above('pipeline_model_parallel_size', 1),
        above('expert_model_parallel_size', 1),
        on('use_distributed_optimizer'),
        on('gradient_accumulation_fusion'),
        on('fp16'),
        on('share_embeddings_and_output_weights'),
        isNot('ckpt_format', 'torch_dist', 'torch_dcp'),
        before('torch', '2.4'),
      ),
    ),
    fix: 'Use PP 1, EP 1, no distributed optimizer, --no-gradient-accumulation-fusion, bf16, --untie-embeddings-and-output-weights and ckpt_format torch_dist, or Megatron-FSDP.',
    error: '--use-torch-fsdp2 is not supported with',
    source: ARG,
    evidence: 'asserted',
    statements: ['nemo.fsdp-two-impl', 'mb.fsdp2-only'],
    fails: [
      { config: { ...FSDP2, pipeline_model_parallel_size: 2 }, framework: 'megatron-lm' },
      { config: { ...FSDP2, expert_model_parallel_size: 4 }, framework: 'megatron-lm' },
      { config: { ...FSDP2, use_distributed_optimizer: true }, framework: 'megatron-lm' },
      { config: { ...FSDP2, gradient_accumulation_fusion: true }, framework: 'megatron-lm' },
      { config: { ...FSDP2, fp16: true }, framework: 'megatron-lm' },
      { config: { ...FSDP2, share_embeddings_and_output_weights: true }, framework: 'megatron-lm' },
      { config: { ...FSDP2, ckpt_format: 'torch' }, framework: 'megatron-lm' },
      { config: FSDP2, framework: 'megatron-lm', versions: { torch: '2.3.1' } },
    ],
    passes: [
      { config: FSDP2, framework: 'megatron-lm', versions: { torch: '2.7.0' } },
      {
        config: { ...FSDP2, use_torch_fsdp2: false, pipeline_model_parallel_size: 2 },
        framework: 'megatron-lm',
      },
    ],
    unknown: [{ config: FSDP2, framework: 'megatron-lm' }],
  },
  {
    id: 'soft-fsdp2-bridge',
    severity: 'warning',
    message: 'torch FSDP2 in Megatron Bridge fails before training on the branches that were tried.',
    when: all(IN_BRIDGE, on('use_torch_fsdp2')),
    fix: 'Use Megatron-FSDP (use_megatron_fsdp=True, data_parallel_sharding_strategy=optim_grads_params).',
    error: null,
    source: 'Megatron Bridge skills, Megatron-FSDP',
    evidence: 'documented',
    statements: ['mb.fsdp2-only', 'nemo.mfsdp-faster', 'nemo.fsdp-two-impl'],
    fails: [{ config: { use_torch_fsdp2: true }, framework: 'megatron-bridge' }],
    passes: [{ config: { use_torch_fsdp2: false }, framework: 'megatron-bridge' }],
  },
  {
    id: 'fsdp-both',
    severity: 'error',
    message: 'Megatron-FSDP and torch FSDP2 are both on.',
    when: all(on('use_megatron_fsdp'), on('use_torch_fsdp2')),
    fix: 'Keep use_megatron_fsdp.',
    error: 'use_megatron_fsdp and use_torch_fsdp2 are mutually exclusive',
    source: MBC,
    evidence: 'asserted',
    statements: ['nemo.fsdp-two-impl'],
    fails: [{ config: { use_megatron_fsdp: true, use_torch_fsdp2: true } }],
    passes: [{ config: { use_megatron_fsdp: true, use_torch_fsdp2: false } }],
  },
  {
    id: 'fsdp-v2',
    severity: 'error',
    message: 'Version 2 of Megatron-FSDP takes bf16 and plain data parallelism only, and something else is on.',
    when: all(
      on('use_megatron_fsdp'),
      is('megatron_fsdp_version', 2, 'v2'),
      any(
        above('tensor_model_parallel_size', 1),
        above('pipeline_model_parallel_size', 1),
        above('context_parallel_size', 1),
        above('expert_model_parallel_size', 1),
        above('virtual_pipeline_model_parallel_size', 1),
        above('num_moe_experts', 0),
        above('num_distributed_optimizer_instances', 1),
        on('fp16'),
        given('fp8'),
        on('use_precision_aware_optimizer'),
        on('optimizer_cpu_offload'),
        GRAPHS_ON,
      ),
    ),
    fix: 'Use version 1 of Megatron-FSDP, or drop TP, PP, CP, EP, experts, fp8, the precision-aware optimizer, offload and CUDA graphs.',
    error: 'Megatron FSDP v2 does not support',
    source: MBC,
    evidence: 'asserted',
    statements: ['mb.fsdp2-only'],
    fails: [
      { config: { ...V2, tensor_model_parallel_size: 2 } },
      { config: { ...V2, num_moe_experts: 8 } },
      { config: { ...V2, fp8: 'hybrid' } },
      { config: { ...V2, optimizer_cpu_offload: true } },
      { config: { ...V2, cuda_graph_impl: 'local' } },
    ],
    passes: [{ config: V2 }, { config: { ...V2, megatron_fsdp_version: 1, tensor_model_parallel_size: 2 } }],
  },
  {
    id: 'fsdp-auto',
    severity: 'note',
    message: 'Megatron-FSDP changes settings when it starts: what is in force is not what is written.',
    when: all(
      IN_BRIDGE,
      on('use_megatron_fsdp'),
      any(
        asked('use_distributed_optimizer', 'off'),
        asked('reuse_grad_buf_for_mxfp8_param_ag', 'on'),
        all(asked('average_in_collective', 'on'), off('disable_symmetric_registration')),
      ),
    ),
    fix: 'Write what is in force: use_distributed_optimizer=True, reuse_grad_buf_for_mxfp8_param_ag=False, average_in_collective=False.',
    error: null,
    source: MBC,
    evidence: 'asserted',
    statements: ['mb.fsdp2-only'],
    fails: [
      { config: { use_megatron_fsdp: true, use_distributed_optimizer: false }, framework: 'megatron-bridge' },
      { config: { use_megatron_fsdp: true, reuse_grad_buf_for_mxfp8_param_ag: true }, framework: 'megatron-bridge' },
      {
        config: { use_megatron_fsdp: true, average_in_collective: true, disable_symmetric_registration: false },
        framework: 'megatron-bridge',
      },
    ],
    passes: [
      {
        config: {
          use_megatron_fsdp: true,
          use_distributed_optimizer: true,
          reuse_grad_buf_for_mxfp8_param_ag: false,
          average_in_collective: false,
        },
        framework: 'megatron-bridge',
      },
      { config: { use_megatron_fsdp: true }, framework: 'megatron-bridge' },
      { config: { use_megatron_fsdp: false, use_distributed_optimizer: false }, framework: 'megatron-bridge' },
    ],
  },
  {
    id: 'fsdp-mapping',
    severity: 'error',
    message:
      'Megatron-FSDP does not work with the rank order of use_tp_pp_dp_mapping, nor full sharding with comparing weights across replicas.',
    when: all(
      on('use_megatron_fsdp'),
      any(
        on('use_tp_pp_dp_mapping'),
        all(
          is('data_parallel_sharding_strategy', 'optim_grads_params'),
          told('check_weight_hash_across_dp_replicas_interval'),
          given('check_weight_hash_across_dp_replicas_interval'),
        ),
      ),
    ),
    fix: 'Drop use_tp_pp_dp_mapping and check_weight_hash_across_dp_replicas_interval.',
    error: 'use_tp_pp_dp_mapping is not supported with Megatron FSDP',
    source: MBC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { use_megatron_fsdp: true, use_tp_pp_dp_mapping: true } },
      {
        config: {
          use_megatron_fsdp: true,
          data_parallel_sharding_strategy: 'optim_grads_params',
          check_weight_hash_across_dp_replicas_interval: 100,
        },
      },
    ],
    passes: [
      {
        config: {
          use_megatron_fsdp: true,
          use_tp_pp_dp_mapping: false,
          data_parallel_sharding_strategy: 'optim_grads_params',
        },
      },
      { config: { use_megatron_fsdp: false, use_tp_pp_dp_mapping: true } },
    ],
  },
];
