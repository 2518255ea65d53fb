/** Each fix is proposed where it is one and nowhere else; its change is what the configuration lacks. */
import { describe, expect, it } from 'vitest';
import { FIXES } from '../../../src/findings/advice/fixes/index.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import type { AdviceFix, AdviseResult } from '../../../src/model/results/advise.js';
import { GIB } from '../../../src/model/units.js';
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

/** Id of a fix, a configuration in which it is proposed with part of its change, and one in which it is not. */
const CASES: readonly {
  readonly id: string;
  readonly in: Config;
  readonly not: Config;
  readonly changes: Readonly<Record<string, string | null>>;
  readonly options?: SituationOptions;
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
    // From 0.19 on, Megatron-Core refuses Transformer Engine's.
    changes: { cross_entropy_loss_fusion: 'True', cross_entropy_fusion_impl: 'native' },
  },
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
    ({ id, in: config, changes, options, env }) => {
      const fix = fixOf(adviceOn(config, options, env === undefined ? {} : { env }), id);
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

  it.each(CASES)('$id is not, where there is nothing to change', ({ id, not: config, options, envNot }) => {
    expect(fixOf(adviceOn(config, options, envNot === undefined ? {} : { env: envNot }), id)).toBeUndefined();
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
