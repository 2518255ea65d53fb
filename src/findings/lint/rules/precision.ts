/** 8-bit training and the dtypes of gradients. */
import { all, any, given, is, missing, numbers, off, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { IN_BRIDGE, IN_MEGATRON_LM, told } from './mapping-terms.js';
import { ARG, DDPC, MBC } from './sources.js';

export const PRECISION_RULES: readonly LintRule[] = [
  {
    id: 'precision',
    severity: 'error',
    message: 'bf16 and fp16 are both on.',
    when: all(on('bf16'), on('fp16')),
    fix: 'Keep bf16.',
    error: 'cannot have both bf16=True and fp16=True',
    source: `${MBC}; ${ARG}`,
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { bf16: true, fp16: true } }],
    passes: [{ config: { bf16: true, fp16: false } }],
  },
  {
    id: 'precision-fp4',
    severity: 'error',
    message: 'fp4 and fp8 are both on.',
    when: all(told('fp4'), given('fp4'), given('fp8')),
    fix: 'Keep one of them.',
    error: '--fp4-format and --fp8-format cannot be used simultaneously',
    source: `${MBC}; ${ARG}`,
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { fp4: 'e2m1', fp8: 'hybrid' } }],
    passes: [{ config: { fp4: 'e2m1', fp8: null } }, { config: { fp8: 'hybrid' } }],
  },
  {
    id: 'fp8pg',
    severity: 'error',
    message: 'Gathering parameters in fp8 needs the distributed optimizer or FSDP.',
    when: all(
      IN_MEGATRON_LM,
      on('fp8_param_gather'),
      off('use_distributed_optimizer'),
      off('use_torch_fsdp2'),
      off('use_megatron_fsdp'),
    ),
    fix: 'Add --use-distributed-optimizer.',
    error: '--fp8-param-gather only supported with',
    source: ARG,
    evidence: 'asserted',
    statements: ['guide.fp8-param-allgather', 'guide.fp8-params'],
    fails: [
      {
        config: {
          fp8_param_gather: true,
          use_distributed_optimizer: false,
          use_torch_fsdp2: false,
          use_megatron_fsdp: false,
        },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      { config: { fp8_param_gather: true, use_distributed_optimizer: true }, framework: 'megatron-lm' },
      { config: { fp8_param_gather: false, use_distributed_optimizer: false }, framework: 'megatron-lm' },
    ],
  },
  {
    id: 'mx-reuse',
    severity: 'error',
    message:
      'MXFP8 with fp8_param_gather and reuse_grad_buf_for_mxfp8_param_ag go together, and one of them stands alone.',
    // A named recipe sets all three; Megatron-FSDP switches the buffer off itself.
    when: any(
      all(
        IN_BRIDGE,
        missing('mixed_precision'),
        off('use_megatron_fsdp'),
        is('fp8_recipe', 'mxfp8'),
        on('fp8_param_gather'),
        off('reuse_grad_buf_for_mxfp8_param_ag'),
      ),
      all(on('reuse_grad_buf_for_mxfp8_param_ag'), off('use_megatron_fsdp'), off('fp8_param_gather')),
    ),
    fix: 'Set fp8_param_gather and reuse_grad_buf_for_mxfp8_param_ag both to True, or both to False.',
    error: 'reuse_grad_buf_for_mxfp8_param_ag must be',
    source: `${MBC}; ${DDPC}`,
    evidence: 'asserted',
    statements: ['guide.fp8-param-allgather', 'guide.fp8-params'],
    fails: [
      {
        config: {
          mixed_precision: null,
          use_megatron_fsdp: false,
          fp8_recipe: 'mxfp8',
          fp8_param_gather: true,
          reuse_grad_buf_for_mxfp8_param_ag: false,
        },
        framework: 'megatron-bridge',
      },
      { config: { reuse_grad_buf_for_mxfp8_param_ag: true, fp8_param_gather: false, use_megatron_fsdp: false } },
    ],
    passes: [
      {
        config: {
          mixed_precision: null,
          fp8_recipe: 'mxfp8',
          fp8_param_gather: true,
          reuse_grad_buf_for_mxfp8_param_ag: true,
        },
        framework: 'megatron-bridge',
      },
      {
        config: { mixed_precision: 'bf16_with_mxfp8_mixed', reuse_grad_buf_for_mxfp8_param_ag: false },
        framework: 'megatron-bridge',
      },
      {
        config: {
          use_megatron_fsdp: true,
          fp8_recipe: 'mxfp8',
          fp8_param_gather: true,
          reuse_grad_buf_for_mxfp8_param_ag: false,
        },
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'soft-fp8-small-hidden',
    severity: 'note',
    message:
      'fp8 speeds up linear layers only; with a hidden size of {hidden_size} they are a small share of the step, and kernels are short enough to be bound by the host.',
    // The guides name no figure. 2048 is ours: below the smallest dense model for which a gain is published.
    when: all(
      given('fp8'),
      numbers('hidden_size ≤ 2048', ['hidden_size'], (hidden) => hidden! > 0 && hidden! <= 2048),
    ),
    fix: 'Compare with bf16 before keeping fp8; a larger micro-batch, less TP or CUDA graphs help where the host is the limit.',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, low precision',
    evidence: 'documented',
    statements: [
      'guide.fp8-scaling-law',
      'guide.fp8-low-host',
      'guide.fp8-low-share',
      'guide.fp8-linear-only',
      'guide.host-symptom-fp8',
    ],
    fails: [{ config: { fp8: 'hybrid', hidden_size: 1024 } }],
    passes: [{ config: { fp8: 'hybrid', hidden_size: 8192 } }, { config: { fp8: null, hidden_size: 1024 } }],
    unknown: [{ config: { fp8: 'hybrid' } }],
  },
  {
    id: 'soft-bf16-reduce',
    severity: 'note',
    message:
      'Gradients are reduced in bf16 over DP {data_parallel_size}: rings of 128 ranks and more add one after the other, which may hurt stability.',
    when: all(
      any(
        all(told('grad_reduce_in_fp32'), off('grad_reduce_in_fp32')),
        all(told('grad_reduce_in_bf16'), on('grad_reduce_in_bf16')),
      ),
      numbers('data_parallel_size ≥ 128', ['data_parallel_size'], (dp) => dp! >= 128),
    ),
    fix: 'Watch the loss, use SHARP on InfiniBand, or grad_reduce_in_fp32=True (4 instead of 2 bytes for each gradient).',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, communication data types',
    evidence: 'documented',
    statements: ['guide.bf16-reduce-risk', 'guide.bf16-grad-reduce', 'guide.bf16-reduce-sharp'],
    fails: [
      { config: { grad_reduce_in_fp32: false, data_parallel_size: 256 } },
      { config: { grad_reduce_in_bf16: true, data_parallel_size: 128 } },
    ],
    passes: [
      { config: { grad_reduce_in_fp32: true, data_parallel_size: 256 } },
      { config: { grad_reduce_in_fp32: false, data_parallel_size: 64 } },
      { config: { data_parallel_size: 256 } },
    ],
    unknown: [{ config: { grad_reduce_in_fp32: false } }],
  },
];
