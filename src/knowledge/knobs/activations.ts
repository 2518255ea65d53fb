/** Activations: recompute and offload. */
import type { Knob } from './knob.js';

export const ACTIVATIONS: readonly Knob[] = [
  {
    id: 'recompute_granularity',
    title: 'recompute_granularity',
    group: 'activations',
    kind: 'setting',
    spellings: {
      nemo: ['recipe.model.config.recompute_granularity'],
      megatron_bridge: ['cfg.model.recompute_granularity', 'TransformerConfig.recompute_granularity'],
      megatron_lm: ['--recompute-granularity'],
    },
    misspelt: ['recompute_granuality'],
    values: 'None, "selective", "full"',
    memory: { effect: 'less', text: 'full: the most' },
    speed: { effect: 'slower', text: 'full: about 30 % more compute' },
    evidence: [
      {
        text: 'full layers: the largest saving for about 30 % more compute',
        grade: 'documented',
        source: 'NeMo and Megatron Bridge performance guides',
      },
    ],
    requires: ['full: method + num_layers'],
    conflicts: ['cpu_offloading', 'full with TE graphs or EP overlap'],
    rules: ['offload-recompute', 'graph-full-rc', 'rc-gran', 'rc-ep-overlap'],
    disputes: ['D11', 'D12', 'D13'],
  },
  {
    id: 'recompute_method',
    title: 'recompute_method',
    group: 'activations',
    kind: 'setting',
    spellings: {
      nemo: ['recipe.model.config.recompute_method'],
      megatron_bridge: ['cfg.model.recompute_method', 'TransformerConfig.recompute_method'],
      megatron_lm: ['--recompute-method'],
    },
    values: '"uniform", "block"',
    memory: { effect: 'depends', text: '' },
    speed: { effect: 'depends', text: '' },
    evidence: [
      {
        text: 'full needs recompute_method and recompute_num_layers',
        grade: 'documented',
        source: 'Megatron Bridge activation recompute skill',
      },
    ],
    requires: ['granularity full'],
    conflicts: ['selective (CLI)'],
    rules: ['rc-method', 'rc-sel-method'],
    disputes: ['D11', 'D12', 'D13'],
  },
  {
    id: 'recompute_num_layers',
    title: 'recompute_num_layers',
    group: 'activations',
    kind: 'setting',
    spellings: {
      nemo: ['recipe.model.config.recompute_num_layers'],
      megatron_bridge: ['cfg.model.recompute_num_layers', 'TransformerConfig.recompute_num_layers'],
      megatron_lm: ['--recompute-num-layers'],
    },
    values: 'int 1…L/PP (guides: ≤ layers in model)',
    memory: { effect: 'less', text: 'in proportion to the layers' },
    speed: { effect: 'slower', text: 'in proportion to the layers' },
    evidence: [
      {
        text: 'Example: granularity full, method uniform, num_layers 4',
        grade: 'documented',
        source: 'Megatron Bridge activation recompute skill',
      },
    ],
    requires: ['granularity full'],
    conflicts: ['selective (must be None)'],
    rules: ['rc-layers'],
    disputes: ['D11', 'D12', 'D13'],
  },
  {
    id: 'recompute_modules',
    title: 'recompute_modules',
    group: 'activations',
    kind: 'setting',
    spellings: {
      nemo: [],
      megatron_bridge: ['cfg.model.recompute_modules', '--recompute_modules'],
      megatron_lm: ['--recompute-modules'],
    },
    values: 'list: core_attn, layernorm, mlp, moe, moe_act, shared_experts, mla_up_proj (+ newer)',
    memory: { effect: 'less', text: 'by module: mlp 3.2 GB, core_attn nothing with flash or fused attention' },
    speed: { effect: 'slower', text: 'by module: mlp −16.4 %, moe_act +2 % step time' },
    evidence: [
      {
        text: 'mlp: −3.2 GB, −16.4 % (Llama 3 70B SFT, 32 × H100; no matched control)',
        grade: 'measured',
        source: 'Megatron Bridge activation recompute skill',
      },
      {
        text: 'core_attn −0.01 %, mla_up_proj −1.96 %, moe_act −1.85 %, layernorm + moe_act −1.83 % of 36.6 GB for +3.85/+5.19/+1.99/+10.79 % step time (Moonlight-16B, matched)',
        grade: 'measured',
        source: 'Megatron Bridge activation recompute skill',
      },
      {
        text: '+ layernorm beside moe: 64.65 → 63.64 GB, +3.1 % step time (Nemotron-3-Nano, matched)',
        grade: 'measured',
        source: 'Megatron Bridge activation recompute skill',
      },
    ],
    requires: ['granularity selective', 'moe_act→grouped GEMM', 'mla_up_proj→MLA'],
    conflicts: ['shared_experts with shared-expert overlap', 'layernorm/moe_act with delayed FP8'],
    rules: ['rc-shared', 'rc-modules', 'rc-moeact', 'rc-mla', 'rc-fp8', 'fine-moe-recompute'],
    disputes: ['D7', 'D8', 'D23'],
  },
];
