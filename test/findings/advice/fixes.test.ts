/** Each fix is proposed where it is one and nowhere else; its change is what the configuration lacks. */
import { describe, expect, it } from 'vitest';
import { FIXES } from '../../../src/findings/advice/fixes/index.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import type { AdviceFix, AdviseResult } from '../../../src/model/results/advise.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import type { StepKind } from '../../../src/model/verdict.js';
import { LLAMA_70B, QWEN_30B, type SituationOptions, situationOf } from '../../support/advice-situation.js';
import type { Sample } from '../../support/lint-sample.js';
import { advise } from '../verdict/worded.js';

type Config = Sample['config'];
type Answer = Omit<AdviseResult, 'symptoms'>;

function adviceOn(config: Config, options: SituationOptions = {}, more: Partial<Sample> = {}): Answer {
  return advise(situationOf({ config, ...more }, options));
}

const fixOf = (answer: Answer, id: string): AdviceFix | undefined => answer.fixes.find((fix) => fix.id === id);

const GRAPHS = {
  ...LLAMA_70B,
  cuda_graph_impl: 'transformer_engine',
  cuda_graph_modules: ['attn'],
  use_te_rng_tracker: true,
};
const FLAT = { ...LLAMA_70B, pipeline_model_parallel_size: 1, virtual_pipeline_model_parallel_size: null };
const HOST: SituationOptions = { verdict: { cause: 'host_oom' } };
const POOLS: SituationOptions = { verdict: { cause: 'graph_pools' } };
const FRAGMENTED: SituationOptions = { verdict: { cause: 'fragmentation' } };
const OTHER: SituationOptions = { isMegatron: false };

/** A verdict that names a step: some fixes are one only for it. */
function toDo(kind: StepKind, verdict: SituationOptions['verdict'] = {}): SituationOptions {
  return { verdict: { steps: [{ ...statement(kind), status: 'open', because: null }], ...verdict } };
}

const SCORES = toDo('check_shape', {
  request: { bytes: 4 * GIB, site: 'unfused_attention dot_product_attention.py:200' },
});

