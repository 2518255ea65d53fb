/**
 * Where steps ended before an OOM, by entries: from annotations, or from the stacks of the optimizer's own allocations.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import type { Store } from '../../store/store.js';
import { readSteps } from '../trace/steps.js';

export interface PassedSpan {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The trace shows it from its start. */
  readonly whole: boolean;
}

export interface StepClock {
  /** Steps completed before the OOM, oldest first, disjoint; entries after the last of them are of the failing step. */
  readonly spans: readonly PassedSpan[];
  /** In words, for evidence. */
  readonly by: string;
}

const SAME_STEP_PART = threshold('step_clock.same_step_part');

/** Null where nothing marks steps. `startsEmpty`: the trace misses nothing before it. */
export async function readStepClock(
  store: Store,
  snapshotId: number,
  device: number,
  oomSeq: number,
  startsEmpty: boolean,
): Promise<StepClock | null> {
  const { origin, steps, annotations } = await readSteps(store, snapshotId, device);
  if (origin !== null) {
    const spans = steps
      .filter((step) => step.last_seq < oomSeq && step.partial !== 'end' && step.partial !== 'both')
      .map((step) => ({ firstSeq: step.first_seq, lastSeq: step.last_seq, whole: step.partial === null }));
    return { spans, by: `steps by ${annotations.join(', ')}` };
  }
  const rows = await store.all('verdict.optimizer_allocations', {
    snapshot_id: snapshotId,
    device,
    before_seq: oomSeq,
  });
  const ends = lastOfBursts(
    rows.map((row) => row.seq),
    oomSeq,
  );
  if (ends.length === 0) {
    const id = { snapshot_id: snapshotId, device, before_seq: oomSeq };
    const setUp = startsEmpty && ((await store.one('verdict.optimizer_setup', id))?.allocations ?? 0) > 0;
    return setUp ? { spans: [], by: 'the optimizer was set up, and has not stepped' } : null;
  }
  const spans = ends.map((lastSeq, i) => ({ firstSeq: i === 0 ? 0 : ends[i - 1]! + 1, lastSeq, whole: i > 0 }));
  return { spans, by: "steps by the allocations of the optimizer's step" };
}

/** Last entry of each burst; a burst that the OOM itself is in has not ended a step. */
export function lastOfBursts(seqs: readonly number[], oomSeq: number): number[] {
  const gaps = seqs.map((seq, i) => (seqs[i + 1] ?? oomSeq) - seq);
  const longest = Math.max(0, maxOf(gaps.slice(0, -1)), seqs[0] ?? 0);
  return seqs.filter((_, i) => gaps[i]! * SAME_STEP_PART >= longest && gaps[i]! > 1);
}
