/** Whether directories that were named together are of unlike runs, by what their files print. */
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { getOrAdd } from '../../model/group-by.js';
import type { Store } from '../../store/store.js';
import { removeSource } from '../write/source-rows.js';

/** All ranks and nodes of a run have these in common, and so have its relaunches. A resumed run has another job id. */
const LAYOUT = [
  ...['world_size', 'tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'],
  ...['expert_model_parallel_size', 'num_layers', 'hidden_size'],
];

/** `world_size is 8 in a, 32 in b`; undefined where nothing shows that they differ. */
export async function unlikeRoots(store: Store, runId: number, roots: readonly string[]): Promise<string | undefined> {
  if (roots.length < 2) return undefined;
  const stats = await Promise.all(roots.map((root) => stat(root)));
  if (!stats.every((one) => one.isDirectory())) return undefined;
  const rows = await store.select(
    `SELECT DISTINCT source.path, found.key, trim(found.value) AS value
     FROM (SELECT source_id, key, value FROM log_config UNION ALL SELECT source_id, key, value FROM log_env) AS found
     JOIN source USING (source_id)
     WHERE source.run_id = $run_id AND found.value IS NOT NULL AND list_contains(string_split($keys, ','), found.key)
     ORDER BY ALL`,
    { run_id: runId, keys: LAYOUT.join(',') },
  );
  // Of each directory, the root that it is in: each is looked up once, whatever the number of files and roots.
  const rootOf = new Map<string, string | undefined>(roots.map((root) => [root, root]));
  const find = (directory: string): string | undefined => {
    if (rootOf.has(directory)) return rootOf.get(directory);
    const parent = dirname(directory);
    const root = parent === directory ? undefined : find(parent);
    rootOf.set(directory, root);
    return root;
  };
  const valuesOf = new Map<string, Map<string, Set<string>>>();
  for (const row of rows) {
    const root = find(dirname(String(row['path'])));
    if (root === undefined) continue;
    const ofKey = getOrAdd(valuesOf, String(row['key']), () => new Map<string, Set<string>>());
    getOrAdd(ofKey, root, () => new Set<string>()).add(String(row['value']));
  }
  for (const key of LAYOUT) {
    // One root of each set of values: most directories have the same.
    const sets = new Map<string, readonly [root: string, values: Set<string>]>();
    for (const [root, values] of valuesOf.get(key) ?? [])
      getOrAdd(sets, [...values].join('\n'), () => [root, values] as const);
    const distinct = [...sets.values()];
    for (const [i, [root, here]] of distinct.entries()) {
      const second = distinct.slice(i + 1).find(([, there]) => [...there].every((value) => !here.has(value)));
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
