/** Recompute of single modules: what each of them needs. */
import { all, any, below, given, has, is, isNot, off, on } from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { FULL, graphsOf, recomputes } from './activation-terms.js';
import { TC } from './sources.js';

const mhc = (config: Sample['config']): Sample['config'] => ({
  recompute_granularity: 'selective',
  recompute_modules: ['mhc'],
  enable_mhc: true,
  mhc_recompute_layer_num: null,
  attention_dropout: 0,
  hidden_dropout: '0.0',
  ...config,
});

export const RECOMPUTE_MODULE_RULES: readonly LintRule[] = [
  {
    id: 'rc-moeact',
    severity: 'error',
    message: 'Recompute of moe_act needs moe_grouped_gemm ({moe_grouped_gemm}).',
    when: all(recomputes('moe_act'), off('moe_grouped_gemm')),
    fix: 'Set moe_grouped_gemm=True, or remove moe_act from recompute_modules.',
    error: 'moe_act in recompute_modules is only supported with moe_grouped_gemm.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-moe-act', 'guide.grouped-gemm'],
    fails: [
      { config: { recompute_granularity: 'selective', recompute_modules: ['moe_act'], moe_grouped_gemm: false } },
    ],
    passes: [
      { config: { recompute_granularity: 'selective', recompute_modules: ['moe_act'], moe_grouped_gemm: true } },
      { config: { recompute_granularity: 'selective', recompute_modules: ['moe'], moe_grouped_gemm: false } },
    ],
  },
  {
    id: 'rc-mla',
    severity: 'error',
    message: 'Recompute of mla_up_proj needs multi-latent attention (multi_latent_attention {multi_latent_attention}).',
    when: all(recomputes('mla_up_proj'), off('multi_latent_attention')),
    fix: 'Remove mla_up_proj from recompute_modules.',
    error: 'mla_up_proj in recompute_modules is only supported with multi_latent_attention.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-mla-up-proj'],
    fails: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['mla_up_proj'],
          multi_latent_attention: false,
        },
      },
    ],
    passes: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['mla_up_proj'],
          multi_latent_attention: true,
        },
      },
      { config: { recompute_granularity: 'selective', recompute_modules: ['mlp'], multi_latent_attention: false } },
    ],
  },
  {
    id: 'rc-gdn',
    severity: 'error',
    message:
      'recompute_modules {recompute_modules}: gdn and gdn_norm_out need gated delta nets, and exclude each other.',
    when: any(
      all(recomputes('gdn', 'gdn_norm_out'), isNot('experimental_attention_variant', 'gated_delta_net')),
      all(recomputes('gdn'), recomputes('gdn_norm_out')),
    ),
    fix: 'Keep one of gdn and gdn_norm_out, and only with experimental_attention_variant=gated_delta_net.',
    error: "gdn_norm_out in recompute_modules is only supported with experimental_attention_variant='gated_delta_net'.",
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['gdn_norm_out'],
          experimental_attention_variant: null,
        },
      },
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['gdn', 'gdn_norm_out'],
          experimental_attention_variant: 'gated_delta_net',
        },
      },
    ],
    passes: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['gdn_norm_out'],
          experimental_attention_variant: 'gated_delta_net',
        },
      },
      { config: { recompute_granularity: 'selective', recompute_modules: ['mlp'] } },
    ],
  },
  {
    id: 'rc-shared',
    severity: 'error',
    message: 'Recompute of shared_experts does not work with moe_shared_expert_overlap.',
    when: all(
      recomputes('shared_experts'),
      on('moe_shared_expert_overlap'),
      given('moe_shared_expert_intermediate_size'),
    ),
    fix: 'Remove shared_experts from recompute_modules, or set moe_shared_expert_overlap=False.',
    error: 'shared_experts recompute cannot work with --moe-shared-expert-overlap.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-shared-experts'],
    fails: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['shared_experts'],
          moe_shared_expert_overlap: true,
          moe_shared_expert_intermediate_size: 2048,
        },
      },
    ],
    passes: [
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['shared_experts'],
          moe_shared_expert_overlap: false,
          moe_shared_expert_intermediate_size: 2048,
        },
      },
      {
        config: {
          recompute_granularity: 'selective',
          recompute_modules: ['shared_experts'],
          moe_shared_expert_overlap: true,
          moe_shared_expert_intermediate_size: null,
        },
      },
    ],
  },
  {
    id: 'rc-fp8',
    severity: 'error',
    message: 'FP8 with delayed scaling does not work with recompute of layernorm or moe_act ({recompute_modules}).',
    when: all(on('fp8'), recomputes('moe_act', 'layernorm'), is('fp8_recipe', 'delayed')),
    fix: 'Use another fp8_recipe (tensorwise, blockwise, mxfp8), or remove layernorm and moe_act from recompute_modules.',
    error: 'Delayed scaling does not support moe_act and layernorm recompute for fp8.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-layernorm', 'rec.mod-moe-act'],
    fails: [
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'delayed',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
      },
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'delayed',
          recompute_granularity: 'selective',
          recompute_modules: ['moe_act'],
        },
      },
    ],
    passes: [
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'tensorwise',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
      },
      {
        config: {
          fp8: null,
          fp8_recipe: 'delayed',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
      },
    ],
  },
  {
    // Apart from its neighbour, so that an unknown version leaves only this one undecided.
    id: 'rc-fp8-te',
    severity: 'error',
    message:
      'Recompute of layernorm or moe_act under FP8 needs Transformer Engine 2.6, not {transformer_engine} ({recompute_modules}).',
    when: all(on('fp8'), recomputes('moe_act', 'layernorm'), isNot('fp8_recipe', 'delayed')),
    versions: [{ package: 'transformer_engine', before: '2.6' }],
    fix: 'Upgrade Transformer Engine, or remove layernorm and moe_act from recompute_modules.',
    error: 'moe_act and layernorm recompute for fp8 needs transformer-engine>=2.6.0dev0',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'tensorwise',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
        versions: { transformer_engine: '2.5.0' },
      },
    ],
    passes: [
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'tensorwise',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
        versions: { transformer_engine: '2.6.0.dev0' },
      },
    ],
    unknown: [
      {
        config: {
          fp8: 'hybrid',
          fp8_recipe: 'tensorwise',
          recompute_granularity: 'selective',
          recompute_modules: ['layernorm'],
        },
      },
    ],
  },
  {
    id: 'rc-moe-layer',
    severity: 'error',
    message: 'moe_layer_recompute does not go with recompute of whole layers.',
    when: all(on('moe_layer_recompute'), FULL),
    fix: 'Drop moe_layer_recompute; it is an older spelling of selective recompute of moe.',
    error: 'Do not set --moe-layer-recompute with full recompute granularity.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-moe'],
    fails: [{ config: { moe_layer_recompute: true, recompute_granularity: 'full' } }],
    passes: [
      { config: { moe_layer_recompute: true, recompute_granularity: 'selective' } },
      { config: { moe_layer_recompute: false, recompute_granularity: 'full' } },
    ],
  },
  {
    id: 'rc-mhc',
    severity: 'error',
    message:
      'Recompute of mhc ({recompute_modules}) needs hyper connections, excludes mlp, and goes with few CUDA graphs.',
    when: all(
      recomputes('mhc'),
      any(
        off('enable_mhc'),
        has('recompute_modules', 'mlp'),
        below('mhc_recompute_layer_num', 1),
        graphsOf('local'),
        all(graphsOf('full_iteration'), any(isNot('attention_dropout', 0), isNot('hidden_dropout', 0))),
      ),
    ),
    fix: 'Set enable_hyper_connections=True, take mlp out of recompute_modules, and use no CUDA graphs or those of the whole iteration without dropout.',
    error: "'mhc' in recompute_modules requires enable_hyper_connections=True.",
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: mhc({ enable_mhc: false }) },
      { config: mhc({ recompute_modules: ['mhc', 'mlp'] }) },
      { config: mhc({ mhc_recompute_layer_num: 0 }) },
      { config: mhc({ cuda_graph_impl: 'local' }) },
      { config: mhc({ cuda_graph_impl: 'full_iteration', attention_dropout: 0.1 }) },
      { config: mhc({ cuda_graph_impl: 'full_iteration', hidden_dropout: 0.1 }) },
    ],
    passes: [
      { config: mhc({}) },
      { config: mhc({ cuda_graph_impl: 'full_iteration' }) },
      { config: mhc({ cuda_graph_impl: 'transformer_engine', cuda_graph_modules: ['attn'] }) },
      { config: { recompute_granularity: 'selective', recompute_modules: ['mlp'], enable_mhc: false } },
    ],
  },
];
