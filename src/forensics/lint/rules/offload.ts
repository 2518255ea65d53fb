/** Offloading of whole layers to the host: `cpu_offloading`. */
import { above, all, given, numbers, on } from '../condition.js';
import type { LintRule } from '../rule.js';
import { TC } from './sources.js';

export const OFFLOAD_RULES: readonly LintRule[] = [
  {
    id: 'offload-pp',
    severity: 'error',
    message: 'cpu_offloading does not work with pipeline parallelism (PP {pipeline_model_parallel_size}).',
    when: all(on('cpu_offloading'), above('pipeline_model_parallel_size', 1)),
    fix: 'Drop cpu_offloading and offload the optimizer instead (optimizer_cpu_offload), or use fine_grained_activation_offloading, or PP 1.',
    error: 'Currently there is no support for Pipeline parallelism with CPU offloading',
    source: TC,
    evidence: 'asserted',
    statements: [
      'mem.offload-blocked-pp',
      'mem.offload-enable',
      'mem.diag-offload-pp',
      'off.act-pp1',
      'rec.offload-pp',
    ],
    fails: [{ config: { cpu_offloading: true, pipeline_model_parallel_size: 4 } }],
    passes: [
      { config: { cpu_offloading: true, pipeline_model_parallel_size: 1 } },
      { config: { cpu_offloading: false, pipeline_model_parallel_size: 4 } },
      // Not told: Megatron-Core's default is 1.
      { config: { cpu_offloading: true } },
    ],
  },
  {
    id: 'offload-recompute',
    severity: 'error',
    message: 'cpu_offloading does not work with activation recompute ({recompute_granularity}).',
    when: all(on('cpu_offloading'), given('recompute_granularity')),
    fix: 'Pick one: recompute_granularity=None, or cpu_offloading=False.',
    error: 'CPU offloading does not work when activation recomputation is enabled',
    source: TC,
    evidence: 'asserted',
    statements: ['off.act-no-recompute', 'off.diag-recompute'],
    fails: [{ config: { cpu_offloading: true, recompute_granularity: 'selective' } }],
    passes: [{ config: { cpu_offloading: true, recompute_granularity: null } }],
  },
  {
    id: 'offload-layers',
    severity: 'error',
    message: 'cpu_offloading_num_layers {cpu_offloading_num_layers} is not in 0 … {num_layers} − 1.',
    when: all(
      on('cpu_offloading'),
      numbers(
        'cpu_offloading_num_layers < 0 or ≥ num_layers',
        ['cpu_offloading_num_layers', 'num_layers'],
        (count, layers) => count! < 0 || count! >= layers!,
      ),
    ),
    fix: 'Set cpu_offloading_num_layers to at most num_layers − 1.',
    error: 'CPU offloading can be done only for layers less than',
    source: TC,
    evidence: 'asserted',
    statements: ['off.act-layer-range'],
    fails: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 48, num_layers: 48 } }],
    passes: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 47, num_layers: 48 } }],
    unknown: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 12 } }],
  },
];
