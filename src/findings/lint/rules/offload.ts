/** Offloading of whole layers to the host (`cpu_offloading`), and what paged stashing of experts excludes. */
import { above, all, any, before, given, has, isNot, missing, numbers, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { FINE, GRAPHS, graphsOf, IN_MOE, OFFLOADING } from './activation-terms.js';
import { TC } from './sources.js';

export const OFFLOAD_RULES: readonly LintRule[] = [
  {
    id: 'offload-pp',
    severity: 'error',
    message: 'cpu_offloading does not work with pipeline parallelism (PP {pipeline_model_parallel_size}).',
    when: all(OFFLOADING, above('pipeline_model_parallel_size', 1)),
    fix: 'Drop cpu_offloading and offload the optimizer instead (optimizer_cpu_offload), or use fine_grained_activation_offloading, or PP 1.',
    error: 'Currently there is no support for Pipeline parallelism with CPU offloading',
    source: TC,
    evidence: 'asserted',
    statements: [
      'mem.offload-blocked-pp',
      'mem.offload-enable',
      'mem.diag-offload-pp',
      'off.two-mechanisms',
      'off.choose-moe-pp',
      'off.choose-activation',
      'off.enable-activation',
      'off.act-pp1',
      'off.diag-pp',
      'off.limit-pp1',
      'rec.offload-pp',
      'rec.offload-alternative',
      'guide.offload-when',
    ],
    fails: [
      { config: { cpu_offloading: true, pipeline_model_parallel_size: 4 } },
      // Megatron-LM: the number of layers alone switches it on.
      { config: { cpu_offloading_num_layers: 8, pipeline_model_parallel_size: 2 }, framework: 'megatron-lm' },
    ],
    passes: [
      { config: { cpu_offloading: true, pipeline_model_parallel_size: 1 } },
      { config: { cpu_offloading: false, pipeline_model_parallel_size: 4 } },
      { config: { cpu_offloading_num_layers: 8, pipeline_model_parallel_size: 2 }, framework: 'megatron-bridge' },
      // Not told: Megatron-Core's default is 1.
      { config: { cpu_offloading: true } },
    ],
  },
  {
    id: 'offload-recompute',
    severity: 'error',
    message: 'cpu_offloading does not work with activation recompute ({recompute_granularity}).',
    when: all(OFFLOADING, given('recompute_granularity')),
    fix: 'Pick one: recompute_granularity=None, or cpu_offloading=False.',
    error: 'CPU offloading does not work when activation recomputation is enabled',
    source: TC,
    evidence: 'asserted',
    statements: ['off.act-no-recompute', 'off.diag-recompute', 'off.enable-activation', 'guide.offload-not-all'],
    fails: [
      { config: { cpu_offloading: true, recompute_granularity: 'selective' } },
      { config: { cpu_offloading: true, recompute_activations: true } },
    ],
    passes: [{ config: { cpu_offloading: true, recompute_granularity: null } }],
  },
  {
    id: 'offload-layers',
    severity: 'error',
    message: 'cpu_offloading_num_layers {cpu_offloading_num_layers} is not in 0 … {num_layers} − 1.',
    when: all(
      OFFLOADING,
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
    statements: ['off.act-layer-range', 'guide.offload-knobs'],
    fails: [
      { config: { cpu_offloading: true, cpu_offloading_num_layers: 48, num_layers: 48 } },
      { config: { cpu_offloading: true, cpu_offloading_num_layers: -1, num_layers: 48 } },
    ],
    passes: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 47, num_layers: 48 } }],
    unknown: [{ config: { cpu_offloading: true, cpu_offloading_num_layers: 12 } }],
  },
  {
    id: 'offload-graphs',
    severity: 'error',
    message: 'cpu_offloading does not work with CUDA graphs (cuda_graph_impl {cuda_graph_impl}).',
    when: all(
      OFFLOADING,
      GRAPHS,
      // Graphs of the whole iteration are allowed on the newest releases. [mem] for the first of them.
      any(isNot('cuda_graph_impl', 'full_iteration'), all(graphsOf('full_iteration'), before('megatron_core', '0.19'))),
    ),
    fix: 'Set cuda_graph_impl=none, or offload the optimizer instead (optimizer_cpu_offload), which graphs do not mind.',
    error: 'CUDA graphs not supported with CPU offloading.',
    source: `${TC}; Megatron Bridge gpt_full_te_layer_autocast_spec.py`,
    evidence: 'asserted',
    statements: [
      'off.act-no-graphs',
      'off.bridge-graph-guard',
      'off.choose-graphs',
      'off.diag-graphs',
      'off.enable-activation',
      'off.opt-no-restrictions',
    ],
    fails: [
      { config: { cpu_offloading: true, cuda_graph_impl: 'transformer_engine' } },
      { config: { cpu_offloading: true, cuda_graph_impl: 'local' } },
      { config: { cpu_offloading: true, enable_cuda_graph: true } },
      { config: { cpu_offloading: true, cuda_graph_impl: 'full_iteration' }, versions: { megatron_core: '0.17.0' } },
    ],
    passes: [
      { config: { cpu_offloading: true, cuda_graph_impl: 'none' } },
      { config: { cpu_offloading: false, cuda_graph_impl: 'local' } },
      { config: { cpu_offloading: true, cuda_graph_impl: 'full_iteration' }, versions: { megatron_core: '0.19.0' } },
    ],
    unknown: [{ config: { cpu_offloading: true, cuda_graph_impl: 'full_iteration' } }],
  },
  {
    id: 'offload-fine',
    severity: 'error',
    message: 'cpu_offloading and fine_grained_activation_offloading exclude each other.',
    when: all(FINE, OFFLOADING),
    versions: [{ package: 'megatron_core', from: '0.16' }],
    fix: 'Keep fine_grained_activation_offloading if PP > 1, else either one.',
    error: 'fine_grained_activation_offloading cannot be enabled with cpu_offloading.',
    source: TC,
    evidence: 'asserted',
    statements: ['off.act-not-fine', 'off.diag-fine', 'off.fine-grained'],
    fails: [
      {
        config: { cpu_offloading: true, fine_grained_activation_offloading: true },
        versions: { megatron_core: '0.16.0' },
      },
    ],
    passes: [
      {
        config: { cpu_offloading: false, fine_grained_activation_offloading: true },
        versions: { megatron_core: '0.16.0' },
      },
      {
        config: { cpu_offloading: true, fine_grained_activation_offloading: false },
        versions: { megatron_core: '0.16.0' },
      },
    ],
    unknown: [{ config: { cpu_offloading: true, fine_grained_activation_offloading: true } }],
  },
  {
    id: 'stash',
    severity: 'error',
    message:
      'moe_paged_stash needs moe_expert_rank_capacity_factor, and excludes cpu_offloading and offload_modules inside the experts.',
    when: all(
      on('moe_paged_stash'),
      any(OFFLOADING, missing('moe_expert_rank_capacity_factor'), has('offload_modules', ...IN_MOE)),
    ),
    versions: [{ package: 'megatron_core', from: '0.18' }],
    fix: 'Set moe_expert_rank_capacity_factor, switch cpu_offloading off and take expert_fc1, moe_act and fused_group_mlp out of offload_modules; or drop moe_paged_stash.',
    error: 'moe_paged_stash requires moe_expert_rank_capacity_factor to be set',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: { moe_paged_stash: true, cpu_offloading: true, moe_expert_rank_capacity_factor: 1.5 },
        versions: { megatron_core: '0.18.0' },
      },
      {
        config: { moe_paged_stash: true, moe_expert_rank_capacity_factor: null },
        versions: { megatron_core: '0.18.0' },
      },
      {
        config: { moe_paged_stash: true, moe_expert_rank_capacity_factor: 1.5, offload_modules: ['moe_act'] },
        versions: { megatron_core: '0.18.0' },
      },
    ],
    passes: [
      {
        config: { moe_paged_stash: true, moe_expert_rank_capacity_factor: 1.5, offload_modules: ['core_attn'] },
        versions: { megatron_core: '0.18.0' },
      },
      { config: { moe_paged_stash: false, cpu_offloading: true }, versions: { megatron_core: '0.18.0' } },
    ],
    unknown: [{ config: { moe_paged_stash: true, moe_expert_rank_capacity_factor: null } }],
  },
];
