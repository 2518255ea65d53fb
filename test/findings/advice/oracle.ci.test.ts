/**
 * No advice breaks a constraint of the guides or of Megatron-Core: 1,000 configurations, nightly 10,000, are held
 * against an oracle of their own.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { advise } from '../../../src/findings/advice/advise.js';
import type { AdviceChange, AdviceFix } from '../../../src/model/results/advise.js';
import { worded } from '../../../src/report/words/worded.js';
import { cpuMs } from '../../support/cpu-time.js';
import { runs } from '../../support/level.js';
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

const CONFIGS = runs(1000, 2000);
/** The first seed of each block of configurations: a hook for all would take too long. */
const BLOCKS = Array.from({ length: runs(1, 5) }, (_, block) => 1 + CONFIGS * block);

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

const newOutcome = () => ({
  broken: [] as Disagreement[],
  doubtful: [] as Disagreement[],
  refusals: [] as Disagreement[],
  malformed: [] as string[],
  old: new Map<string, number>(),
  counts: new Map<string, { open: number; conditional: number; forbidden: number }>(),
  fixes: 0,
  plans: 0,
  seconds: 0,
});
type Outcome = ReturnType<typeof newOutcome>;

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
  if (id === 'graph-stream-reuse' && minor(base.versions['torch']) < 9) return `${id} before torch 2.9`;
  if (id === 'fine-grained-offload' && minor(base.versions['core']) < 16) return `${id} before Megatron-Core 0.16`;
  return null;
}

function runAll(firstSeed: number): Outcome {
  const outcome = newOutcome();
  const bases = Array.from({ length: CONFIGS }, (_, i) => generateConfig(firstSeed + i));
  const start = cpuMs();
  for (const base of bases) {
    const { fixes, plan } = worded(advise(situationOf(base)));
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

describe.each(BLOCKS)('advice on generated configurations from seed %i on', (firstSeed) => {
  let outcome: Outcome;
  beforeAll(() => {
    outcome = runAll(firstSeed);
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
  ...'activation-offload cp expandable-segments fine-grained-offload optimizer-offload pp recompute-full'.split(' '),
  ...'recompute-mlp recompute-moe recompute-moe-act recompute-shared-experts tp'.split(' '),
];
/** The others. */
const OPEN = [
  ...'fp8-parameters empty-unused-memory expert-capacity moe-permute-fusion sequence-length weight-gradient-fusion'.split(
    ' ',
  ),
  ...'avoid-record-streams bf16-gradients bf16-moments cross-entropy-fusion distributed-optimizer ep'.split(' '),
  ...'graph-stream-reuse graphs-off megatron-fsdp micro-batch nvls-off packed-length precision-aware-optimizer'.split(
    ' ',
  ),
  ...'recompute-core-attn recompute-mla-up-proj sequence-parallel'.split(' '),
];

/** A configuration in `oracle-cases.yaml`, and the other fields of a question among its settings. */
interface Case extends Config {
  readonly env?: Env;
  readonly versions?: Versions;
  readonly capability?: number | null;
  readonly framework?: About['framework'];
  readonly also?: readonly string[];
}

const { parts, sound, broken } = parse(readFileSync(new URL('oracle-cases.yaml', import.meta.url), 'utf8'), {
  merge: true,
}) as {
  readonly parts: Readonly<Record<'fine' | 'graphs' | 'expands', Case>>;
  readonly sound: Config;
  readonly broken: Readonly<Record<string, Case>>;
};

describe('the oracle', () => {
  const ask = (
    by: typeof violations,
    {
      env = {},
      versions = { torch: '2.9', core: '0.17', te: '2.9' },
      capability = 9,
      framework = 'megatron-lm',
      also: _,
      ...config
    }: Case,
  ): string[] => by({ ...sound, ...config }, env, versions, { capability }, { framework, envKnown: true });

  it('knows nothing of the sources it is held against', () => {
    expect(readFileSync(new URL('./oracle.ts', import.meta.url), 'utf8')).not.toMatch(
      /^\s*import\b|\bimport\(|\brequire\(/m,
    );
  });

  it('has a broken configuration for each constraint', () => {
    expect(Object.keys(broken).toSorted()).toEqual(CONSTRAINTS.toSorted());
    expect(ask(violations, {})).toEqual([]);
    expect(ask(possibleViolations, {})).toEqual([]);
  });

  it.each(Object.entries(broken))('finds %s', (id, one) => {
    expect(ask(violations, one).toSorted()).toEqual([id, ...(one.also ?? [])].toSorted());
  });

  const { fine, graphs, expands } = parts;
  it.each<readonly [Case, readonly string[]]>([
    [{ nccl_ub: true, ...expands }, ['ub-expand']],
    [{ ...graphs, ...expands }, ['graph-nccl-te', 'graph-expand-old']],
    [fine, ['fine-te-env']],
    [{ tensor_model_parallel_size: 2, capability: null }, ['tp-conn']],
    [{ context_parallel_size: 2, framework: null }, ['tp-conn']],
  ])('does not decide %j without versions', (one, ids) => {
    expect(ask(possibleViolations, { versions: {}, ...one })).toEqual(ids);
  });

  it('does not decide what depends on unknown variables', () => {
    expect(
      possibleViolations({ ...sound, nccl_ub: true }, {}, {}, { capability: 9 }, { framework: null, envKnown: false }),
    ).toEqual(['ub-expand']);
  });

  const local = { ...graphs, cuda_graph_impl: 'local', ...expands };
  const buffers = { nccl_ub: true, ...expands };
  it.each<readonly [Case, readonly string[]]>([
    [{ ...buffers, versions: { torch: '2.10.1' } }, ['ub-expand']],
    [{ ...buffers, versions: { torch: '2.11.0' } }, []],
    [{ ...buffers, versions: { torch: '2.12.0a0+git' } }, []],
    [{ ...local, versions: { core: '0.13.1' } }, []],
    [{ ...local, versions: { core: '0.14.0' } }, ['graph-expand-old']],
    [{ ...local, versions: { core: '0.16.0' } }, ['graph-nccl-local']],
    [{ ...local, versions: { core: '0.19.0' } }, []],
    [{ ...local, versions: { core: '0.16.0' }, capability: 10 }, []],
  ])('knows where versions change the answer: %j', (one, ids) => {
    expect(ask(violations, one)).toEqual(ids);
  });
});
