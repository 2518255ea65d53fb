/** Recompute and offload that nothing refuses, and that cost more than they bring or do nothing at all. */
import {
  above,
  all,
  any,
  below,
  emptyList,
  env,
  hasOther,
  is,
  missing,
  not,
  notKnown,
  numbers,
  off,
  on,
  where,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { DENSE, FULL, GRAPHS, MIXED_LAYERS, ONLY_EXPERTS, recomputes, SELECTIVE } from './activation-terms.js';

const MEM = 'Megatron Bridge skills/nemo-mbridge-perf-memory-tuning';
const REC = 'Megatron Bridge skills/nemo-mbridge-perf-activation-recompute';
const PERF = 'NeMo and Megatron Bridge performance guides';

const selective = (modules: readonly string[], config: Sample['config'] = {}): Sample['config'] => ({
  recompute_granularity: 'selective',
  recompute_modules: modules,
  ...config,
});

/** Flash and fused attention keep no scores for the backward pass; Transformer Engine takes one of them if it can. */
const FUSED_ATTENTION = all(
  is('transformer_impl', 'transformer_engine'),
  any(
    is('attention_backend', 'flash', 'fused'),
    all(is('attention_backend', null, 'auto'), notKnown(all(env('NVTE_FLASH_ATTN', '0'), env('NVTE_FUSED_ATTN', '0')))),
  ),
);

/** As configurations and command lines write it; a dump shows the list also where nothing is recomputed. */
const MODULES_TOLD = where('recompute_modules asked for', (view) => {
  const found = view.setting('recompute_modules');
  return [
    found.told !== null && found.told.origin !== 'log dump' && found.value !== null && found.value !== '[]',
    found,
  ];
});

const MISSPELT = where('recompute_granularity spelt granuality', (view) => {
  const found = view.setting('recompute_granularity');
  return [found.told !== null && /granuality/i.test(found.told.raw_key), found];
});

export const SOFT_RECOMPUTE_RULES: readonly LintRule[] = [
  {
    id: 'soft-core-attn-flash',
    severity: 'warning',
    message:
      'Recompute of core_attn saves about nothing with flash or fused attention, which recompute inside (attention_backend {attention_backend}).',
    when: all(recomputes('core_attn'), FUSED_ATTENTION),
    fix: 'Remove core_attn from recompute_modules; to save memory take moe_act, mla_up_proj or mlp.',
    error: null,
    source: `Megatron-LM transformer_config.py (its warning); ${REC}`,
    evidence: 'measured',
    statements: [
      'rec.mod-core-attn',
      'rec.start-core-attn',
      'rec.enable-selective',
      'mem.core-attn-second',
      'guide.rc-attention-default',
      'mb.attn-backend',
      'nemo.attn-env',
    ],
    fails: [
      { config: selective(['core_attn'], { attention_backend: 'flash' }), env: 'unknown' },
      { config: selective(['core_attn', 'mlp'], { attention_backend: 'auto' }) },
      { config: { recompute_activations: true, attention_backend: 'fused' } },
    ],
    passes: [
      { config: selective(['mlp'], { attention_backend: 'flash' }) },
      { config: selective(['core_attn'], { attention_backend: 'unfused' }) },
      { config: selective(['core_attn'], { attention_backend: 'flash', transformer_impl: 'local' }) },
      {
        config: selective(['core_attn'], { attention_backend: 'auto' }),
        env: { NVTE_FLASH_ATTN: '0', NVTE_FUSED_ATTN: '0' },
      },
    ],
  },
  {
    id: 'soft-mlp-moe',
    severity: 'warning',
    message: 'Recompute of mlp does nothing: all layers have experts ({num_moe_experts}).',
    when: all(recomputes('mlp'), ONLY_EXPERTS),
    fix: 'Recompute moe_act (with moe_grouped_gemm), or moe, instead of mlp.',
    error: null,
    source: REC,
    evidence: 'documented',
    statements: ['rec.mod-mlp', 'rec.mod-moe', 'rec.mod-moe-act'],
    fails: [
      { config: selective(['mlp'], { num_moe_experts: 128, moe_layer_freq: 1 }) },
      { config: selective(['mlp'], { num_moe_experts: 128, moe_layer_freq: [1, 1, 1] }) },
    ],
    passes: [
      { config: selective(['mlp'], { num_moe_experts: null }) },
      { config: selective(['mlp'], { num_moe_experts: 128, moe_layer_freq: [0, 1, 1] }) },
      { config: selective(['moe_act'], { num_moe_experts: 128, moe_layer_freq: 1 }) },
    ],
    unknown: [{ config: selective(['mlp'], { num_moe_experts: 128, moe_layer_freq: 'pattern(61)' }) }],
  },
  {
    id: 'soft-mlp-mixed',
    severity: 'note',
    message:
      'Recompute of mlp reaches only the dense layers, not those with experts (moe_layer_freq {moe_layer_freq}).',
    when: all(recomputes('mlp'), MIXED_LAYERS),
    fix: 'Add moe_act (with moe_grouped_gemm) to recompute_modules for the layers with experts.',
    error: null,
    source: REC,
    evidence: 'documented',
    statements: ['rec.mod-mlp', 'rec.mod-moe-act'],
    fails: [{ config: selective(['mlp'], { num_moe_experts: 256, moe_layer_freq: '([0]*3+[1]*58)' }) }],
    passes: [
      { config: selective(['mlp'], { num_moe_experts: 256, moe_layer_freq: 1 }) },
      { config: selective(['mlp'], { num_moe_experts: null }) },
    ],
  },
  {
    id: 'soft-mlp-cost',
    severity: 'note',
    message:
      'Recompute of mlp is dear where the feed-forward block is large: −3 GB for −16 % throughput on Llama3 70B.',
    when: all(recomputes('mlp'), not(ONLY_EXPERTS)),
    fix: 'Keep it only if the run does not fit otherwise: set expandable_segments:True first, or lower the micro-batch size.',
    error: null,
    source: `${MEM}; ${REC}`,
    evidence: 'measured',
    statements: [
      'mem.mlp-last',
      'mem.meas-mlp',
      'rec.mod-mlp',
      'rec.meas-mlp',
      'rec.add-by-cost',
      'rec.diag-util-drop',
      'rec.limit-arch',
      'rec.frag-first',
      'rec.meas-true-fix',
    ],
    fails: [{ config: selective(['mlp'], { num_moe_experts: null }) }],
    passes: [
      { config: selective(['layernorm'], { num_moe_experts: null }) },
      { config: selective(['mlp'], { num_moe_experts: 128, moe_layer_freq: 1 }) },
    ],
  },
  {
    id: 'soft-moe-dense',
    severity: 'warning',
    message: 'Recompute of expert modules ({recompute_modules}) does nothing in a model without experts.',
    when: all(recomputes('moe', 'moe_act', 'shared_experts'), DENSE),
    fix: 'Recompute mlp instead, or remove the module.',
    error: null,
    source: REC,
    evidence: 'documented',
    statements: ['rec.mod-moe', 'rec.mod-moe-act', 'rec.mod-shared-experts'],
    fails: [
      { config: selective(['moe'], { num_moe_experts: null }) },
      { config: selective(['shared_experts'], { num_moe_experts: null }) },
    ],
    passes: [
      { config: selective(['moe'], { num_moe_experts: 8 }) },
      { config: selective(['mlp'], { num_moe_experts: null }) },
    ],
  },
  {
    id: 'soft-shared-none',
    severity: 'warning',
    message: 'Recompute of shared_experts does nothing: the model has none.',
    when: all(
      recomputes('shared_experts'),
      above('num_moe_experts', 1),
      missing('moe_shared_expert_intermediate_size'),
    ),
    fix: 'Remove shared_experts from recompute_modules.',
    error: null,
    source: REC,
    evidence: 'documented',
    statements: ['rec.mod-shared-experts'],
    fails: [
      { config: selective(['shared_experts'], { num_moe_experts: 8, moe_shared_expert_intermediate_size: null }) },
    ],
    passes: [
      { config: selective(['shared_experts'], { num_moe_experts: 8, moe_shared_expert_intermediate_size: 2048 }) },
      { config: selective(['moe'], { num_moe_experts: 8, moe_shared_expert_intermediate_size: null }) },
    ],
  },
  {
    id: 'soft-layernorm-alone',
    severity: 'warning',
    message: 'Recompute of layernorm without a larger module saves about nothing ({recompute_modules}).',
    when: all(recomputes('layernorm'), not(hasOther('recompute_modules', ['layernorm', 'core_attn']))),
    fix: 'Add a module that holds memory (mlp, moe_act, mla_up_proj), or drop layernorm.',
    error: null,
    source: REC,
    evidence: 'measured',
    statements: [
      'rec.mod-layernorm',
      'rec.limit-layernorm',
      'rec.diag-layernorm',
      'rec.meas-layernorm',
      'rec.add-by-cost',
    ],
    fails: [{ config: selective(['layernorm']) }, { config: selective(['core_attn', 'layernorm']) }],
    passes: [{ config: selective(['layernorm', 'moe_act']) }, { config: selective(['core_attn']) }],
  },
  {
    id: 'soft-mlp-plus-core',
    severity: 'warning',
    message: 'core_attn beside mlp saves no more memory and costs more time ({recompute_modules}).',
    when: all(recomputes('mlp'), recomputes('core_attn'), FUSED_ATTENTION),
    fix: 'Keep mlp and remove core_attn from recompute_modules.',
    error: null,
    source: REC,
    evidence: 'measured',
    statements: ['rec.mlp-plus-core', 'rec.diag-double'],
    fails: [{ config: selective(['mlp', 'core_attn'], { attention_backend: 'auto' }) }],
    passes: [
      { config: selective(['mlp'], { attention_backend: 'auto' }) },
      { config: selective(['core_attn'], { attention_backend: 'auto' }) },
      { config: selective(['mlp', 'core_attn'], { attention_backend: 'unfused' }) },
    ],
  },
  {
    id: 'soft-selective-empty',
    severity: 'warning',
    message: 'Selective recompute with an empty list of modules recomputes nothing.',
    when: all(SELECTIVE, emptyList('recompute_modules')),
    fix: 'Name modules in recompute_modules, or set recompute_granularity=None.',
    error: null,
    source: `Megatron-LM transformer_config.py; ${REC}`,
    evidence: 'asserted',
    statements: ['rec.sel-needs-modules'],
    fails: [{ config: selective([]) }],
    passes: [
      { config: { recompute_granularity: 'selective' } },
      { config: selective(['mlp']) },
      { config: { recompute_granularity: null, recompute_modules: [] } },
    ],
  },
  {
    id: 'soft-recompute-off',
    severity: 'warning',
    message: 'recompute_modules {recompute_modules} has no effect: recompute_granularity is not selective.',
    when: all(MODULES_TOLD, not(SELECTIVE)),
    fix: 'Set recompute_granularity=selective, or drop recompute_modules.',
    error: null,
    source: `Megatron-LM transformer_config.py; ${REC}`,
    evidence: 'asserted',
    statements: ['rec.selective'],
    fails: [
      { config: { recompute_granularity: null, recompute_modules: ['mlp'] } },
      {
        config: { recompute_granularity: 'full', recompute_modules: ['mlp'], overlap_moe_expert_parallel_comm: false },
      },
    ],
    passes: [
      { config: selective(['mlp']) },
      { config: { recompute_granularity: null, recompute_modules: null } },
      { config: { recompute_granularity: null, recompute_modules: [] } },
    ],
  },
  {
    id: 'soft-recompute-full',
    severity: 'note',
    message: 'Recompute of whole layers saves the most memory and costs about 30 % more compute.',
    when: FULL,
    fix: 'Try selective recompute first, and lower recompute_num_layers (method block) as far as memory allows.',
    error: null,
    source: `${REC}; ${PERF}`,
    evidence: 'documented',
    statements: ['rec.trade', 'rec.full', 'rec.full-last', 'guide.rc-full-30'],
    fails: [{ config: { recompute_granularity: 'full', recompute_method: 'block', recompute_num_layers: 1 } }],
    passes: [{ config: selective(['mlp']) }],
  },
  {
    id: 'soft-recompute-layers',
    severity: 'warning',
    message:
      'recompute_num_layers {recompute_num_layers} is more than a stage has: {num_layers} layers over PP {pipeline_model_parallel_size}.',
    when: all(
      FULL,
      numbers(
        'recompute_num_layers > num_layers / pipeline_model_parallel_size',
        ['recompute_num_layers', 'num_layers', 'pipeline_model_parallel_size'],
        (count, layers, stages) => count! > Math.ceil(layers! / stages!),
      ),
    ),
    fix: 'Set recompute_num_layers to at most the layers of a stage.',
    error: null,
    source: `Megatron-LM transformer_config.py; ${PERF}`,
    evidence: 'documented',
    statements: ['guide.rc-full-knobs', 'rec.full-naming'],
    fails: [
      {
        config: {
          recompute_granularity: 'full',
          recompute_num_layers: 16,
          num_layers: 32,
          pipeline_model_parallel_size: 4,
        },
      },
    ],
    passes: [
      {
        config: {
          recompute_granularity: 'full',
          recompute_num_layers: 8,
          num_layers: 32,
          pipeline_model_parallel_size: 4,
        },
      },
      { config: { recompute_granularity: null, recompute_num_layers: 16, num_layers: 32 } },
    ],
    unknown: [{ config: { recompute_granularity: 'full', recompute_num_layers: 16 } }],
  },
  {
    id: 'soft-recompute-typo',
    severity: 'warning',
    message: 'recompute_granuality is no setting of any release ({recompute_granularity}): the guides misspell it.',
    when: MISSPELT,
    fix: 'Write recompute_granularity.',
    error: null,
    source: PERF,
    evidence: 'documented',
    statements: ['guide.rc-full-knobs'],
    fails: [{ config: { recompute_granuality: 'full' } }],
    passes: [{ config: { recompute_granularity: 'full' } }, { config: { bf16: true } }],
  },
  {
    id: 'regather',
    severity: 'warning',
    message:
      'sequence_parallel_input_regather has no effect here: it needs sequence parallelism with TP > 1, and neither CUDA graphs, cpu_offloading nor recompute over its inputs.',
    when: all(
      on('sequence_parallel_input_regather'),
      any(
        off('sequence_parallel'),
        below('tensor_model_parallel_size', 2),
        GRAPHS,
        on('cpu_offloading'),
        FULL,
        recomputes('mlp'),
      ),
    ),
    fix: 'Set sequence_parallel=True with TP > 1 and drop what excludes it, or leave sequence_parallel_input_regather out.',
    error: null,
    source: 'Megatron Bridge src/megatron/bridge/peft/utils.py get_adapter_attributes_from_linear',
    evidence: 'documented',
    statements: [],
    fails: [
      { config: regather({ sequence_parallel: false }) },
      { config: regather({ tensor_model_parallel_size: 1 }) },
      { config: regather({ cuda_graph_impl: 'transformer_engine' }) },
      { config: regather({ cpu_offloading: true }) },
      { config: regather({ recompute_granularity: 'full' }) },
      { config: regather({ recompute_granularity: 'selective', recompute_modules: ['mlp'] }) },
    ],
    passes: [
      { config: regather({}) },
      { config: regather({ recompute_granularity: 'selective', recompute_modules: ['core_attn'] }) },
      { config: regather({ sequence_parallel_input_regather: false, tensor_model_parallel_size: 1 }) },
    ],
  },
];

function regather(config: Sample['config']): Sample['config'] {
  return { sequence_parallel_input_regather: true, sequence_parallel: true, tensor_model_parallel_size: 2, ...config };
}
