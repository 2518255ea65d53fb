/**
 * Configurations of trainings as they are run, and failures of them: models of known shapes, cut, stored and captured
 * in every way that the oracle allows. The same seed gives the same configuration.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { createRandom, type Random } from '../../../samples/generate/simulate/random.js';
import type { ExplicitValue, RawFacts } from '../../../src/derive/settings/facts.js';
import { findInput } from '../../../src/estimate/input-keys.js';
import { readInputs } from '../../../src/estimate/read-inputs.js';
import type { Situation } from '../../../src/findings/advice/situation.js';
import type { CauseTest, Verdict } from '../../../src/model/verdict.js';
import type { Cause, Component } from '../../../src/model/vocabulary.js';
import { type About, violations } from './oracle.js';

export type Value = string | number | boolean | null | readonly (string | number)[];
export type Values = Readonly<Record<string, Value>>;

export interface Generated {
  readonly seed: number;
  readonly model: string;
  readonly config: Values;
  readonly env: Readonly<Record<string, string>>;
  readonly envKnown: RawFacts['env_known'];
  /** `torch`, `core`, `te`; missing: unknown. */
  readonly versions: Readonly<Record<string, string>>;
  readonly gpu: { readonly name: string | null; readonly capability: number | null; readonly bytes: number | null };
  readonly framework: About['framework'];
  readonly world: number;
}

/** Neighbouring seeds give unrelated streams. */
export const randomOf = (seed: number): Random => createRandom((seed * 0x9e3779b1) >>> 0);

