/** CUDA graphs: what of the model they can capture, and what recompute they go with. */
import {
  above,
  all,
  any,
  framework,
  given,
  has,
  hasOther,
  is,
  isNot,
  missing,
  not,
  off,
  on,
  where,
} from '../../settings/condition.js';
import { asList, isOn } from '../../settings/values.js';
import type { LintRule, Sample } from '../rule.js';
import {
  captured,
  DENSE,
  EXPERTS,
  FULL,
  GRAPHS,
  graphsOf,
  LAYER_GRAPHS,
  ONLY_EXPERTS,
  recomputes,
} from './activation-terms.js';
import { CG, GPTP, MBC, TC } from './sources.js';

const TE: Sample['config'] = { cuda_graph_impl: 'transformer_engine' };
const selective = (modules: readonly string[], config: Sample['config']): Sample['config'] => ({
  recompute_granularity: 'selective',
  recompute_modules: modules,
  attention_dropout: 0,
  hidden_dropout: 0,
  moe_input_jitter_eps: null,
  ...config,
});
const moe = (modules: readonly string[], config: Sample['config'] = {}): Sample['config'] => ({
  ...TE,
  cuda_graph_modules: modules,
  num_moe_experts: 64,
  moe_layer_freq: 1,
  moe_expert_capacity_factor: null,
  moe_pad_expert_input_to_capacity: false,
  moe_router_padding_for_fp8: false,
  moe_token_dispatcher_type: 'alltoall',
  ...config,
});

/** What a dump prints is the outcome: the older flags have been turned into `cuda_graph_impl` there. */
const OLD_AND_NEW = where('enable_cuda_graph or external_cuda_graph beside cuda_graph_impl', (view) => {
  const told = view.facts.settings.get('cuda_graph_impl');
  const older = ['enable_cuda_graph', 'external_cuda_graph']
    .map((key) => view.setting(key))
    .filter(({ by, value }) => by === 'told' && isOn(value));
  const both = told !== undefined && isOn(told.value) && told.origin !== 'log dump' && older.length > 0;
  return [both || older.length > 1, view.setting('cuda_graph_impl'), ...older];
});

/** `full` stood for the whole layer, and stood alone. */
const FULL_AND_MORE = all(
  has('cuda_graph_modules', 'full'),
  where('cuda_graph_modules has others beside full', (view) => {
    const found = view.setting('cuda_graph_modules');
    return [(asList(found.value) ?? []).length > 1, found];
  }),
);

