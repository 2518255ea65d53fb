/**
 * How the model is cut over GPUs. What a cut saves is paid with replicas, so with more micro-batches each, unless there
 * are more GPUs.
 */

import { sentencesOf } from '../../../model/statement.js';
import { experimentOf, lostPercent, measured } from '../experiments.js';
import { type FixCode, type FixContext, isSet, isUnset, type Proposal, settings, unmeasured, wordOf } from '../fix.js';
import { isMoe } from './recompute.js';

const fixText = sentencesOf('fixes');

/** GPUs that one NVLink domain joins on everything but racks of 72. */
const NVLINK_DOMAIN = 8;

/** Of another layout: the percentage is printed, and not taken over. */
const PP_COST = unmeasured(fixText('pp_cost', { percent: lostPercent(experimentOf('llama-pp8')) }), [
  measured('llama-pp8'),
]);

const TP_COST = unmeasured(fixText('tp_cost', { percent: lostPercent(experimentOf('llama-tp8')) }), [
  measured('llama-tp8'),
]);

/** A pipeline laid out by hand, or uneven on purpose, cannot be cut again without thought. */
function hasOwnLayout({ view }: FixContext): boolean {
  return [
    'pipeline_model_parallel_layout',
    'num_layers_in_first_pipeline_stage',
    'num_layers_in_last_pipeline_stage',
  ].some((key) => view.setting(key).value !== null);
}

/** The most virtual stages up to those in force that still divide a stage's layers. */
function virtualStages(vpp: number | null, perStage: number): number | null {
  if (vpp === null || vpp <= 1) return null;
  for (let count = Math.min(vpp, perStage); count > 1; count -= 1) if (perStage % count === 0) return count;
  return null;
}

/** A world of so many GPUs holds whole groups of experts. */
function fitsExperts(
  { config }: FixContext,
  world: number,
  sizes: { readonly pp: number; readonly etp: number; readonly ep: number },
): boolean {
  return config.experts === 0 || config.experts === null || world % (sizes.pp * sizes.etp * sizes.ep) === 0;
}

