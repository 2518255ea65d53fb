/** Activations: fewer at once, or in host memory. */

import {
  costOf,
  type FixSpec,
  fixSpec,
  freeByDesign,
  isOlder,
  isSet,
  isUnset,
  listOf,
  liveBytes,
  settings,
  unmeasured,
  wordOf,
} from '../fix.js';
import type { StepFigures } from '../sufficiency.js';
import { hasGraphs } from './allocator.js';
import { isMoe, modulesInForce } from './recompute.js';

const regather = fixSpec('lora-regather', (context) => {
  const { view, config } = context;
  const adapter = `${wordOf(view, 'peft_scheme')} ${wordOf(view, 'peft._target_')}`;
  if (!/lora/.test(adapter) || !isSet(view, 'sequence_parallel') || config.tp === null || config.tp < 2) return [];
  if (isSet(view, 'sequence_parallel_input_regather') || hasGraphs(context) || isSet(view, 'cpu_offloading')) return [];
  const modules = modulesInForce(context);
  if (modules === null || modules.includes('mlp')) return [];
  return [
    {
      id: 'lora-regather',
      title: 'sequence_parallel_input_regather=True of the LoRA configuration',
      change: settings({ sequence_parallel_input_regather: 'True' }),
      saving: { bytes: null, by: null, text: '−4.73, −1.57 and −0.81 GB on three models' },
      cost: costOf('lora-regather-1', '0.3 to 6.7 %, the more the more it saves', 'lora-regather-2', 'lora-regather-3'),
    },
  ];
});

const microBatch = fixSpec('micro-batch', ({ config }) => {
  const { mbs } = config;
  if (mbs === null || mbs < 2 || mbs % 2 !== 0) return [];
  return [
    {
      id: `micro-batch-${mbs / 2}`,
      title: `micro_batch_size ${mbs} → ${mbs / 2}, the global batch unchanged`,
      change: settings({ micro_batch_size: String(mbs / 2) }),
      cost: unmeasured('smaller kernels and twice the accumulation steps; no source has a figure'),
    },
  ];
});

const packed = fixSpec('packed-length', ({ view }) => {
  const packedSize = view.setting('packed_sequence_size');
  const size = Number(packedSize.value);
  if (packedSize.value === null || !Number.isInteger(size) || size < 2048 || size % 2 !== 0) return [];
  return [
    {
      id: 'packed-length',
      title: `packed_sequence_size ${size} → ${size / 2}`,
      change: settings({ packed_sequence_size: String(size / 2) }),
      requires: ['no single sequence is longer'],
      saving: { bytes: null, by: null, text: 'activations go with the length of a pack: about half of them' },
      cost: unmeasured('fewer sequences a pack; no source has a figure'),
    },
  ];
});

const hostLayers = fixSpec('activation-offload', (context) => {
  const { view, config } = context;
  if (!isUnset(view, 'cpu_offloading') || config.layers === null || config.layers < 2) return [];
  const layers = Math.ceil(config.layers / 2);
  // Recompute of what flash attention recomputes anyway is dropped without a loss; any other recompute conflicts with
  // offload.
  const modules = modulesInForce(context);
  const idle = modules?.every((name) => name === 'core_attn') === true;
  return [
    {
      id: 'activation-offload',
      title: `cpu_offloading=True of ${layers} layers`,
      change: settings({
        cpu_offloading: 'True',
        cpu_offloading_num_layers: String(layers),
        cpu_offloading_activations: 'True',
        cpu_offloading_weights: 'False',
        ...(idle && modules !== null && modules.length > 0
          ? { recompute_granularity: null, recompute_modules: null }
          : {}),
      }),
      requires: [
        'PP 1, no recompute, no CUDA graphs but full_iteration',
        'room for the activations in host memory, shared by the GPUs of a host',
        'NCCL_NET_GDR_LEVEL=PHB (NCCL up to 2.25) or NCCL_NET_GDR_C2C=1 (from 2.26), else it collides with the network',
      ],
      cost: unmeasured('bound by transfers; far less on Grace than on x86 hosts'),
      disputes: [
        'D9: The recompute skill calls offload free of compute cost, the offloading skill states that it always costs. It costs unless transfers are hidden, so the latter is followed.',
      ],
    },
  ];
});

const fineGrained = fixSpec('fine-grained-offload', (context) => {
  const { view } = context;
  // Older releases do not have it; an unknown release is taken for newer, and the fix states what it needs.
  if (isOlder(view, 'megatron_core', '0.16')) return [];
  if (!isUnset(view, 'fine_grained_activation_offloading') || wordOf(view, 'transformer_impl') === 'local') return [];
  const recomputed = modulesInForce(context);
  if (recomputed === null) return [];
  const usualModules = isMoe(context) ? ['expert_fc1', 'moe_act'] : ['core_attn', 'attn_proj'];
  // What is recomputed is not kept, so there is nothing to move.
  const modules = usualModules.filter((name) => !recomputed.includes(name));
  if (modules.length === 0 || (modules.includes('attn_proj') && !modules.includes('core_attn'))) return [];
  if (listOf(view, 'offload_modules').length > 0) return [];
  return [
    {
      id: 'fine-grained-offload',
      title: `fine_grained_activation_offloading=True, offload_modules=${JSON.stringify(modules)}`,
      change: {
        settings: {
          fine_grained_activation_offloading: 'True',
          offload_modules: JSON.stringify(modules),
        },
        env: { NVTE_CPU_OFFLOAD_V1: '1' },
      },
      requires: ['Megatron-Core 0.16 or newer', 'room in host memory'],
      cost: unmeasured('transfers, hidden where the host link is fast; no source has a figure'),
    },
  ];
});

