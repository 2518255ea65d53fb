/** Activations: fewer at once, or in host memory. */

import { sentencesOf } from '../../../model/statement.js';
import { type FixCode, isSet, isUnset, listOf, liveBytes, settings, wordOf } from '../fix.js';
import type { StepFigures } from '../sufficiency.js';
import { isMoe, modulesInForce } from './recompute.js';

const fixText = sentencesOf('fixes');

/** Without the request, which the estimate does not have. */
function fitsAsEstimated({ limitBytes, estimatedBytes }: StepFigures): boolean | null {
  return limitBytes !== null && estimatedBytes !== null && estimatedBytes <= limitBytes ? true : null;
}

export const ACTIVATION_FIXES: FixCode = {
  'lora-regather': (context) => {
    const { view } = context;
    const adapter = `${wordOf(view, 'peft_scheme')} ${wordOf(view, 'peft._target_')}`;
    return /lora/.test(adapter) && modulesInForce(context)?.includes('mlp') === false;
  },

  'micro-batch': ({ config }) => {
    const { mbs } = config;
    if (mbs === null || mbs < 2 || mbs % 2 !== 0) return [];
    return {
      id: `micro-batch-${mbs / 2}`,
      title: fixText('micro_batch', { from: mbs, to: mbs / 2 }),
      change: settings({ micro_batch_size: String(mbs / 2) }),
    };
  },

  'packed-length': ({ view }) => {
    const packedSize = view.setting('packed_sequence_size');
    const size = Number(packedSize.value);
    if (packedSize.value === null || !Number.isInteger(size) || size < 2048 || size % 2 !== 0) return [];
    return {
      title: fixText('packed', { from: size, to: size / 2 }),
      change: settings({ packed_sequence_size: String(size / 2) }),
    };
  },

  'activation-offload': (context) => {
    const layers = Math.ceil(context.config.layers! / 2);
    // Recompute of what flash attention recomputes anyway is dropped without a loss; any other recompute conflicts with
    // offload.
    const modules = modulesInForce(context);
    const idle = modules?.every((name) => name === 'core_attn') === true;
    return {
      title: fixText('offload_layers', { layers }),
      change: settings({
        cpu_offloading: 'True',
        cpu_offloading_num_layers: String(layers),
        cpu_offloading_activations: 'True',
        cpu_offloading_weights: 'False',
        ...(idle && modules !== null && modules.length > 0
          ? { recompute_granularity: null, recompute_modules: null }
          : {}),
      }),
    };
  },

  'fine-grained-offload': (context) => {
    const { view } = context;
    const recomputed = modulesInForce(context);
    if (recomputed === null) return [];
    const usualModules = isMoe(context) ? ['expert_fc1', 'moe_act'] : ['core_attn', 'attn_proj'];
    // What is recomputed is not kept, so there is nothing to move.
    const modules = usualModules.filter((name) => !recomputed.includes(name));
    if (modules.length === 0 || (modules.includes('attn_proj') && !modules.includes('core_attn'))) return [];
    if (listOf(view, 'offload_modules').length > 0) return [];
    return {
      title: fixText('fine_grained', { modules: JSON.stringify(modules) }),
      change: {
        settings: {
          fine_grained_activation_offloading: 'True',
          offload_modules: JSON.stringify(modules),
        },
        env: { NVTE_CPU_OFFLOAD_V1: '1' },
      },
    };
  },

  'sequence-length': ({ config, view }) => {
    const { seq } = config;
    if (seq === null || seq < 2048 || seq % 2 !== 0 || view.setting('packed_sequence_size').value !== null) return [];
    return {
      title: fixText('sequence', { from: seq, to: seq / 2 }),
      change: settings({ seq_length: String(seq / 2) }),
    };
  },

  /** Without it, each weight gradient is a tensor of its own until it is added to the buffer. */
  'weight-gradient-fusion': ({ view }) => {
    const fusion = view.setting('gradient_accumulation_fusion');
    // Torch's FSDP2 does not work with it.
    return fusion.by === 'told' && fusion.value === 'False' && !isSet(view, 'use_torch_fsdp2');
  },

  /** The scores of every position against every other, which only unfused attention keeps. */
  'fused-attention': ({ situation, step, view }) => {
    const { request } = situation.verdict;
    if (request === null || !/dot_product_attention|core_attn/.test(request.site ?? '')) return [];
    const backend = wordOf(view, 'attention_backend');
    if (backend === 'flash' || backend === 'fused') return [];
    return {
      change: {
        settings: {
          attention_backend: 'flash',
          ...(wordOf(view, 'transformer_impl') === 'local' ? { transformer_impl: 'transformer_engine' } : {}),
        },
        // They take precedence over the setting, or contradict it.
        env: Object.fromEntries(
          ['NVTE_FLASH_ATTN', 'NVTE_FUSED_ATTN', 'NVTE_UNFUSED_ATTN']
            .filter((name) => view.env(name).value !== null)
            .map((name) => [name, null]),
        ),
      },
      saving: { bytes: request.bytes, by: 'message', text: fixText('scores'), closes: fitsAsEstimated(step) },
    };
  },

  /** A mask of every position against every other: 2 to 4 bytes × the square of the sequence length. */
  'attention-mask-off': ({ situation, step, view }) => {
    const mask = view.setting('create_attention_mask_in_dataloader');
    const asked = situation.verdict.request?.bytes ?? null;
    if (mask.by === 'unknown' || mask.value === 'False' || asked === null) return [];
    return {
      saving: {
        bytes: asked,
        by: 'message',
        text: fixText('mask'),
        closes: fitsAsEstimated(step),
      },
    };
  },

  'sharded-checkpoint': ({ situation, view }) => {
    const format = wordOf(view, 'ckpt_format');
    if (format === 'torch_dist' && !isUnset(view, 'ckpt_fully_parallel_save')) return [];
    const copies = liveBytes(situation, 'checkpoint');
    return {
      saving: {
        bytes: copies === 0 ? null : copies,
        by: copies === null || copies === 0 ? null : 'attribution',
        text: fixText('checkpoint_copies'),
        closes: null,
      },
    };
  },
};
