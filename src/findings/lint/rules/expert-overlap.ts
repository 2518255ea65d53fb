/** Overlap of expert communication with compute, and hyper connections: what they exclude. */
import {
  above,
  all,
  any,
  before,
  below,
  framework,
  given,
  has,
  is,
  isNot,
  missing,
  off,
  on,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { FULL, GRAPHS, graphsOf } from './activation-terms.js';
import { MBO, TC } from './sources.js';

const OVERLAP = on('overlap_moe_expert_parallel_comm');

const overlap = (config: Sample['config']): Sample['config'] => ({
  overlap_moe_expert_parallel_comm: true,
  expert_model_parallel_size: 8,
  moe_token_dispatcher_type: 'alltoall',
  bf16: true,
  fp16: false,
  moe_shared_expert_overlap: false,
  mtp_num_layers: null,
  pipeline_model_parallel_layout: null,
  num_virtual_stages_per_pipeline_rank: null,
  num_layers_per_virtual_pipeline_stage: null,
  attention_dropout: 0,
  hidden_dropout: 0,
  moe_paged_stash: false,
  fp8: null,
  ...config,
});

export const EXPERT_OVERLAP_RULES: readonly LintRule[] = [
  {
    id: 'rc-ep-overlap',
    severity: 'error',
    message:
      'overlap_moe_expert_parallel_comm does not work with this recompute: no method, no number of layers, no moe module, and whole layers on the newest releases only.',
    when: all(
      OVERLAP,
      any(
        given('recompute_method'),
        given('recompute_num_layers'),
        has('recompute_modules', 'moe'),
        all(
          FULL,
          any(
            // From then on whole stages can be recomputed, within the limits that follow. [mem] for the first release.
            before('megatron_core', '0.19'),
            framework('megatron-bridge'),
            isNot('attention_dropout', 0),
            isNot('hidden_dropout', 0),
            GRAPHS,
            on('moe_paged_stash'),
            all(on('fp8'), is('fp8_recipe', 'delayed')),
          ),
        ),
      ),
    ),
    fix: 'Use selective recompute of modules inside the experts, such as moe_act, without recompute_method and recompute_num_layers; or switch the overlap off.',
    error: 'disable full recomputation when enabling overlap_moe_expert_parallel_comm',
    source: `${TC}; ${MBO}`,
    evidence: 'asserted',
    statements: ['rec.mod-moe', 'guide.ep-overlap-future'],
    fails: [
      { config: overlap({ recompute_granularity: 'selective', recompute_method: 'uniform' }) },
      { config: overlap({ recompute_granularity: 'selective', recompute_num_layers: 1 }) },
      { config: overlap({ recompute_granularity: 'selective', recompute_modules: ['moe'] }) },
      { config: overlap({ recompute_granularity: 'full' }), versions: { megatron_core: '0.16.0' } },
      { config: overlap({ recompute_granularity: 'full' }), framework: 'megatron-bridge' },
      { config: overlap({ recompute_granularity: 'full', attention_dropout: 0.1 }) },
      { config: overlap({ recompute_granularity: 'full', hidden_dropout: 0.1 }) },
      { config: overlap({ recompute_granularity: 'full', cuda_graph_impl: 'local' }) },
      { config: overlap({ recompute_granularity: 'full', moe_paged_stash: true }) },
      { config: overlap({ recompute_granularity: 'full', fp8: 'hybrid', fp8_recipe: 'delayed' }) },
    ],
    passes: [
      { config: overlap({ recompute_granularity: 'selective', recompute_modules: ['moe_act'] }) },
      { config: overlap({ recompute_granularity: null }) },
      {
        config: overlap({ recompute_granularity: 'full', cuda_graph_impl: 'none' }),
        framework: 'megatron-lm',
        versions: { megatron_core: '0.19.0' },
      },
      { config: { overlap_moe_expert_parallel_comm: false, recompute_granularity: 'full' } },
    ],
    unknown: [{ config: overlap({ recompute_granularity: 'full' }), framework: 'megatron-lm' }],
  },
  {
    id: 'ep-overlap-misc',
    severity: 'error',
    message:
      'overlap_moe_expert_parallel_comm needs EP > 1 ({expert_model_parallel_size}), dispatcher alltoall or flex, bf16 or fp16, VPP with PP > 1, at most one MTP layer, no overlap of shared experts and no graphs of experts or MLP.',
    when: all(
      OVERLAP,
      above('expert_model_parallel_size', 0),
      any(
        below('expert_model_parallel_size', 2),
        isNot('moe_token_dispatcher_type', 'alltoall', 'flex'),
        all(off('bf16'), off('fp16')),
        all(
          above('pipeline_model_parallel_size', 1),
          missing('virtual_pipeline_model_parallel_size'),
          missing('pipeline_model_parallel_layout'),
          missing('num_virtual_stages_per_pipeline_rank'),
          missing('num_layers_per_virtual_pipeline_stage'),
        ),
        on('moe_shared_expert_overlap'),
        above('mtp_num_layers', 1),
        all(graphsOf('transformer_engine'), has('cuda_graph_modules', 'moe', 'mlp')),
      ),
    ),
    fix: 'Meet what is missing, or set overlap_moe_expert_parallel_comm=False.',
    error: 'overlap_moe_expert_parallel_comm is only supported with expert model parallelism',
    source: `${TC}; ${MBO}`,
    evidence: 'asserted',
    statements: ['guide.ep-overlap-future', 'guide.ep-nvlink'],
    fails: [
      { config: overlap({ expert_model_parallel_size: 1 }) },
      { config: overlap({ moe_token_dispatcher_type: 'allgather' }) },
      { config: overlap({ bf16: false }) },
      { config: overlap({ pipeline_model_parallel_size: 4 }) },
      { config: overlap({ moe_shared_expert_overlap: true }) },
      { config: overlap({ mtp_num_layers: 2 }) },
      { config: overlap({ cuda_graph_impl: 'transformer_engine', cuda_graph_modules: ['attn', 'mlp'] }) },
    ],
    passes: [
      { config: overlap({}) },
      { config: overlap({ pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 2 }) },
      { config: overlap({ pipeline_model_parallel_size: 4, pipeline_model_parallel_layout: 'Et|t|t|tL' }) },
      { config: overlap({ moe_token_dispatcher_type: 'flex', mtp_num_layers: 1 }) },
      { config: { overlap_moe_expert_parallel_comm: false, expert_model_parallel_size: 1 } },
    ],
  },
  {
    // Apart from its neighbour, so that an unknown version leaves only this one undecided.
    id: 'ep-overlap-torch',
    severity: 'error',
    message: 'overlap_moe_expert_parallel_comm hangs before PyTorch 2.6 ({torch}).',
    when: OVERLAP,
    versions: [{ package: 'torch', before: '2.6' }],
    fix: 'Upgrade PyTorch, or set overlap_moe_expert_parallel_comm=False.',
    error: 'A2A Overlap encounters hang issue with torch version < 2.6.0',
    source: `${TC}; ${MBO}`,
    evidence: 'asserted',
    statements: [],
    fails: [{ config: overlap({}), versions: { torch: '2.5.1+cu124' } }],
    passes: [
      { config: overlap({}), versions: { torch: '2.6.0a0+ecf3bae40a.nv25.01' } },
      { config: { overlap_moe_expert_parallel_comm: false }, versions: { torch: '2.5.1' } },
    ],
    unknown: [{ config: overlap({}) }],
  },
  {
    id: 'dsv4-pp',
    severity: 'error',
    message:
      'Hyper connections (enable_mhc) work neither with pipeline parallelism nor with recompute of whole layers.',
    when: all(on('enable_mhc'), any(above('pipeline_model_parallel_size', 1), FULL)),
    fix: 'Use PP 1 and selective recompute (recompute_modules=[mhc]).',
    error: 'enable_hyper_connections is not supported with',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { enable_mhc: true, pipeline_model_parallel_size: 2 } },
      { config: { enable_mhc: true, recompute_granularity: 'full' } },
    ],
    passes: [
      { config: { enable_mhc: true, pipeline_model_parallel_size: 1, recompute_granularity: 'selective' } },
      { config: { enable_mhc: false, pipeline_model_parallel_size: 2 } },
    ],
  },
];
