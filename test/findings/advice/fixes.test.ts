/** Each fix is proposed where it is one and nowhere else; its change is what the configuration lacks. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { FIXES } from '../../../src/findings/advice/fixes/index.js';
import type { Situation } from '../../../src/findings/advice/situation.js';
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

const FLAT = { ...LLAMA_70B, pipeline_model_parallel_size: 1, virtual_pipeline_model_parallel_size: null };
const FRAGMENTED: SituationOptions = { verdict: { cause: 'fragmentation' } };
const OTHER: SituationOptions = { isMegatron: false };

const MODELS: Readonly<Record<string, Config>> = {
  llama: LLAMA_70B,
  qwen: QWEN_30B,
  flat: FLAT,
  graphs: {
    ...LLAMA_70B,
    cuda_graph_impl: 'transformer_engine',
    cuda_graph_modules: ['attn'],
    use_te_rng_tracker: true,
  },
  none: {},
};

/** A verdict that names a step: some fixes are proposed only with it. */
const withStep = (kind: StepKind): Situation['verdict']['steps'] => [
  { ...statement(kind), status: 'open', because: null },
];

const OPTIONS: Readonly<Record<string, SituationOptions>> = {
  none: {},
  host: { verdict: { cause: 'host_oom' } },
  pools: { verdict: { cause: 'graph_pools' } },
  fragmented: FRAGMENTED,
  other: OTHER,
  large: { isMegatron: false, requestGib: 40 },
  scores: {
    verdict: {
      steps: withStep('check_shape'),
      request: { bytes: 4 * GIB, site: 'unfused_attention dot_product_attention.py:200' },
    },
  },
};
/** `while attention`, `other while attention in f file.py`: the activity, of Megatron or another trainer. */
function siteOptions(name: string): SituationOptions | undefined {
  const match = /^(other )?while (\w+)(?: in (.+))?$/.exec(name);
  if (match === null) return undefined;
  const [, other, activity, site = 'f /srv/a.py:1'] = match;
  const names = { activity: activity!, site, innermost: site };
  const evidence = [{ ...statement('failing_site' as const, { names }), id: 'E1', place: { path: 'a.log', line: 1 } }];
  return { verdict: { evidence }, ...(other !== undefined && { isMegatron: false }) };
}

const optionsOf = (name: string): SituationOptions =>
  siteOptions(name) ?? OPTIONS[name] ?? { verdict: { steps: withStep(name as StepKind) } };

/** As `fixes.yaml` explains it. */
interface Written {
  readonly of?: string;
  readonly in?: Config;
  readonly options?: string;
  readonly env?: Sample['env'];
  readonly versions?: Sample['versions'];
  readonly changes?: Readonly<Record<string, string | null>>;
  readonly notOf?: string;
  readonly not?: Config;
  readonly optionsNot?: string;
  readonly envNot?: Sample['env'];
}

const FILE = parse(readFileSync(new URL('fixes.yaml', import.meta.url), 'utf8')) as Readonly<Record<string, Written>>;
/** The answer of a question that several tests ask. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const CASES = Object.entries(FILE).map(
  ([id, { of = 'llama', options = 'none', env, versions, changes = {}, ...own }]) => {
    const proposed = once(() =>
      adviceOn({ ...MODELS[of], ...own.in }, optionsOf(options), {
        ...(env && { env }),
        ...(versions && { versions }),
      }),
    );
    const anyVersion = () => adviceOn({ ...MODELS[of], ...own.in }, optionsOf(options), env && { env });
    const not = () => {
      const config = { ...MODELS[own.notOf ?? of], ...own.not };
      return adviceOn(config, optionsOf(own.optionsNot ?? options), own.envNot && { env: own.envNot });
    };
    return { id, changes, proposed, proposedInAnyVersion: versions === undefined ? proposed : anyVersion, not };
  },
);

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

  it.each(CASES)('$id is proposed where it is one, with what to change', ({ id, changes, proposed }) => {
    const fix = fixOf(proposed(), id);
    expect(fix, id).toBeDefined();
    const { settings, env: variables } = fix!.change;
    expect({ ...settings, ...variables }).toMatchObject(changes);
    expect(fix!.title).not.toBe('');
    // Whatever is to be changed is to be pasted somewhere.
    const lines = Object.values(fix!.paste).flat().join('\n');
    for (const value of Object.values(changes)) if (value !== null) expect(lines).toContain(/\w+/.exec(value)![0]);
  });

  it('names the disagreement of the sources that it had to decide', () => {
    const known = new Set(DISAGREEMENTS.map(({ id }) => id));
    const named = CASES.flatMap(({ id, proposedInAnyVersion }) =>
      (fixOf(proposedInAnyVersion(), id)?.disputes ?? []).map((text) => text.split(':')[0]!),
    );
    expect(named.length).toBeGreaterThan(8);
    for (const id of named) expect(known).toContain(id);
  });

  it.each(CASES)('$id is not, where there is nothing to change', ({ id, not }) => {
    expect(fixOf(not(), id)).toBeUndefined();
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
    expect(non_fixes.map(({ id }) => id)).toEqual(['expandable-segments', 'smaller-batch']);
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
