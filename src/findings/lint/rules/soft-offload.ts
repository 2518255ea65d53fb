/** Offload of activations that nothing refuses, and that moves nothing, too much, or in the way of others. */
import {
  above,
  all,
  any,
  before,
  below,
  emptyList,
  envNot,
  given,
  not,
  numbers,
  off,
  on,
  since,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { FINE, OFFLOADING } from './activation-terms.js';

const OFF = 'Megatron Bridge skills/nemo-mbridge-perf-cpu-offloading';
const PERF = 'NeMo and Megatron Bridge performance guides';

const offload = (config: Sample['config']): Sample['config'] => ({
  cpu_offloading: true,
  cpu_offloading_num_layers: 8,
  num_layers: 32,
  ...config,
});

export const SOFT_OFFLOAD_RULES: readonly LintRule[] = [
  {
    id: 'soft-offload-all-layers',
    severity: 'warning',
    message:
      'Offloading {cpu_offloading_num_layers} of {num_layers} layers makes the link to the host the bottleneck, and takes as much host memory.',
    when: all(
      OFFLOADING,
      numbers(
        'cpu_offloading_num_layers = num_layers − 1',
        ['cpu_offloading_num_layers', 'num_layers'],
        (count, layers) => layers! > 1 && count === layers! - 1,
      ),
    ),
    fix: 'Lower cpu_offloading_num_layers to what is needed to fit.',
    error: null,
    source: PERF,
    evidence: 'documented',
    statements: [
      'guide.offload-not-all',
      'guide.offload-layers-limit',
      'guide.offload-bandwidth',
      'guide.offload-knobs',
      'off.choose-throughput',
    ],
    fails: [{ config: offload({ cpu_offloading_num_layers: 31 }) }],
    passes: [
      { config: offload({}) },
      { config: offload({ cpu_offloading_num_layers: 32 }) },
      { config: offload({ cpu_offloading: false, cpu_offloading_num_layers: 31 }), framework: 'megatron-bridge' },
    ],
    unknown: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 31 } }],
  },
  {
    id: 'soft-offload-nothing',
    severity: 'warning',
    message: 'cpu_offloading moves nothing: of {cpu_offloading_num_layers} layers, or neither activations nor weights.',
    when: all(
      on('cpu_offloading'),
      above('cpu_offloading_num_layers', -1),
      any(below('cpu_offloading_num_layers', 1), all(off('cpu_offloading_activations'), off('cpu_offloading_weights'))),
    ),
    fix: 'Set cpu_offloading_num_layers to 1 or more, with cpu_offloading_activations=True.',
    error: null,
    source: OFF,
    evidence: 'config',
    statements: ['off.def-activation', 'off.enable-activation'],
    fails: [
      { config: { cpu_offloading: true } },
      { config: offload({ cpu_offloading_num_layers: 0 }) },
      { config: offload({ cpu_offloading_activations: false, cpu_offloading_weights: false }) },
    ],
    passes: [
      { config: offload({}) },
      { config: offload({ cpu_offloading_activations: false, cpu_offloading_weights: true }) },
      { config: { cpu_offloading: false } },
    ],
  },
  {
    id: 'soft-offload-off',
    severity: 'warning',
    message: 'cpu_offloading_num_layers {cpu_offloading_num_layers} has no effect: cpu_offloading is off.',
    when: all(above('cpu_offloading_num_layers', 0), not(OFFLOADING)),
    fix: 'Set cpu_offloading=True (only Megatron-LM does it by itself), or drop cpu_offloading_num_layers.',
    error: null,
    source: `Megatron-LM megatron/training/arguments.py validate_args; ${OFF}`,
    evidence: 'asserted',
    statements: ['off.def-activation'],
    fails: [{ config: { cpu_offloading_num_layers: 8 }, framework: 'megatron-bridge' }],
    passes: [
      { config: { cpu_offloading_num_layers: 8 }, framework: 'megatron-lm' },
      { config: { cpu_offloading_num_layers: 8, cpu_offloading: true } },
      { config: { cpu_offloading_num_layers: 0 } },
    ],
    unknown: [{ config: { cpu_offloading_num_layers: 8 } }],
  },
  {
    id: 'soft-fine-off',
    severity: 'warning',
    message: 'offload_modules {offload_modules} has no effect: fine_grained_activation_offloading is off.',
    when: all(given('offload_modules'), not(emptyList('offload_modules')), not(FINE)),
    fix: 'Set fine_grained_activation_offloading=True, or drop offload_modules.',
    error: null,
    source: 'Megatron-LM transformer_config.py',
    evidence: 'config',
    statements: ['off.fine-grained', 'rec.recipe-defaults'],
    fails: [{ config: { offload_modules: ['core_attn'], fine_grained_activation_offloading: false } }],
    passes: [
      { config: { offload_modules: ['core_attn'], fine_grained_activation_offloading: true } },
      { config: { offload_modules: [], fine_grained_activation_offloading: false } },
      { config: { offload_modules: null, fine_grained_activation_offloading: false } },
    ],
  },
  {
    id: 'soft-offload-moe',
    severity: 'note',
    message:
      'cpu_offloading keeps all layers on each GPU (PP 1), which large models with experts ({num_moe_experts}) rarely fit: weights and optimizer of a 30B model take about 70 GB.',
    when: all(OFFLOADING, above('num_moe_experts', 1)),
    fix: 'Use optimizer_cpu_offload with a fraction of 0.25 to 0.5, which allows PP > 1, or fine_grained_activation_offloading.',
    error: null,
    source: OFF,
    evidence: 'measured',
    statements: [
      'off.moe-blocked',
      'off.limit-pp1',
      'off.choose-moe-pp',
      'off.choose-activation',
      'off.choose-tunable',
      'off.choose-moderate',
      'off.diag-oom-act',
    ],
    fails: [{ config: offload({ num_moe_experts: 128 }) }],
    passes: [
      { config: offload({ num_moe_experts: null }) },
      { config: { cpu_offloading: false, num_moe_experts: 128 } },
    ],
  },
  {
    id: 'soft-offload-nccl',
    severity: 'note',
    message: 'Offload and network traffic share a link: NCCL {nccl} has a variable that keeps them apart.',
    when: all(
      any(OFFLOADING, FINE),
      any(
        all(before('nccl', '2.26'), envNot('NCCL_NET_GDR_LEVEL', 'PHB')),
        all(since('nccl', '2.26'), envNot('NCCL_NET_GDR_C2C', '1')),
      ),
    ),
    fix: 'NCCL up to 2.25: export NCCL_NET_GDR_LEVEL=PHB. From 2.26 on: export NCCL_NET_GDR_C2C=1.',
    error: null,
    source: PERF,
    evidence: 'documented',
    statements: ['guide.offload-nccl-env'],
    fails: [
      { config: offload({}), versions: { nccl: '2.25.1' } },
      { config: offload({}), env: { NCCL_NET_GDR_LEVEL: 'PHB' }, versions: { nccl: '2.27.3' } },
      { config: { fine_grained_activation_offloading: true }, versions: { nccl: '2.26.2' } },
    ],
    passes: [
      { config: offload({}), env: { NCCL_NET_GDR_LEVEL: 'PHB' }, versions: { nccl: '2.25.1' } },
      { config: offload({}), env: { NCCL_NET_GDR_C2C: '1' }, versions: { nccl: '2.27.3' } },
      { config: { cpu_offloading: false }, versions: { nccl: '2.27.3' } },
    ],
    unknown: [{ config: offload({}) }, { config: offload({}), env: 'unknown', versions: { nccl: '2.27.3' } }],
  },
];
