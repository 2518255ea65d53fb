/** Whether directories that were named together are of unlike runs, by what their files print. */
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { getOrAdd } from '../../model/group-by.js';
import type { Store } from '../../store/store.js';
import { removeSource } from '../write/source-rows.js';

/** All ranks and nodes of a job have these in common; relaunches may have other jobs. */
const LAYOUT = [
  ...['world_size', 'tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'],
  ...['expert_model_parallel_size', 'num_layers', 'hidden_size'],
];
const JOBS = ['SLURM_JOB_ID', 'SLURM_JOBID'];

/** `world_size 8 and 32 (a, b)`; undefined where nothing shows that they differ. */
export async function unlikeRoots(store: Store, runId: number, roots: readonly string[]): Promise<string | undefined> {
  if (roots.length < 2) return undefined;
  const stats = await Promise.all(roots.map((root) => stat(root)));
  if (!stats.every((one) => one.isDirectory())) return undefined;
  // `rank_0`, `rank_1`, `node1`, `attempt_2`: parts of a run have numbers.
  const isNumbered = new Set(roots.map((root) => basename(root).replaceAll(/\d+/g, '#'))).size === 1;
  const keys = isNumbered ? LAYOUT : [...LAYOUT, ...JOBS];
  const rows = await store.select(
    `SELECT DISTINCT source.path, found.key, trim(found.value) AS value
     FROM (SELECT source_id, key, value FROM log_config UNION ALL SELECT source_id, key, value FROM log_env) AS found
     JOIN source USING (source_id)
     WHERE source.run_id = $run_id AND found.value IS NOT NULL AND list_contains(string_split($keys, ','), found.key)`,
    { run_id: runId, keys: keys.join(',') },
  );
  for (const key of keys) {
    const values = new Map<string, Set<string>>();
    for (const row of rows) {
      const root = roots.find((path) => String(row['path']).startsWith(`${path}/`));
      if (row['key'] === key && root !== undefined)
        getOrAdd(values, root, () => new Set<string>()).add(String(row['value']));
    }
    const pairs = [...values];
    for (const [i, [root, here]] of pairs.entries()) {
      const second = pairs.slice(i + 1).find(([, there]) => [...there].every((value) => !here.has(value)));
      if (second === undefined) continue;
      const [[one], [another]] = [[...here], [...second[1]]];
      return `${key} is ${one} in ${basename(root)}, ${another} in ${basename(second[0])}`;
    }
  }
  return undefined;
}

/** Undoes what was read of a run that was new. */
export async function removeRun(store: Store, runId: number): Promise<void> {
  const sources = await store.select('SELECT source_id FROM source WHERE run_id = $run_id', { run_id: runId });
  await store.transaction(async () => {
    for (const row of sources) await removeSource(store, Number(row['source_id']));
    await store.run('DELETE FROM run WHERE run_id = $run_id', { run_id: runId });
  });
}
