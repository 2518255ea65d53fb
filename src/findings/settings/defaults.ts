/**
 * What a setting is where nobody tells it: the default of its framework and version. Only defaults that rules and advice look at, and only
 * those that were read upstream; a key without an entry is unknown if it is not told.
 */
import type { VersionName } from '../../model/log-results.js';
import { DEFAULTS } from './default-values.js';
import { KEYS_OF_MODELS } from './default-values-frameworks.js';
import type { Framework } from './facts.js';
import { compareVersions } from './versions.js';
import type { View } from './view.js';

export interface Default {
  readonly key: string;
  /** As configurations write it; null: None. */
  readonly value: string | null;
  /** Of these frameworks only; missing: of all, since the field is Megatron-Core's. */
  readonly frameworks?: readonly Framework[];
  /** In versions from `from` on and before `before`; an unknown version has the newest default. */
  readonly versions?: { readonly package: VersionName; readonly from?: string; readonly before?: string };
  /** Only where this holds of the other settings. */
  readonly when?: (view: View) => boolean;
  /**
   * Of a class that Bridge's summary compares with Megatron-Core's: the summary prints what differs from Megatron-Core, so that what it leaves
   * out is Megatron-Core's default and not this one.
   */
  readonly printed?: true;
  /** Class or function that defines it. */
  readonly source: string;
}

const BY_KEY = new Map<string, Default[]>();
for (const entry of DEFAULTS) {
  const known = BY_KEY.get(entry.key);
  if (known === undefined) BY_KEY.set(entry.key, [entry]);
  else known.push(entry);
}

/** Undefined where there is none, or where so little was read that what is missing may just not have been seen. */
export function defaultOf(
  key: string,
  view: View,
): { readonly value: string | null; readonly source: string } | undefined {
  if (!isConfigured(view) || isOfRecipe(view) || isOfModel(key, view)) return undefined;
  const { name } = view.facts.framework;
  const fits = (BY_KEY.get(key) ?? []).filter(
    (entry) =>
      (entry.frameworks === undefined || name === null || entry.frameworks.includes(name)) &&
      inVersions(entry, view) &&
      !(entry.printed && isSummarised(view)) &&
      entry.when?.(view) !== false,
  );
  // One of the framework's own goes before Megatron-Core's.
  const own = name === null ? undefined : fits.find(({ frameworks }) => frameworks !== undefined);
  const best = own ?? (name === null ? common(fits) : fits.at(-1));
  return best === undefined ? undefined : { value: best.value, source: best.source };
}

/** What holds whichever framework it is: Megatron-Core's, or that of both trainers, where no framework says otherwise. */
function common(fits: readonly Default[]): Default | undefined {
  const shared = fits.findLast(({ frameworks }) => frameworks === undefined || frameworks.length > 1);
  return fits.every(({ value }) => value === shared?.value) ? shared : undefined;
}

/** Settings that name a recipe on a command line. */
const RECIPES = ['recipe', 'recipe_name', 'model_recipe_name'];

/**
 * A command line of Bridge or NeMo that names a recipe tells what it changes of it; the rest is the recipe's, which nobody told, until the run
 * prints or writes its configuration.
 */
function isOfRecipe({ facts }: View): boolean {
  if (facts.framework.name === 'megatron-lm') return false;
  const named = RECIPES.some((key) => facts.settings.get(key)?.origin === 'command line');
  if (!named) return false;
  for (const { origin } of facts.settings.values()) if (WHOLE.has(origin)) return false;
  return true;
}

/** Bridge and NeMo have a class for each model, whose defaults nobody read; a summary leaves out only what is Megatron-Core's. */
function isOfModel(key: string, view: View): boolean {
  const { name } = view.facts.framework;
  return (name === 'megatron-bridge' || name === 'nemo') && KEYS_OF_MODELS.has(key) && !isSummarised(view);
}

/** Where a whole configuration is told, or all of it that differs from the defaults. */
const WHOLE: ReadonlySet<string> = new Set(['log dump', 'log summary', 'log yaml', 'run file']);

function isSummarised({ facts }: View): boolean {
  for (const { origin } of facts.settings.values()) if (origin === 'log summary') return true;
  return false;
}

/** A banner tells some sizes; only a configuration, a command line or a dump tells what is missing by not telling it. */
function isConfigured({ facts }: View): boolean {
  for (const { origin } of facts.settings.values()) if (origin !== 'log banner') return true;
  return false;
}

function inVersions({ versions }: Default, { facts }: View): boolean {
  if (versions === undefined) return true;
  const version = facts.versions[versions.package] ?? null;
  // Newest: no upper bound.
  if (version === null) return versions.before === undefined;
  return (
    (versions.from === undefined || compareVersions(version, versions.from) >= 0) &&
    (versions.before === undefined || compareVersions(version, versions.before) < 0)
  );
}
