/** Environment variables: value, origin, and the ranks that differ or lack one. */

import { maxOf, minOf } from '../../model/lists.js';
import { ENV_ORIGINS } from '../../model/log-rows.js';
import type { EnvResult, EnvVariable } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';

/** Origins that show an environment whole, so that what is missing there was not set. */
const WHOLE_ENVIRONMENTS: ReadonlySet<string> = new Set([ENV_ORIGINS[0], ENV_ORIGINS[1]]);

type EnvRow = QueryRow<'log.env'>;

/** Of one variable, the rows of its latest attempt, strongest origin first (as the query orders them). */
function describe(key: string, rows: readonly EnvRow[], captured: readonly number[]): EnvVariable {
  const attempt = maxOf(rows.map((row) => row.attempt));
  const latest = rows.filter((row) => row.attempt === attempt);
  const strongest = minOf(latest.map((row) => row.precedence));
  // Of the strongest origin, the value of most ranks.
  const best = latest
    .filter((row) => row.precedence === strongest)
    .reduce((most, row) => ((row.ranks?.length ?? 0) > (most.ranks?.length ?? 0) ? row : most));
  const have = new Set(latest.filter((row) => WHOLE_ENVIRONMENTS.has(row.origin)).flatMap((row) => row.ranks ?? []));
  return {
    key,
    value: best.value,
    origin: best.origin,
    attempt,
    file: best.display_path,
    line: best.line,
    values: latest.map((row) => ({
      value: row.value,
      origin: row.origin,
      ranks: row.ranks ?? [],
      hosts: row.hosts ?? [],
    })),
    // A variable that no capture has is one that a script only meant to set: then its absence is the news, on every
    // captured rank.
    not_set_on: captured.filter((rank) => !have.has(rank)),
  };
}

export function readEnvironment(store: Store, runId: number): Promise<Pick<EnvResult, 'variables' | 'captured_ranks'>> {
  return onceEnvironment(store, runId);
}

const onceEnvironment = readOnce(
  async (store: Store, runId: number): Promise<Pick<EnvResult, 'variables' | 'captured_ranks'>> => {
    const rows = await store.all('log.env', { run_id: runId });
    const captured = [
      ...new Set(rows.filter((row) => WHOLE_ENVIRONMENTS.has(row.origin)).flatMap((row) => row.ranks ?? [])),
    ].sort((a, b) => a - b);
    const byKey = new Map<string, EnvRow[]>();
    for (const row of rows) {
      const group = byKey.get(row.key);
      if (group === undefined) byKey.set(row.key, [row]);
      else group.push(row);
    }
    return { variables: [...byKey].map(([key, group]) => describe(key, group, captured)), captured_ranks: captured };
  },
);

export async function describeEnv(store: Store, runId: number, run: string): Promise<EnvResult> {
  const settings = new Map<string, { key: string; value: string; ranks: (number | null)[] }>();
  for (const { key, value, rank } of await store.all('log.snapshot_settings', { run_id: runId })) {
    const name = `${key}\0${value}`;
    const known = settings.get(name);
    if (known === undefined) settings.set(name, { key, value, ranks: [rank] });
    else known.ranks.push(rank);
  }
  return {
    schema: 'mbforensics/env@1',
    run,
    ...(await readEnvironment(store, runId)),
    snapshot_settings: [...settings.values()],
  };
}
