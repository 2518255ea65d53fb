/**
 * What a setting is where nobody tells it: the default of its framework and version. Only defaults that rules and advice look at, and only
 * those that were read upstream; a key without an entry is unknown if it is not told.
 */
import type { VersionName } from '../../model/log-results.js';
import { DEFAULTS } from './default-values.js';
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
  if (!isConfigured(view)) return undefined;
  const { name } = view.facts.framework;
  const fits = (BY_KEY.get(key) ?? []).filter(
    (entry) =>
      (entry.frameworks === undefined || name === null || entry.frameworks.includes(name)) && inVersions(entry, view),
  );
  // One of the framework's own goes before Megatron-Core's.
  const best = fits.find(({ frameworks }) => name !== null && frameworks !== undefined) ?? fits.at(-1);
  return best === undefined ? undefined : { value: best.value, source: best.source };
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
