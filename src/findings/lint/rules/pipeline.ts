/** How layers are spread over pipeline stages. */
import {
  above,
  all,
  any,
  below,
  type Condition,
  given,
  missing,
  numbers,
  off,
  on,
  where,
} from '../../settings/condition.js';
import { asNumber } from '../../settings/values.js';
import type { View } from '../../settings/view.js';
import type { LintRule } from '../rule.js';
import { IN_MEGATRON_LM } from './mapping-terms.js';
import { ARG, TC } from './sources.js';

/** Layers and stages as a configuration asks for them; the first and last stage may hold a number of their own. */
interface Split {
  readonly layers: number;
  readonly pp: number;
  readonly vpp: number;
  readonly first: number | null;
  readonly last: number | null;
}

const KEYS = [
  'num_layers',
  'pipeline_model_parallel_size',
  'virtual_pipeline_model_parallel_size',
  'num_layers_in_first_pipeline_stage',
  'num_layers_in_last_pipeline_stage',
  'account_for_embedding_in_pipeline_split',
  'account_for_loss_in_pipeline_split',
  'pipeline_model_parallel_layout',
] as const;

/** False where a layout says itself which layer goes where, and where there is one stage only. */
function split(text: string, broken: (split: Split) => boolean): Condition {
  return where(text, (view: View) => {
    const [layers, pp, vpp, first, last, embedding, loss, layout] = KEYS.map((key) => view.setting(key));
    const stages = asNumber(pp!.value) ?? 1;
    if (pp!.by !== 'unknown' && stages <= 1) return [false, pp!];
    if (layout!.value !== null) return [false, layout!];
    const found = [layers!, pp!, vpp!, first!, last!, embedding!, loss!, layout!];
    const unknown = found.filter(({ by }) => by === 'unknown');
    if (unknown.length > 0) return [null, ...unknown, ...found.filter(({ by }) => by === 'told')];
    const count = asNumber(layers!.value);
    if (count === null) return [false, layers!];
    // An embedding or a head that is accounted for stands for one layer.
    const more = [embedding!, loss!].filter(({ value }) => /^true$/i.test(value ?? '')).length;
    const value = broken({
      layers: count + more,
      pp: stages,
      vpp: Math.max(1, asNumber(vpp!.value) ?? 1),
      first: asNumber(first!.value),
      last: asNumber(last!.value),
    });
    return [value, ...found.filter(({ key, by }) => by === 'told' || key === 'num_layers')];
  });
}

/** Layers and stages that are left between the first and the last, where those have numbers of their own. */
function middle({ layers, pp, first, last }: Split): { readonly layers: number; readonly stages: number } {
  return {
    layers: layers - (first ?? 0) - (last ?? 0),
    stages: pp - (first === null ? 0 : 1) - (last === null ? 0 : 1),
  };
}

function leavesRest(whole: Split): boolean {
  const { first, last } = whole;
  if ((first !== null && first <= 0) || (last !== null && last <= 0)) return true;
  const rest = middle(whole);
  return rest.stages <= 0 ? rest.layers !== 0 : rest.layers % rest.stages !== 0;
}

function chunksUneven(whole: Split): boolean {
  const { vpp, first, last } = whole;
  if (vpp === 1 || leavesRest(whole)) return false;
  const { layers, stages } = middle(whole);
  const each = [first, last, stages > 0 ? layers / stages : null].filter((count) => count !== null);
  return each.some((count) => count % vpp !== 0);
}

const twoOf = (...keys: readonly string[]): Condition =>
  any(...keys.flatMap((key, index) => keys.slice(index + 1).map((other) => all(given(key), given(other)))));

const EVEN = {
  num_layers_in_first_pipeline_stage: null,
  num_layers_in_last_pipeline_stage: null,
  account_for_embedding_in_pipeline_split: false,
  account_for_loss_in_pipeline_split: false,
  pipeline_model_parallel_layout: null,
  virtual_pipeline_model_parallel_size: null,
} as const;

