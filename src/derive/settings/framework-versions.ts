/**
 * Which Megatron-Core a release of a framework comes with. Rules and defaults depend on Megatron-Core's version, which
 * is often not given where the framework's is.
 */
import { loadData } from '../../knowledge/load-data.js';
import type { Framework } from './facts.js';

type CoreVersions = Readonly<Partial<Record<Framework, Readonly<Record<string, string>>>>>;

let versions: CoreVersions | undefined;

function coreVersions(): CoreVersions {
  versions ??= loadData('framework-versions') as CoreVersions;
  return versions;
}

const TITLES: Readonly<Record<Framework, string>> = {
  'megatron-lm': 'Megatron-LM',
  'megatron-bridge': 'Megatron Bridge',
  nemo: 'NeMo',
};

/** Megatron-Core of a framework's release; undefined where the table has none. */
export function coreOfFramework(name: Framework, version: string): string | undefined {
  const release = /\d{1,9}\.\d{1,9}/.exec(version)?.[0];
  const table = coreVersions()[name];
  return release !== undefined && table !== undefined && Object.hasOwn(table, release) ? table[release] : undefined;
}

/** The same as text, with its origin; versions are compared by their first number. */
export function impliedCore(name: Framework, version: string): string | undefined {
  const core = coreOfFramework(name, version);
  return core === undefined ? undefined : `${core} (comes with ${TITLES[name]} ${version})`;
}