/** Id of a fix, a configuration in which it is proposed with part of its change, and one in which it is not. */
const CASES: readonly {
  readonly id: string;
  readonly in: Config;
  readonly not: Config;
  readonly changes: Readonly<Record<string, string | null>>;
  readonly options?: SituationOptions;
  readonly optionsNot?: SituationOptions;
  readonly env?: Sample['env'];
  readonly versions?: Sample['versions'];
  readonly envNot?: Sample['env'];
}[] = [
  {
    id: 'expandable-segments',
    in: LLAMA_70B,
    not: LLAMA_70B,
    envNot: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' },
    options: FRAGMENTED,
    changes: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' },
  },
  {
    id: 'avoid-record-streams',
    in: LLAMA_70B,
    not: LLAMA_70B,
    versions: { torch: '2.7.0' },
    envNot: { TORCH_NCCL_AVOID_RECORD_STREAMS: '1' },
    changes: { TORCH_NCCL_AVOID_RECORD_STREAMS: '1' },
  },
  {
    id: 'nvls-off',
    in: LLAMA_70B,
    not: LLAMA_70B,
    envNot: { NCCL_NVLS_ENABLE: '0' },
    changes: { NCCL_NVLS_ENABLE: '0' },
  },
  {
    id: 'graph-stream-reuse',
    in: GRAPHS,
    not: LLAMA_70B,
    options: POOLS,
    env: { PYTORCH_CUDA_ALLOC_CONF: 'garbage_collection_threshold:0.8' },
    changes: { PYTORCH_CUDA_ALLOC_CONF: 'garbage_collection_threshold:0.8,graph_capture_record_stream_reuse:True' },
  },
  { id: 'graphs-off', in: GRAPHS, not: LLAMA_70B, options: POOLS, changes: { cuda_graph_impl: 'none' } },
  {
    id: 'distributed-optimizer',
    in: { ...LLAMA_70B, use_distributed_optimizer: false },
    not: LLAMA_70B,
    changes: { use_distributed_optimizer: 'True' },
  },
  {
    id: 'precision-aware-optimizer',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, use_precision_aware_optimizer: true },
    changes: { use_precision_aware_optimizer: 'True' },
  },
  {
    id: 'bf16-moments',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, exp_avg_dtype: 'bfloat16', exp_avg_sq_dtype: 'bfloat16', use_precision_aware_optimizer: true },
    changes: { exp_avg_dtype: 'bfloat16', use_precision_aware_optimizer: 'True' },
  },
  {
    id: 'bf16-gradients',
    in: { ...LLAMA_70B, grad_reduce_in_fp32: true },
    not: { ...LLAMA_70B, grad_reduce_in_fp32: false },
    changes: { grad_reduce_in_fp32: 'False' },
  },
  {
    id: 'cross-entropy-fusion',
    // Two layers and long sequences: the loss is the peak.
    in: {
      ...FLAT,
      num_layers: 1,
      hidden_size: 1024,
      ffn_hidden_size: 2048,
      num_attention_heads: 8,
      seq_length: 32768,
      tensor_model_parallel_size: 1,
      sequence_parallel: false,
      world_size: 8,
      cross_entropy_loss_fusion: false,
    },
    not: { ...FLAT, cross_entropy_loss_fusion: true, cross_entropy_fusion_impl: 'te' },
    // From 0.19 on, Megatron-Core refuses it.
    versions: { megatron_core: '0.18.0' },
    changes: { cross_entropy_loss_fusion: 'True', cross_entropy_fusion_impl: 'te' },
  },
  {
    id: 'memory-fraction',
    in: LLAMA_70B,
    not: LLAMA_70B,
    options: toDo('raise_fraction'),
    optionsNot: {},
    env: { PYTORCH_CUDA_ALLOC_CONF: 'per_process_memory_fraction:0.5,expandable_segments:True' },
    changes: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' },
  },
  {
    id: 'drop-max-split',
    in: LLAMA_70B,
    not: LLAMA_70B,
    options: FRAGMENTED,
    env: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True,max_split_size_mb:64' },
    envNot: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' },
    changes: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' },
  },
  {
    id: 'torch-upgrade',
    in: LLAMA_70B,
    not: LLAMA_70B,
    options: FRAGMENTED,
    versions: { torch: '2.0.1' },
    changes: {},
  },
  {
    id: 'empty-unused-memory',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, empty_unused_memory_level: 1 },
    options: FRAGMENTED,
    changes: { empty_unused_memory_level: '1' },
  },
  {
    id: 'sharded-checkpoint',
    in: { ...LLAMA_70B, ckpt_format: 'torch' },
    not: { ...LLAMA_70B, ckpt_format: 'torch_dist', ckpt_fully_parallel_save: true },
    options: toDo('sharded_checkpoint'),
    changes: { ckpt_format: 'torch_dist', ckpt_fully_parallel_save: 'True' },
  },
  {
    id: 'attention-mask-off',
    in: { ...LLAMA_70B, create_attention_mask_in_dataloader: true },
    not: { ...LLAMA_70B, create_attention_mask_in_dataloader: false },
    options: toDo('check_shape'),
    changes: { create_attention_mask_in_dataloader: 'False' },
  },
  {
    id: 'fused-attention',
    in: { ...LLAMA_70B, attention_backend: 'unfused' },
    not: { ...LLAMA_70B, attention_backend: 'flash' },
    options: SCORES,
    changes: { attention_backend: 'flash' },
  },
  {
    id: 'rebalance-layers',
    in: { ...LLAMA_70B, virtual_pipeline_model_parallel_size: null },
    not: { ...LLAMA_70B, num_layers_in_first_pipeline_stage: 17 },
    options: toDo('move_layers'),
    changes: { num_layers_in_first_pipeline_stage: '17' },
  },
  {
    id: 'optimizer-instances',
    in: { ...LLAMA_70B, num_distributed_optimizer_instances: 2 },
    not: LLAMA_70B,
    changes: { num_distributed_optimizer_instances: '1' },
  },
  {
    id: 'reuse-grad-buffer',
    in: {
      ...LLAMA_70B,
      fp8: 'e4m3',
      fp8_recipe: 'mxfp8',
      fp8_param_gather: true,
      reuse_grad_buf_for_mxfp8_param_ag: false,
    },
    not: {
      ...LLAMA_70B,
      fp8: 'e4m3',
      fp8_recipe: 'mxfp8',
      fp8_param_gather: true,
      reuse_grad_buf_for_mxfp8_param_ag: true,
    },
    changes: { reuse_grad_buf_for_mxfp8_param_ag: 'True' },
  },
  {
    id: 'expert-capacity',
    in: QWEN_30B,
    not: { ...QWEN_30B, moe_expert_capacity_factor: 1.5 },
    changes: { moe_expert_capacity_factor: '1.25' },
  },
  {
    id: 'moe-permute-fusion',
    in: { ...QWEN_30B, moe_permute_fusion: false },
    not: { ...QWEN_30B, moe_permute_fusion: true },
    changes: { moe_permute_fusion: 'True' },
  },
  {
    id: 'weight-gradient-fusion',
    in: { ...LLAMA_70B, gradient_accumulation_fusion: false },
    not: { ...LLAMA_70B, gradient_accumulation_fusion: true },
    changes: { gradient_accumulation_fusion: 'True' },
  },
  {
    id: 'sequence-length',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, seq_length: 1024 },
    changes: { seq_length: '2048' },
  },
  { id: 'smaller-batch', in: {}, not: { micro_batch_size: 1 }, options: OTHER, changes: {} },
  {
    id: 'activation-checkpointing',
    in: {},
    not: { checkpoint_activations: true },
    options: OTHER,
    changes: {},
  },
  { id: 'set-to-none', in: {}, not: {}, options: OTHER, versions: { torch: '1.13.1' }, changes: {} },
  { id: 'shard-state', in: {}, not: { zero_stage: 3 }, options: OTHER, changes: {} },
  {
    id: 'fp8-parameters',
    in: { ...LLAMA_70B, fp8: 'hybrid', fp8_recipe: 'tensorwise', fp8_param_gather: false },
    not: { ...LLAMA_70B, fp8: 'hybrid', fp8_recipe: 'tensorwise', fp8_param_gather: true },
    changes: { fp8_param_gather: 'True' },
  },
  {
    id: 'optimizer-offload-50',
    in: { ...LLAMA_70B, optimizer_cpu_offload: true, optimizer_offload_fraction: 0.25 },
    not: { ...LLAMA_70B, optimizer_cpu_offload: true, optimizer_offload_fraction: 0.5 },
    changes: {
      optimizer_offload_fraction: '0.5',
      use_precision_aware_optimizer: 'True',
      decoupled_weight_decay: 'True',
    },
  },
  {
    id: 'recompute-core-attn',
    in: { ...LLAMA_70B, attention_backend: 'unfused' },
    not: { ...LLAMA_70B, attention_backend: 'flash' },
    changes: { recompute_modules: '["core_attn"]' },
  },
  {
    id: 'recompute-moe-act',
    in: QWEN_30B,
    not: LLAMA_70B,
    changes: { recompute_granularity: 'selective', recompute_modules: '["moe_act"]' },
  },
  {
    id: 'recompute-mla-up-proj',
    in: { ...QWEN_30B, multi_latent_attention: true, kv_lora_rank: 512, q_lora_rank: 1536 },
    not: QWEN_30B,
    changes: { recompute_modules: '["mla_up_proj"]' },
  },
  {
    id: 'recompute-shared-experts',
    in: { ...QWEN_30B, moe_shared_expert_intermediate_size: 1536 },
    not: QWEN_30B,
    changes: { recompute_modules: '["shared_experts"]' },
  },
  {
    id: 'recompute-moe',
    in: QWEN_30B,
    not: { ...QWEN_30B, recompute_granularity: 'selective', recompute_modules: ['moe'] },
    changes: { recompute_modules: '["moe"]' },
  },
  {
    id: 'recompute-mlp',
    in: { ...LLAMA_70B, recompute_granularity: 'selective', recompute_modules: ['core_attn'] },
    // Of experts alone the module has nothing.
    not: QWEN_30B,
    changes: { recompute_modules: '["mlp"]' },
  },
  {
    id: 'recompute-full',
    in: { ...LLAMA_70B, recompute_granularity: 'selective', recompute_modules: ['mlp'] },
    not: { ...LLAMA_70B, recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 1 },
    changes: {
      recompute_granularity: 'full',
      recompute_method: 'uniform',
      recompute_num_layers: '1',
      recompute_modules: null,
    },
  },
  {
    id: 'lora-regather',
    in: { ...LLAMA_70B, peft_scheme: 'lora', lora_rank: 16 },
    not: LLAMA_70B,
    changes: { sequence_parallel_input_regather: 'True' },
  },
  {
    id: 'micro-batch-2',
    in: { ...LLAMA_70B, micro_batch_size: 4 },
    not: LLAMA_70B,
    changes: { micro_batch_size: '2' },
  },
  {
    id: 'packed-length',
    in: { ...LLAMA_70B, packed_sequence_size: 8192 },
    not: LLAMA_70B,
    changes: { packed_sequence_size: '4096' },
  },
  {
    id: 'fine-grained-offload',
    in: QWEN_30B,
    not: { ...QWEN_30B, fine_grained_activation_offloading: true, offload_modules: ['expert_fc1'] },
    changes: {
      fine_grained_activation_offloading: 'True',
      offload_modules: '["expert_fc1","moe_act"]',
      NVTE_CPU_OFFLOAD_V1: '1',
    },
  },
  {
    id: 'activation-offload',
    in: { ...FLAT, world_size: 8, recompute_granularity: 'selective', recompute_modules: ['core_attn'] },
    not: { ...FLAT, world_size: 8, cpu_offloading: true, cpu_offloading_num_layers: 10 },
    // What flash attention recomputes anyway is let go: offload and recompute exclude each other.
    changes: { cpu_offloading: 'True', cpu_offloading_num_layers: '40', recompute_granularity: null },
  },
  {
    id: 'sequence-parallel',
    in: { ...LLAMA_70B, sequence_parallel: false },
    not: LLAMA_70B,
    changes: { sequence_parallel: 'True' },
  },
  {
    id: 'ep-16',
    in: { ...QWEN_30B, world_size: 32 },
    not: QWEN_30B,
    changes: { expert_model_parallel_size: '16' },
  },
  // Eight stages of ten layers still hold five chunks of two.
  { id: 'pp-8', in: LLAMA_70B, not: { ...LLAMA_70B, world_size: 16 }, changes: { pipeline_model_parallel_size: '8' } },
  {
    id: 'pp-8-more-gpus',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, pipeline_model_parallel_layout: 'Et*20|t*20|t*20|t*20L' },
    changes: { world_size: '64' },
  },
  { id: 'cp-2', in: { ...LLAMA_70B, seq_length: 65536 }, not: LLAMA_70B, changes: { context_parallel_size: '2' } },
  {
    id: 'megatron-fsdp',
    in: { ...FLAT, world_size: 8 },
    not: LLAMA_70B,
    env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
    changes: { use_megatron_fsdp: 'True', CUDA_DEVICE_MAX_CONNECTIONS: null },
  },
  {
    id: 'tp-8',
    in: LLAMA_70B,
    not: { ...LLAMA_70B, tensor_model_parallel_size: 8 },
    changes: { tensor_model_parallel_size: '8' },
  },
  {
    id: 'host-optimizer-offload',
    in: { ...LLAMA_70B, optimizer_cpu_offload: true, optimizer_offload_fraction: 1 },
    not: LLAMA_70B,
    options: HOST,
    changes: { optimizer_offload_fraction: '0.5' },
  },
  {
    id: 'host-activation-offload',
    in: { ...FLAT, cpu_offloading: true, cpu_offloading_num_layers: 40 },
    not: LLAMA_70B,
    options: HOST,
    changes: { cpu_offloading_num_layers: '20' },
  },
  {
    id: 'fewer-workers',
    in: { ...LLAMA_70B, num_workers: 8 },
    not: { ...LLAMA_70B, num_workers: 1 },
    options: HOST,
    changes: { num_workers: '4' },
  },
  {
    id: 'synchronous-save',
    in: { ...LLAMA_70B, async_save: true },
    not: LLAMA_70B,
    options: HOST,
    changes: { async_save: 'False' },
  },
];