const pick = <T>(random: Random, of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
const chance = (random: Random, share: number): boolean => random() < share;

interface Shape {
  readonly name: string;
  readonly values: Values;
  readonly tps: readonly number[];
  readonly pps: readonly number[];
  readonly eps?: readonly number[];
}

/** In the order in which seeds have chosen them. */
const SHAPES = parse(readFileSync(new URL('shapes.yaml', import.meta.url), 'utf8')) as readonly Shape[];

const GPUS = [
  { name: 'NVIDIA A100-SXM4-80GB', capability: 8, bytes: 85_094_825_984 },
  { name: 'NVIDIA H100 80GB HBM3', capability: 9, bytes: 85_021_163_520 },
  { name: 'NVIDIA B200', capability: 10, bytes: 191_514_017_792 },
] as const;

// What occurs more than once is drawn more often.
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const FRAMEWORKS = [
  ...times(3, 'megatron-lm' as const),
  ...times(3, 'megatron-bridge' as const),
  'nemo',
  null,
] as const;
const RECOMPUTED =
  'core_attn, core_attn, layernorm, mlp, core_attn mlp, moe_act, moe_act layernorm, mla_up_proj, moe, shared_experts';
const MODULES = [...RECOMPUTED.split(', ').map((modules) => modules.split(' ')), []];
const CAUSES: readonly Cause[] = [
  ...[...times(3, 'capacity' as const), ...times(2, 'fragmentation' as const)],
  ...(['undecided', 'external_pressure', 'graph_pools'] as const),
];
const COMPONENTS: readonly Component[] = [
  ...(['parameter', 'gradient', 'optimizer_state', 'activation', 'logits_loss', 'workspace'] as const),
];

/** Where layers do not divide evenly: stages of their own at the ends, or the embedding and loss counted as layers. */
function stagesOf(random: Random, layers: number, pp: number): Record<string, Value> {
  if (pp === 1) return {};
  if (layers % pp === 0 && chance(random, 0.85)) return {};
  if ((layers + 2) % pp === 0)
    return { account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true };
  const middle = Math.ceil(layers / pp);
  const last = layers - middle * (pp - 1);
  return last > 0 && pp > 2 ? { num_layers_in_last_pipeline_stage: last } : {};
}

/** Any configuration, sound or not. */
export function drawConfig(random: Random, seed: number): Generated {
  const shape = pick(random, SHAPES);
  const layers = Number(shape.values['num_layers']);
  const isMoe = shape.eps !== undefined;
  const framework = pick(random, FRAMEWORKS);
  const versions: Record<string, string> = {};
  if (chance(random, 0.8)) versions['torch'] = `2.${6 + Math.floor(random() * 7)}.${pick(random, ['0', '1'])}`;
  if (chance(random, 0.8)) versions['core'] = `0.${12 + Math.floor(random() * 8)}.${pick(random, ['0', '2'])}`;
  if (chance(random, 0.75)) versions['te'] = pick(random, ['1.13.0', '2.2.0', '2.6.0', '2.9.0', '2.10.0', '2.12.0']);
  const gpu = chance(random, 0.9) ? pick(random, [GPUS[0], GPUS[1], GPUS[1], GPUS[2]]) : null;

  // ---- layout
  const tp = pick(random, shape.tps);
  const pp = pick(random, shape.pps);
  const cp = pick(random, [1, 1, 1, 2, 4]);
  const ep = pick(random, shape.eps ?? [1]);
  const dp = pick(random, [1, 2, 2, 4, 4, 8, 16, 32]);
  const world = tp * pp * cp * dp;
  const etp = isMoe ? pick(random, [1, 1, 1, tp]) : 1;
  const config: Record<string, Value> = {
    share_embeddings_and_output_weights: false,
    ...shape.values,
    vocab_size: 128_256,
    seq_length: pick(random, [2048, 4096, 8192, 8192, 32_768]),
    tensor_model_parallel_size: tp,
    pipeline_model_parallel_size: pp,
    context_parallel_size: cp,
    sequence_parallel: tp > 1 && (isMoe || chance(random, 0.75)),
    bf16: true,
    gated_linear_unit: true,
    add_bias_linear: false,
    normalization: 'RMSNorm',
    // Megatron-LM's own default is on, Megatron-Core's is off: said, so that nothing hangs on it.
    gradient_accumulation_fusion: chance(random, 0.5),
    hidden_dropout: chance(random, 0.1) ? 0.1 : 0,
    attention_dropout: 0,
    ...stagesOf(random, layers, pp),
  };
  const told = random();
  if (told < 0.9) config['world_size'] = world;
  if (told >= 0.7) config['data_parallel_size'] = dp;
  if (isMoe) {
    config['expert_model_parallel_size'] = ep;
    // Where nobody says it, frameworks differ: Megatron-Core takes the size of the rest, newer Bridge 1.
    if (etp !== tp || framework !== 'megatron-lm' || chance(random, 0.5)) config['expert_tensor_parallel_size'] = etp;
    config['moe_grouped_gemm'] = chance(random, 0.7);
    config['moe_token_dispatcher_type'] = pick(random, ['alltoall', 'alltoall', 'flex', 'allgather']);
    if (chance(random, 0.15)) {
      config['moe_expert_capacity_factor'] = 1;
      config['moe_pad_expert_input_to_capacity'] = true;
    }
    if (config['moe_shared_expert_intermediate_size'] !== undefined && chance(random, 0.3))
      config['moe_shared_expert_overlap'] = true;
    if (chance(random, 0.12)) config['overlap_moe_expert_parallel_comm'] = true;
  }
  if (pp > 1 && chance(random, 0.5)) {
    config['virtual_pipeline_model_parallel_size'] = pick(random, [2, 3, 4, 5]);
    if (pp === 2) config['overlap_p2p_comm'] = true;
  }
  if (framework !== 'megatron-lm' && (pp > 1 || chance(random, 0.3))) config['pipeline_dtype'] = 'torch.bfloat16';
  if (cp > 1 && chance(random, 0.4)) {
    config['cp_comm_type'] = [pick(random, ['p2p', 'all_gather', 'a2a', 'a2a+p2p'])];
    if (config['cp_comm_type'][0] === 'a2a+p2p') config['hierarchical_context_parallel_sizes'] = [2, cp / 2];
  }

  // ---- batch
  const mbs = pick(random, [1, 1, 2, 4]);
  config['micro_batch_size'] = mbs;
  config['global_batch_size'] = mbs * dp * pick(random, [1, 4, 8, 16]);
  if (framework === 'megatron-bridge' && chance(random, 0.12)) {
    if (chance(random, 0.7)) config['packed_sequence_size'] = config['seq_length']!;
    else config['packed_sequence'] = true;
    if (chance(random, 0.5)) {
      config['pad_to_max_length'] = true;
      config['pad_cu_seqlens'] = true;
    }
    if (chance(random, 0.6)) {
      config['calculate_per_token_loss'] = true;
      config['average_in_collective'] = false;
    }
  }

  // ---- recompute and offload
  const recompute = random();
  if (recompute < 0.15) {
    config['recompute_granularity'] = 'full';
    config['recompute_method'] = pick(random, ['block', 'uniform']);
    config['recompute_num_layers'] = pick(random, [1, 2, 4]);
    if (framework === 'megatron-lm' && tp > 1 && chance(random, 0.2)) config['distribute_saved_activations'] = true;
  } else if (recompute < 0.5) {
    config['recompute_granularity'] = 'selective';
    if (chance(random, 0.8)) config['recompute_modules'] = pick(random, MODULES);
  } else if (recompute < 0.6) config['recompute_granularity'] = null;
  if (pp === 1 && recompute >= 0.5 && chance(random, 0.12)) {
    config['cpu_offloading'] = true;
    config['cpu_offloading_num_layers'] = Math.floor(layers / 3);
  }
  if (chance(random, 0.08)) {
    config['fine_grained_activation_offloading'] = true;
    config['offload_modules'] = isMoe ? ['expert_fc1', 'moe_act'] : ['core_attn', 'attn_proj'];
  }
  config['transformer_impl'] = chance(random, 0.06) ? 'local' : 'transformer_engine';
  if (chance(random, 0.3)) config['attention_backend'] = pick(random, ['flash', 'fused', 'auto', 'unfused']);

  // ---- graphs
  if (chance(random, 0.35)) {
    const impl = pick(random, ['transformer_engine', 'transformer_engine', 'local', 'full_iteration']);
    const isOld = versions['core'] !== undefined && Number(versions['core'].split('.')[1]) < 17;
    config['cuda_graph_impl'] = impl === 'full_iteration' && isOld ? 'local' : impl;
    if (impl === 'full_iteration') {
      config['check_for_nan_in_loss_and_grad'] = false;
      if (isOld) config['cuda_graph_modules'] = ['full_iteration'];
    } else if (impl === 'transformer_engine' || chance(random, 0.5))
      config['cuda_graph_modules'] = isMoe
        ? pick(random, [['attn'], ['attn', 'moe_router'], ['attn', 'moe_router', 'moe_preprocess'], ['moe']] as const)
        : pick(random, [['attn'], ['mlp'], ['attn', 'mlp']] as const);
    config['use_te_rng_tracker'] = true;
  } else if (chance(random, 0.3)) config['cuda_graph_impl'] = 'none';

  // ---- precision
  if (gpu?.capability !== 8 && chance(random, 0.45)) {
    config['fp8'] = pick(random, ['hybrid', 'e4m3']);
    config['fp8_recipe'] = pick(random, ['delayed', 'tensorwise', 'mxfp8']);
    if (chance(random, 0.35)) {
      config['fp8_param_gather'] = true;
      if (config['fp8_recipe'] === 'mxfp8') config['reuse_grad_buf_for_mxfp8_param_ag'] = true;
    }
  }

  // ---- optimizer and data parallelism
  const fsdp = pp === 1 && chance(random, 0.15) ? pick(random, ['megatron', 'megatron', 'torch']) : null;
  if (fsdp === 'megatron') {
    config['use_megatron_fsdp'] = true;
    config['data_parallel_sharding_strategy'] = 'optim_grads_params';
    config['ckpt_format'] = 'fsdp_dtensor';
    config['use_distributed_optimizer'] = true;
  } else if (fsdp === 'torch') {
    config['use_torch_fsdp2'] = true;
    config['use_distributed_optimizer'] = false;
    config['ckpt_format'] = 'torch_dist';
  } else {
    // Megatron-Core's default is off, that of recipes is on.
    if (framework !== 'megatron-lm' || chance(random, 0.8)) config['use_distributed_optimizer'] = chance(random, 0.8);
    if (chance(random, 0.3)) config['ckpt_format'] = 'torch_dist';
  }
  if (chance(random, 0.5)) config['save'] = '/checkpoints/run';
  const isSharded = config['use_distributed_optimizer'] === true;
  if (isSharded && chance(random, 0.3)) {
    config['use_precision_aware_optimizer'] = true;
    if (chance(random, 0.3)) {
      config['exp_avg_dtype'] = 'bfloat16';
      config['exp_avg_sq_dtype'] = 'bfloat16';
    }
    if (fsdp === null && chance(random, 0.3)) {
      config['optimizer_cpu_offload'] = true;
      config['optimizer_offload_fraction'] = pick(random, [0.25, 0.5, 1]);
    }
  }
  config['optimizer'] = chance(random, 0.93) ? 'adam' : 'sgd';
  if (chance(random, 0.15)) config['decoupled_weight_decay'] = chance(random, 0.5);
  if (isSharded && chance(random, 0.5)) {
    config['overlap_grad_reduce'] = true;
    config['overlap_param_gather'] = chance(random, 0.7);
  }
  config[framework === 'megatron-lm' ? 'accumulate_allreduce_grads_in_fp32' : 'grad_reduce_in_fp32'] = chance(
    random,
    0.7,
  );
  if (chance(random, 0.2)) config['nccl_ub'] = true;
  if (fsdp === 'megatron' && config['nccl_ub'] === true && chance(random, 0.5))
    config['fsdp_manual_registration'] = true;
  if (chance(random, 0.3)) config['cross_entropy_loss_fusion'] = chance(random, 0.5);

  // ---- environment
  const envKnown = pick(random, ['whole', 'whole', 'whole', 'partial', 'partial', 'none'] as const);
  const env: Record<string, string> = {};
  if (envKnown !== 'none') {
    const allocator = random();
    if (allocator < 0.3) env['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True';
    else if (allocator < 0.35) env['PYTORCH_ALLOC_CONF'] = 'expandable_segments:True';
    else if (allocator < 0.45)
      env['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:512,garbage_collection_threshold:0.8';
    else if (allocator < 0.5) env['PYTORCH_ALLOC_CONF'] = 'garbage_collection_threshold:0.8';
    // Set for whoever needs it, and left out or wrong at times.
    const expected = fsdp === null && (tp > 1 || cp > 1);
    if (expected ? chance(random, 0.9) : chance(random, 0.3))
      env['CUDA_DEVICE_MAX_CONNECTIONS'] = expected ? '1' : pick(random, ['1', '8', '32']);
    if (chance(random, 0.4)) env['NCCL_GRAPH_REGISTER'] = chance(random, 0.75) ? '0' : '1';
    if (config['fine_grained_activation_offloading'] === true || chance(random, 0.1)) env['NVTE_CPU_OFFLOAD_V1'] = '1';
    if (chance(random, 0.4)) env['TORCH_NCCL_AVOID_RECORD_STREAMS'] = '1';
    if (chance(random, 0.3)) env['NCCL_NVLS_ENABLE'] = '0';
  }
  return {
    seed,
    model: shape.name,
    config,
    env,
    envKnown,
    versions,
    gpu: gpu ?? { name: null, capability: null, bytes: null },
    framework,
    world,
  };
}

/** What the oracle is asked: sizes that follow from the world are made anew. */
export function completed({ config, world }: Pick<Generated, 'config' | 'world'>): Values {
  const size = (key: string): number => Number(config[key] ?? 1);
  const parts =
    size('tensor_model_parallel_size') * size('pipeline_model_parallel_size') * size('context_parallel_size');
  return { ...config, world_size: world, data_parallel_size: world / parts };
}

export function aboutOf({ framework, envKnown }: Pick<Generated, 'framework' | 'envKnown'>): About {
  return { framework, envKnown: envKnown !== 'none' };
}

/** A configuration that breaks no constraint; those that do are drawn again. */
export function generateConfig(seed: number): Generated {
  const random = randomOf(seed);
  for (;;) {
    const first = drawConfig(random, seed);
    if (first.world < 8 || first.world > 1024) continue;
    if (violations(completed(first), first.env, first.versions, first.gpu, aboutOf(first)).length === 0) return first;
  }
}

/** As configurations are written out by Python. */
export function textOf(value: Value): string | null {
  if (value === null) return null;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const told = (key: string, text: string | null): ExplicitValue => ({
  value: text,
  raw_key: key,
  origin: 'config file',
  file: 'run_config.yaml',
  line: 1,
});

export function factsOf({ config, env, envKnown, versions, gpu, framework }: Generated): RawFacts {
  const { torch = null, core = null, te = null } = versions;
  return {
    settings: new Map(Object.entries(config).map(([key, value]) => [key, told(key, textOf(value))])),
    env: new Map(Object.entries(env).map(([key, value]) => [key, told(key, value)])),
    env_known: envKnown,
    versions: { torch, megatron_core: core, transformer_engine: te },
    framework: { name: framework, version: framework === 'megatron-lm' ? core : null },
    device: { name: gpu.name, capability: gpu.capability, total_bytes: gpu.bytes },
  };
}

const GB = 1e9;
type WhatIfSetting = Verdict['what_if'][number];

function testOf(cause: Cause, numbers: Readonly<Record<string, number>>): CauseTest {
  const details = { numbers: {}, names: {} };
  return { cause, outcome: 'holds', reason: 'drawn', numbers, details, doubts: [], capture: null };
}

function whatIf(random: Random, capacity: number): WhatIfSetting[] {
  const row = (setting: string, outcome: WhatIfSetting['outcome'], peak: number): WhatIfSetting => ({
    setting,
    capacity_bytes: capacity,
    outcome,
    peak_reserved_bytes: peak,
    peak_reserved_least_bytes: peak,
    peak_reserved_most_bytes: peak,
    peak_active_bytes: Math.round(peak * 0.9),
    headroom_bytes: outcome === 'fits' ? capacity - peak : 0,
    driver_calls: 100,
    bound: 'exact',
    unused_at_peak_bytes: Math.round(peak * 0.1),
    retries: 0,
    short_bytes: outcome === 'fits' ? null : GB,
    oom_seq: outcome === 'fits' ? null : 7,
    robust: true,
    note: null,
  });
  const outcomes = pick(random, [['fits'], ['fits', 'fits'], ['fits', 'same_oom'], ['same_oom']] as const);
  return [
    row('recorded', 'same_oom', capacity),
    ...outcomes.map((outcome) =>
      row('expandable_segments:True', outcome, Math.round(capacity * (0.7 + 0.25 * random()))),
    ),
  ];
}

/** A failure of this configuration: every verdict that advice is given on, with and without each kind of figure. */
export function situationOf(one: Generated): Situation {
  const random = randomOf(one.seed + 0x5eed);
  const cause = pick(random, CAUSES);
  const device = one.gpu.bytes ?? 85e9;
  const request = Math.round((0.01 + 3 * random() ** 2) * GB);
  const free = Math.round(0.5 * random() * GB);
  const cached = Math.round((cause === 'capacity' ? 0.5 : 12) * random() * GB);
  const limit = device - Math.round(2 * random() * GB);
  const short = Math.round(8 * random() ** 2 * GB) + 1;
  const hasFigures = chance(random, 0.85);
  const figures = {
    live_bytes: limit - request + short,
    request_bytes: request,
    limit_bytes: limit,
    short_bytes: short,
  };
  const hasSnapshot = chance(random, 0.55);
  const hasAll = chance(random, 0.7);
  const components = new Map<Component, number>(
    COMPONENTS.filter((name) => name !== 'optimizer_state' || hasAll).map((name) => [
      name,
      Math.round((random() * device) / 6),
    ]),
  );
  if (one.config['cuda_graph_impl'] !== undefined && chance(random, 0.5))
    components.set('graph_pool', Math.round(9 * random() * GB));
  const { given, faults } = readInputs(
    Object.entries(completed(one))
      .filter(([key]) => findInput(key) !== undefined)
      .map(([key, value]) => [key, textOf(value)] as const),
  );
  if (faults.length > 0) throw new Error(`seed ${one.seed}: ${JSON.stringify(faults)}`);
  const hasEstimate = chance(random, 0.8);
  const replays = cause === 'fragmentation' && chance(random, 0.6);
  return {
    run: `drawn-${one.seed}`,
    ranOut: true,
    isMegatron: true,
    frames: '',
    facts: factsOf(one),
    verdict: {
      rank: 0,
      cause,
      detail: null,
      confidence: 'high',
      tests: hasFigures ? [testOf(cause, figures)] : [],
      evidence: [],
      request: hasFigures ? { bytes: request, site: null } : null,
      what_if: replays ? whatIf(random, limit) : [],
      replay: replays
        ? {
            status: 'exact',
            reason: 'drawn',
            address_matches: 1,
            address_total: 1,
            repeats_oom: true,
            layout_short_bytes: Math.max(0, request - free),
            least_capacity_bytes: limit + request,
          }
        : null,
      steps: [],
      accounting: hasFigures
        ? [
            { part: 'cached', bytes: cached, place: null },
            { part: 'free', bytes: free, place: null },
          ]
        : [],
    },
    components: hasSnapshot ? components : null,
    given: hasEstimate ? given : null,
    noEstimate: hasEstimate ? null : 'not drawn.',
    completedSteps: pick(random, [null, 0, 3]),
    stage: chance(random, 0.5) ? Math.floor(random() * Number(one.config['pipeline_model_parallel_size'])) : null,
    deviceBytes: one.gpu.bytes,
  };
}
