/** The optimizer: sharding, dtypes of its state, and offloading it to the host. */
import {
  above,
  all,
  any,
  type Condition,
  is,
  isNot,
  missing,
  not,
  numbers,
  off,
  on,
  where,
} from '../../settings/condition.js';
import { isOn } from '../../settings/values.js';
import type { LintRule } from '../rule.js';
import { FP32, IN_MEGATRON_LM } from './mapping-terms.js';
import { ARG, MBC, OPTC } from './sources.js';

/** State is sharded: by the distributed optimizer itself, or by Megatron-FSDP, which switches it on. */
const NOT_SHARDED = all(off('use_distributed_optimizer'), off('use_megatron_fsdp'));
const GUIDE = 'Megatron Bridge CPU offloading skill';
const FP32_STATE = {
  main_grads_dtype: 'fp32',
  main_params_dtype: 'fp32',
  exp_avg_dtype: 'fp32',
  exp_avg_sq_dtype: 'fp32',
} as const;

/** A flag that both sections tell, and tell differently. */
function differs(key: string): Condition {
  return where(`model.${key} ≠ optimizer.${key}`, (view) => {
    const [model, optimizer] = [view.setting(`model.${key}`), view.setting(`optimizer.${key}`)];
    const told = model.by === 'told' && optimizer.by === 'told';
    return [told && isOn(model.value) !== isOn(optimizer.value), model, optimizer];
  });
}

