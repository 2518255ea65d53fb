/** Relation of the trace of one dump to that of the dump before it on the same rank and device. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import type { SeriesSnapshot } from '../../model/results/snapshot-series.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

export type SeriesRow = QueryRow<'snapshot.series'>;
export type Relation = Pick<SeriesSnapshot, 'shared_entries' | 'new_entries' | 'lost'> & {
  readonly relation: NonNullable<SeriesSnapshot['relation']>;
};

const TOLERANCE_US = threshold('snapshots.clock_tolerance_us');
/** An address that is taken and given back all the time has many entries within the tolerance. */
const CANDIDATES = 32;

export const NOTHING = { shared_entries: null, new_entries: null, lost: null } as const;

export async function relateTraces(store: Store, earlier: SeriesRow, later: SeriesRow): Promise<Relation> {
  if (earlier.events === null || later.events === null) return { relation: 'unknown', ...NOTHING };
  if (earlier.last_time_us === null || later.first_time_us === null) return { relation: 'unknown', ...NOTHING };
  const shared = await sharedEntries(store, earlier, later);
  if (shared !== null) {
    return { relation: 'continues', shared_entries: shared, new_entries: later.events - shared, lost: null };
  }
  const gap = later.first_time_us - earlier.last_time_us;
  if (gap <= 0) return { relation: 'unrelated', ...NOTHING };
  if (later.start_reserved_bytes === 0 && earlier.reserved_bytes > 0) return { relation: 'restart', ...NOTHING };
  const { snapshot_id, device } = later;
  const start = (await store.one('state.totals', { snapshot_id, device, at_seq: BEFORE_TRACE }))!;
  return {
    relation: 'gap',
    ...NOTHING,
    lost: {
      gap_us: gap,
      active_bytes: start.active_bytes - earlier.active_bytes,
      reserved_bytes: start.reserved_bytes - earlier.reserved_bytes,
    },
  };
}

async function sharedEntries(store: Store, earlier: SeriesRow, later: SeriesRow): Promise<number | null> {
  if (later.first_time_us! > earlier.last_time_us! + TOLERANCE_US) return null;
  // The nearest is nearly always the one, and each candidate costs a comparison of all that is shared.
  for (const candidates of [1, CANDIDATES]) {
    const [found] = await store.all('snapshot.overlap', {
      earlier: earlier.snapshot_id,
      later: later.snapshot_id,
      device: later.device,
      tolerance_us: TOLERANCE_US,
      candidates,
    });
    if (found === undefined) return null;
    if (found.same === found.compared) return found.compared;
  }
  return null;
}
