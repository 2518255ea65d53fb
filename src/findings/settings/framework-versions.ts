/**
 * Which Megatron-Core a release of a framework comes with, by major and minor version. Rules and defaults go by Megatron-Core's version, which
 * nobody tells who names the framework's.
 */
import type { Framework } from './facts.js';

/**
 * Megatron Bridge pins Megatron-LM as a submodule (`3rdparty/Megatron-LM`, `[tool.uv.sources]` of its pyproject.toml) and NeMo's container
 * holds both, so that one release of Bridge goes with one of Megatron-Core: Bridge `docs/releases/software-versions.md` up to 0.4; for 0.5 and
 * 0.6 what others that pin both release versions pin together. Bridge 0.2 is of Megatron-Core's branch `dev`, and the main branch of Bridge
 * pins commits between two releases (067f987: 2a75ac1, after 0.19), so that a version without an entry tells nothing.
 */
const MEGATRON_CORE: Readonly<Partial<Record<Framework, Readonly<Record<string, string>>>>> = {
  'megatron-bridge': { '0.1': '0.14', '0.2': '0.15', '0.3': '0.16', '0.4': '0.17', '0.5': '0.18', '0.6': '0.19' },
  // NeMo Framework containers 24.09, and 25.09 to 26.04; those between were not read.
  nemo: { '2.0': '0.9', '2.5': '0.14', '2.6': '0.15', '2.7': '0.16', '2.8': '0.17' },
};

const TITLES: Readonly<Record<Framework, string>> = {
  'megatron-lm': 'Megatron-LM',
  'megatron-bridge': 'Megatron Bridge',
  nemo: 'NeMo',
};

/** Megatron-Core of a framework's release; undefined where the table has none. */
export function coreOfFramework(name: Framework, version: string): string | undefined {
  const release = /\d+\.\d+/.exec(version)?.[0];
  const table = MEGATRON_CORE[name];
  return release !== undefined && table !== undefined && Object.hasOwn(table, release) ? table[release] : undefined;
}

/** The same as text that says whence it is known; versions are compared by their first number. */
export function impliedCore(name: Framework, version: string): string | undefined {
  const core = coreOfFramework(name, version);
  return core === undefined ? undefined : `${core} (comes with ${TITLES[name]} ${version})`;
}
