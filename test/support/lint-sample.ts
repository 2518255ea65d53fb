/** A rule's sample as the facts that the rules are tried on: each key on a line of its own, in the order of the sample. */

import type { Sample } from '../../src/findings/lint/rule.js';
import { deviceOf } from '../../src/findings/settings/devices.js';
import type { RawFacts, Told } from '../../src/findings/settings/facts.js';
import { SECTION_KEYS } from '../../src/findings/settings/facts-of-config.js';
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';

const CONFIG_FILE = 'sample.yaml';
const ENV_FILE = 'environ';

type SampleValue = Sample['config'][string];

/** As configurations are stored: what Python prints, lists as JSON. */
function textOf(value: SampleValue): string | null {
  if (value === null) return null;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value);
}

export function factsOfSample(sample: Sample): RawFacts {
  const settings = new Map<string, Told>(
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
