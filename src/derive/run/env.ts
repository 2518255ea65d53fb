/** Environment variables: value, origin, and the ranks that differ or lack one. */

import { groupBy } from '../../model/group-by.js';
import type { EnvResult, EnvVariable } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';

function describe(rows: readonly QueryRow<'log.env_in_force'>[]): EnvVariable {
  const { key, value, origin, attempt, file, line, not_set_on } = rows.find(({ place }) => place === 1)!;
  const values = rows.map((row) => ({ value: row.value, origin: row.origin, ranks: row.ranks, hosts: row.hosts }));
  return { key, value, origin, attempt, file, line, values, not_set_on };
}

export function readEnvironment(store: Store, runId: number): Promise<Pick<EnvResult, 'variables' | 'captured_ranks'>> {
  return onceEnvironment(store, runId);
}

const onceEnvironment = readOnce(
  async (store: Store, runId: number): Promise<Pick<EnvResult, 'variables' | 'captured_ranks'>> => {
    const rows = await store.all('log.env_in_force', { run_id: runId });
    return {
      variables: [...groupBy(rows, ({ key }) => key).values()].map(describe),
      captured_ranks: rows[0]?.captured_ranks ?? [],
    };
  },
);

export async function describeEnv(store: Store, runId: number, run: string): Promise<EnvResult> {
  return {
    schema: 'mbforensics/env@1',
    run,
    ...(await readEnvironment(store, runId)),
    snapshot_settings: await store.all('log.snapshot_settings', { run_id: runId }),
  };
}
