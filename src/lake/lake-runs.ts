/** The runs of a lake over all of their blocks. */
import { groupBy } from '../model/group-by.js';
import type { LakeRun } from '../model/results/lake.js';
import type { RowOf } from '../model/results/row-of.js';
import type { Store } from '../store/store.js';

/** Tables of the lake that {@link lakeRuns} and {@link withCauses} read, for `openLake`. */
export const OF_RUNS = 'run_summary verdict';

export type LakeRunRow = RowOf<'export.runs_of_lake'>;

/** Those that have a whole block, the one that began last first; `run`: only that one. */
export const lakeRuns = (store: Store, run: string | null = null): Promise<readonly LakeRunRow[]> =>
  store.all('export.runs_of_lake', { run });

/** With the causes of their failures. */
export async function withCauses(store: Store, runs: readonly LakeRunRow[]): Promise<LakeRun[]> {
  const causes = await store.all('export.causes_of_lake', { runs: JSON.stringify(runs.map(({ run }) => run)) });
  const ofRun = groupBy(causes, ({ run }) => run);
  return runs.map(({ schema_version: _, ...run }) => ({
    ...run,
    causes: (ofRun.get(run.run) ?? []).map(({ cause, detail, ranks }) => ({ cause, detail, ranks })),
  }));
}