export const PIPELINE_RULES: readonly LintRule[] = [
  {
    id: 'pp-div',
    severity: 'error',
    message:
      '{num_layers} layers cannot be divided among {pipeline_model_parallel_size} pipeline stages as the configuration asks.',
    when: split('layers left over after division among pipeline stages', leavesRest),
    fix: 'Choose a PP that divides num_layers, or set num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage so that the stages between divide the rest, or write a pipeline_model_parallel_layout.',
    error: 'must be divisible by pipeline_model_parallel_size',
    source: `${TC}; ${ARG}`,
    evidence: 'asserted',
    statements: ['guide.asym-stages'],
    fails: [
      { config: { ...EVEN, num_layers: 61, pipeline_model_parallel_size: 4 } },
      {
        config: {
          ...EVEN,
          num_layers: 61,
          pipeline_model_parallel_size: 4,
          num_layers_in_first_pipeline_stage: 14,
          num_layers_in_last_pipeline_stage: 14,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 32,
          pipeline_model_parallel_size: 4,
          account_for_embedding_in_pipeline_split: true,
          account_for_loss_in_pipeline_split: true,
        },
      },
      {
        config: { ...EVEN, num_layers: 32, pipeline_model_parallel_size: 4, num_layers_in_first_pipeline_stage: 0 },
      },
    ],
    passes: [
      { config: { ...EVEN, num_layers: 80, pipeline_model_parallel_size: 4 } },
      { config: { ...EVEN, num_layers: 61, pipeline_model_parallel_size: 1 } },
      {
        config: {
          ...EVEN,
          num_layers: 61,
          pipeline_model_parallel_size: 4,
          num_layers_in_first_pipeline_stage: 15,
          num_layers_in_last_pipeline_stage: 14,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 126,
          pipeline_model_parallel_size: 8,
          account_for_embedding_in_pipeline_split: true,
          account_for_loss_in_pipeline_split: true,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 61,
          pipeline_model_parallel_size: 4,
          pipeline_model_parallel_layout: 'Et*15|t*16|t*16|t*14L',
        },
      },
    ],
    unknown: [{ config: { ...EVEN, pipeline_model_parallel_size: 4 } }],
  },
  {
    id: 'vpp-div',
    severity: 'error',
    message: 'The layers of a pipeline stage cannot be divided into virtual stages of one size.',
    when: any(
      split('layers of a stage left over after division by virtual stages', chunksUneven),
      all(
        missing('num_virtual_stages_per_pipeline_rank'),
        numbers(
          'num_layers / pipeline_model_parallel_size not a multiple of num_layers_per_virtual_pipeline_stage',
          ['num_layers_per_virtual_pipeline_stage', 'num_layers', 'pipeline_model_parallel_size'],
          (each, layers, pp) => layers! % pp! === 0 && (layers! / pp!) % each! !== 0,
        ),
      ),
    ),
    fix: 'Choose virtual_pipeline_model_parallel_size so that it divides the layers of each stage (num_layers / PP).',
    error: 'must be divisible by virtual pipeline parallel degree',
    source: `${TC}; ${ARG}`,
    evidence: 'asserted',
    statements: ['mem.vpp-divisible', 'mem.vpp-enable'],
    fails: [
      {
        config: {
          ...EVEN,
          num_layers: 80,
          pipeline_model_parallel_size: 4,
          virtual_pipeline_model_parallel_size: 3,
          num_layers_per_virtual_pipeline_stage: null,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 80,
          pipeline_model_parallel_size: 4,
          num_layers_per_virtual_pipeline_stage: 3,
          num_virtual_stages_per_pipeline_rank: null,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 62,
          pipeline_model_parallel_size: 4,
          virtual_pipeline_model_parallel_size: 2,
          num_layers_in_first_pipeline_stage: 15,
          num_layers_in_last_pipeline_stage: 15,
          num_layers_per_virtual_pipeline_stage: null,
        },
      },
    ],
    passes: [
      {
        config: {
          ...EVEN,
          num_layers: 80,
          pipeline_model_parallel_size: 4,
          virtual_pipeline_model_parallel_size: 5,
          num_layers_per_virtual_pipeline_stage: null,
          num_virtual_stages_per_pipeline_rank: null,
        },
      },
      {
        config: {
          ...EVEN,
          num_layers: 80,
          pipeline_model_parallel_size: 4,
          num_layers_per_virtual_pipeline_stage: 4,
          num_virtual_stages_per_pipeline_rank: null,
        },
      },
    ],
  },
  {
    id: 'vpp-pp',
    severity: 'error',
    message: 'Interleaved stages need more pipeline stages than {pipeline_model_parallel_size}.',
    when: any(
      all(above('virtual_pipeline_model_parallel_size', 1), below('pipeline_model_parallel_size', 2)),
      all(
        IN_MEGATRON_LM,
        above('virtual_pipeline_model_parallel_size', 1),
        below('pipeline_model_parallel_size', 3),
        off('overlap_p2p_comm'),
      ),
    ),
    fix: 'Drop virtual_pipeline_model_parallel_size, or use PP 2 with overlapped send and receive, or PP 3 and more.',
    error: 'When interleaved schedule is used',
    source: `${ARG}; Megatron-LM megatron/core/parallel_state.py initialize_model_parallel`,
    evidence: 'asserted',
    statements: ['mem.vpp-enable', 'guide.vpp-with-pp', 'guide.pp-p2p-steady'],
    fails: [
      { config: { pipeline_model_parallel_size: 1, virtual_pipeline_model_parallel_size: 2 } },
      {
        config: {
          pipeline_model_parallel_size: 2,
          virtual_pipeline_model_parallel_size: 2,
          overlap_p2p_comm: false,
        },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      { config: { pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 5 } },
      {
        config: { pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, overlap_p2p_comm: true },
        framework: 'megatron-lm',
      },
      {
        config: { pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, overlap_p2p_comm: false },
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'vpp-two',
    severity: 'error',
    message: 'The number of virtual stages is told in more than one way.',
    when: all(
      IN_MEGATRON_LM,
      twoOf(
        'num_layers_per_virtual_pipeline_stage',
        'num_virtual_stages_per_pipeline_rank',
        'pipeline_model_parallel_layout',
      ),
    ),
    fix: 'Keep one of --num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank and --pipeline-model-parallel-layout.',
    error: 'No more than one of the following arguments can be set at the same time',
    source: ARG,
    evidence: 'asserted',
    statements: [],
    fails: [
      {
        config: { num_layers_per_virtual_pipeline_stage: 4, num_virtual_stages_per_pipeline_rank: 2 },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: {
          num_layers_per_virtual_pipeline_stage: 4,
          num_virtual_stages_per_pipeline_rank: null,
          pipeline_model_parallel_layout: null,
        },
        framework: 'megatron-lm',
      },
    ],
  },
  {
    id: 'pp-layout',
    severity: 'error',
    message: 'pipeline_model_parallel_layout stands beside other settings that spread layers over stages.',
    when: all(
      given('pipeline_model_parallel_layout'),
      any(
        given('num_layers_in_first_pipeline_stage'),
        given('num_layers_in_last_pipeline_stage'),
        on('account_for_embedding_in_pipeline_split'),
        on('account_for_loss_in_pipeline_split'),
      ),
    ),
    fix: 'The layout says where the embedding (E) and the loss (L) go: drop the other settings.',
    error: 'pipeline_model_parallel_layout cannot be set with other pipeline layout arguments',
    source: TC,
    evidence: 'asserted',
    statements: [],
    fails: [
      { config: { pipeline_model_parallel_layout: 'Et*4|t*4L', account_for_loss_in_pipeline_split: true } },
      { config: { pipeline_model_parallel_layout: 'Et*4|t*4L', num_layers_in_first_pipeline_stage: 4 } },
    ],
    passes: [
      { config: { ...EVEN, pipeline_model_parallel_layout: 'Et*4|t*4L' } },
      { config: { ...EVEN, account_for_loss_in_pipeline_split: true } },
    ],
  },
  {
    id: 'embed-split',
    severity: 'error',
    message:
      'The embedding or the loss is accounted for as a layer while the first or last stage has a number of layers of its own.',
    when: all(
      any(on('account_for_embedding_in_pipeline_split'), on('account_for_loss_in_pipeline_split')),
      any(given('num_layers_in_first_pipeline_stage'), given('num_layers_in_last_pipeline_stage')),
    ),
    fix: 'Keep one of the two: account_for_embedding/loss_in_pipeline_split, or num_layers_in_first/last_pipeline_stage.',
    error: 'cannot be set at the same time with account_for_embedding_in_pipeline_split',
    source: TC,
    evidence: 'asserted',
    statements: ['guide.asym-stages'],
    fails: [
      { config: { account_for_embedding_in_pipeline_split: true, num_layers_in_first_pipeline_stage: 7 } },
      { config: { account_for_loss_in_pipeline_split: true, num_layers_in_last_pipeline_stage: 7 } },
    ],
    passes: [
      { config: { ...EVEN, account_for_embedding_in_pipeline_split: true } },
      { config: { ...EVEN, num_layers_in_first_pipeline_stage: 7 } },
    ],
  },
];
