/**
 * Which environment variables are kept: those that bear on memory, performance or the identity of a run. Everything
 * else is dropped unread.
 */
import type { EnvFinding, EnvOrigin, KnownRank } from '../model/log-rows.js';
import { loadData } from './load-data.js';
import { hideSettingValue, isSecretName } from './secrets.js';

/**
 * Variables that carry the allocator's settings, in the order torch looks them up; the first that is set wins.
 * Upstream: torch `c10/cuda/CUDAAllocatorConfig.h`, instance(). The last one is read for CUDA since 2.10; 2.9 only has
 * its name in warnings.
 */
export const ALLOCATOR_VARIABLES: readonly string[] = [
  'PYTORCH_CUDA_ALLOC_CONF',
  'PYTORCH_HIP_ALLOC_CONF',
  'PYTORCH_ALLOC_CONF',
];

/** Whole names and prefixes; a prefix ends in `*`. */
export const keptEnv = (): readonly string[] =>
  Object.values(loadData('env-keys') as Readonly<Record<string, readonly string[]>>).flat();

/** Never kept, whatever the list has: what may be a secret. */
const DOUBTFUL = /TOKEN(?!IZERS)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|(?:^|_)KEY(?:_|$)|PRIVATE|COOKIE|AUTH/i;

let kept: { readonly names: ReadonlySet<string>; readonly prefixes: readonly string[] } | undefined;

export function keepsEnv(key: string): boolean {
  if (DOUBTFUL.test(key) || isSecretName(key)) return false;
  if (kept === undefined) {
    const names = keptEnv();
    kept = {
      names: new Set(names.filter((name) => !name.endsWith('*'))),
      prefixes: names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
    };
  }
  return kept.names.has(key) || kept.prefixes.some((prefix) => key.startsWith(prefix));
}

/** Longer values are cut: none that matters is longer. */
export const MOST_ENV_CHARS = 1024;

/** A row for a variable, or null if it is not kept. `value` null: unset. */
export function envFinding(key: string, value: string | null, origin: EnvOrigin): EnvFinding | null {
  if (!keepsEnv(key)) return null;
  const hidden = value === null ? null : hideSettingValue(key, value);
  const cut = hidden !== null && hidden.length > MOST_ENV_CHARS ? `${hidden.slice(0, MOST_ENV_CHARS)}…` : hidden;
  return { row: 'env', key, value: cut, origin };
}

/**
 * The global rank from a process's own environment. Launchers write it in this order of trust; Slurm's task number is a
 * rank only where tasks are not nodes, since under torchrun one task starts all ranks of its node.
 */
export function rankOfEnvironment(variables: ReadonlyMap<string, string>): KnownRank {
  for (const name of ['RANK', 'OMPI_COMM_WORLD_RANK', 'PMIX_RANK', 'PMI_RANK', 'PALS_RANKID', 'SLURM_PROCID']) {
    const text = variables.get(name);
    if (text === undefined || !/^\d{1,6}$/.test(text)) continue;
    if (name === 'SLURM_PROCID') {
      const tasks = variables.get('SLURM_NTASKS') ?? variables.get('SLURM_NPROCS');
      const nodes = variables.get('SLURM_NNODES') ?? variables.get('SLURM_JOB_NUM_NODES');
      if (tasks === undefined || tasks === nodes) continue;
    }
    return { rank: Number(text), origin: `environment:${name}` };
  }
  return null;
}
