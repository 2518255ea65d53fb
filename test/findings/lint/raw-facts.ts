/** Facts built by hand: settings as `key: value`, all told on the lines of one file. */
import type { ExplicitValue, Framework, RawFacts } from '../../../src/derive/settings/facts.js';

export type Config = Readonly<Record<string, string | null>>;

export interface Given {
  readonly framework?: Framework | null;
  readonly versions?: RawFacts['versions'];
  readonly origin?: string;
  /** Spellings of keys, where they were found under another name. */
  readonly raw?: Readonly<Record<string, string>>;
}

export function rawFacts(config: Config, given: Given = {}): RawFacts {
  const settings = new Map<string, ExplicitValue>();
  for (const [key, value] of Object.entries(config))
    settings.set(key, {
      value,
      raw_key: given.raw?.[key] ?? key,
      origin: given.origin ?? 'config file',
      file: 'run.yaml',
      line: settings.size + 1,
    });
  return {
    settings,
    env: new Map(),
    env_known: 'none',
    versions: given.versions ?? {},
    framework: { name: given.framework ?? null, version: null },
    device: { name: null, capability: null, total_bytes: null },
  };
}

export const LM = { framework: 'megatron-lm' } as const;
export const MB = { framework: 'megatron-bridge' } as const;