describe('every fix', () => {
  it('has an id of its own, a source, and a case here', () => {
    expect(new Set(FIXES.map(({ id }) => id)).size).toBe(FIXES.length);
    for (const { id, source } of FIXES) {
      expect(source).not.toBe('');
      expect(
        CASES.some((one) => one.id === id || one.id.startsWith(`${id}-`)),
        id,
      ).toBe(true);
    }
  });

  it.each(CASES)(
    '$id is proposed where it is one, with what to change',
    ({ id, in: config, changes, options, env, versions }) => {
      const fix = fixOf(adviceOn(config, options, { ...(env && { env }), ...(versions && { versions }) }), id);
      expect(fix, id).toBeDefined();
      const { settings, env: variables } = fix!.change;
      expect({ ...settings, ...variables }).toMatchObject(changes);
      expect(fix!.title).not.toBe('');
      // Whatever is to be changed is to be pasted somewhere.
      const lines = Object.values(fix!.paste).flat().join('\n');
      for (const value of Object.values(changes)) if (value !== null) expect(lines).toContain(/\w+/.exec(value)![0]);
    },
  );

  it('names the disagreement of the sources that it had to decide', () => {
    const known = new Set(DISAGREEMENTS.map(({ id }) => id));
    const named = CASES.flatMap(({ id, in: config, options, env }) =>
      (fixOf(adviceOn(config, options, env === undefined ? {} : { env }), id)?.disputes ?? []).map(
        (text) => text.split(':')[0]!,
      ),
    );
    expect(named.length).toBeGreaterThan(8);
    for (const id of named) expect(known).toContain(id);
  });

  it.each(CASES)('$id is not, where there is nothing to change', ({ id, not: config, options, optionsNot, envNot }) => {
    const answer = adviceOn(config, optionsNot ?? options, envNot === undefined ? {} : { env: envNot });
    expect(fixOf(answer, id)).toBeUndefined();
  });
});

