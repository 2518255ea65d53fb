/** The order of one rank's snapshots in time. */
import type { SeriesOrder } from '../../model/results/snapshot-series.js';
import type { QueryRow } from '../../store/query-catalog.js';

export type Placed = Pick<
  QueryRow<'snapshot.series'>,
  'display_path' | 'attempt' | 'step' | 'last_time_us' | 'annotation_time_us'
>;

const byName = new Intl.Collator('en', { numeric: true });

/** Of the last traced entry, else of the last annotation: both come from one clock. */
export function dumpTimeUs(row: Placed): number | null {
  return row.last_time_us ?? row.annotation_time_us;
}

/**
 * By time if every snapshot has one, else by launch and step if every one has a step, else by launch and name, numbers
 * in it as numbers. One rule for all of a series: an order by time here and by name there need not be one. Never by the
 * time of the file, which is that of a copy.
 */
export function orderSnapshots<Row extends Placed>(
  rows: readonly Row[],
): { readonly order: SeriesOrder; readonly rows: Row[] } {
  const name = (a: Row, b: Row): number =>
    a.attempt - b.attempt ||
    byName.compare(a.display_path, b.display_path) ||
    (a.display_path < b.display_path ? -1 : 1);
  const step = (a: Row, b: Row): number => a.attempt - b.attempt || (a.step ?? 0) - (b.step ?? 0) || name(a, b);
  if (rows.every((row) => dumpTimeUs(row) !== null)) {
    return { order: 'time', rows: [...rows].sort((a, b) => dumpTimeUs(a)! - dumpTimeUs(b)! || step(a, b)) };
  }
  if (rows.every((row) => row.step !== null)) return { order: 'step', rows: [...rows].sort(step) };
  return { order: 'name', rows: [...rows].sort(name) };
}
