/**
 * What Megatron-Core itself says of generated settings against what `lint` says. The cases are recorded by
 * `megatron-core.py`, with the releases named there and Transformer Engine's version pretended.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lint } from '../../../src/derive/lint/lint.js';
import { lintRules } from '../../../src/derive/lint/rules.js';
import type { ExplicitValue, RawFacts } from '../../../src/derive/settings/facts.js';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';

type Value = string | number | boolean | null | readonly (string | number)[];
type Settings = Readonly<Record<string, Value>>;

/** The first line of the file: with what it was recorded, and the settings of all models. */
interface Recorded {
  readonly torch: string;
  readonly transformer_engine: string;
  readonly base: Settings;
}

/** A line for each release; the defaults of all but the first are those that differ from the first. */
interface Release {
  readonly version: string;
  readonly defaults: Settings;
}

/** A line for each answer of the releases, with all settings that got it. */
interface Answer {
  /** T: TransformerConfig, L: MLATransformerConfig, D: DistributedDataParallelConfig, O: OptimizerConfig. */
  readonly class: 'T' | 'L' | 'D' | 'O';
  /** Of each release: `.` accepted, `-` has no such setting, 1, 2, … refused with this one of the messages. */
  readonly answers: string;
  readonly messages: readonly string[];
  readonly settings: readonly Settings[];
}

const LINES = readFileSync(new URL('megatron-core.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded | Release | Answer);
const RECORDED = LINES[0] as Recorded;
const RELEASES = LINES.filter((line) => 'version' in line);
const ANSWERS = LINES.filter((line) => 'settings' in line);
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

const explicit = (key: string, value: string | null): ExplicitValue => ({
  ...{ value, raw_key: key, origin: 'config file', file: 'run.yaml', line: 1 },
});
const explicitOf = (settings: Settings): [string, ExplicitValue][] =>
  Object.entries(settings).map(([key, one]) => [canonicalConfigKey(key), explicit(key, textOf(one))]);

/** What a class has before any setting of a case. */
function settingsOf({ defaults }: Release, kind: Answer['class']): [string, ExplicitValue][] {
  return explicitOf({
    ...RELEASES[0]!.defaults,
    ...defaults,
    // What the class for multi-latent attention has of its own, and what Megatron's trainers turn on with graphs.
    ...(kind === 'L' ? { normalization: 'RMSNorm' } : {}),
    use_te_rng_tracker: true,
    ...('TL'.includes(kind) ? RECORDED.base : {}),
  });
}

/** NeMo constructs Megatron-Core's own classes. */
function factsOf(release: Release, ofClass: readonly [string, ExplicitValue][], own: Settings): RawFacts {
  const { PYTORCH_CUDA_ALLOC_CONF: variable = null, ...settings } = own;
  return {
    settings: new Map([...ofClass, ...explicitOf(settings)]),
    env: new Map(
      variable === null ? [] : [['PYTORCH_CUDA_ALLOC_CONF', explicit('PYTORCH_CUDA_ALLOC_CONF', String(variable))]],
    ),
    env_known: 'whole',
    versions: {
      megatron_core: release.version,
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

interface Judged {
  /** Null: accepted. */
  readonly message: string | null;
  readonly rules: readonly string[];
  readonly text: string;
}

/** All cases of a release that it has the settings of, with the errors of `lint`. */
function judge(release: Release, index: number): Judged[] {
  return ANSWERS.flatMap(({ class: kind, answers, messages, settings }) => {
    const answer = answers[index]!;
    if (answer === '-') return [];
    const message = answer === '.' ? null : messages[Number(answer) - 1]!;
    const ofClass = settingsOf(release, kind);
    return settings.map((own) => ({
      message,
      rules: lint(factsOf(release, ofClass, own), ERRORS).findings.map(({ rule }) => rule),
      text: `${kind} ${JSON.stringify(own)}`,
    }));
  });
}

const JUDGED = RELEASES.map((release, i) => [release.version, judge(release, i)] as const);

describe.each(JUDGED)('Megatron-Core %s', (_, judged) => {
  it('has enough cases with both answers', () => {
    const refused = judged.filter(({ message }) => message !== null).length;
    expect(judged.length).toBeGreaterThan(1000);
    expect(refused).toBeGreaterThan(400);
    expect(judged.length - refused).toBeGreaterThan(600);
  });

  it('refuses nothing that lint accepts', () => {
    const missed = judged.filter(
      ({ message, rules }) =>
        message !== null && !NOT_FOUND.has(message) && rules.every((rule) => NEVER_HERE.has(rule)),
    );
    expect(missed.map(({ message, text }) => `${message} ${text}`)).toEqual([]);
  });

  it('accepts nothing that lint calls an error', () => {
    const extra = judged.filter(
      ({ message, rules }) => message === null && rules.some((rule) => !REFUSED_LATER.has(rule)),
    );
    expect(extra.map(({ rules, text }) => `${rules.join(' ')} ${text}`)).toEqual([]);
  });
});

it('explains only disagreements that exist', () => {
  const accepted = JUDGED.flatMap(([, judged]) => judged).filter(({ message }) => message === null);
  const seen = new Set(accepted.flatMap(({ rules }) => rules));
  expect([...REFUSED_LATER.keys()].filter((rule) => !seen.has(rule))).toEqual([]);
});
