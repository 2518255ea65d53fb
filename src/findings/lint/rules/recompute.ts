/** Recompute of activations: how much, how, and of which modules. */
import { all, any, below, framework, given, hasOther, isNot, missing, off, on } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { FULL, SELECTIVE } from './activation-terms.js';
import { ARG, TC } from './sources.js';

/** Every name that a release knows; older ones know fewer. */
const MODULES = [
  'core_attn',
  'layernorm',
  'mlp',
  'moe',
  'moe_act',
  'shared_experts',
  'mla_up_proj',
  'gdn',
  'gdn_norm_out',
  'gdp_in_proj',
  'gdp_qkv',
  'mhc',
] as const;

/** Overlap of expert communication recomputes whole stages in a way of its own, without method and count. */
const NO_OVERLAP = off('overlap_moe_expert_parallel_comm');

export const RECOMPUTE_RULES: readonly LintRule[] = [
  {
    id: 'rc-gran',
    severity: 'error',
    message: 'recompute_granularity {recompute_granularity} is neither full nor selective.',
    when: isNot('recompute_granularity', null, 'full', 'selective'),
    fix: 'Set recompute_granularity to selective or full, or leave it out.',
    error: 'When using recompute_granuarlity: attention must be "full"or "selective".',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.selective', 'rec.full', 'rec.full-naming'],
    fails: [{ config: { recompute_granularity: 'attention' } }],
    passes: [
      { config: { recompute_granularity: 'full' } },
      { config: { recompute_granularity: 'selective' } },
      { config: { recompute_granularity: null } },
    ],
  },
  {
    id: 'rc-method',
    severity: 'error',
    message: 'Recompute with granularity {recompute_granularity} needs recompute_method block or uniform.',
    when: any(
      all(FULL, missing('recompute_method'), NO_OVERLAP),
      all(given('recompute_granularity'), isNot('recompute_method', null, 'block', 'uniform')),
    ),
    fix: 'Set recompute_method=uniform (groups of layers) or block (the first layers of a stage), with recompute_num_layers.',
    error: 'recompute_method must be "block" or "uniform"',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.full', 'rec.full-last', 'rec.full-needs-fields', 'rec.enable-full', 'guide.rc-full-knobs'],
    fails: [
      { config: { recompute_granularity: 'full', recompute_method: null, overlap_moe_expert_parallel_comm: false } },
      { config: { recompute_granularity: 'full', recompute_method: 'all' } },
    ],
    passes: [
      { config: { recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 1 } },
      { config: { recompute_granularity: 'selective' } },
      { config: { recompute_granularity: 'full', overlap_moe_expert_parallel_comm: true } },
    ],
  },
  {
    id: 'rc-layers',
    severity: 'error',
    message:
      'recompute_num_layers {recompute_num_layers} does not go with granularity {recompute_granularity}: full needs it, selective forbids it.',
    when: any(all(FULL, missing('recompute_num_layers'), NO_OVERLAP), all(SELECTIVE, given('recompute_num_layers'))),
    fix: 'Full: set recompute_num_layers between 1 and the layers of a stage. Selective: leave it out.',
    error: 'recompute_num_layers must be between 1 and num_layers_per_pipeline_rank',
    source: TC,
    evidence: 'asserted',
    statements: [
      'rec.full',
      'rec.full-naming',
      'rec.full-last',
      'rec.full-needs-fields',
      'rec.enable-full',
      'guide.rc-full-knobs',
    ],
    fails: [
      {
        config: { recompute_granularity: 'full', recompute_method: 'uniform', overlap_moe_expert_parallel_comm: false },
      },
      { config: { recompute_granularity: 'selective', recompute_num_layers: 4 } },
    ],
    passes: [
      { config: { recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 4 } },
      { config: { recompute_granularity: 'selective', recompute_num_layers: null } },
    ],
  },
  {
    id: 'rc-sel-method',
    severity: 'error',
    message: 'Megatron-LM takes no recompute_method ({recompute_method}) with selective recompute.',
    when: all(SELECTIVE, given('recompute_method'), framework('megatron-lm')),
    fix: 'Drop --recompute-method, or ask for --recompute-granularity full.',
    error: 'recompute method is not yet supported for selective recomputing granularity',
    source: ARG,
    evidence: 'asserted',
    statements: ['rec.full-needs-fields'],
    fails: [{ config: { recompute_granularity: 'selective', recompute_method: 'uniform' }, framework: 'megatron-lm' }],
    passes: [
      { config: { recompute_granularity: 'selective' }, framework: 'megatron-lm' },
      { config: { recompute_granularity: 'selective', recompute_method: 'uniform' }, framework: 'megatron-bridge' },
    ],
    unknown: [{ config: { recompute_granularity: 'selective', recompute_method: 'uniform' } }],
  },
  {
    id: 'rc-modules',
    severity: 'error',
    message: 'recompute_modules {recompute_modules} has names that no release knows.',
    when: all(SELECTIVE, hasOther('recompute_modules', MODULES)),
    fix: `Choose from ${MODULES.join(', ')}.`,
    error: 'Invalid choices for recompute_modules',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.modules-list', 'rec.enable-selective', 'rec.harness-cli', 'rec.selective'],
    fails: [{ config: { recompute_granularity: 'selective', recompute_modules: ['core_attn', 'attention'] } }],
    passes: [
      { config: { recompute_granularity: 'selective', recompute_modules: ['core_attn', 'layernorm', 'mlp'] } },
      { config: { recompute_granularity: 'selective', recompute_modules: 'core_attn,layernorm' } },
      { config: { recompute_granularity: 'selective', recompute_modules: [] } },
      { config: { recompute_granularity: 'selective' } },
    ],
  },
  {
    id: 'rc-dist-sp',
    severity: 'error',
    message: 'distribute_saved_activations does not work with sequence_parallel while activations are recomputed.',
    when: all(on('distribute_saved_activations'), on('sequence_parallel'), given('recompute_granularity')),
    fix: 'Set distribute_saved_activations=False; sequence parallelism shards them already.',
    error: 'distribute_saved_activations: True must be false when sequence parallel is enabled: True',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.dist-saved-sp'],
    fails: [
      {
        config: { distribute_saved_activations: true, sequence_parallel: true, recompute_granularity: 'selective' },
      },
    ],
    passes: [
      { config: { distribute_saved_activations: true, sequence_parallel: true, recompute_granularity: null } },
      { config: { distribute_saved_activations: true, sequence_parallel: false, recompute_granularity: 'full' } },
    ],
  },
  {
    id: 'rc-dist-tp',
    severity: 'error',
    message: 'distribute_saved_activations needs TP > 1, full recompute and a recompute_method.',
    when: all(
      on('distribute_saved_activations'),
      framework('megatron-lm'),
      any(below('tensor_model_parallel_size', 2), isNot('recompute_granularity', 'full'), missing('recompute_method')),
    ),
    fix: 'Drop --distribute-saved-activations, or set TP > 1, --recompute-granularity full and --recompute-method.',
    error: 'can distribute recomputed activations only across tensor model parallel groups',
    source: ARG,
    evidence: 'asserted',
    statements: ['rec.dist-saved-sp'],
    fails: [
      {
        config: {
          distribute_saved_activations: true,
          tensor_model_parallel_size: 1,
          recompute_granularity: 'full',
          recompute_method: 'uniform',
        },
        framework: 'megatron-lm',
      },
      {
        config: {
          distribute_saved_activations: true,
          tensor_model_parallel_size: 4,
          recompute_granularity: 'selective',
          recompute_method: 'uniform',
        },
        framework: 'megatron-lm',
      },
      {
        config: { distribute_saved_activations: true, tensor_model_parallel_size: 4, recompute_granularity: 'full' },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: {
          distribute_saved_activations: true,
          tensor_model_parallel_size: 4,
          recompute_granularity: 'full',
          recompute_method: 'uniform',
        },
        framework: 'megatron-lm',
      },
    ],
    unknown: [{ config: { distribute_saved_activations: true, tensor_model_parallel_size: 1 } }],
  },
];
