/**
 * What Megatron-Core itself says of generated settings against what `lint` says. The cases are recorded by
 * `megatron-core.py`, with the releases named there and Transformer Engine's version pretended.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lint } from '../../../src/findings/lint/lint.js';
import { lintRules } from '../../../src/findings/lint/rules.js';
import type { ExplicitValue, RawFacts } from '../../../src/findings/settings/facts.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';

type Value = string | number | boolean | null | readonly (string | number)[];
type Settings = Readonly<Record<string, Value>>;

interface Recorded {
  readonly torch: string;
  readonly transformer_engine: string;
  readonly versions: readonly string[];
  /** Of the first version; of the others what differs. */
  readonly defaults: readonly Settings[];
  readonly messages: readonly string[];
  /** Of all models. */
  readonly base: Settings;
  /** T: TransformerConfig, L: MLATransformerConfig, D: DistributedDataParallelConfig, O: OptimizerConfig. */
  readonly cases: readonly (readonly ['T' | 'L' | 'D' | 'O', Settings, readonly number[]])[];
}

const RECORDED = JSON.parse(readFileSync(new URL('megatron-core.json', import.meta.url), 'utf8')) as Recorded;
const ERRORS = lintRules().filter(({ severity }) => severity === 'error');

const textOf = (value: Value): string | null =>
  value === null
    ? null
    : typeof value === 'boolean'
      ? value
        ? 'True'
        : 'False'
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value);

/** NeMo constructs Megatron-Core's own classes. */
function factsOf(version: number, kind: string, own: Settings): RawFacts {
  const { PYTORCH_CUDA_ALLOC_CONF: variable = null, ...given } = own;
  const defaults = { ...RECORDED.defaults[0], ...(version === 0 ? {} : RECORDED.defaults[version]) };
  const told: Settings = {
    ...defaults,
    // What the class for multi-latent attention has of its own, and what Megatron's trainers turn on with graphs.
    ...(kind === 'L' ? { normalization: 'RMSNorm' } : {}),
    use_te_rng_tracker: true,
    ...('TL'.includes(kind) ? RECORDED.base : {}),
    ...given,
  };
  const explicit = (key: string, value: string | null): ExplicitValue => ({
    ...{ value, raw_key: key, origin: 'config file', file: 'run.yaml', line: 1 },
  });
  return {
    settings: new Map(Object.entries(told).map(([key, one]) => [canonicalConfigKey(key), explicit(key, textOf(one))])),
    env: new Map(
      variable === null ? [] : [['PYTORCH_CUDA_ALLOC_CONF', explicit('PYTORCH_CUDA_ALLOC_CONF', String(variable))]],
    ),
    env_known: 'whole',
    versions: {
      megatron_core: RECORDED.versions[version]!,
      torch: RECORDED.torch,
      transformer_engine: RECORDED.transformer_engine,
    },
    framework: { name: 'nemo', version: null },
    device: { name: 'h100', capability: 9, total_bytes: null },
  };
}

/**
 * Rules that hold where these classes say nothing: another part of Megatron refuses it, later. Everything else that
 * `lint` calls an error is refused by the class itself.
 */
const REFUSED_LATER: ReadonlyMap<string, string> = new Map([
  ['do-pao', 'the distributed optimizer is asked for when the optimizer is built'],
  ['oo-distopt', 'the same'],
  ['moe-sp', 'the layer of experts refuses its first training step'],
  ['mx-reuse', 'of the two classes that have the field, the one for data parallelism refuses'],
  ['vpp-pp', 'refused when the process groups are built, and by the arguments of Megatron-LM'],
  ['vpp-div', 'refused when the layers of a stage are counted'],
  ['pp-div', 'the same'],
]);

/** Those of them that say nothing about these classes at all. */
const NEVER_HERE: ReadonlySet<string> = new Set(['oo-distopt', 'moe-sp']);

/** What a class refuses and `lint` does not call an error, by what the class says. */
const NOT_FOUND: ReadonlyMap<string, string> = new Map([
  [
    'ValueError: When using pipeline parallelism, pipeline_dtype must be specified',
    'the trainers set it: NeMo and Megatron-LM from the precision, Megatron Bridge from params_dtype',
  ],
  ["NameError: name 'warnings' is not defined", 'core 0.15 fails at its own warning, the cause is that of moe-sp'],
]);

describe.each(RECORDED.versions.map((version, index) => [version, index] as const))('Megatron-Core %s', (_, index) => {
  const judged = RECORDED.cases.flatMap(([kind, settings, outcomes]) => {
    const outcome = outcomes[index]!;
    // -1: this release has no such setting.
    if (outcome < 0) return [];
    const rules = lint(factsOf(index, kind, settings), ERRORS).findings.map(({ rule }) => rule);
    return [{ message: RECORDED.messages[outcome - 1] ?? null, rules, text: `${kind} ${JSON.stringify(settings)}` }];
  });

  it('was asked often enough, with both answers', () => {
    const refused = judged.filter(({ message }) => message !== null).length;
    expect(judged.length).toBeGreaterThan(1000);
    expect(refused).toBeGreaterThan(400);
    expect(judged.length - refused).toBeGreaterThan(600);
  });

  it('refuses nothing that lint lets pass', () => {
    const missed = judged.filter(
      ({ message, rules }) =>
        message !== null && !NOT_FOUND.has(message) && rules.every((rule) => NEVER_HERE.has(rule)),
    );
    expect(missed.map(({ message, text }) => `${message} ${text}`)).toEqual([]);
  });

  it('lets nothing pass that lint calls an error', () => {
    const extra = judged.filter(
      ({ message, rules }) => message === null && rules.some((rule) => !REFUSED_LATER.has(rule)),
    );
    expect(extra.map(({ rules, text }) => `${rules.join(' ')} ${text}`)).toEqual([]);
  });
});

it('explains only disagreements that there are', () => {
  const seen = new Set<string>();
  for (const [kind, settings, outcomes] of RECORDED.cases)
    for (const [index, outcome] of outcomes.entries())
      if (outcome === 0) for (const { rule } of lint(factsOf(index, kind, settings), ERRORS).findings) seen.add(rule);
  expect([...REFUSED_LATER.keys()].filter((rule) => !seen.has(rule))).toEqual([]);
});
