/**
 * Whether blocks outlive their training step, for rules that ask, over the whole trace and not seen from one moment.
 */

import { countUpTo } from '../../model/count-up-to.js';
import type { Lifetime } from '../match/rule.js';
import { type Lives, NEVER } from './lives.js';

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
