/** The entries of a trace at which a training step is over. */
import type { PhaseWindows } from '../../../attribution/blocks/phase-windows.js';
import type { Store } from '../../../store/store.js';
import { readSteps } from '../../trace/steps.js';

interface DeviceOfSnapshot {
  readonly snapshotId: number;
  readonly device: number;
}

/**
 * Ascending. A step is over where its annotation ends; without annotations, after each run of allocations of the
 * optimizer's step.
 */
export async function stepBoundaries(
  store: Store,
  snapshot: DeviceOfSnapshot,
  lastEntry: number,
  phases: PhaseWindows,
): Promise<Float64Array> {
  const { steps } = await readSteps(store, snapshot.snapshotId, snapshot.device);
  const annotated = steps.filter(({ partial }) => partial === null || partial === 'start').map((step) => step.last_seq);
  return Float64Array.from(annotated.length > 0 ? annotated : await optimizerEnds(store, snapshot, lastEntry, phases));
}

async function optimizerEnds(
  store: Store,
  { snapshotId, device }: DeviceOfSnapshot,
  lastEntry: number,
  phases: PhaseWindows,
): Promise<number[]> {
  const spans = phases.spansOf('optimizer_step');
  const ends = spans.map(({ lastSeq }) => lastSeq);
  const last = spans.at(-1);
  if (last === undefined || last.lastSeq < lastEntry) return ends;
  // A step that ran out of memory was not over.
  const ooms = await store.all('snapshot.ooms', { snapshot_id: snapshotId });
  const failed = ooms.some((row) => row.device === device && row.seq >= last.firstSeq);
  return failed ? ends.slice(0, -1) : ends;
}
