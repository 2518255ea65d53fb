/** Activation recompute: drop in the forward pass, compute again in the backward pass. */
import type { RECOMPUTE_MODULES } from '../../../estimate/stages/settings.js';
import { sentencesOf } from '../../../model/statement.js';
import {
  type FixCode,
  type FixContext,
  hasFlashAttention,
  isSet,
  listOf,
  type Proposal,
  type Propose,
  settings,
  wordOf,
} from '../fix.js';

const fixText = sentencesOf('fixes');

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

function ofModule(module: Module, suits: (context: FixContext) => boolean, requires: readonly string[] = []): Propose {
  return (context) => {
    const inForce = modulesInForce(context);
    if (inForce === null || inForce.includes(module) || !suits(context)) return [];
    const change = selective(context, inForce, module);
    const dropped =
      inForce.includes('core_attn') && change.settings['recompute_modules']?.includes('core_attn') === false;
    return {
      title: `recompute_modules=${change.settings['recompute_modules']}`,
      change,
      requires: [...requires, ...(dropped ? [fixText('core_attn_leaves')] : [])],
    };
  };
}

export const isMoe = ({ config }: FixContext): boolean => config.experts !== null && config.experts > 0;

/** Some layers are dense: `mlp` is a no-op in those of experts. */
function hasDenseLayers({ config, view }: FixContext): boolean {
  if (config.experts === 0) return true;
  const frequency = listOf(view, 'moe_layer_freq');
  return frequency.includes('0') || Number(view.setting('moe_first_k_dense').value ?? 0) > 0;
}

export const RECOMPUTE_FIXES: FixCode = {
  'recompute-core-attn': ofModule('core_attn', ({ view }) => !hasFlashAttention(view)),
  'recompute-moe-act': ofModule('moe_act', isMoe, ['moe_grouped_gemm']),
  'recompute-mla-up-proj': ofModule('mla_up_proj', ({ view }) => isSet(view, 'multi_latent_attention')),
  'recompute-shared-experts': ofModule(
    'shared_experts',
    (context) => isMoe(context) && isSet(context.view, 'moe_shared_expert_intermediate_size'),
  ),
  'recompute-moe': ofModule('moe', isMoe),
  'recompute-mlp': ofModule('mlp', hasDenseLayers),

  'recompute-full': (context) => {
    const { view } = context;
    return {
      change: settings({
        recompute_granularity: 'full',
        recompute_method: 'uniform',
        recompute_num_layers: '1',
        ...(view.setting('recompute_modules').value === null ? {} : { recompute_modules: null }),
      }),
    };
  },
};
