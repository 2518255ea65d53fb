/** Whether blocks outlive their training step, for rules that ask, over the whole trace and not seen from one moment. */

import type { Lifetime } from '../../../attribution/match/rule.js';
import type { Store } from '../../../store/store.js';
import { countUpTo } from '../../stacks/annotation-stages.js';
import { readSteps } from '../../trace/steps.js';
import { type Lives, NEVER } from './lives.js';
import type { PhaseWindows } from './phase-windows.js';

export interface LifeClasses {
  /** Entries at which a training step is over, ascending. */
  readonly boundaries: Float64Array;
  /** Undefined: the trace does not tell. */
  lifetimeOf(row: number): Lifetime | undefined;
}

/**
 * A step is over where its annotation ends; without annotations, behind each run of allocations of the optimizer's step. A block is `resident` if it is live when the step
 * it was allocated in is over, `transient` if it is freed before.
 */
export async function lifeClasses(
  store: Store,
  snapshot: { readonly snapshotId: number; readonly device: number },
  lives: Lives,
  phases: PhaseWindows,
): Promise<LifeClasses> {
  const { steps } = await readSteps(store, snapshot.snapshotId, snapshot.device);
  const annotated = steps.filter(({ partial }) => partial === null || partial === 'start').map((step) => step.last_seq);
  const boundaries = Float64Array.from(annotated.length > 0 ? annotated : await optimizerEnds(store, snapshot, phases));
  return {
    boundaries,
    lifetimeOf(row) {
      const made = lives.allocSeq[row]!;
      const freed = lives.freedSeq[row]!;
      const at = countUpTo(boundaries, made - 1);
      const boundary = at < boundaries.length ? boundaries[at]! : undefined;
      if (boundary !== undefined && freed > boundary) return 'resident';
      if (freed === NEVER) return undefined;
      // A block from before the recording that goes within the first step may be of any age.
      return made < 0 ? undefined : 'transient';
    },
  };
}

async function optimizerEnds(
  store: Store,
  { snapshotId, device }: { readonly snapshotId: number; readonly device: number },
  phases: PhaseWindows,
): Promise<number[]> {
  const { windows } = phases;
  const ends = windows.filter(({ phase }) => phase === 'optimizer_step').map(({ lastSeq }) => lastSeq);
  const last = windows.at(-1);
  if (last === undefined || last.phase !== 'optimizer_step') return ends;
  // A step that ran out of memory was not over.
  const ooms = await store.all('snapshot.ooms', { snapshot_id: snapshotId });
  const failed = ooms.some((row) => row.device === device && row.seq >= last.firstSeq);
  return failed ? ends.slice(0, -1) : ends;
}