export const PARALLEL_FIXES: FixCode = {
  pp: (context) => {
    const { pp, vpp, dp, world, layers, etp, ep } = context.config;
    if (
      pp === null ||
      layers === null ||
      hasOwnLayout(context) ||
      isSet(context.view, 'account_for_embedding_in_pipeline_split')
    )
      return [];
    // The next number of stages that divides the layers, at most four times as many.
    let stages = 0;
    for (let count = pp + 1; count <= Math.min(4 * pp, layers); count += 1)
      if (layers % count === 0 && count % pp === 0) {
        stages = count;
        break;
      }
    if (stages === 0) return [];
    const chunks = virtualStages(vpp, layers / stages);
    const factor = stages / pp;
    const change: Record<string, string | null> = { pipeline_model_parallel_size: String(stages) };
    if ((vpp ?? 1) > 1 && chunks !== vpp)
      change['virtual_pipeline_model_parallel_size'] = chunks === null ? null : String(chunks);
    if (pp === 1 && context.view.setting('pipeline_dtype').value === null && isSet(context.view, 'bf16'))
      change['pipeline_dtype'] = 'bfloat16';
    const asked =
      chunks === vpp || (vpp ?? 1) <= 1 ? [] : [fixText('vpp', { chunks: chunks ?? 'off', layers: layers / stages })];
    const proposals: Proposal[] = [];
    const groups = { pp: stages, etp: etp ?? 1, ep: ep ?? 1 };
    if (dp !== null && dp % factor === 0 && (world === null || fitsExperts(context, world, groups)))
      proposals.push({
        id: `pp-${stages}`,
        title: fixText('pp_same', { from: pp, to: stages, dp, dp_after: dp / factor }),
        change: settings(change),
        requires: asked,
        cost: PP_COST,
        disputes: [fixText('dispute_d3')],
      });
    if (world !== null && dp !== null && fitsExperts(context, world * factor, groups))
      proposals.push({
        id: `pp-${stages}-more-gpus`,
        title: fixText('pp_more', { from: pp, to: stages, world: world * factor, dp }),
        change: settings({ ...change, world_size: String(world * factor) }),
        requires: [...asked, fixText('gpus_instead', { world: world * factor, before: world })],
        cost: unmeasured(fixText('larger_bubble')),
      });
    return proposals;
  },

  tp: (context) => {
    const { view, config } = context;
    const { tp, dp, etp, ep, pp, world } = config;
    if (tp === null || dp === null) return [];
    const doubled = 2 * tp;
    if (doubled > NVLINK_DOMAIN || dp % 2 !== 0) return [];
    // Experts follow TP unless their own size is explicit.
    const experts =
      view.setting('expert_tensor_parallel_size').by === 'told' ? (etp ?? 1) : isMoe(context) ? doubled : 1;
    if (world !== null && !fitsExperts(context, world, { pp: pp ?? 1, etp: experts, ep: ep ?? 1 })) return [];
    return {
      id: `tp-${doubled}`,
      title: fixText('tp_same', { from: tp, to: doubled, dp, dp_after: dp / 2 }),
      change: settings({
        tensor_model_parallel_size: String(doubled),
        ...(tp === 1 && isUnset(view, 'sequence_parallel') ? { sequence_parallel: 'True' } : {}),
      }),
      cost: TP_COST,
    };
  },

  'sequence-parallel': ({ view }) => ({
    change: settings({
      sequence_parallel: 'True',
      ...(isSet(view, 'distribute_saved_activations') ? { distribute_saved_activations: 'False' } : {}),
    }),
  }),

  cp: (context) => {
    const { cp, dp, seq, hidden, world } = context.config;
    if (cp === null || seq === null || hidden === null) return [];
    const doubled = 2 * cp;
    // Shorter chunks than the hidden size are skinny: slower, for what other fixes save cheaper.
    if (seq / doubled < hidden) return [];
    const onSame = dp !== null && dp % 2 === 0;
    if (!onSame && world === null) return [];
    return {
      id: `cp-${doubled}`,
      title: onSame
        ? fixText('cp_same', { from: cp, to: doubled, dp, dp_after: dp / 2 })
        : fixText('cp_more', { from: cp, to: doubled, world: 2 * (world ?? 0) }),
      change: settings({
        context_parallel_size: String(doubled),
        ...(onSame ? {} : { world_size: String(2 * (world ?? 0)) }),
      }),
      requires: onSame ? [] : [fixText('gpus_instead', { world: 2 * (world ?? 0), before: world })],
    };
  },

  ep: (context) => {
    const { ep, etp, pp, world, experts } = context.config;
    if (experts === null || experts === 0 || ep === null || pp === null || world === null) return [];
    const doubled = 2 * ep;
    if (experts % doubled !== 0 || world % (doubled * (etp ?? 1) * pp) !== 0) return [];
    return {
      id: `ep-${doubled}`,
      title: fixText('ep_same', { from: ep, to: doubled }),
      change: settings({ expert_model_parallel_size: String(doubled) }),
      requires: doubled > NVLINK_DOMAIN ? [fixText('ep_crosses')] : [],
    };
  },

  'megatron-fsdp': (context) => {
    const { view, config } = context;
    if (config.dp === null || config.dp < 2) return [];
    const connections = view.env('CUDA_DEVICE_MAX_CONNECTIONS');
    const saves = view.setting('save').value !== null || view.setting('load').value !== null;
    const format = wordOf(view, 'ckpt_format');
    return {
      change: {
        settings: {
          use_megatron_fsdp: 'True',
          data_parallel_sharding_strategy: 'optim_grads_params',
          use_distributed_optimizer: 'True',
          ...(format === 'fsdp_dtensor' && !saves ? {} : { ckpt_format: 'fsdp_dtensor' }),
        },
        env: connections.value === '1' ? { CUDA_DEVICE_MAX_CONNECTIONS: null } : {},
      },
      requires: [fixText('fsdp_checkpoints'), ...(connections.value === '1' ? [fixText('connections')] : [])],
    };
  },

  /** One layer fewer on the full stage for every other stage, which get one more each. */
  'rebalance-layers': (context) => {
    const { config, situation } = context;
    const { pp, vpp, layers } = config;
    const { stage } = situation;
    if (pp === null || pp < 2 || layers === null || layers % pp !== 0 || hasOwnLayout(context)) return [];
    const isFirst = stage === 0;
    if (!isFirst && stage !== pp - 1) return [];
    const perStage = layers / pp;
    const chunks = Math.max(1, vpp ?? 1);
    const moved = chunks * (pp - 1);
    const kept = perStage - moved;
    if (kept < chunks || kept % chunks !== 0 || (perStage + chunks) % chunks !== 0) return [];
    const key = isFirst ? 'num_layers_in_first_pipeline_stage' : 'num_layers_in_last_pipeline_stage';
    const percent = Math.round((1000 * chunks) / (perStage + chunks)) / 10;
    return {
      title: fixText('rebalance', { key, kept, layers: perStage + chunks, before: perStage }),
      change: settings({ [key]: String(kept) }),
      cost: {
        percent,
        by: 'computed',
        on: null,
        text: fixText('slowest'),
        evidence: [],
      },
    };
  },
};
