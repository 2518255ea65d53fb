/** Activation recompute: drop in the forward pass, compute again in the backward pass. */
import type { RECOMPUTE_MODULES } from '../../../estimate/stages/settings.js';
import { SOURCES } from '../../../knowledge/sources.js';
import { measured } from '../experiments.js';
import {
  byGuide,
  type Cost,
  costOf,
  type FixContext,
  type FixSpec,
  fixSpec,
  hasFlashAttention,
  isSet,
  listOf,
  type Proposal,
  settings,
  unmeasured,
  wordOf,
} from '../fix.js';

type Module = (typeof RECOMPUTE_MODULES)[number];

/** Modules in force; null where recompute is of whole layers, or unknown. */
export function modulesInForce({ view }: Pick<FixContext, 'view'>): readonly string[] | null {
  const granularity = view.setting('recompute_granularity');
  if (granularity.by === 'unknown') return null;
  const word = wordOf(view, 'recompute_granularity');
  if (word === 'full') return null;
  return word === 'selective' ? listOf(view, 'recompute_modules') : [];
}

/** Flash and fused attention recompute their core already, so that the module only adds cost to another one. */
function withModule({ view }: FixContext, inForce: readonly string[], module: Module): readonly string[] {
  const kept = inForce.filter((name) => name !== 'core_attn' || !hasFlashAttention(view));
  return [...new Set([...kept, module])];
}

function selective(context: FixContext, inForce: readonly string[], module: Module): Proposal['change'] {
  return settings({
    recompute_granularity: 'selective',
    recompute_modules: JSON.stringify(withModule(context, inForce, module)),
    // Megatron-Core refuses a number of layers with selective recompute.
    ...(context.view.setting('recompute_num_layers').value === null ? {} : { recompute_num_layers: null }),
    ...(context.view.setting('recompute_method').value === null ? {} : { recompute_method: null }),
  });
}

function ofModule(
  module: Module,
  cost: Cost,
  suits: (context: FixContext) => boolean,
  more: Pick<Proposal, 'requires' | 'disputes'> = {},
): FixSpec {
  const id = `recompute-${module.replaceAll('_', '-')}`;
  return fixSpec(id, (context) => {
    const inForce = modulesInForce(context);
    if (inForce === null || inForce.includes(module) || !suits(context)) return [];
    const change = selective(context, inForce, module);
    const dropped =
      inForce.includes('core_attn') && change.settings['recompute_modules']?.includes('core_attn') === false;
    return [
      {
        id,
        title: `recompute_modules=${change.settings['recompute_modules']}`,
        change,
        cost,
        ...more,
        requires: [
          ...(more.requires ?? []),
          ...(dropped ? ['core_attn leaves the list: next to it, it costs a little more speed and saves nothing'] : []),
        ],
      },
    ];
  });
}

const isMoe = ({ config }: FixContext): boolean => config.experts !== null && config.experts > 0;

/** Some layers are dense: `mlp` is a no-op in those of experts. */
function hasDenseLayers({ config, view }: FixContext): boolean {
  if (config.experts === 0) return true;
  const frequency = listOf(view, 'moe_layer_freq');
  return frequency.includes('0') || Number(view.setting('moe_first_k_dense').value ?? 0) > 0;
}

const coreAttention = ofModule(
  'core_attn',
  unmeasured('low, by the skill; no figure for unfused attention', [measured('moonlight-core_attn')]),
  ({ view }) => !hasFlashAttention(view),
  {
    disputes: [
      'D8: The recompute skill promises a moderate saving; measured with fused attention it is none. With unfused attention, as here, the skill is followed.',
    ],
  },
);

const moeAct = ofModule(
  'moe_act',
  costOf('moonlight-moe_act', 'its activation runs twice', 'nemotron-moe-act'),
  (context) => isMoe(context),
  { requires: ['moe_grouped_gemm'] },
);

const upProjection = ofModule(
  'mla_up_proj',
  costOf('moonlight-mla_up_proj', 'the up projections run twice'),
  ({ view }) => isSet(view, 'multi_latent_attention'),
);

const sharedExperts = ofModule(
  'shared_experts',
  unmeasured('moderate; no source has a figure'),
  (context) => isMoe(context) && isSet(context.view, 'moe_shared_expert_intermediate_size'),
);

const moe = ofModule(
  'moe',
  unmeasured('varies; the whole layer of experts runs twice, dispatch included', [measured('nemotron-moe')]),
  (context) => isMoe(context),
);

const mlp = ofModule('mlp', costOf('llama-mlp', 'against a run that recomputed core_attn'), hasDenseLayers);

const full = fixSpec('recompute-full', (context) => {
  const { view } = context;
  const granularity = view.setting('recompute_granularity');
  if (granularity.by === 'unknown' || wordOf(view, 'recompute_granularity') === 'full') return [];
  return [
    {
      id: 'recompute-full',
      title: 'recompute_granularity=full, method uniform, one layer each',
      change: settings({
        recompute_granularity: 'full',
        recompute_method: 'uniform',
        recompute_num_layers: '1',
        ...(view.setting('recompute_modules').value === null ? {} : { recompute_modules: null }),
      }),
      requires: ['granularity, method and number of layers set together'],
      // A step that takes 1.3 times as long.
      cost: byGuide(23.1, 'about 30 % more compute', [
        { text: 'recomputing whole blocks costs about 30 % extra compute', grade: 'documented', source: SOURCES.perf },
      ]),
      disputes: [
        'D11: The performance guides recompute the first layers of a stage (block), the skill groups of layers (uniform); both are legal. Uniform by single layers saves the most.',
      ],
    },
  ];
});

export const RECOMPUTE_FIXES: readonly FixSpec[] = [coreAttention, moeAct, upProjection, sharedExperts, moe, mlp, full];

export { isMoe };
