/**
 * Whether blocks outlive their training step, for rules that ask, over the whole trace and not seen from one moment.
 */

import { countUpTo } from '../count-up-to.js';
import type { Lifetime } from '../match/rule.js';
import { type Lives, NEVER } from './lives.js';
import type { PhaseWindows } from './phase-windows.js';

export interface LifeClasses {
  /** Entries at which a training step is over, ascending. */
  readonly boundaries: Float64Array;
  /** Undefined: unknown from the trace. */
  lifetimeOf(row: number): Lifetime | undefined;
}

/**
 * A block is `resident` if it is live when the step it was allocated in is over, `transient` if it is freed before. One
 * that is older than the trace and never freed is resident where no step ends, as in `lifetimes_at`.
 */
export function lifeClasses(lives: Lives, boundaries: Float64Array): LifeClasses {
  return {
    boundaries,
    lifetimeOf(row) {
      const made = lives.allocSeq[row]!;
      const freed = lives.freedSeq[row]!;
      const at = countUpTo(boundaries, made - 1);
      const boundary = at < boundaries.length ? boundaries[at]! : undefined;
      if (boundary !== undefined && freed > boundary) return 'resident';
      if (freed === NEVER) return made < 0 ? 'resident' : undefined;
      // A block from before the recording that goes within the first step may be of any age.
      return made < 0 ? undefined : 'transient';
    },
  };
}

/**
 * The entries at which a training step is over: where its annotation ends; without annotations, after each run of
 * allocations of the optimizer's step. `isFailed`: the last of these ran out of memory, so that it was not over.
 */
export function stepEnds(annotated: readonly number[], phases: PhaseWindows, isFailed: boolean): Float64Array {
  if (annotated.length > 0) return Float64Array.from(annotated);
  const ends = phases.spansOf('optimizer_step').map(({ lastSeq }) => lastSeq);
  return Float64Array.from(isFailed ? ends.slice(0, -1) : ends);
}

/** First entry of the optimizer's step in which a trace ends; undefined if it ends in another phase. */
export function lastStepStart(phases: PhaseWindows, lastEntry: number): number | undefined {
  const last = phases.spansOf('optimizer_step').at(-1);
  return last !== undefined && last.lastSeq >= lastEntry ? last.firstSeq : undefined;
}
