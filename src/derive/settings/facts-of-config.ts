/** Facts of a configuration that was read, whether from a store or straight from files. */
import { recipeInputs } from '../../estimate/mixed-precision.js';
import { negatedFlags } from '../../knowledge/config-keys.js';
import { upstreamNames } from '../../knowledge/upstream-names.js';
import type { VersionName } from '../../model/results/log.js';
import type { EffectiveConfig } from '../run/config.js';
import { RECIPES } from './defaults.js';
import { deviceOf } from './devices.js';
import type { ExplicitValue, Framework, RawFacts } from './facts.js';
import { impliedCore } from './framework-versions.js';

export interface ReadConfig {
  readonly config: EffectiveConfig;
  /** Variables by name, as the strongest origin has them. */
  readonly env: ReadonlyMap<string, ExplicitValue>;
  readonly envKnown: RawFacts['env_known'];
  readonly versions: Readonly<Partial<Record<VersionName, string | null>>>;
  readonly gpu: { readonly name: string | null; readonly total_bytes: number | null };
  /** As given by the user; overrides what the files contain. */
  readonly framework?: { readonly name: Framework; readonly version: string | null } | undefined;
}

export function factsOfConfig(read: ReadConfig): RawFacts {
  const settings = new Map<string, ExplicitValue>();
  for (const { key, value, raw_key, origin, file, line } of read.config.settings)
    settings.set(key, { value, raw_key, origin, file, line });
  for (const [key, explicit] of ofSections(read.config)) settings.set(key, explicit);
  applyRecipe(settings);
  const framework = read.framework ?? { name: frameworkOf(read), version: null };
  const version = framework.version ?? versionOf(framework.name, read.versions);
  const known = read.gpu.name === null ? null : deviceOf(read.gpu.name);
  return {
    settings,
    env: read.env,
    env_known: read.envKnown,
    versions: withFramework(read.versions, framework.name, version),
    framework: { name: framework.name, version },
    device: {
      name: read.gpu.name,
      capability: known?.capability ?? null,
      total_bytes: read.gpu.total_bytes ?? known?.total_bytes ?? null,
    },
  };
}

/** Fields that two sections have under one name: where they differ, each section's own. */
export const SECTION_KEYS: readonly string[] = [
  ...['bf16', 'fp16'].flatMap((key) => [`model.${key}`, `optimizer.${key}`]),
  'model.seq_length',
  'dataset.seq_length',
];

function ofSections({ bySection }: EffectiveConfig): [string, ExplicitValue][] {
  return SECTION_KEYS.flatMap((key): [string, ExplicitValue][] => {
    const explicit = bySection.get(key);
    return explicit === undefined ? [] : [[key, explicit]];
  });
}

/**
 * A named precision recipe overwrites the fields of the model, optimizer and DDP sections when training starts; what
 * the running program printed of its objects is the outcome already.
 */
function applyRecipe(settings: Map<string, ExplicitValue>): void {
  const recipe = settings.get('mixed_precision');
  if (recipe?.value == null) return;
  for (const [key, value] of Object.entries(recipeInputs(recipe.value))) {
    const explicit = settings.get(key);
    if (explicit !== undefined && explicit.value !== null && explicit.origin === 'log dump') continue;
    const text = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
    settings.set(key, { ...recipe, value: text });
  }
}

/** Sections of Bridge's ConfigContainer, except `model`, which other frameworks have too. */
const BRIDGE_SECTIONS = ['ddp', 'dist', 'train', 'comm_overlap', 'scheduler', 'rng', 'profiling'];

function frameworkOf({ config, versions }: ReadConfig): Framework | null {
  let flags = 0;
  let [isRecipe, isOther] = [false, false];
  for (const { value, raw_key, origin } of config.settings) {
    if (/^megatron\.bridge\b/.test(value ?? '')) return 'megatron-bridge';
    if (/^nemo\./.test(value ?? '')) return 'nemo';
    if (isMegatronFlag(raw_key) || (origin === 'log dump' && !raw_key.includes('.'))) flags += 1;
    // Programs for inference and conversion have flags of their own.
    if (/^--(?:tp|pp|cp|ep|etp)$/.test(raw_key)) isOther = true;
    if (RECIPES.includes(raw_key.replace('--', ''))) isRecipe ||= origin === 'command line';
  }
  if (versions.megatron_bridge != null) return 'megatron-bridge';
  if (versions.nemo != null) return 'nemo';
  const sections = new Set(config.settings.map(({ raw_key }) => raw_key.replace(/^cfg\./, '').split('.')[0]!));
  if (config.settings.some(({ raw_key }) => /^(?:recipe\.)?trainer\.strategy\./.test(raw_key))) return 'nemo';
  if (sections.has('model') && BRIDGE_SECTIONS.some((name) => sections.has(name))) return 'megatron-bridge';
  if (isRecipe) return 'megatron-bridge';
  return flags > 0 && !isOther ? 'megatron-lm' : null;
}

/** Launchers, and programs of others, have flags too. */
function isMegatronFlag(rawKey: string): boolean {
  if (!rawKey.startsWith('--')) return false;
  const name = rawKey.slice(2).replaceAll('-', '_');
  return upstreamNames().get(name)?.flag != null || Object.hasOwn(negatedFlags(), name);
}

function versionOf(name: Framework | null, versions: ReadConfig['versions']): string | null {
  switch (name) {
    case 'megatron-bridge':
      return versions.megatron_bridge ?? null;
    case 'megatron-lm':
      return versions.megatron_core ?? null;
    case 'nemo':
      return versions.nemo ?? null;
    case null:
      return null;
  }
}

/** Package versions that follow from the framework's version. */
function withFramework(
  versions: ReadConfig['versions'],
  name: Framework | null,
  version: string | null,
): RawFacts['versions'] {
  if (name === null || version === null) return versions;
  const packageName: VersionName =
    name === 'megatron-bridge' ? 'megatron_bridge' : name === 'nemo' ? 'nemo' : 'megatron_core';
  const core = versions.megatron_core ?? impliedCore(name, version);
  return {
    ...versions,
    ...(core === undefined ? {} : { megatron_core: core }),
    [packageName]: versions[packageName] ?? version,
  };
}
