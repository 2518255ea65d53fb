/** Settings that are lists of modules, and the releases that have each module: `module-lists.yaml`. */
import { groupBy } from '../model/group-by.js';
import { loadData } from './load-data.js';

export interface ModuleList {
  readonly source: string;
  /** What happens to the modules. */
  readonly what: string;
  /** `since`: first release of Megatron-Core; `dev`: its development branch only; missing: all that have the list. */
  readonly modules: Readonly<Record<string, { readonly since?: string; readonly does: string }>>;
}

/** By the canonical key of the setting. */
export const moduleLists = (): Readonly<Record<string, ModuleList>> =>
  loadData('module-lists') as Readonly<Record<string, ModuleList>>;

/** The development branch has what the next release may have. */
const NEXT_RELEASE = '0.20';

/**
 * In the notation of conditions: the setting has a module that no release has, or none of this release. Undecided where
 * the release is unknown and some have it.
 */
export function unlistedModules(key: string): string {
  const modules = Object.entries(moduleLists()[key]?.modules ?? {});
  const added = groupBy(
    modules.flatMap(([name, { since }]) => (since === undefined ? [] : [{ name, since }])),
    ({ since }) => (since === 'dev' ? NEXT_RELEASE : since),
  );
  const older = [...added].map(
    ([since, list]) => `(${key} has ${list.map(({ name }) => name).join('|')} and megatron_core < ${since})`,
  );
  return [`${key} has other than ${modules.map(([name]) => name).join('|')}`, ...older].join(' or ');
}