describe('advice', () => {
  it('ranks from 1 on, what is forbidden last, and tensor parallelism after all that is allowed', () => {
    const { fixes } = adviceOn({ ...LLAMA_70B, attention_backend: 'flash' });
    expect(fixes.map(({ rank }) => rank)).toEqual(fixes.map((_, i) => i + 1));
    const open = fixes.filter(({ status }) => status !== 'forbidden');
    expect(open.at(-1)?.id).toBe('tp-8');
    expect(fixes.slice(open.length).map(({ status }) => status)).toEqual(
      fixes.slice(open.length).map(() => 'forbidden'),
    );
    expect(fixes.find(({ id }) => id === 'activation-offload')).toMatchObject({
      status: 'forbidden',
      forbidden_by: 'offload-pp',
      closes: null,
    });
  });

  it('takes shares of what was live before an estimate', () => {
    const components = { optimizer_state: 20 * GIB, gradient: 8 * GIB, activation: 30 * GIB, parameter: 8 * GIB };
    const { fixes } = adviceOn({ ...LLAMA_70B, grad_reduce_in_fp32: true }, { components });
    expect(fixes.find(({ id }) => id === 'bf16-gradients')).toMatchObject({
      saving_bytes: 4 * GIB,
      saving_by: 'attribution',
    });
    expect(fixes.find(({ id }) => id === 'optimizer-offload-25')).toMatchObject({
      saving_bytes: 5 * GIB,
      saving_by: 'attribution',
    });
    const full = fixes.find(({ id }) => id === 'recompute-full')!;
    expect(full.saving_by).toBe('attribution');
    expect(full.saving_bytes).toBeLessThanOrEqual(30 * GIB);
  });

  it('offers only what acts on memory that is live, or yet to come', () => {
    const idsWith = (components: SituationOptions['components'], more: SituationOptions = {}) =>
      adviceOn({ ...LLAMA_70B, grad_reduce_in_fp32: true }, { ...(components && { components }), ...more }).fixes.map(
        ({ id }) => id.replace(/-\d+(?:-more-gpus)?$/, ''),
      );
    const without = idsWith({ activation: 70 * GIB, parameter: 6 * GIB });
    expect(without).not.toContain('optimizer-offload');
    expect(without).not.toContain('precision-aware-optimizer');
    expect(without).not.toContain('bf16-gradients');
    expect(without).toContain('recompute-mlp');
    const state = idsWith({ optimizer_state: 50 * GIB, gradient: 20 * GIB, parameter: 6 * GIB });
    expect(state).toEqual(expect.arrayContaining(['optimizer-offload', 'bf16-gradients']));
    expect(state).not.toContain('recompute-mlp');
    // What has no label may be anything.
    expect(idsWith({ before_recording: 50 * GIB, activation: 20 * GIB })).toContain('optimizer-offload');
  });

  it('never saves more than there was, and says where an estimate would', () => {
    const components = { optimizer_state: GIB, activation: 60 * GIB, parameter: 10 * GIB };
    const { fixes } = adviceOn(LLAMA_70B, { components });
    const aware = fixes.find(({ id }) => id === 'precision-aware-optimizer')!;
    expect(aware.saving_bytes).toBe(GIB);
    expect(aware.saving_text).toContain('no more than the 1.00 GiB that were live');
    for (const { saving_bytes: bytes } of fixes) expect(bytes ?? 0).toBeLessThanOrEqual(71 * GIB);
  });

  it('tells how each cost is known, and takes none over from another layout', () => {
    const { fixes } = adviceOn({ ...LLAMA_70B, hidden_size: 4096, ffn_hidden_size: 14336 });
    for (const { cost_percent: percent, cost_by: by, cost_on: on, cost_text: text } of fixes) {
      expect(percent === null).toBe(by === null);
      expect(on === null).toBe(by !== 'measured' && by !== 'workload');
      expect(text).not.toBe('');
    }
    const costOf = (id: string) => fixes.find((fix) => fix.id === id);
    expect(costOf('tp-8')).toMatchObject({ cost_percent: null, cost_by: null });
    expect(costOf('pp-8')).toMatchObject({ cost_percent: null, cost_by: null });
    expect(costOf('recompute-full')).toMatchObject({ cost_percent: 23.1, cost_by: 'guide' });
    // 593.6 of 704 TFLOP/s/GPU; the golden value is 709.93.
    expect(costOf('recompute-mlp')).toMatchObject({ cost_percent: 15.7, cost_by: 'measured' });
    expect(adviceOn(LLAMA_70B).fixes.find(({ id }) => id === 'pp-8')).toMatchObject({
      cost_percent: 5.1,
      cost_by: 'workload',
    });
  });

  it('has lines that run where the precision is a name', () => {
    const config = { ...LLAMA_70B, grad_reduce_in_fp32: true, mixed_precision: 'bf16_mixed' };
    const lines = fixOf(adviceOn(config), 'bf16-gradients')!.paste.megatron_bridge;
    const made = lines.indexOf('cfg.mixed_precision = get_mixed_precision_config("bf16_mixed")');
    expect(made).toBeGreaterThan(0);
    expect(lines.findIndex((line) => line.startsWith('cfg.mixed_precision.'))).toBeGreaterThan(made);
    const unnamed = fixOf(adviceOn({ ...LLAMA_70B, grad_reduce_in_fp32: true }), 'bf16-gradients')!.paste;
    expect(unnamed.megatron_bridge.join('\n')).not.toContain('get_mixed_precision_config');
  });

  it('has nothing of Megatron for another trainer', () => {
    const { fixes, actions, non_fixes, limits } = adviceOn(LLAMA_70B, OTHER);
    expect(fixes.map(({ id }) => id)).toEqual(['nvls-off', 'activation-checkpointing', 'shard-state']);
    for (const { change } of fixes) expect(change.settings).toEqual({});
    expect(actions.length).toBeGreaterThan(0);
    expect(non_fixes.map(({ id }) => id)).toEqual(['expandable-segments']);
    expect(limits.join(' ')).toContain('Nothing that was read comes from Megatron');
  });

  it('names the variable of the allocator as its torch reads it', () => {
    const variable = (torch: string, more: SituationOptions = {}) =>
      Object.keys(
        fixOf(
          adviceOn({}, { ...FRAGMENTED, ...more }, { versions: { torch }, env: { NCCL_DEBUG: 'WARN' } }),
          'expandable-segments',
        )?.change.env ?? {},
      );
    expect(variable('2.0.1')).toEqual([]);
    expect(variable('2.7.0', OTHER)).toEqual(['PYTORCH_CUDA_ALLOC_CONF']);
    expect(variable('2.11.0', OTHER)).toEqual(['PYTORCH_ALLOC_CONF']);
    // The guards of Megatron read the old name only.
    expect(variable('2.11.0')).toEqual(['PYTORCH_CUDA_ALLOC_CONF']);
  });

  it('counts what a first step had not made yet', () => {
    const early = adviceOn(LLAMA_70B, {
      completedSteps: 0,
      liveGib: 40,
      components: { optimizer_state: 0, activation: 20 * GIB, parameter: 9 * GIB, gradient: 9 * GIB },
    });
    expect(early.to_come_bytes).toBeGreaterThan(20 * GIB);
    expect(early.to_come_text).toContain('optimizer state');
    const late = adviceOn(LLAMA_70B, { completedSteps: 5, liveGib: 40, components: { optimizer_state: 0 } });
    expect(late.to_come_bytes).toBe(0);
  });

  it('makes no figures of a configuration that it does not know', () => {
    const answer = adviceOn({}, {}, { env: 'unknown' });
    expect(answer.fixes.every(({ saving_bytes: bytes }) => bytes === null)).toBe(true);
    expect(answer.plan).toBeNull();
    expect(answer.limits.join(' ')).toContain('No configuration was read');
  });

  it('has nothing to change against a leak, a foreign process, or what is not an OOM', () => {
    for (const cause of ['leak', 'not_oom'] as const)
      expect(adviceOn(LLAMA_70B, { verdict: { cause } }).fixes).toEqual([]);
    expect(adviceOn(LLAMA_70B, { verdict: { cause: 'leak' } }).non_fixes.map(({ id }) => id)).toContain(
      'layout-against-leak',
    );
  });

  it('names what is no fix, with its reason', () => {
    const ids = (config: Config, options?: SituationOptions) => adviceOn(config, options).non_fixes.map(({ id }) => id);
    expect(ids(LLAMA_70B)).toEqual(
      expect.arrayContaining([
        'vpp',
        'recompute-layernorm',
        'recompute-core-attn',
        'recompute-mlp-core-attn',
        'expandable-segments',
        'activation-offload-pp',
      ]),
    );
    expect(ids(FLAT)).not.toContain('vpp');
    expect(ids({ ...LLAMA_70B, attention_backend: 'unfused' })).not.toContain('recompute-core-attn');
    expect(ids(QWEN_30B)).toEqual(
      expect.arrayContaining(['tp-experts', 'recompute-mlp-experts', 'activation-offload-moe']),
    );
    expect(ids({ ...LLAMA_70B, world_size: 16, use_distributed_optimizer: false })).toContain(
      'distributed-optimizer-dp1',
    );
    expect(ids({ ...LLAMA_70B, optimizer_cpu_offload: true, optimizer_offload_fraction: 0 })).toContain(
      'optimizer-offload-fraction-0',
    );
    expect(ids(LLAMA_70B, { verdict: { cause: 'external_pressure', detail: 'other_process' } })).toEqual([
      'model-against-outside',
    ]);
    expect(ids(LLAMA_70B, FRAGMENTED)).not.toContain('expandable-segments');
  });
});
