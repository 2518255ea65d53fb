/**
 * Where steps ended before an OOM, by entries: from annotations, or from the stacks of the optimizer's own allocations.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import type { Store } from '../../store/store.js';
import { deviceHistories } from '../trace/device-history.js';
import { type Steps, stepsOf } from '../trace/steps.js';

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

/** An OOM of a trace. */
interface TracedEntry {
  readonly snapshot_id: number;
  readonly device: number;
  readonly seq: number;
  /** The trace misses nothing before it. */
  readonly starts_empty: boolean;
}

/** Of each OOM; null where nothing marks steps. */
export async function readStepClocks(store: Store, ooms: readonly TracedEntry[]): Promise<(StepClock | null)[]> {
  const marked = await stepsOf(store, await deviceHistories(store, ooms));
  const keyOf = ({ snapshot_id, device, seq }: TracedEntry) => ({ snapshot_id, device, before_seq: seq });
  const unmarked = ooms.filter((_, i) => marked[i]!.origin === null);
  const allocations = await store.allOf('verdict.optimizer_allocations', unmarked.map(keyOf));
  const endsOf = new Map(
    unmarked.map((oom, i) => [
      oom,
      lastOfBursts(
        allocations[i]!.map((row) => row.seq),
        oom.seq,
      ),
    ]),
  );
  const unstepped = unmarked.filter((oom) => oom.starts_empty && endsOf.get(oom)!.length === 0);
  const setUp = await store.allOf('verdict.optimizer_setup', unstepped.map(keyOf));
  const isSetUp = new Set(unstepped.filter((_, i) => (setUp[i]![0]?.allocations ?? 0) > 0));
  return ooms.map((oom, i) => {
    const ends = endsOf.get(oom);
    if (ends === undefined) return annotated(marked[i]!, oom.seq);
    if (ends.length === 0)
      return isSetUp.has(oom) ? { spans: [], by: 'the optimizer was set up, and has not stepped' } : null;
    const spans = ends.map((lastSeq, k) => ({ firstSeq: k === 0 ? 0 : ends[k - 1]! + 1, lastSeq, whole: k > 0 }));
    return { spans, by: "steps by the allocations of the optimizer's step" };
  });
}

function annotated({ steps, annotations }: Steps, oomSeq: number): StepClock {
  const spans = steps
    .filter((step) => step.last_seq < oomSeq && step.partial !== 'end' && step.partial !== 'both')
    .map((step) => ({ firstSeq: step.first_seq, lastSeq: step.last_seq, whole: step.partial === null }));
  return { spans, by: `steps by ${annotations.join(', ')}` };
}

/** Last entry of each burst; a burst that the OOM itself is in has not ended a step. */
export function lastOfBursts(seqs: readonly number[], oomSeq: number): number[] {
  const gaps = seqs.map((seq, i) => (seqs[i + 1] ?? oomSeq) - seq);
  const longest = Math.max(0, maxOf(gaps.slice(0, -1)), seqs[0] ?? 0);
  return seqs.filter((_, i) => gaps[i]! * SAME_STEP_PART >= longest && gaps[i]! > 1);
}
