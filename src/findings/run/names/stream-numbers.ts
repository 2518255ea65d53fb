/** Streams by small numbers: their handles are addresses that differ from run to run. */
import type { Store } from '../../../store/store.js';

/** Handle → number by first appearance in the file, as memory_viz counts them; the default stream is 0. */
export async function readStreamNumbers(store: Store, snapshotId: number): Promise<ReadonlyMap<number, number>> {
  const numbers = new Map<number, number>([[0, 0]]);
  for (const row of await store.all('peak.streams', { snapshot_id: snapshotId })) {
    const stream = Number(row.stream);
    if (!numbers.has(stream)) numbers.set(stream, numbers.size);
  }
  return numbers;
}