export const OPTIMIZER_RULES: readonly LintRule[] = [
  {
    id: 'pa-bf16',
    severity: 'error',
    message:
      'The precision-aware optimizer needs the precision of the model: bf16 and fp16 of both sections must agree.',
    // A named recipe sets both.
    when: all(on('use_precision_aware_optimizer'), missing('mixed_precision'), any(differs('bf16'), differs('fp16'))),
    fix: 'Set optimizer.bf16 and optimizer.fp16 as model.bf16 and model.fp16, or name a mixed_precision recipe, which sets both.',
    error: 'must be set when model.bf16=True and use_precision_aware_optimizer',
    source: MBC,
    evidence: 'asserted',
    statements: ['guide.bf16-remainder'],
    fails: [
      {
        config: {
          use_precision_aware_optimizer: true,
          mixed_precision: null,
          'model.bf16': true,
          'optimizer.bf16': false,
        },
      },
    ],
    passes: [
      {
        config: {
          use_precision_aware_optimizer: true,
          mixed_precision: null,
          'model.bf16': true,
          'optimizer.bf16': true,
        },
      },
      {
        config: {
          use_precision_aware_optimizer: true,
          mixed_precision: 'bf16_mixed',
          'model.bf16': true,
          'optimizer.bf16': false,
        },
      },
      { config: { use_precision_aware_optimizer: true, bf16: true } },
    ],
  },
  {
    id: 'do-pao',
    severity: 'error',
    message: 'The precision-aware optimizer needs the distributed optimizer and Adam.',
    when: all(on('use_precision_aware_optimizer'), any(NOT_SHARDED, isNot('optimizer', 'adam'))),
    fix: 'Set use_distributed_optimizer=True and optimizer=adam, or drop use_precision_aware_optimizer.',
    error: 'precision-aware optimizer only supported with',
    source: OPTC,
    evidence: 'asserted',
    statements: ['guide.bf16-remainder'],
    fails: [
      {
        config: {
          use_precision_aware_optimizer: true,
          use_distributed_optimizer: false,
          use_megatron_fsdp: false,
          optimizer: 'adam',
        },
      },
      { config: { use_precision_aware_optimizer: true, use_distributed_optimizer: true, optimizer: 'sgd' } },
    ],
    passes: [
      { config: { use_precision_aware_optimizer: true, use_distributed_optimizer: true, optimizer: 'adam' } },
      { config: { use_precision_aware_optimizer: false, use_distributed_optimizer: false } },
    ],
  },
  {
    id: 'do-dtypes',
    severity: 'error',
    message: 'Gradients, master weights or moments in less than fp32 need the precision-aware optimizer.',
    when: all(
      off('use_precision_aware_optimizer'),
      any(
        isNot('main_grads_dtype', ...FP32),
        isNot('main_params_dtype', ...FP32),
        isNot('exp_avg_dtype', ...FP32),
        isNot('exp_avg_sq_dtype', ...FP32),
      ),
    ),
    fix: 'Set use_precision_aware_optimizer=True (with the distributed optimizer), or these dtypes back to fp32.',
    error: 'can only be fp32 when not using precision-aware optimizer',
    source: OPTC,
    evidence: 'asserted',
    statements: ['guide.bf16-remainder'],
    fails: [
      { config: { ...FP32_STATE, use_precision_aware_optimizer: false, exp_avg_dtype: 'bf16' } },
      { config: { ...FP32_STATE, use_precision_aware_optimizer: false, main_grads_dtype: 'bfloat16' } },
      { config: { ...FP32_STATE, use_precision_aware_optimizer: false, main_params_dtype: 'fp16' } },
    ],
    passes: [
      { config: { ...FP32_STATE, use_precision_aware_optimizer: false, exp_avg_dtype: 'float32' } },
      { config: { ...FP32_STATE, use_precision_aware_optimizer: true, exp_avg_dtype: 'bf16' } },
    ],
  },
  {
    id: 'oo-pao',
    severity: 'error',
    message: 'In Megatron-LM optimizer_cpu_offload works through the precision-aware optimizer only.',
    when: all(IN_MEGATRON_LM, on('optimizer_cpu_offload'), off('use_precision_aware_optimizer')),
    fix: 'Add --use-precision-aware-optimizer (which needs --use-distributed-optimizer).',
    error: 'The optimizer cpu offload must be used in conjunction with `--use-precision-aware-optimizer`',
    source: ARG,
    evidence: 'asserted',
    statements: ['off.opt-needs-distopt', 'off.enable-optimizer', 'off.opt-no-restrictions'],
    fails: [
      { config: { optimizer_cpu_offload: true, use_precision_aware_optimizer: false }, framework: 'megatron-lm' },
    ],
    passes: [
      { config: { optimizer_cpu_offload: true, use_precision_aware_optimizer: true }, framework: 'megatron-lm' },
      { config: { optimizer_cpu_offload: true, use_precision_aware_optimizer: false }, framework: 'megatron-bridge' },
    ],
  },
  {
    id: 'oo-distopt',
    severity: 'error',
    message: 'optimizer_cpu_offload needs the distributed optimizer.',
    when: all(on('optimizer_cpu_offload'), NOT_SHARDED),
    fix: 'Set use_distributed_optimizer=True.',
    error: null,
    source: GUIDE,
    evidence: 'documented',
    statements: ['off.opt-needs-distopt', 'mem.dist-opt-flag'],
    fails: [{ config: { optimizer_cpu_offload: true, use_distributed_optimizer: false, use_megatron_fsdp: false } }],
    passes: [
      { config: { optimizer_cpu_offload: true, use_distributed_optimizer: true } },
      { config: { optimizer_cpu_offload: false, use_distributed_optimizer: false } },
    ],
  },
  {
    id: 'oo-fp8',
    severity: 'error',
    message: 'optimizer_cpu_offload with fp8_param_gather works with the fp8 recipe delayed only, not {fp8_recipe}.',
    when: all(IN_MEGATRON_LM, on('optimizer_cpu_offload'), on('fp8_param_gather'), isNot('fp8_recipe', 'delayed')),
    fix: 'Drop fp8_param_gather, or use fp8_recipe=delayed.',
    error: 'the optimizer cpu offload must be used in conjunction with `--fp8-recipe delayed`',
    source: ARG,
    evidence: 'asserted',
    statements: ['off.opt-no-restrictions', 'guide.fp8-params'],
    fails: [
      {
        config: { optimizer_cpu_offload: true, fp8_param_gather: true, fp8_recipe: 'mxfp8' },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: { optimizer_cpu_offload: true, fp8_param_gather: true, fp8_recipe: 'delayed' },
        framework: 'megatron-lm',
      },
      { config: { optimizer_cpu_offload: true, fp8_param_gather: false }, framework: 'megatron-lm' },
    ],
  },
  {
    id: 'oo-wd',
    severity: 'error',
    message: 'optimizer_cpu_offload needs decoupled weight decay (AdamW).',
    when: all(on('optimizer_cpu_offload'), off('decoupled_weight_decay')),
    fix: 'Set decoupled_weight_decay=True.',
    error: 'CPU offloading only supported with decoupled_weight_decay',
    source: OPTC,
    evidence: 'asserted',
    statements: ['off.opt-no-restrictions', 'off.enable-optimizer'],
    fails: [{ config: { optimizer_cpu_offload: true, decoupled_weight_decay: false } }],
    passes: [
      { config: { optimizer_cpu_offload: true, decoupled_weight_decay: true } },
      { config: { optimizer_cpu_offload: false, decoupled_weight_decay: false } },
    ],
  },
  {
    id: 'oo-wrap',
    severity: 'error',
    message: 'A bare optimizer (optimizer_skip_megatron_wrapping) cannot be offloaded or precision-aware.',
    when: all(
      on('optimizer_skip_megatron_wrapping'),
      any(on('optimizer_cpu_offload'), on('use_precision_aware_optimizer')),
    ),
    fix: 'Drop optimizer_skip_megatron_wrapping, or offload and the precision-aware optimizer.',
    error: 'skip_megatron_wrapping',
    source: OPTC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { optimizer_skip_megatron_wrapping: true, optimizer_cpu_offload: true } },
      { config: { optimizer_skip_megatron_wrapping: true, use_precision_aware_optimizer: true } },
    ],
    passes: [
      {
        config: {
          optimizer_skip_megatron_wrapping: true,
          optimizer_cpu_offload: false,
          use_precision_aware_optimizer: false,
        },
      },
      { config: { optimizer_skip_megatron_wrapping: false, optimizer_cpu_offload: true } },
    ],
  },
  {
    id: 'oo-fraction',
    severity: 'error',
    message: 'optimizer_offload_fraction {optimizer_offload_fraction} is not in 0 … 1.',
    when: all(
      on('optimizer_cpu_offload'),
      numbers(
        'optimizer_offload_fraction < 0 or > 1',
        ['optimizer_offload_fraction'],
        (fraction) => fraction! < 0 || fraction! > 1,
      ),
    ),
    fix: 'Give the share of optimizer state to keep on the host: 0.25, 0.5, 1.0.',
    error: null,
    source: GUIDE,
    evidence: 'documented',
    statements: ['off.opt-fraction-range', 'off.def-optimizer'],
    fails: [
      { config: { optimizer_cpu_offload: true, optimizer_offload_fraction: 50 } },
      { config: { optimizer_cpu_offload: true, optimizer_offload_fraction: -0.5 } },
    ],
    passes: [
      { config: { optimizer_cpu_offload: true, optimizer_offload_fraction: 0.5 } },
      { config: { optimizer_cpu_offload: true, optimizer_offload_fraction: 1 } },
    ],
  },
  {
    id: 'soft-oo-fraction-zero',
    severity: 'warning',
    message: 'optimizer_cpu_offload is on, but optimizer_offload_fraction {optimizer_offload_fraction} moves nothing.',
    when: all(on('optimizer_cpu_offload'), is('optimizer_offload_fraction', 0)),
    fix: 'Set optimizer_offload_fraction: 0.25 costs 1.9× the step time for a quarter of the state, 1.0 costs 4.2×.',
    error: null,
    source: GUIDE,
    evidence: 'config',
    statements: ['off.def-optimizer', 'off.diag-oom-partial', 'off.choose-moderate'],
    fails: [{ config: { optimizer_cpu_offload: true, optimizer_offload_fraction: '0.0' } }],
    passes: [
      { config: { optimizer_cpu_offload: true, optimizer_offload_fraction: 0.25 } },
      { config: { optimizer_cpu_offload: false, optimizer_offload_fraction: 0 } },
    ],
  },
  {
    id: 'soft-oo-overlap',
    severity: 'note',
    message: 'The offloaded optimizer state is copied without overlap.',
    when: all(
      on('optimizer_cpu_offload'),
      above('optimizer_offload_fraction', 0),
      off('overlap_cpu_optimizer_d2h_h2d'),
    ),
    fix: 'Set overlap_cpu_optimizer_d2h_h2d=True: about 7 % (4.2× to 3.9× at fraction 1.0); a lower fraction gains more.',
    error: null,
    source: GUIDE,
    evidence: 'measured',
    statements: ['off.limit-overlap', 'off.diag-slow', 'off.enable-optimizer', 'off.limit-linear'],
    fails: [
      {
        config: {
          optimizer_cpu_offload: true,
          optimizer_offload_fraction: 1,
          overlap_cpu_optimizer_d2h_h2d: false,
        },
      },
    ],
    passes: [
      {
        config: { optimizer_cpu_offload: true, optimizer_offload_fraction: 1, overlap_cpu_optimizer_d2h_h2d: true },
      },
    ],
  },
  {
    id: 'apg',
    severity: 'error',
    message: 'Overlapped gathering of parameters needs a sharded optimizer and overlapped reduction of gradients.',
    when: all(
      IN_MEGATRON_LM,
      any(
        all(on('overlap_param_gather'), NOT_SHARDED, isNot('optimizer', 'dist_muon')),
        all(on('overlap_param_gather'), off('overlap_grad_reduce')),
        all(on('overlap_param_gather_with_optimizer_step'), off('overlap_param_gather')),
        all(
          on('overlap_param_gather_with_optimizer_step'),
          missing('virtual_pipeline_model_parallel_size'),
          missing('num_virtual_stages_per_pipeline_rank'),
          missing('pipeline_model_parallel_layout'),
        ),
      ),
    ),
    fix: 'Add --overlap-grad-reduce and --use-distributed-optimizer (and interleaved stages for the optimizer step).',
    error: 'Must use --overlap-param-gather with --overlap-grad-reduce',
    source: ARG,
    evidence: 'asserted',
    statements: ['guide.dp-overlap'],
    fails: [
      {
        config: {
          overlap_param_gather: true,
          overlap_grad_reduce: true,
          use_distributed_optimizer: false,
          use_megatron_fsdp: false,
          optimizer: 'adam',
        },
        framework: 'megatron-lm',
      },
      {
        config: { overlap_param_gather: true, overlap_grad_reduce: false, use_distributed_optimizer: true },
        framework: 'megatron-lm',
      },
      {
        config: { overlap_param_gather_with_optimizer_step: true, overlap_param_gather: false },
        framework: 'megatron-lm',
      },
      {
        config: {
          overlap_param_gather_with_optimizer_step: true,
          overlap_param_gather: true,
          overlap_grad_reduce: true,
          use_distributed_optimizer: true,
          virtual_pipeline_model_parallel_size: null,
          num_virtual_stages_per_pipeline_rank: null,
          pipeline_model_parallel_layout: null,
        },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: {
          overlap_param_gather: true,
          overlap_grad_reduce: true,
          use_distributed_optimizer: true,
          overlap_param_gather_with_optimizer_step: false,
        },
        framework: 'megatron-lm',
      },
    ],
  },
  {
    id: 'muon',
    severity: 'error',
    message: 'Muon does not work with FSDP, and saves checkpoints as torch or torch_dist only.',
    when: all(
      IN_MEGATRON_LM,
      is('optimizer', 'muon', 'dist_muon', 'adaptive_muon'),
      any(on('use_torch_fsdp2'), on('use_megatron_fsdp'), not(is('ckpt_format', 'torch', 'torch_dist'))),
    ),
    fix: 'Drop FSDP, and set ckpt_format=torch_dist.',
    error: 'Muon optimizer does not support',
    source: ARG,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { optimizer: 'muon', use_megatron_fsdp: true, ckpt_format: 'torch' }, framework: 'megatron-lm' },
      { config: { optimizer: 'muon', use_torch_fsdp2: true, ckpt_format: 'torch' }, framework: 'megatron-lm' },
      { config: { optimizer: 'dist_muon', ckpt_format: 'zarr' }, framework: 'megatron-lm' },
    ],
    passes: [
      {
        config: {
          optimizer: 'muon',
          use_megatron_fsdp: false,
          use_torch_fsdp2: false,
          ckpt_format: 'torch_dist',
        },
        framework: 'megatron-lm',
      },
      { config: { optimizer: 'adam', use_megatron_fsdp: true }, framework: 'megatron-lm' },
    ],
  },
];
