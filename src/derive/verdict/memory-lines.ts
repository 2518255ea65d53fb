/** The memory figures that a run printed, by rank: no verdict of one of 16,384 ranks goes through the rows of all. */
import { groupBy } from '../../model/group-by.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import { readLogFacts } from '../run/log-facts.js';

export type MemoryRow = QueryRow<'log.memory_ranks'>;

export interface MemoryLines {
  readonly rows: readonly MemoryRow[];
  of(rank: number | null): readonly MemoryRow[];
  /** Of a failure without a rank: a sole writer must be the rank that failed. */
  ownRank(rank: number | null): number | null;
}

/** Of the judged launch. */
export const readMemoryLines = readOnce(async (store, runId): Promise<MemoryLines> => {
  const { judged } = await readLogFacts(store, runId);
  const rows = await store.all('log.memory_ranks', { run_ids: String(runId), attempts: String(judged) });
  const byRank = groupBy(rows, ({ rank }) => rank);
  const [soleRank] = byRank.size === 1 ? byRank.keys() : [null];
  return { rows, of: (rank) => byRank.get(rank) ?? [], ownRank: (rank) => rank ?? soleRank ?? null };
});
