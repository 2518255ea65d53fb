/** Settings, variables and versions that differ between two runs; those that bear on memory first. */

import { memoryRank } from '../../derive/run/memory-keys.js';
import type { Measurement } from '../../model/measurement.js';
import type { ChangedValue } from '../../model/results/compare.js';

/** Different in every run: not a regression. */
const VOLATILE =
  /(?:^|[_.])(?:path|paths|dir|dirs|directory|save|load|log_?dir|name|exp_name|project|entity|id|job_id|run_id|uuid|seed|port|master_port|master_addr|host|hostname|hosts|timestamp|date|time_limit|rank|local_rank|node_rank|pid|user|home|url|commit|branch|output|output_dir|tensorboard_dir|wandb_\w{1,100}|slurm_\w{1,100})$/i;

/** Whether a value is a place or a time. */
const PLACE = /^(?:\/|\.\/|~\/|[a-z]+:\/\/)|\d{4}-\d{2}-\d{2}/;

export function changedConfig(golden: Measurement, current: Measurement): ChangedValue[] {
  const keys =
    Object.keys(golden.config).length === 0 || Object.keys(current.config).length === 0
      ? []
      : both(golden.config, current.config);
  return keys
    .flatMap((key): ChangedValue[] => {
      const [a, b] = [golden.config[key] ?? null, current.config[key] ?? null];
      if (a === b) return [];
      // A key that only one side prints, without a value, is a framework's new field.
      if ((a === null && (b === 'null' || b === 'false')) || (b === null && (a === 'null' || a === 'false'))) return [];
      if (memoryRank(key) === undefined && (VOLATILE.test(key) || PLACE.test(a ?? '') || PLACE.test(b ?? '')))
        return [];
      return [{ key, a, b }];
    })
    .sort((x, y) => order(x.key) - order(y.key) || (x.key < y.key ? -1 : 1));
}

const order = (key: string): number => memoryRank(key) ?? Number.MAX_SAFE_INTEGER;

const ENV_NOISE =
  /^(?:SLURM_|HOSTNAME$|HOST$|PWD$|OLDPWD$|HOME$|USER$|LOGNAME$|MASTER_|RANK$|LOCAL_RANK$|NODE_RANK$|GROUP_RANK$|ROLE_|TORCHELASTIC_|PMIX?_|OMPI_|CUDA_VISIBLE_DEVICES$|TMPDIR$|JOB)/;

export function changedEnv(golden: Measurement, current: Measurement): ChangedValue[] {
  // Where a side was not captured at all, nothing is known to differ.
  const known = Object.keys(golden.env).length > 0 && Object.keys(current.env).length > 0;
  const changed: ChangedValue[] = known
    ? both(golden.env, current.env).flatMap((key) => {
        const [a, b] = [golden.env[key] ?? null, current.env[key] ?? null];
        return a === b || ENV_NOISE.test(key) ? [] : [{ key, a, b }];
      })
    : [];
  const [a, b] = [golden.allocator_conf, current.allocator_conf];
  if (a !== null && b !== null && a !== b && !changed.some(({ key }) => /^PYTORCH_\w*ALLOC_CONF$/.test(key)))
    changed.unshift({ key: 'PYTORCH_CUDA_ALLOC_CONF', a, b });
  return changed;
}

/**
 * Versions of libraries, and commits of what the job was made of (not the run's own commit, which is what is looked
 * for).
 */
export function changedVersions(golden: Measurement, current: Measurement): ChangedValue[] {
  const of = (side: Measurement): Record<string, string> => ({
    ...side.versions,
    ...Object.fromEntries(Object.entries(side.commits).flatMap(([key, sha]) => (key === 'run' ? [] : [[key, sha]]))),
  });
  const [x, y] = [of(golden), of(current)];
  return both(x, y).flatMap((key) => {
    const [a, b] = [x[key], y[key]];
    return a === undefined || b === undefined || a === b ? [] : [{ key, a, b }];
  });
}

function both(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}
