/** A rule's sample as facts of a configuration: each key on a line of its own, in the order of the sample. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { deviceOf } from '../../src/derive/settings/devices.js';
import type { ExplicitValue, Framework, RawFacts } from '../../src/derive/settings/facts.js';
import { SECTION_KEYS } from '../../src/derive/settings/facts-of-config.js';
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';
import type { VersionName } from '../../src/model/results/log.js';

/** Keys are canonical, values as a configuration has them. */
export interface Sample {
  readonly config: Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>;
  /** Missing: the environment was captured whole and is empty. `unknown`: nothing reports it. */
  readonly env?: Readonly<Record<string, string>> | 'unknown';
  readonly versions?: Readonly<Partial<Record<VersionName, string>>>;
  readonly framework?: Framework;
  /** A name that `deviceOf` knows: `h100-80gb`. */
  readonly gpu?: string;
}

/** Configurations that break a rule, pass it, or leave it undecided. */
type ByKind<T> = Readonly<Record<'fails' | 'passes' | 'unknown', readonly T[]>>;

export type RuleSamples = ByKind<Sample>;

/** A sample in a file: its settings, and the other fields of {@link Sample} among them. */
type Flat = Sample['config'] & Omit<Sample, 'config'>;

/** A rule in a file: `all` is part of each sample, but of those of `alone`. */
type Written = Partial<ByKind<Flat>> & { readonly all?: Flat; readonly alone?: Partial<ByKind<Flat>> };

function sampleOf({ env, versions, framework, gpu, ...config }: Flat): Sample {
  const context = Object.entries({ env, versions, framework, gpu }).filter(([, value]) => value !== undefined);
  return { config, ...Object.fromEntries(context) } as Sample;
}

/** By rule, of one file of `test/findings/lint/samples`. */
export function lintSamples(topic: string): ReadonlyMap<string, RuleSamples> {
  const file = new URL(`../findings/lint/samples/${topic}.yaml`, import.meta.url);
  const rules = parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Written>>;
  return new Map(
    Object.entries(rules).map(([id, { all, alone = {}, ...own }]) => {
      const of = (kind: keyof RuleSamples): Sample[] => [
        ...(own[kind] ?? []).map((sample) => sampleOf({ ...all, ...sample })),
        ...(alone[kind] ?? []).map(sampleOf),
      ];
      return [id, { fails: of('fails'), passes: of('passes'), unknown: of('unknown') }];
    }),
  );
}

const CONFIG_FILE = 'sample.yaml';
const ENV_FILE = 'environ';

type SampleValue = Sample['config'][string];

/** As configurations are stored: what Python prints, lists as JSON. */
export function textOf(value: SampleValue): string | null {
  if (value === null) return null;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value);
}

export function factsOfSample(sample: Sample): RawFacts {
  const settings = new Map<string, ExplicitValue>(
    Object.entries(sample.config).map(([key, value], index) => [
      SECTION_KEYS.includes(key) ? key : canonicalConfigKey(key),
      { value: textOf(value), raw_key: key, origin: 'config file', file: CONFIG_FILE, line: index + 1 },
    ]),
  );
  const { env = {} } = sample;
  const variables = env === 'unknown' ? [] : Object.entries(env);
  return {
    settings,
    env: new Map(
      variables.map(([key, value], index) => [
        key,
        { value, raw_key: key, origin: 'environment', file: ENV_FILE, line: index + 1 },
      ]),
    ),
    env_known: env === 'unknown' ? 'none' : 'whole',
    versions: sample.versions ?? {},
    framework: { name: sample.framework ?? null, version: null },
    device: (sample.gpu === undefined ? null : deviceOf(sample.gpu)) ?? {
      name: null,
      capability: null,
      total_bytes: null,
    },
  };
}
