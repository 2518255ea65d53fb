/**
 * No advice breaks a constraint of the guides or of Megatron-Core: 2,000 configurations, held against an oracle of
 * their own.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { advise } from '../../../src/findings/advice/advise.js';
import type { AdviceChange, AdviceFix } from '../../../src/model/results/advise.js';
import { cpuMs } from '../../support/cpu-time.js';
import { aboutOf, completed, type Generated, generateConfig, situationOf, type Value } from './generate-configs.js';
import {
  type About,
  CONSTRAINTS,
  type Config,
  type Env,
  possibleViolations,
  type Versions,
  violations,
} from './oracle.js';

const CONFIGS = 2000;

/** Values of a change, read by themselves: what a reader of the paste lines would take them for. */
function readText(text: string | null): Value {
  if (text === null || text === 'None') return null;
  if (text === 'True' || text === 'False') return text === 'True';
  if (text.startsWith('[')) return JSON.parse(text) as (string | number)[];
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** The configuration with a change, sizes that follow from the others made anew. */
function changed(base: Generated, change: AdviceChange): Generated {
  const config: Record<string, Value> = { ...base.config };
  for (const [key, text] of Object.entries(change.settings)) config[key] = readText(text);
  const env: Record<string, string> = { ...base.env };
  for (const [name, value] of Object.entries(change.env)) {
    if (value === null) delete env[name];
    else env[name] = value;
  }
  const world = change.settings['world_size'] === undefined ? base.world : Number(change.settings['world_size']);
  return { ...base, config, env, world };
}

/**
 * What the oracle says of a change: broken, and newly in doubt. A variable that a change removes is known to be unset.
 */
function judged(base: Generated, change: AdviceChange): { readonly broken: string[]; readonly doubtful: string[] } {
  const after = changed(base, change);
  const ask = (of: Generated, by: typeof violations): string[] =>
    by(completed(of), of.env, of.versions, of.gpu, aboutOf(of));
  const before = new Set(ask(base, possibleViolations));
  return {
    broken: ask(after, violations),
    doubtful: ask(after, possibleViolations).filter((id) => !before.has(id)),
  };
}

interface Disagreement {
  readonly seed: number;
  readonly fix: string;
  readonly ours: string;
  readonly oracle: readonly string[];
  readonly text: string;
}

interface Outcome {
  readonly broken: Disagreement[];
  readonly doubtful: Disagreement[];
  readonly refusals: Disagreement[];
  readonly malformed: string[];
  readonly old: Map<string, number>;
  readonly counts: Map<string, { open: number; conditional: number; forbidden: number }>;
  fixes: number;
  plans: number;
  seconds: number;
}

/** Checks that came and went again: of an unknown version the newer is assumed, which the fix has to say. */
const PASSED = new Set(['graph-expand-old', 'graph-nccl-local']);

const unsaid = (doubtful: readonly string[], requires: readonly string[]): string[] =>
  doubtful.filter((id) => !(PASSED.has(id) && requires.some((text) => /unknown and taken for newer/.test(text))));

/** Fractions and sizes of one fix are one family. */
const familyOf = (id: string): string => id.replace(/-\d+(?=$|-more)/, '');

function inspect(base: Generated, fix: AdviceFix, outcome: Outcome): void {
  const count = outcome.counts.get(familyOf(fix.id)) ?? { open: 0, conditional: 0, forbidden: 0 };
  outcome.counts.set(familyOf(fix.id), count);
  const { broken, doubtful: all } = judged(base, fix.change);
  const doubtful = unsaid(all, fix.requires);
  const actual = (oracle: readonly string[]): Disagreement => ({
    seed: base.seed,
    fix: fix.id,
    ours: `${fix.status}${fix.forbidden_by === null ? '' : ` by ${fix.forbidden_by}`}`,
    oracle,
    text: fix.forbidden_text ?? fix.title,
  });
  if (fix.status === 'forbidden') {
    count.forbidden += 1;
    // What a version without a stated range may refuse is not refused falsely.
    if (broken.length === 0 && !all.includes(fix.forbidden_by ?? '')) outcome.refusals.push(actual(all));
  } else if (fix.status === 'conditional') count.conditional += 1;
  else {
    count.open += 1;
    if (broken.length > 0) outcome.broken.push(actual(broken));
    else if (doubtful.length > 0) outcome.doubtful.push(actual(doubtful));
  }
  outcome.fixes += 1;
}

/** What holds of every answer, whatever the configuration. */
function flaws(base: Generated, fixes: readonly AdviceFix[]): string[] {
  const actual: string[] = [];
  const flaw = (text: string, fix: AdviceFix): void => {
    actual.push(`seed ${base.seed}: ${fix.id}: ${text}`);
  };
  const torch = base.versions['torch'];
  const isOldTorch = torch === undefined || Number(torch.split('.')[1]) < 11;
  const graphs = base.config['cuda_graph_impl'];
  for (const [i, fix] of fixes.entries()) {
    const isOpen = fix.status === 'recommended' || fix.status === 'possible';
    if (fix.rank !== i + 1) flaw(`rank ${fix.rank} at place ${i + 1}`, fix);
    if (fix.status !== 'forbidden' && fixes[i - 1]?.status === 'forbidden') flaw('after a forbidden one', fix);
    if ((fix.status === 'forbidden') !== (fix.forbidden_by !== null)) flaw(`${fix.status} by ${fix.forbidden_by}`, fix);
    if (Number.isNaN(fix.saving_bytes)) flaw('saving is not a number', fix);
    if (Number.isNaN(fix.cost_percent)) flaw('cost is not a number', fix);
    if (fix.closes === true && (fix.saving_bytes ?? 0) <= 0 && fix.saving_by !== 'what_if')
      flaw('closes with nothing saved', fix);
    if (fix.id === 'expandable-segments') {
      if (isOpen && base.config['nccl_ub'] === true && isOldTorch) flaw(`${fix.status} with nccl_ub`, fix);
      if (
        graphs === 'transformer_engine' &&
        base.env['NCCL_GRAPH_REGISTER'] !== '0' &&
        fix.change.env['NCCL_GRAPH_REGISTER'] !== '0'
      )
        flaw('no NCCL_GRAPH_REGISTER=0', fix);
    }
    if (
      isOpen &&
      fix.change.settings['cpu_offloading'] === 'True' &&
      Number(base.config['pipeline_model_parallel_size']) > 1
    )
      flaw(`${fix.status} with PP > 1`, fix);
    for (const line of fix.paste.megatron_lm) if (!/^(?:--|#)/.test(line)) flaw(`no flag: ${line}`, fix);
    for (const lines of Object.values(fix.paste) as (readonly string[])[])
      for (const line of lines) if (/undefined|NaN|\[object/.test(line)) flaw(`pastes ${line}`, fix);
  }
  return actual;
}

/**
 * What a fix asks for in words and the configuration is known not to have: no constraint forbids it, it just does not
 * work there.
 */
function tooOld(base: Generated, { id, status }: AdviceFix): string | null {
  const minor = (version: string | undefined): number => Number(version?.split('.')[1] ?? Number.POSITIVE_INFINITY);
  if (status !== 'recommended' && status !== 'possible') return null;
  if (id === 'graph-stream-reuse' && minor(base.versions['torch']) < 10) return `${id} before torch 2.10`;
  if (id === 'fine-grained-offload' && minor(base.versions['core']) < 16) return `${id} before Megatron-Core 0.16`;
  return null;
}

function runAll(): Outcome {
  const outcome: Outcome = {
    broken: [],
    doubtful: [],
    refusals: [],
    malformed: [],
    old: new Map(),
    counts: new Map(),
    fixes: 0,
    plans: 0,
    seconds: 0,
  };
  const bases = Array.from({ length: CONFIGS }, (_, i) => generateConfig(i + 1));
  const start = cpuMs();
  for (const base of bases) {
    const { fixes, plan } = advise(situationOf(base));
    outcome.malformed.push(...flaws(base, fixes));
    for (const fix of fixes) {
      inspect(base, fix, outcome);
      const old = tooOld(base, fix);
      if (old !== null) outcome.old.set(old, (outcome.old.get(old) ?? 0) + 1);
    }
    if (plan === null) continue;
    outcome.plans += 1;
    const { broken, doubtful: all } = judged(base, plan.change);
    const doubtful = unsaid(
      all,
      fixes.filter(({ id }) => plan.fixes.includes(id)).flatMap(({ requires }) => requires),
    );
    const actual = { seed: base.seed, fix: `plan ${plan.fixes.join(' + ')}`, ours: 'recommended', text: plan.text };
    if (broken.length > 0) outcome.broken.push({ ...actual, oracle: broken });
    else if (doubtful.length > 0) outcome.doubtful.push({ ...actual, oracle: doubtful });
    const chosen = fixes.filter(({ status }) => status === 'recommended').map(({ id }) => id);
    if (chosen.toSorted().join() !== plan.fixes.toSorted().join())
      outcome.malformed.push(`seed ${base.seed}: recommended ${chosen.join()}, planned ${plan.fixes.join()}`);
  }
  outcome.seconds = (cpuMs() - start) / 1000;
  return outcome;
}

/** One line for each kind of disagreement, with one that shows it. */
function summary(of: readonly Disagreement[]): string[] {
  const kinds = new Map<string, { count: number; readonly example: Disagreement }>();
  for (const one of of) {
    const kind = `${one.fix.startsWith('plan') ? 'plan' : familyOf(one.fix)} | ${one.ours} | oracle: ${one.oracle.join(', ') || 'nothing'}`;
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, { count: 1, example: one });
    else known.count += 1;
  }
  return [...kinds].map(
    ([kind, { count, example }]) => `${count} × ${kind}; seed ${example.seed}: ${example.fix}: ${example.text}`,
  );
}

describe('advice on generated configurations', () => {
  let outcome: Outcome;
  beforeAll(() => {
    outcome = runAll();
  });

  it('breaks no constraint', () => {
    expect(summary(outcome.broken)).toEqual([]);
  });

  it('is not open where an unknown version or variable may break one', () => {
    expect(summary(outcome.doubtful)).toEqual([]);
  });

  it('forbids nothing that the constraints allow', () => {
    expect(summary(outcome.refusals)).toEqual([]);
  });

  it('is well formed', () => {
    expect(outcome.malformed).toEqual([]);
  });

  it('opens nothing to a release that is known to be too old for it', () => {
    expect([...outcome.old]).toEqual([]);
  });

  it('looked at enough of each kind', () => {
    const rows = [...outcome.counts].sort().map(([id, of]) => `${id} ${of.open}/${of.conditional}/${of.forbidden}`);
    console.log(
      `${CONFIGS} configurations, ${outcome.fixes} fixes, ${outcome.plans} plans, ${((1000 * outcome.seconds) / CONFIGS).toFixed(1)} ms each; open/conditional/forbidden: ${rows.join(', ')}`,
    );
    const rare = BOTH_WAYS.filter((id) => {
      const { open = 0, forbidden = 0 } = outcome.counts.get(id) ?? {};
      return open < 5 || forbidden < 3;
    });
    expect(rare).toEqual([]);
    const missing = OPEN.filter((id) => (outcome.counts.get(id)?.open ?? 0) < 5);
    expect(missing).toEqual([]);
    expect(outcome.plans).toBeGreaterThan(CONFIGS / 10);
  });
});

/** Families that constraints can stand against: seen open and forbidden. */
const BOTH_WAYS = [
  'activation-offload',
  'cp',
  'expandable-segments',
  'fine-grained-offload',
  'optimizer-offload',
  'pp',
  'recompute-full',
  'recompute-mlp',
  'recompute-moe',
  'recompute-moe-act',
  'recompute-shared-experts',
  'tp',
];
/** The others. */
const OPEN = [
  'fp8-parameters',
  'empty-unused-memory',
  'expert-capacity',
  'moe-permute-fusion',
  'sequence-length',
  'weight-gradient-fusion',
  'avoid-record-streams',
  'bf16-gradients',
  'bf16-moments',
  'cross-entropy-fusion',
  'distributed-optimizer',
  'ep',
  'graph-stream-reuse',
  'graphs-off',
  'megatron-fsdp',
  'micro-batch',
  'nvls-off',
  'packed-length',
  'precision-aware-optimizer',
  'recompute-core-attn',
  'recompute-mla-up-proj',
  'sequence-parallel',
];

interface Case {
  readonly config: Config;
  readonly env?: Env;
  readonly versions?: Versions;
  readonly capability?: number | null;
  readonly framework?: About['framework'];
}

const SELECTIVE = (...modules: string[]): Config => ({
  recompute_granularity: 'selective',
  recompute_modules: modules,
});
const FULL: Config = { recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 1 };
const TE: Config = { cuda_graph_impl: 'transformer_engine', cuda_graph_modules: ['attn'], use_te_rng_tracker: true };
const EXPANDS: Env = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };
const FINE: Config = { fine_grained_activation_offloading: true, offload_modules: ['core_attn'] };
const OVERLAP: Config = {
  overlap_moe_expert_parallel_comm: true,
  num_moe_experts: 8,
  expert_model_parallel_size: 2,
  world_size: 8,
  moe_token_dispatcher_type: 'alltoall',
};
const HOST: Config = {
  optimizer_cpu_offload: true,
  use_distributed_optimizer: true,
  use_precision_aware_optimizer: true,
};
const FSDP: Config = { use_megatron_fsdp: true, ckpt_format: 'fsdp_dtensor' };

/** A model that breaks nothing. */
const SOUND: Config = {
  num_layers: 32,
  num_attention_heads: 32,
  num_query_groups: 8,
  seq_length: 4096,
  world_size: 8,
  micro_batch_size: 1,
  global_batch_size: 64,
  bf16: true,
  hidden_dropout: 0,
  attention_dropout: 0,
  pipeline_dtype: 'bfloat16',
};

/** For each constraint a configuration that breaks it, and nothing else unless `also` says so. */
const BROKEN: Readonly<Record<string, Case & { readonly also?: readonly string[] }>> = {
  'offload-pp': { config: { cpu_offloading: true, pipeline_model_parallel_size: 2 } },
  'offload-layers': { config: { cpu_offloading: true, cpu_offloading_num_layers: 32 } },
  'offload-recompute': { config: { cpu_offloading: true, ...SELECTIVE('mlp') } },
  'offload-graphs': { config: { cpu_offloading: true, ...TE } },
  'offload-fine': { config: { cpu_offloading: true, ...FINE }, versions: { core: '0.16.0', te: '2.9' } },
  'fine-te': { config: { ...FINE, transformer_impl: 'local' }, versions: { te: '2.9' } },
  'fine-te-env': { config: FINE, versions: { te: '2.10.0' } },
  'fine-modules': { config: { ...FINE, offload_modules: [] }, versions: { te: '2.9' } },
  'fine-attnproj': { config: { ...FINE, offload_modules: ['attn_proj'] }, versions: { te: '2.9' } },
  'fine-moe-recompute': {
    config: { ...FINE, offload_modules: ['expert_fc1'], ...SELECTIVE('moe'), num_moe_experts: 8 },
    versions: { te: '2.9' },
  },
  'fine-mhc': { config: { ...FINE, ...SELECTIVE('mhc') }, versions: { te: '2.9' } },
  'fine-fused': { config: { ...FINE, offload_modules: ['fused_group_mlp'] }, versions: { te: '2.9' } },
  'fine-graphs': { config: { ...FINE, ...TE, cuda_graph_impl: 'local' }, versions: { te: '2.9' } },
  'fine-numbers': { config: { ...FINE, activation_offload_fraction: 1.5 }, versions: { te: '2.9' } },
  stash: { config: { moe_paged_stash: true } },
  'rc-gran': { config: { recompute_granularity: 'some' } },
  'rc-method': { config: { recompute_granularity: 'full', recompute_num_layers: 1 } },
  'rc-layers': { config: { recompute_granularity: 'full', recompute_method: 'block' } },
  'rc-sel-method': { config: { ...SELECTIVE('mlp'), recompute_method: 'block' } },
  'rc-modules': { config: SELECTIVE('attention') },
  'rc-moeact': { config: { ...SELECTIVE('moe_act'), num_moe_experts: 8 } },
  'rc-mla': { config: SELECTIVE('mla_up_proj') },
  'rc-shared': { config: { ...SELECTIVE('shared_experts'), moe_shared_expert_overlap: true } },
  'rc-fp8': { config: { ...SELECTIVE('layernorm'), fp8: 'hybrid' }, versions: { te: '2.9' } },
  'rc-dist-sp': {
    config: { ...FULL, distribute_saved_activations: true, sequence_parallel: true, tensor_model_parallel_size: 2 },
    env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
  },
  'rc-moe-layer': { config: { ...FULL, moe_layer_recompute: true } },
  'rc-ep-overlap': { config: { ...OVERLAP, ...SELECTIVE('moe') }, versions: { torch: '2.9' } },
  'ep-overlap-misc': {
    config: { ...OVERLAP, moe_token_dispatcher_type: 'allgather' },
    versions: { torch: '2.9' },
  },
  'graph-full-rc': { config: { ...TE, ...FULL } },
  'graph-moe-rc': {
    config: { ...TE, cuda_graph_modules: ['attn', 'moe_router'], ...SELECTIVE('moe'), num_moe_experts: 8 },
  },
  'graph-dropout-rc': { config: { ...TE, ...SELECTIVE('core_attn'), attention_dropout: 0.1 } },
  'graph-moe': { config: { ...TE, cuda_graph_modules: ['moe'], num_moe_experts: 8 } },
  'graph-nan': { config: { cuda_graph_impl: 'full_iteration' } },
  'graph-rng': { config: { ...TE, use_te_rng_tracker: false }, framework: 'megatron-bridge' },
  'graph-nccl-te': { config: TE, env: EXPANDS, versions: { core: '0.16.0' } },
  'graph-nccl-local': {
    config: { ...TE, cuda_graph_impl: 'local' },
    env: EXPANDS,
    versions: { core: '0.18.1' },
  },
  'graph-expand-old': { config: TE, env: { ...EXPANDS, NCCL_GRAPH_REGISTER: '0' }, versions: { core: '0.15.2' } },
  'graph-wgrad': {
    config: { ...TE, delay_wgrad_compute: true, gradient_accumulation_fusion: true },
    versions: { te: '2.11' },
  },
  'graph-packing': { config: { ...TE, packed_sequence_size: 4096 }, framework: 'megatron-bridge' },
  'ub-expand': { config: { nccl_ub: true }, env: EXPANDS, versions: { torch: '2.10.0' } },
  'ub-manual': { config: { fsdp_manual_registration: true } },
  'fsdp-conn': { config: FSDP, env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' } },
  'tp-conn': { config: { tensor_model_parallel_size: 2 } },
  'fsdp-ckpt': { config: { use_megatron_fsdp: true, save: '/checkpoints' } },
  fsdp2: { config: { use_torch_fsdp2: true, pipeline_model_parallel_size: 2 } },
  'fsdp-both': { config: { ...FSDP, use_torch_fsdp2: true }, also: ['fsdp2'] },
  'fsdp-v2': { config: { ...FSDP, megatron_fsdp_version: 2, num_moe_experts: 8 }, framework: 'megatron-bridge' },
  'do-pao': { config: { use_precision_aware_optimizer: true } },
  'do-dtypes': { config: { exp_avg_dtype: 'bfloat16' } },
  'oo-pao': { config: { optimizer_cpu_offload: true, use_distributed_optimizer: true } },
  'oo-fp8': { config: { ...HOST, fp8: 'hybrid', fp8_recipe: 'tensorwise', fp8_param_gather: true } },
  'oo-wd': { config: { ...HOST, decoupled_weight_decay: false } },
  'oo-wrap': { config: { ...HOST, optimizer_skip_megatron_wrapping: true } },
  'oo-fraction': { config: { ...HOST, optimizer_offload_fraction: 1.5 } },
  'oo-dist': { config: { optimizer_cpu_offload: true }, framework: 'megatron-bridge' },
  apg: { config: { overlap_param_gather: true, use_distributed_optimizer: true } },
  fp8pg: { config: { fp8: 'hybrid', fp8_param_gather: true } },
  'mx-reuse': {
    config: { fp8: 'e4m3', fp8_recipe: 'mxfp8', fp8_param_gather: true, use_distributed_optimizer: true },
    framework: 'megatron-bridge',
  },
  'sp-tp': { config: { sequence_parallel: true } },
  'pp-dtype': { config: { pipeline_model_parallel_size: 2, pipeline_dtype: null }, framework: 'megatron-bridge' },
  'pp-div': { config: { pipeline_model_parallel_size: 4, num_layers: 30 } },
  'vpp-div': { config: { pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 3 } },
  'vpp-pp': { config: { virtual_pipeline_model_parallel_size: 2 } },
  'vpp-two': { config: { num_layers_per_virtual_pipeline_stage: 4, num_virtual_stages_per_pipeline_rank: 2 } },
  'embed-split': {
    config: {
      pipeline_model_parallel_size: 4,
      num_layers: 31,
      account_for_loss_in_pipeline_split: true,
      num_layers_in_last_pipeline_stage: 8,
    },
  },
  'heads-tp': {
    config: { tensor_model_parallel_size: 8, num_attention_heads: 36, num_query_groups: 4 },
    env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
  },
  'cp-seq': { config: { context_parallel_size: 4, seq_length: 4100 }, capability: 10 },
  'cp-a2a-heads': {
    config: { context_parallel_size: 4, cp_comm_type: ['a2a'], num_attention_heads: 30, num_query_groups: 30 },
    capability: 10,
  },
  hcp: { config: { context_parallel_size: 4, cp_comm_type: ['a2a+p2p'] }, capability: 10 },
  'cp-sft': { config: { context_parallel_size: 2, packed_sequence_size: 4096 }, framework: 'megatron-bridge' },
  'pack-mbs': { config: { packed_sequence_size: 4096, micro_batch_size: 2 }, framework: 'megatron-bridge' },
  'moe-cap': { config: { num_moe_experts: 8, moe_pad_expert_input_to_capacity: true } },
  'moe-ep': { config: { num_moe_experts: 8, expert_model_parallel_size: 3, world_size: 24, global_batch_size: 24 } },
  'world-layout': { config: { pipeline_model_parallel_size: 3, num_layers: 30 }, also: ['batch-split'] },
  'world-experts': { config: { num_moe_experts: 16, expert_model_parallel_size: 16 } },
  'batch-split': { config: { global_batch_size: 12 } },
  'te-cross-entropy': {
    config: { cross_entropy_loss_fusion: true, cross_entropy_fusion_impl: 'te' },
    versions: { core: '0.19.0' },
  },
  'vpp-microbatches': {
    config: {
      pipeline_model_parallel_size: 4,
      virtual_pipeline_model_parallel_size: 2,
      global_batch_size: 2,
      num_layers: 32,
      pipeline_dtype: 'bfloat16',
    },
  },
};

describe('the oracle', () => {
  const ask = (
    by: typeof violations,
    {
      config,
      env = {},
      versions = { torch: '2.9', core: '0.17', te: '2.9' },
      capability = 9,
      framework = 'megatron-lm',
    }: Case,
  ): string[] => by({ ...SOUND, ...config }, env, versions, { capability }, { framework, envKnown: true });

  it('knows nothing of the sources it is held against', () => {
    expect(readFileSync(new URL('./oracle.ts', import.meta.url), 'utf8')).not.toMatch(
      /^\s*import\b|\bimport\(|\brequire\(/m,
    );
  });

  it('has a broken configuration for each constraint', () => {
    expect(Object.keys(BROKEN).toSorted()).toEqual(CONSTRAINTS.toSorted());
    expect(ask(violations, { config: {} })).toEqual([]);
    expect(ask(possibleViolations, { config: {} })).toEqual([]);
  });

  for (const [id, broken] of Object.entries(BROKEN))
    it(`finds ${id}`, () => {
      expect(ask(violations, broken).toSorted()).toEqual([id, ...(broken.also ?? [])].toSorted());
    });

  it('answers neither yes nor no where a version, a device, a variable or the framework decides and is unknown', () => {
    const doubt = (one: Case): string[] => ask(possibleViolations, { versions: {}, ...one });
    expect(doubt({ config: { nccl_ub: true }, env: EXPANDS })).toEqual(['ub-expand']);
    expect(doubt({ config: TE, env: EXPANDS })).toEqual(['graph-nccl-te', 'graph-expand-old']);
    expect(doubt({ config: FINE })).toEqual(['fine-te-env']);
    expect(doubt({ config: { tensor_model_parallel_size: 2 }, capability: null })).toEqual(['tp-conn']);
    expect(doubt({ config: { context_parallel_size: 2 }, framework: null })).toEqual(['tp-conn']);
    expect(
      possibleViolations({ ...SOUND, nccl_ub: true }, {}, {}, { capability: 9 }, { framework: null, envKnown: false }),
    ).toEqual(['ub-expand']);
  });

  it('knows where versions change the answer', () => {
    const ub = (torch: string): string[] =>
      ask(violations, { config: { nccl_ub: true }, env: EXPANDS, versions: { torch } });
    expect([ub('2.10.1'), ub('2.11.0'), ub('2.12.0a0+git')]).toEqual([['ub-expand'], [], []]);
    const local = (core: string, capability = 9): string[] =>
      ask(violations, { config: { ...TE, cuda_graph_impl: 'local' }, env: EXPANDS, versions: { core }, capability });
    expect([local('0.13.1'), local('0.14.0'), local('0.16.0'), local('0.19.0'), local('0.16.0', 10)]).toEqual([
      [],
      ['graph-expand-old'],
      ['graph-nccl-local'],
      [],
      [],
    ]);
  });
});
