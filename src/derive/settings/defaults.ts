/**
 * What a setting is where the configuration does not set it: the default of its framework and version, from
 * `knowledge/defaults.yaml`. Only defaults that rules and advice look at, and only those that were read upstream; a key
 * without an entry is unknown if it is not set.
 */

import { loadData } from '../../knowledge/load-data.js';
import { groupBy } from '../../model/group-by.js';
import type { VersionName } from '../../model/results/log.js';
import type { Condition } from './condition.js';
import type { FactsView, Framework, RawFacts } from './facts.js';
import { conditionOfText } from './terms.js';
import { isOn } from './values.js';
import { compareVersions } from './versions.js';

export interface Default {
  readonly key: string;
  /** As configurations write it; null: None. */
  readonly value: string | null;
  /** Of these frameworks only; missing: of all, since the field is Megatron-Core's. */
  readonly frameworks?: readonly Framework[];
  /** In versions from `from` on and before `before`; an unknown version has the newest default. */
  readonly versions?: { readonly package: VersionName; readonly from?: string; readonly before?: string };
  /** Only where this holds for the other settings. */
  readonly when?: Condition;
  /** Of a class whose summary in Bridge omits what is Megatron-Core's default. */
  readonly printed?: true;
  /** Class or function that defines it. */
  readonly source: string;
}

interface Defaults {
  readonly byKey: ReadonlyMap<string, readonly Default[]>;
  /** What describes a model, which the framework's class of the model may set. */
  readonly modelKeys: ReadonlySet<string>;
}

interface DefaultsFile {
  readonly model_keys: readonly string[];
  readonly defaults: readonly (Omit<Default, 'key' | 'value' | 'when'> & {
    readonly when?: string;
    readonly values: Readonly<Record<string, string | number | boolean | null>>;
  })[];
}

let loaded: Defaults | undefined;

export function defaults(): Defaults {
  loaded ??= readDefaults(loadData('defaults') as DefaultsFile);
  return loaded;
}

function readDefaults({ model_keys: modelKeys, defaults: groups }: DefaultsFile): Defaults {
  const all = groups.flatMap(({ values, when, ...group }) => {
    const shared = when === undefined ? group : { ...group, when: conditionOfText(when, `defaults: ${group.source}`) };
    return Object.entries(values).map(([key, value]): Default => ({ key, value: asPython(value), ...shared }));
  });
  return { byKey: groupBy(all, ({ key }) => key), modelKeys: new Set(modelKeys) };
}

function asPython(value: string | number | boolean | null): string | null {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? null : String(value);
}

/** Undefined where there is none, or where so little was read that what is missing may just not have been seen. */
export function defaultOf(
  key: string,
  view: FactsView,
): { readonly value: string | null; readonly source: string } | undefined {
  if (!isConfigured(view) || isOfRecipe(view.facts) || isOfModel(key, view)) return undefined;
  const { name } = view.facts.framework;
  const fits = (defaults().byKey.get(key) ?? []).filter(
    (entry) =>
      (entry.frameworks === undefined || name === null || entry.frameworks.includes(name)) &&
      inVersions(entry, view) &&
      !(entry.printed && isSummarised(view)) &&
      (entry.when === undefined || entry.when.test(view).value === true),
  );
  // Prefer the framework's default over Megatron-Core's.
  const ofFramework = name === null ? undefined : fits.find(({ frameworks }) => frameworks !== undefined);
  const best = ofFramework ?? (name === null ? common(fits) : fits.at(-1));
  return best === undefined ? undefined : { value: best.value, source: best.source };
}

/** What holds in every framework: Megatron-Core's, or that of both trainers, where no framework has another. */
function common(fits: readonly Default[]): Default | undefined {
  const shared = fits.findLast(({ frameworks }) => frameworks === undefined || frameworks.length > 1);
  return fits.every(({ value }) => value === shared?.value) ? shared : undefined;
}

/** Settings that name a recipe on a command line. */
export const RECIPES: readonly string[] = ['recipe', 'recipe_name', 'model_recipe_name'];

/**
 * A command line of Bridge or NeMo that names a recipe contains only the changes to it; the rest is the recipe's, and
 * unknown until the run prints or writes its configuration.
 */
export function isOfRecipe(facts: RawFacts): boolean {
  if (facts.framework.name === 'megatron-lm') return false;
  const named = RECIPES.some((key) => facts.settings.get(key)?.origin === 'command line');
  if (!named) return false;
  for (const { origin } of facts.settings.values()) if (WHOLE_ORIGINS.has(origin)) return false;
  return true;
}

/**
 * Bridge and NeMo have a class for each model, whose defaults were not read; a summary omits only Megatron-Core's. With
 * --use-checkpoint-args the model is that of the checkpoint; programs for inference and conversion read one too.
 */
function isOfModel(key: string, view: FactsView): boolean {
  const { framework, settings } = view.facts;
  const isClass = framework.name === 'megatron-bridge' || framework.name === 'nemo';
  const isCheckpoint = isOn(settings.get('use_checkpoint_args')?.value ?? null);
  const isUndescribed = framework.name === null && !settings.has('num_layers');
  return (isClass || isCheckpoint || isUndescribed) && defaults().modelKeys.has(key) && !isSummarised(view);
}

/** Origins that contain a whole configuration, or everything in it that differs from the defaults. */
const WHOLE_ORIGINS: ReadonlySet<string> = new Set(['log dump', 'log summary', 'log yaml', 'run file']);

function isSummarised({ facts }: FactsView): boolean {
  for (const { origin } of facts.settings.values()) if (origin === 'log summary') return true;
  return false;
}

/** A banner prints some sizes only; what a configuration, a command line or a dump does not contain is not set. */
function isConfigured({ facts }: FactsView): boolean {
  for (const { origin } of facts.settings.values()) if (origin !== 'log banner') return true;
  return false;
}

function inVersions({ versions }: Default, { facts }: FactsView): boolean {
  if (versions === undefined) return true;
  const version = facts.versions[versions.package] ?? null;
  // Newest: no upper bound.
  if (version === null) return versions.before === undefined;
  return (
    (versions.from === undefined || compareVersions(version, versions.from) >= 0) &&
    (versions.before === undefined || compareVersions(version, versions.before) < 0)
  );
}
