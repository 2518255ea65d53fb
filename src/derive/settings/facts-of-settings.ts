/** Facts of configurations that were read straight from files, by the same rules as those of a run of the store. */
import type { EnvVariable, RunFacts, VersionName } from '../../model/results/log.js';
import type { FoundIteration, FoundSetting, FoundVariable, SettingsRead } from '../../model/settings-read.js';
import { type EffectiveConfig, effectiveConfig } from '../run/config.js';
import { deviceOf } from './devices.js';
import type { ExplicitValue, Framework, RawFacts } from './facts.js';
import { factsOfConfig } from './facts-of-config.js';
import { SIZE_SETTINGS, withSizes } from './sizes.js';

/** Values given by the user; they override the files. */
export interface Asked {
  readonly framework?: { readonly name: Framework; readonly version: string | null } | undefined;
  /** A name that {@link deviceOf} knows. */
  readonly gpu?: string | undefined;
  readonly versions?: Readonly<Partial<Record<VersionName, string>>> | undefined;
}

export async function factsOfSettings(explicit: SettingsRead, asked: Asked = {}): Promise<RawFacts> {
  const config = effectiveConfig(explicit.settings);
  const env = strongest(explicit.variables);
  const printed = await printedFacts(explicit, config, env);
  const facts = factsOfConfig({
    config,
    env,
    envKnown: explicit.environment,
    versions: { ...printed?.versions, ...askedVersions(asked) },
    gpu: askedGpu(asked) ?? printed?.gpu ?? { name: null, total_bytes: explicit.deviceTotalBytes },
    framework: asked.framework,
  });
  const read = printed === undefined ? facts : { ...facts, settings: withSizes(facts.settings, printed) };
  const [last] = asksOfRun(asked) ? [...explicit.iterations].sort((a, b) => b.attempt - a.attempt) : [];
  return last === undefined ? read : withTrained(read, explicit.settings, last, new Set([last.file]));
}

/** A question about another release or framework is not one about the run that printed iterations. */
export function asksOfRun({ framework, versions = {} }: Asked): boolean {
  return framework === undefined && Object.keys(versions).length === 0;
}

/** The facts with the iteration, if no later launch than its own has settings. */
export function withTrained(
  facts: RawFacts,
  settings: readonly Pick<FoundSetting, 'attempt'>[],
  { iteration, attempt, file, line }: FoundIteration,
  files: ReadonlySet<string>,
): RawFacts {
  if (settings.some((one) => one.attempt > attempt)) return facts;
  return { ...facts, trained: { iteration, file, line, files } };
}

/**
 * Versions, device and sizes as logs print them, environments name them, or other settings imply them; undefined where
 * nothing does. The module is loaded only then.
 */
async function printedFacts(
  { figures, deviceTotalBytes }: SettingsRead,
  config: EffectiveConfig,
  env: ReadonlyMap<string, Strongest>,
): Promise<RunFacts | undefined> {
  const isSized = SIZE_SETTINGS.some((key) => config.entry(key) !== undefined);
  if (figures.length === 0 && env.size === 0 && !isSized) return undefined;
  const { runFacts } = await import('../run/run-facts.js');
  return runFacts({
    config,
    environment: { variables: [...env].map(([key, found]) => asVariable(key, found)) },
    values: figures,
    incidents: [],
    snapshotSettings: [],
    deviceTotalBytes,
    runCommit: null,
  });
}

/** The version of a framework is also that of its package, and overrides the version printed in a log. */
export function askedVersions({ framework, versions }: Asked): Partial<Record<VersionName, string>> {
  if (framework?.version == null) return { ...versions };
  const { name, version } = framework;
  const packageName: VersionName =
    name === 'megatron-bridge' ? 'megatron_bridge' : name === 'nemo' ? 'nemo' : 'megatron_core';
  return { [packageName]: version, ...versions };
}

export function askedGpu({ gpu }: Asked): { readonly name: string; readonly total_bytes: number | null } | undefined {
  return gpu === undefined ? undefined : { name: gpu, total_bytes: deviceOf(gpu)?.total_bytes ?? null };
}

/** Variables that a further environment sets, over those of a run. */
export function withEnvironment(facts: RawFacts, explicit: SettingsRead): RawFacts {
  const env = strongest(explicit.variables);
  // One that was captured whole is the one asked about.
  if (explicit.environment === 'whole') return { ...facts, env, env_known: 'whole' };
  const known = facts.env_known === 'none' ? explicit.environment : facts.env_known;
  return { ...facts, env: new Map([...facts.env, ...env]), env_known: known };
}

type Strongest = ExplicitValue & { readonly attempt: number };

/** Of each variable the latest attempt, the strongest origin, the last place. */
function strongest(variables: readonly FoundVariable[]): Map<string, Strongest> {
  const best = new Map<string, FoundVariable>();
  for (const variable of variables) {
    const known = best.get(variable.key);
    const isStronger =
      known === undefined ||
      variable.attempt > known.attempt ||
      (variable.attempt === known.attempt && variable.precedence <= known.precedence);
    if (isStronger) best.set(variable.key, variable);
  }
  return new Map(
    [...best].map(([key, { value, origin, attempt, file, line }]) => [
      key,
      { value, raw_key: key, origin, attempt, file, line },
    ]),
  );
}

function asVariable(key: string, { value, origin, attempt, file, line }: Strongest): EnvVariable {
  return { key, value, origin, attempt, file, line, values: [], not_set_on: [] };
}
