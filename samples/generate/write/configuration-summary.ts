/**
 * What Megatron Bridge 0.6 prints of its configuration at the start: only what differs from Megatron Core's defaults.
 */
import type { RunPlan } from '../run.js';
import { type ConfigTree, type ConfigValue, isTree } from './config-tree.js';
import { type PyLiteral, repr } from './python-text.js';

/**
 * Sections that have a class in Megatron Core, and the defaults of the fields these runs set; other fields have none to
 * differ from.
 */
const CORE_SECTIONS: readonly (readonly [string, string, Readonly<Record<string, PyLiteral>>])[] = [
  [
    'optimizer',
    'OptimizerConfig',
    {
      adam_beta1: 0.9,
      adam_beta2: 0.999,
      bf16: false,
      lr: null,
      min_lr: null,
      use_distributed_optimizer: false,
      weight_decay: 0.01,
    },
  ],
  [
    'ddp',
    'DistributedDataParallelConfig',
    {
      average_in_collective: false,
      grad_reduce_in_fp32: false,
      overlap_grad_reduce: false,
      overlap_param_gather: false,
      use_distributed_optimizer: false,
    },
  ],
  [
    'model',
    'TransformerConfig',
    {
      apply_rope_fusion: false,
      cuda_graph_impl: 'none',
      cpu_offloading: false,
      ffn_hidden_size: null,
      fp8: null,
      gated_linear_unit: false,
      hidden_size: 0,
      normalization: 'LayerNorm',
      num_attention_heads: 0,
      num_layers: 0,
      num_query_groups: null,
      pipeline_model_parallel_size: 1,
      recompute_granularity: null,
      recompute_method: null,
      recompute_modules: null,
      recompute_num_layers: null,
      sequence_parallel: false,
      tensor_model_parallel_size: 1,
      virtual_pipeline_model_parallel_size: null,
    },
  ],
];

const OTHER_SECTIONS = ['train', 'scheduler', 'dataset', 'checkpoint', 'logger', 'tokenizer', 'rng'] as const;

/**
 * `configured`: the keys (`section.key`) that a run sets beyond the usual. Those whose default is not in the list above
 * would not be set if they said the same, so a switch is the other way round by default, and anything else is absent.
 */
export function configurationSummary(tree: ConfigTree, configured: RunPlan['configuration']): string {
  const rule = '='.repeat(70);
  const lines = [rule, 'Configuration Summary (Non-Default Values vs Megatron Core)', rule, ''];
  for (const [section, className, defaults] of CORE_SECTIONS) {
    const fields = sectionOf(tree, section).flatMap(([key, value]): string[] => {
      const set = configured[`${section}.${key}`];
      const guess = typeof set === 'boolean' ? !set : set === undefined ? undefined : null;
      const known = key in defaults ? defaults[key] : guess;
      if (known === undefined || text(value) === repr(known)) return [];
      return [`  ${key}: ${text(value)}  (Mcore default: ${repr(known)})`];
    });
    if (fields.length > 0) lines.push(`[${section}] Non-default values (vs Mcore ${className}):`, ...fields, '');
  }
  lines.push('-'.repeat(70), 'Other Configuration Values:', '-'.repeat(70));
  for (const section of OTHER_SECTIONS) {
    lines.push('', `[${section}]:`, ...sectionOf(tree, section).map(([key, value]) => `  ${key}: ${text(value)}`));
  }
  return [...lines, rule].join('\n');
}

function sectionOf(tree: ConfigTree, name: string): (readonly [string, ConfigValue])[] {
  const section = tree[name];
  if (section === undefined || !isTree(section)) return [];
  return Object.entries(section)
    .filter(([key, value]) => key !== '_target_' && !isTree(value))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function text(value: ConfigValue): string {
  return repr(value as PyLiteral);
}
