/** Offloading of single modules to the host (`fine_grained_activation_offloading`). */
import {
  above,
  all,
  any,
  before,
  below,
  emptyList,
  envNot,
  given,
  has,
  hasOther,
  isNot,
  missing,
  not,
  off,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { FINE, GRAPHS, graphsOf, IN_MOE, recomputes, WHOLE_LAYER } from './activation-terms.js';
import { ARG, MBC, TC } from './sources.js';

const MODULES = [
  'attn_norm',
  'qkv_linear',
  'core_attn',
  'attn_proj',
  'mlp_norm',
  'expert_fc1',
  'moe_act',
  'fused_group_mlp',
  'gdp_qkv',
] as const;

const fine = (config: Sample['config']): Sample['config'] => ({
  fine_grained_activation_offloading: true,
  offload_modules: ['core_attn'],
  ...config,
});

export const FINE_GRAINED_RULES: readonly LintRule[] = [
  {
    id: 'fine-te',
    severity: 'error',
    message: 'fine_grained_activation_offloading needs Transformer Engine, not transformer_impl {transformer_impl}.',
    when: all(FINE, isNot('transformer_impl', 'transformer_engine')),
    fix: 'Set transformer_impl=transformer_engine.',
    error: 'Fine-grained activation offloading is only supported with transformer_engine implementation',
    source: `${ARG}; ${MBC}`,
    evidence: 'asserted',
    statements: ['off.fine-grained'],
    fails: [{ config: fine({ transformer_impl: 'local' }) }],
    passes: [{ config: fine({ transformer_impl: 'transformer_engine' }) }, { config: { transformer_impl: 'local' } }],
  },
  {
    id: 'fine-te-env',
    severity: 'error',
    message:
      'fine_grained_activation_offloading with Transformer Engine {transformer_engine} needs NVTE_CPU_OFFLOAD_V1=1, else weights are offloaded too.',
    when: all(FINE, envNot('NVTE_CPU_OFFLOAD_V1', '1')),
    versions: [{ package: 'transformer_engine', from: '2.10' }],
    fix: 'export NVTE_CPU_OFFLOAD_V1=1',
    error:
      'For fine-grained activation offloading with TE >= 2.10.0, NVTE_CPU_OFFLOAD_V1 environment variable should be set to 1 to avoid offloading weights.',
    source: `${ARG}; ${MBC}`,
    evidence: 'asserted',
    statements: ['off.fine-grained'],
    fails: [
      { config: fine({}), versions: { transformer_engine: '2.10.0' } },
      { config: fine({}), env: { NVTE_CPU_OFFLOAD_V1: '0' }, versions: { transformer_engine: '2.11.0+c188b53' } },
    ],
    passes: [
      { config: fine({}), env: { NVTE_CPU_OFFLOAD_V1: '1' }, versions: { transformer_engine: '2.10.0' } },
      { config: fine({}), versions: { transformer_engine: '2.9.0' } },
    ],
    unknown: [{ config: fine({}) }, { config: fine({}), env: 'unknown', versions: { transformer_engine: '2.10.0' } }],
  },
  {
    id: 'fine-modules',
    severity: 'error',
    message: 'offload_modules {offload_modules} is empty or names modules that cannot be offloaded.',
    when: all(
      FINE,
      any(missing('offload_modules'), emptyList('offload_modules'), hasOther('offload_modules', MODULES)),
    ),
    fix: `Choose from ${MODULES.join(', ')}.`,
    error: 'Invalid choices for offload_modules',
    source: TC,
    evidence: 'asserted',
    statements: ['off.fine-grained', 'rec.recipe-defaults'],
    fails: [
      { config: fine({ offload_modules: ['core_attn', 'layernorm'] }) },
      { config: fine({ offload_modules: [] }) },
      { config: fine({ offload_modules: null }) },
    ],
    passes: [
      { config: fine({ offload_modules: ['core_attn', 'attn_proj'] }) },
      { config: { fine_grained_activation_offloading: false, offload_modules: [] } },
    ],
  },
  {
    id: 'fine-attnproj',
    severity: 'error',
    message: 'offload_modules {offload_modules} has attn_proj without core_attn, whose output it takes.',
    when: all(FINE, has('offload_modules', 'attn_proj'), not(has('offload_modules', 'core_attn'))),
    fix: 'Add core_attn to offload_modules, or remove attn_proj.',
    error: 'attn_proj cannot be set to offload_modules alone without core_attn',
    source: TC,
    evidence: 'asserted',
    statements: ['off.fine-grained'],
    fails: [{ config: fine({ offload_modules: ['attn_proj'] }) }],
    passes: [{ config: fine({ offload_modules: ['attn_proj', 'core_attn'] }) }, { config: fine({}) }],
  },
  {
    id: 'fine-moe-recompute',
    severity: 'error',
    message:
      'offload_modules {offload_modules} lie inside the MoE layer that recompute_modules {recompute_modules} recomputes whole.',
    when: all(FINE, recomputes('moe'), has('offload_modules', ...IN_MOE)),
    fix: 'Remove moe from recompute_modules, or expert_fc1, moe_act and fused_group_mlp from offload_modules.',
    error: 'while recomputing the entire MoE layer',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-moe', 'off.fine-grained'],
    fails: [
      {
        config: fine({ offload_modules: ['moe_act'], recompute_granularity: 'selective', recompute_modules: ['moe'] }),
      },
    ],
    passes: [
      {
        config: fine({
          offload_modules: ['core_attn'],
          recompute_granularity: 'selective',
          recompute_modules: ['moe'],
        }),
      },
      {
        config: fine({
          offload_modules: ['moe_act'],
          recompute_granularity: 'selective',
          recompute_modules: ['core_attn'],
        }),
      },
    ],
  },
  {
    id: 'fine-mhc',
    severity: 'error',
    message:
      'Recompute of mhc does not work with fine-grained offloading of the norms; before core 0.19 with none at all (offload_modules {offload_modules}).',
    when: all(
      FINE,
      recomputes('mhc'),
      any(
        has('offload_modules', 'attn_norm', 'mlp_norm'),
        // Read refused in older sources and allowed on main; [mem] for the release between.
        all(given('offload_modules'), before('megatron_core', '0.19')),
      ),
    ),
    fix: 'Remove attn_norm and mlp_norm from offload_modules, or mhc from recompute_modules.',
    error: "'mhc' in recompute_modules is incompatible with offload_modules",
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: fine({
          offload_modules: ['attn_norm'],
          recompute_granularity: 'selective',
          recompute_modules: ['mhc'],
        }),
      },
      {
        config: fine({ recompute_granularity: 'selective', recompute_modules: ['mhc'] }),
        versions: { megatron_core: '0.18.0' },
      },
    ],
    passes: [
      {
        config: fine({ recompute_granularity: 'selective', recompute_modules: ['mhc'] }),
        versions: { megatron_core: '0.19.0' },
      },
      {
        config: fine({
          offload_modules: ['attn_norm'],
          recompute_granularity: 'selective',
          recompute_modules: ['core_attn'],
        }),
      },
    ],
    unknown: [{ config: fine({ recompute_granularity: 'selective', recompute_modules: ['mhc'] }) }],
  },
  {
    id: 'fine-fused',
    severity: 'error',
    message:
      'offload_modules {offload_modules}: fused_group_mlp needs use_transformer_engine_op_fuser and excludes expert_fc1 and moe_act.',
    when: all(
      FINE,
      has('offload_modules', 'fused_group_mlp'),
      any(off('use_transformer_engine_op_fuser'), has('offload_modules', 'expert_fc1', 'moe_act')),
    ),
    fix: 'Set use_transformer_engine_op_fuser=True and take expert_fc1 and moe_act out of offload_modules; or drop fused_group_mlp.',
    error: 'fused_group_mlp requires use_transformer_engine_op_fuser.',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: fine({ offload_modules: ['fused_group_mlp'], use_transformer_engine_op_fuser: false }) },
      { config: fine({ offload_modules: ['fused_group_mlp', 'moe_act'], use_transformer_engine_op_fuser: true }) },
    ],
    passes: [
      { config: fine({ offload_modules: ['fused_group_mlp'], use_transformer_engine_op_fuser: true }) },
      { config: fine({ offload_modules: ['expert_fc1', 'moe_act'], use_transformer_engine_op_fuser: false }) },
    ],
  },
  {
    id: 'fine-graphs',
    severity: 'error',
    message:
      'fine_grained_activation_offloading does not work with these CUDA graphs (cuda_graph_impl {cuda_graph_impl}).',
    when: all(
      FINE,
      GRAPHS,
      any(
        all(graphsOf('local'), any(hasOther('offload_modules', IN_MOE), WHOLE_LAYER)),
        has('cuda_graph_modules', 'moe'),
        below('cuda_graph_warmup_steps', 1),
        all(graphsOf('full_iteration'), missing('max_inflight_offloads')),
      ),
    ),
    fix: 'Use cuda_graph_impl=transformer_engine without moe in cuda_graph_modules and with cuda_graph_warmup_steps > 0; local graphs offload only modules inside the experts; full_iteration needs fine_grained_offloading_max_inflight_offloads.',
    error: 'fine-grained activation offloading is only supported with transformer_engine CUDA graph implementation',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: fine({ cuda_graph_impl: 'local', cuda_graph_modules: ['attn'], cuda_graph_warmup_steps: 3 }) },
      {
        config: fine({
          offload_modules: ['moe_act'],
          cuda_graph_impl: 'local',
          cuda_graph_modules: [],
          cuda_graph_warmup_steps: 3,
        }),
      },
      {
        config: fine({
          cuda_graph_impl: 'transformer_engine',
          cuda_graph_modules: ['attn', 'moe'],
          cuda_graph_warmup_steps: 3,
        }),
      },
      {
        config: fine({
          cuda_graph_impl: 'transformer_engine',
          cuda_graph_modules: ['attn'],
          cuda_graph_warmup_steps: 0,
        }),
      },
      {
        config: fine({ cuda_graph_impl: 'full_iteration', max_inflight_offloads: null, cuda_graph_warmup_steps: 3 }),
      },
    ],
    passes: [
      {
        config: fine({
          cuda_graph_impl: 'transformer_engine',
          cuda_graph_modules: ['attn'],
          cuda_graph_warmup_steps: 3,
        }),
      },
      {
        config: fine({
          offload_modules: ['moe_act'],
          cuda_graph_impl: 'local',
          cuda_graph_modules: ['attn'],
          cuda_graph_warmup_steps: 3,
        }),
      },
      { config: fine({ cuda_graph_impl: 'full_iteration', max_inflight_offloads: 2, cuda_graph_warmup_steps: 3 }) },
      { config: fine({ cuda_graph_impl: 'none' }) },
    ],
  },
  {
    id: 'fine-numbers',
    severity: 'error',
    message:
      'Fine-grained offloading takes a min_offloaded_tensor_size ≥ 0, a fraction in 0 … 1, and no negative bytes or counts.',
    when: all(
      FINE,
      any(
        below('min_offloaded_tensor_size', 0),
        below('activation_offload_fraction', 0),
        above('activation_offload_fraction', 1),
        below('delta_offload_bytes_across_pp_ranks', 0),
        below('max_inflight_offloads', 0),
      ),
    ),
    fix: 'Correct the number: activation_offload_fraction is a share such as 0.5, the others count from 0.',
    error: 'activation_offload_fraction must be in range [0, 1].',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: fine({ min_offloaded_tensor_size: -1 }) },
      { config: fine({ activation_offload_fraction: -0.5 }) },
      { config: fine({ activation_offload_fraction: 50 }) },
      { config: fine({ delta_offload_bytes_across_pp_ranks: -1024 }) },
      { config: fine({ max_inflight_offloads: -1 }) },
    ],
    passes: [
      {
        config: fine({
          min_offloaded_tensor_size: 1048576,
          activation_offload_fraction: 0.5,
          delta_offload_bytes_across_pp_ranks: 0,
          max_inflight_offloads: null,
        }),
      },
      { config: { fine_grained_activation_offloading: false, activation_offload_fraction: 50 } },
    ],
  },
];
