/** The memory figures that a run printed, by rank: those of 16,384 ranks are not read where a few are asked for. */
import { groupBy } from '../../model/group-by.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readLogFacts } from '../run/log-facts.js';

export type MemoryRow = QueryRow<'log.memory_ranks'>;

export interface MemoryLines {
  /** Whether any rank printed some. */
  readonly exist: boolean;
  of(rank: number | null): readonly MemoryRow[];
  /** Of a failure without a rank: a sole writer must be the rank that failed. */
  ownRank(rank: number | null): number | null;
}

/** Of the judged launch. `ranks`: those that will be asked for, besides a sole writer; undefined: all. */
export async function readMemoryLines(
  store: Store,
  runId: number,
  ranks?: readonly (number | null)[],
): Promise<MemoryLines> {
  const { judged } = await readLogFacts(store, runId);
  const { writers, rank: writer } = (await store.one('verdict.memory_writers', { run_id: runId, attempt: judged })) ?? {
    writers: 0,
    rank: null,
  };
  const ownRank = (rank: number | null): number | null => rank ?? (writers === 1 ? writer : null);
  const asked = ranks === undefined ? null : [...new Set(ranks.map((rank) => ownRank(rank) ?? WITHOUT_RANK))].join(',');
  const rows =
    asked === ''
      ? []
      : await store.all('log.memory_ranks', { run_ids: String(runId), ranks: asked, attempts: String(judged) });
  const byRank = groupBy(rows, ({ rank }) => rank);
  return { exist: writers > 0, of: (rank) => byRank.get(rank) ?? [], ownRank };
}

/** As `log.memory_ranks` names it. */
const WITHOUT_RANK = -1;