export const GRAPH_RULES: readonly LintRule[] = [
  {
    id: 'graph-full-rc',
    severity: 'error',
    message:
      'Recompute of whole layers works only with CUDA graphs of the whole iteration, not with cuda_graph_impl {cuda_graph_impl}.',
    when: all(FULL, GRAPHS, isNot('cuda_graph_impl', 'full_iteration')),
    fix: 'Use selective recompute, or cuda_graph_impl=none, or cuda_graph_impl=full_iteration (before: local with cuda_graph_scope=full_iteration).',
    error: 'full recompute is only supported with full iteration CUDA graph.',
    source: TC,
    evidence: 'asserted',
    statements: [
      'rec.fp8-graphs',
      'rec.full-te-graphs',
      'rec.fp8-recipe-hits',
      'rec.full-graph-option-sel',
      'rec.full-graph-option-none',
      'rec.full-graph-option-local',
      'rec.graph-assert',
      'rec.diag-full-graph',
    ],
    fails: [
      { config: { ...TE, recompute_granularity: 'full', cuda_graph_modules: ['mlp'] } },
      { config: { cuda_graph_impl: 'local', recompute_granularity: 'full' } },
      { config: { enable_cuda_graph: true, recompute_granularity: 'full' } },
    ],
    passes: [
      { config: { ...TE, recompute_granularity: 'selective' } },
      { config: { cuda_graph_impl: 'none', recompute_granularity: 'full' } },
      { config: { cuda_graph_impl: 'full_iteration', recompute_granularity: 'full' } },
      { config: { cuda_graph_impl: 'local', cuda_graph_modules: ['full_iteration'], recompute_granularity: 'full' } },
    ],
  },
  {
    id: 'graph-moe-rc',
    severity: 'error',
    message:
      'Recompute of moe covers the router, which the CUDA graphs capture (cuda_graph_modules {cuda_graph_modules}).',
    when: all(recomputes('moe'), graphsOf('transformer_engine'), has('cuda_graph_modules', 'moe_router')),
    fix: 'Remove moe_router from cuda_graph_modules, or recompute moe_act instead of moe.',
    error: 'moe recompute is not supported with moe_router CUDA graph',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.mod-moe', 'rec.full-graph-option-sel'],
    fails: [{ config: selective(['moe'], { ...TE, cuda_graph_modules: ['attn', 'moe_router'] }) }],
    passes: [
      { config: selective(['moe_act'], { ...TE, cuda_graph_modules: ['attn', 'moe_router'] }) },
      { config: selective(['moe'], { ...TE, cuda_graph_modules: ['attn'] }) },
      { config: selective(['moe'], { cuda_graph_impl: 'none', cuda_graph_modules: ['moe_router'] }) },
    ],
  },
  {
    id: 'graph-dropout-rc',
    severity: 'error',
    message: 'A recomputed module inside a CUDA graph must not draw random numbers ({recompute_modules}).',
    when: any(
      all(recomputes('core_attn'), captured('attn'), isNot('attention_dropout', 0)),
      all(recomputes('mlp'), captured('mlp'), isNot('hidden_dropout', 0)),
      all(recomputes('moe'), captured('moe'), isNot('hidden_dropout', 0)),
      all(recomputes('moe'), captured('moe'), given('moe_input_jitter_eps')),
    ),
    fix: 'Set attention_dropout, hidden_dropout to 0 and moe_input_jitter_eps to None, or keep the module out of the graphs or of recompute_modules.',
    error: 'attention dropout is not supported with graphed attention recomputation.',
    source: TC,
    evidence: 'asserted',
    statements: ['rec.full-graph-option-sel'],
    fails: [
      { config: selective(['core_attn'], { ...TE, cuda_graph_modules: ['attn'], attention_dropout: 0.1 }) },
      { config: selective(['core_attn'], { ...TE, cuda_graph_modules: [], attention_dropout: 0.1 }) },
      { config: selective(['core_attn'], { cuda_graph_impl: 'full_iteration', attention_dropout: 0.1 }) },
      { config: selective(['mlp'], { ...TE, cuda_graph_modules: ['mlp'], hidden_dropout: 0.1 }) },
      { config: selective(['moe'], { ...TE, cuda_graph_modules: ['moe'], hidden_dropout: 0.1 }) },
      { config: selective(['moe'], { ...TE, cuda_graph_modules: ['moe'], moe_input_jitter_eps: 0.01 }) },
    ],
    passes: [
      { config: selective(['core_attn'], { ...TE, cuda_graph_modules: ['mlp'], attention_dropout: 0.1 }) },
      { config: selective(['core_attn', 'mlp'], { ...TE, cuda_graph_modules: ['attn'] }) },
      { config: selective(['layernorm'], { ...TE, cuda_graph_modules: ['attn'], attention_dropout: 0.1 }) },
      { config: selective(['core_attn'], { cuda_graph_impl: 'none', attention_dropout: 0.1 }) },
    ],
  },
  {
    id: 'graph-moe',
    severity: 'error',
    message: 'These parts of the model cannot be captured: cuda_graph_modules {cuda_graph_modules}.',
    when: all(
      LAYER_GRAPHS,
      // moe_preprocess needs the router beside it; local graphs add it themselves.
      has('cuda_graph_modules', 'moe', 'moe_router', 'moe_preprocess', 'mlp'),
      any(
        all(has('cuda_graph_modules', 'moe'), has('cuda_graph_modules', 'moe_router')),
        all(
          graphsOf('transformer_engine'),
          has('cuda_graph_modules', 'moe_preprocess'),
          not(has('cuda_graph_modules', 'moe_router')),
        ),
        all(has('cuda_graph_modules', 'moe', 'moe_router'), DENSE),
        all(has('cuda_graph_modules', 'mlp'), ONLY_EXPERTS),
        all(
          EXPERTS,
          any(missing('moe_expert_capacity_factor'), off('moe_pad_expert_input_to_capacity')),
          any(
            has('cuda_graph_modules', 'moe'),
            all(
              has('cuda_graph_modules', 'moe_preprocess'),
              is('moe_token_dispatcher_type', 'alltoall'),
              any(given('moe_expert_capacity_factor'), on('moe_router_padding_for_fp8')),
            ),
          ),
        ),
      ),
    ),
    fix: 'Experts without token drop: capture attn and moe_router (with moe_preprocess) only. Experts padded to a capacity: moe. mlp only where the model has dense layers.',
    error: 'moe cuda graph is only supported with drop-padding MoE.',
    source: TC,
    evidence: 'asserted',
    statements: ['guide.graphs-moe', 'guide.graphs-static-only'],
    fails: [
      {
        config: moe(['moe', 'moe_router'], { moe_expert_capacity_factor: 1, moe_pad_expert_input_to_capacity: true }),
      },
      { config: moe(['attn', 'moe_preprocess']) },
      { config: moe(['moe_router'], { num_moe_experts: null }) },
      { config: moe(['attn', 'mlp']) },
      { config: moe(['mlp'], { moe_layer_freq: '([1]*61)' }) },
      { config: moe(['moe']) },
      { config: moe(['moe'], { moe_expert_capacity_factor: 1 }) },
      { config: moe(['moe_router', 'moe_preprocess'], { moe_expert_capacity_factor: 1.25 }) },
      { config: moe(['moe_router', 'moe_preprocess'], { moe_router_padding_for_fp8: true }) },
    ],
    passes: [
      { config: moe(['attn', 'moe_router', 'moe_preprocess']) },
      { config: moe(['moe'], { moe_expert_capacity_factor: 1, moe_pad_expert_input_to_capacity: true }) },
      { config: moe(['attn', 'mlp'], { moe_layer_freq: '([0]*3+[1]*58)' }) },
      { config: moe(['attn', 'mlp'], { moe_layer_freq: [0, 1, 1, 1] }) },
      { config: moe(['attn', 'mlp'], { moe_layer_freq: 2 }) },
      { config: moe(['attn', 'mlp'], { num_moe_experts: null }) },
      { config: moe(['attn', 'moe_preprocess'], { cuda_graph_impl: 'local' }) },
      { config: moe(['moe'], { cuda_graph_impl: 'none' }) },
    ],
    unknown: [{ config: moe(['mlp'], { moe_layer_freq: 'pattern(61)' }) }],
  },
  {
    id: 'graph-impl',
    severity: 'error',
    message: 'CUDA graphs are asked for in ways that exclude each other (cuda_graph_impl {cuda_graph_impl}).',
    when: any(
      isNot('cuda_graph_impl', 'none', 'local', 'transformer_engine', 'full_iteration'),
      all(graphsOf('full_iteration'), hasOther('cuda_graph_modules', ['full_iteration', 'full'])),
      all(GRAPHS, FULL_AND_MORE),
      OLD_AND_NEW,
      all(GRAPHS, isNot('cuda_graph_impl', 'transformer_engine'), on('cuda_graph_dynamic_microbatches')),
    ),
    fix: 'Set only cuda_graph_impl (none, local, transformer_engine or full_iteration), and cuda_graph_modules only with local and transformer_engine.',
    error: 'Invalid cuda graph implementation: eager',
    source: `${TC}; ${CG}`,
    evidence: 'asserted',
    statements: ['guide.graphs-knob'],
    fails: [
      { config: { cuda_graph_impl: 'eager' } },
      { config: { cuda_graph_impl: 'full_iteration', cuda_graph_modules: ['attn'] } },
      { config: { cuda_graph_impl: 'local', cuda_graph_modules: ['full', 'attn'] } },
      { config: { cuda_graph_impl: 'local', enable_cuda_graph: true } },
      { config: { enable_cuda_graph: true, external_cuda_graph: true } },
      { config: { cuda_graph_impl: 'local', cuda_graph_dynamic_microbatches: true } },
    ],
    passes: [
      { config: { cuda_graph_impl: 'none' } },
      { config: { cuda_graph_impl: 'full_iteration', cuda_graph_modules: [], cuda_graph_dynamic_microbatches: false } },
      {
        config: {
          cuda_graph_impl: 'local',
          cuda_graph_modules: ['full_iteration'],
          cuda_graph_dynamic_microbatches: false,
        },
      },
      { config: { enable_cuda_graph: true, cuda_graph_dynamic_microbatches: false } },
      { config: { ...TE, cuda_graph_dynamic_microbatches: true } },
    ],
  },
  {
    id: 'graph-nan',
    severity: 'error',
    message: 'CUDA graphs of the whole iteration cannot look for NaN in the loss ({check_for_nan_in_loss_and_grad}).',
    when: all(graphsOf('full_iteration'), on('check_for_nan_in_loss_and_grad')),
    fix: 'Megatron-LM: --no-check-for-nan-in-loss-and-grad. Megatron Bridge: rerun_state_machine.check_for_nan_in_loss=False.',
    error: 'check_for_nan_in_loss must be disabled when using full_iteration CUDA graph',
    source: `${MBC}; Megatron-LM megatron/training/arguments.py validate_args`,
    evidence: 'asserted',
    statements: ['rec.full-graph-option-local'],
    fails: [
      { config: { cuda_graph_impl: 'full_iteration', check_for_nan_in_loss_and_grad: true } },
      {
        config: {
          cuda_graph_impl: 'local',
          cuda_graph_modules: ['full_iteration'],
          check_for_nan_in_loss_and_grad: true,
        },
      },
    ],
    passes: [
      { config: { cuda_graph_impl: 'full_iteration', check_for_nan_in_loss_and_grad: false } },
      { config: { cuda_graph_impl: 'local', check_for_nan_in_loss_and_grad: true } },
    ],
  },
  {
    id: 'graph-rng',
    severity: 'error',
    message: "CUDA graphs need Transformer Engine's random number tracker (use_te_rng_tracker {use_te_rng_tracker}).",
    // Megatron-LM switches it on itself.
    when: all(GRAPHS, off('use_te_rng_tracker'), framework('megatron-bridge', 'nemo')),
    fix: 'Set use_te_rng_tracker=True, in the model and (Megatron Bridge) in the rng section.',
    error: "Transformer engine's RNG tracker is required for cudagraphs",
    source: `${GPTP}; ${CG}`,
    evidence: 'asserted',
    statements: ['guide.graphs-knob'],
    fails: [
      { config: { ...TE, use_te_rng_tracker: false }, framework: 'megatron-bridge' },
      { config: { enable_cuda_graph: true, use_te_rng_tracker: false }, framework: 'nemo' },
    ],
    passes: [
      { config: { ...TE, use_te_rng_tracker: true }, framework: 'megatron-bridge' },
      { config: { ...TE, use_te_rng_tracker: false }, framework: 'megatron-lm' },
      { config: { cuda_graph_impl: 'none', use_te_rng_tracker: false }, framework: 'megatron-bridge' },
    ],
    unknown: [{ config: { ...TE, use_te_rng_tracker: false } }],
  },
  {
    id: 'graph-packing',
    severity: 'error',
    message: 'CUDA graphs need packed sequences of one shape (packed_sequence_size {packed_sequence_size}).',
    when: all(
      framework('megatron-bridge'),
      GRAPHS,
      above('packed_sequence_size', 0),
      any(off('pad_to_max_length'), all(captured('attn'), off('pad_cu_seqlens'))),
    ),
    fix: 'Set dataset_kwargs.pad_to_max_length=True and packed_sequence_specs.pad_cu_seqlens=True, or cuda_graph_impl=none.',
    error: 'CUDA graphs with packed sequences',
    source: MBC,
    evidence: 'asserted',
    statements: ['guide.graphs-static-only', 'guide.pack-padding'],
    fails: [
      {
        config: { ...TE, packed_sequence_size: 4096, pad_to_max_length: false, pad_cu_seqlens: true },
        framework: 'megatron-bridge',
      },
      {
        config: {
          ...TE,
          cuda_graph_modules: ['attn'],
          packed_sequence_size: 4096,
          pad_to_max_length: true,
          pad_cu_seqlens: false,
        },
        framework: 'megatron-bridge',
      },
    ],
    passes: [
      {
        config: { ...TE, packed_sequence_size: 4096, pad_to_max_length: true, pad_cu_seqlens: true },
        framework: 'megatron-bridge',
      },
      {
        config: {
          ...TE,
          cuda_graph_modules: ['mlp'],
          packed_sequence_size: 4096,
          pad_to_max_length: true,
          pad_cu_seqlens: false,
        },
        framework: 'megatron-bridge',
      },
      { config: { ...TE, packed_sequence_size: null, pad_to_max_length: false }, framework: 'megatron-bridge' },
    ],
    unknown: [{ config: { ...TE, packed_sequence_size: 4096, pad_to_max_length: false } }],
  },
];
