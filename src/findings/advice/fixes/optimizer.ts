/** Optimizer state, gradients and weights: how they are stored, sharded, and what of them lives in host memory. */

import { sentencesOf, type Text } from '../../../model/statement.js';
import { experimentOf } from '../experiments.js';
import {
  costOf,
  type FixCode,
  type FixContext,
  isOlder,
  isSet,
  liveBytes,
  optimizerBytes,
  type Saving,
  settings,
  wordOf,
} from '../fix.js';

const fixText = sentencesOf('fixes');

/** The bytes that the fix changes a part of: from a snapshot where known, else from the estimator. */
function share(live: number | null, part: number, text: Text): { readonly saving?: Saving } {
  if (live === null || live === 0) return {};
  return {
    saving: {
      bytes: Math.round(live * part),
      by: 'attribution',
      text: fixText('part_of', { part: text, live_bytes: live }),
    },
  };
}

const isFsdp = ({ view }: FixContext): boolean => isSet(view, 'use_megatron_fsdp') || isSet(view, 'use_torch_fsdp2');

/** Fractions with a measured step time. */
const FRACTIONS = [0.25, 0.5, 0.75, 1].map((fraction) => ({
  fraction,
  experiment: experimentOf(`qwen-offload-${fraction}`),
}));

export const OPTIMIZER_FIXES: FixCode = {
  'distributed-optimizer': (context) => {
    const { config } = context;
    const dp = config.dp === null ? 1 : config.dp * (config.cp ?? 1);
    return dp < 2 ? [] : share(optimizerBytes(context), 1 - 1 / dp, fixText('all_but_one', { dp }));
  },

  'bf16-gradients': (context) => {
    const { view, config } = context;
    // Megatron-LM has an argument of its own, and writes the outcome into the other.
    const isExplicit = view.setting('grad_reduce_in_fp32').by === 'told';
    const key = isExplicit ? 'grad_reduce_in_fp32' : 'accumulate_allreduce_grads_in_fp32';
    if (!isSet(view, key) || !isSet(view, 'bf16')) return [];
    // A named recipe overwrites the field when training starts.
    const recipe = view.setting('mixed_precision').value;
    return {
      title: `${key}=False`,
      change: settings({ [key]: 'False' }),
      requires: [
        ...(recipe === null ? [] : [fixText('in_recipe', { recipe })]),
        ...(config.dp !== null && config.dp >= 128 ? [fixText('many_replicas')] : []),
      ],
      ...share(liveBytes(context.situation, 'gradient'), 0.5, fixText('half_of_gradients')),
    };
  },

  'fp8-parameters': (context) => {
    const { view } = context;
    const recipe = wordOf(view, 'fp8_recipe');
    return {
      change: settings({
        fp8_param_gather: 'True',
        // Without shards there is nothing to gather.
        ...(isFsdp(context) || isSet(view, 'use_distributed_optimizer') ? {} : { use_distributed_optimizer: 'True' }),
        ...(recipe === 'mxfp8' ? { reuse_grad_buf_for_mxfp8_param_ag: 'True' } : {}),
      }),
    };
  },

  'optimizer-offload': (context) => {
    const { view } = context;
    // How the model is trained is not known.
    if (context.config.layers === null && context.situation.components === null) return [];
    const inForce = isSet(view, 'optimizer_cpu_offload')
      ? Number(view.setting('optimizer_offload_fraction').value ?? 0)
      : 0;
    const live = optimizerBytes(context);
    const factorOf = (of: number): number =>
      FRACTIONS.find(({ fraction }) => fraction === of)?.experiment.step_factor ?? 1;
    return FRACTIONS.filter(({ fraction }) => fraction > inForce).map(({ fraction, experiment }) => {
      const factor = experiment.step_factor ?? 1;
      const percent = Math.round(1000 * (1 - factorOf(inForce) / factor)) / 10;
      const needs = [
        ...(isSet(view, 'use_distributed_optimizer') ? [] : ['use_distributed_optimizer']),
        ...(isSet(view, 'use_precision_aware_optimizer') ? [] : ['use_precision_aware_optimizer']),
      ];
      return {
        id: `optimizer-offload-${Math.round(fraction * 100)}`,
        title: fixText('offload', { fraction }),
        change: settings({
          optimizer_cpu_offload: 'True',
          optimizer_offload_fraction: String(fraction),
          overlap_cpu_optimizer_d2h_h2d: 'True',
          use_distributed_optimizer: 'True',
          use_precision_aware_optimizer: 'True',
          decoupled_weight_decay: 'True',
        }),
        requires: [fixText('host_room'), fixText('decoupled'), ...needs],
        ...(live === null || live === 0
          ? {}
          : {
              saving: {
                bytes: Math.round(live * (fraction - inForce)),
                by: 'attribution' as const,
                text: fixText('part_of_optimizer', {
                  percent: Math.round((fraction - inForce) * 100),
                  live_bytes: live,
                }),
              },
            }),
        cost: {
          ...costOf(experiment.id, fixText('step_factor', { factor }), 'qwen-offload-1-overlap'),
          percent,
        },
        disputes: [fixText('dispute_d25')],
      };
    });
  },

  'cross-entropy-fusion': ({ view }) => {
    // Megatron-Core refuses Transformer Engine's loss from 0.18.2 on, and warns of it before.
    const impl = isOlder(view, 'megatron_core', '0.18.2') ? 'te' : 'native';
    if (view.setting('cross_entropy_loss_fusion').by === 'unknown') return [];
    // Only Transformer Engine's loss works in the place of the bf16 logits; the native one keeps an fp32 copy.
    const inForce = wordOf(view, 'cross_entropy_fusion_impl') ?? 'native';
    const isFused = isSet(view, 'cross_entropy_loss_fusion') && (inForce === 'te' || inForce === impl);
    if (isFused || wordOf(view, 'transformer_impl') === 'local') return [];
    return {
      title: fixText('fusion', { impl }),
      change: settings({ cross_entropy_loss_fusion: 'True', cross_entropy_fusion_impl: impl }),
      requires: [fixText('last_stage'), ...(impl === 'te' ? [fixText('te_loss')] : [])],
    };
  },

  'optimizer-instances': ({ view, config }) => {
    const count = Number(view.setting('num_distributed_optimizer_instances').value);
    return config.dp === null ? [] : { title: fixText('instances', { count }) };
  },
};