const shorter = fixSpec('sequence-length', ({ config, view }) => {
  const { seq } = config;
  if (seq === null || seq < 2048 || seq % 2 !== 0 || view.setting('packed_sequence_size').value !== null) return [];
  return [
    {
      id: 'sequence-length',
      title: `seq_length ${seq} → ${seq / 2}`,
      change: settings({ seq_length: String(seq / 2) }),
      requires: ['the data may be cut: it changes what is trained'],
      cost: unmeasured('fewer tokens a step; no source has a figure'),
    },
  ];
});

const expertCapacity = fixSpec('expert-capacity', (context) => {
  const { view } = context;
  if (!isMoe(context) || view.setting('moe_expert_capacity_factor').value !== null) return [];
  return [
    {
      id: 'expert-capacity',
      title: 'moe_expert_capacity_factor=1.25',
      change: settings({ moe_expert_capacity_factor: '1.25' }),
      requires: ['tokens above it are dropped: watch the loss'],
      saving: { bytes: null, by: null, text: 'limits what one expert gets; how many bytes depends on the router' },
      cost: unmeasured('no source has a figure'),
    },
  ];
});

const permuteFusion = fixSpec('moe-permute-fusion', (context) => {
  const { view } = context;
  if (!isMoe(context) || !isUnset(view, 'moe_permute_fusion') || isOlder(view, 'transformer_engine', '2.1')) return [];
  return [
    {
      id: 'moe-permute-fusion',
      title: 'moe_permute_fusion=True',
      change: settings({ moe_permute_fusion: 'True' }),
      saving: {
        bytes: null,
        by: null,
        text: 'permuted copies of the tokens are not made one by one; no source has a figure',
      },
      cost: freeByDesign('none: fewer kernels'),
    },
  ];
});

/** Without it, each weight gradient is a tensor of its own until it is added to the buffer. */
const accumulationFusion = fixSpec('weight-gradient-fusion', ({ view }) => {
  const fusion = view.setting('gradient_accumulation_fusion');
  // Torch's FSDP2 does not work with it.
  if (fusion.by !== 'told' || fusion.value !== 'False' || isSet(view, 'use_torch_fsdp2')) return [];
  return [
    {
      id: 'weight-gradient-fusion',
      title: 'gradient_accumulation_fusion=True',
      change: settings({ gradient_accumulation_fusion: 'True' }),
      requires: ['Transformer Engine, or the CUDA extension of APEX'],
      saving: { bytes: null, by: null, text: 'one weight gradient less at a time; no source has a figure' },
      cost: freeByDesign('none: fewer kernels'),
    },
  ];
});

/** The scores of every position against every other, which only unfused attention keeps. */
const fusedAttention = fixSpec('fused-attention', ({ situation, step, view }) => {
  const { request } = situation.verdict;
  if (request === null || !/dot_product_attention|core_attn/.test(request.site ?? '')) return [];
  const backend = wordOf(view, 'attention_backend');
  if (backend === 'flash' || backend === 'fused') return [];
  return [
    {
      id: 'fused-attention',
      title: 'attention_backend=flash',
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
      requires: ['a head size and a mask that flash attention supports'],
      saving: { bytes: request.bytes, by: 'message', text: 'the scores of attention', closes: fitsAsEstimated(step) },
      cost: freeByDesign('none: it is faster'),
    },
  ];
});

/** Without the request, which the estimate does not have. */
function fitsAsEstimated({ limitBytes, estimatedBytes }: StepFigures): boolean | null {
  return limitBytes !== null && estimatedBytes !== null && estimatedBytes <= limitBytes ? true : null;
}

/** A mask of every position against every other: 2 to 4 bytes × the square of the sequence length. */
const maskOff = fixSpec('attention-mask-off', ({ situation, step, view }) => {
  const mask = view.setting('create_attention_mask_in_dataloader');
  const asked = situation.verdict.request?.bytes ?? null;
  if (mask.by === 'unknown' || mask.value === 'False' || asked === null) return [];
  return [
    {
      id: 'attention-mask-off',
      title: 'create_attention_mask_in_dataloader=False: attention makes a causal mask itself',
      change: settings({ create_attention_mask_in_dataloader: 'False' }),
      requires: ['the mask is causal'],
      saving: {
        bytes: asked,
        by: 'message',
        text: 'the request itself, and the mask that it makes',
        closes: fitsAsEstimated(step),
      },
      cost: freeByDesign(),
    },
  ];
});

const shardedSave = fixSpec('sharded-checkpoint', ({ situation, view }) => {
  const format = wordOf(view, 'ckpt_format');
  if (format === 'torch_dist' && !isUnset(view, 'ckpt_fully_parallel_save')) return [];
  const copies = liveBytes(situation, 'checkpoint');
  return [
    {
      id: 'sharded-checkpoint',
      title: 'ckpt_format=torch_dist with ckpt_fully_parallel_save=True',
      change: settings({ ckpt_format: 'torch_dist', ckpt_fully_parallel_save: 'True' }),
      requires: ['checkpoints of another format are converted, or loaded once and saved again'],
      saving: {
        bytes: copies === 0 ? null : copies,
        by: copies === null || copies === 0 ? null : 'attribution',
        text: 'the copies that were gathered for the checkpoint; training itself fits',
        closes: null,
      },
      cost: unmeasured('none while training; saving takes another path, and no source has a figure'),
    },
  ];
});

export const ACTIVATION_FIXES: readonly FixSpec[] = [
  regather,
  microBatch,
  packed,
  fineGrained,
  hostLayers,
  shorter,
  expertCapacity,
  permuteFusion,
  accumulationFusion,
  maskOff,
  fusedAttention,
  shardedSave,
];
