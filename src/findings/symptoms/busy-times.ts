/**
 * How long a device did what, and how much of its communication did not overlap with computing. Overlapping times are
 * joined, never added.
 */
import type { Communication } from './evidence.js';

/** As `symptom.work_islands` numbers them. */
const COMPUTE = 0;
const COLLECTIVE = 1;
const SEND = 2;
const OTHER_WORK = 3;
const COPY = 4;
const KINDS = 5;

export interface Island {
  readonly kind: number;
  readonly start_ns: number;
  readonly end_ns: number;
}

export interface Busy {
  readonly compute_ns: number;
  readonly idle_ns: number;
  readonly collectives: Communication;
  readonly sends: Communication;
  readonly other: Communication;
  readonly copies_ns: number;
}

/** `islands` by their begins; those of one kind do not overlap each other. */
export function busyTimes(islands: readonly Island[], windowNs: number): Busy {
  const sums = new Float64Array(1 << KINDS);
  const ends = new Float64Array(KINDS).fill(Number.NEGATIVE_INFINITY);
  let now = Number.NEGATIVE_INFINITY;
  const advance = (until: number): void => {
    while (now < until) {
      let mask = 0;
      let next = until;
      for (let kind = 0; kind < KINDS; kind++) {
        if (ends[kind]! <= now) continue;
        mask |= 1 << kind;
        next = Math.min(next, ends[kind]!);
      }
      if (mask !== 0) sums[mask]! += next - now;
      now = next;
    }
  };
  for (const { kind, start_ns, end_ns } of islands) {
    advance(start_ns);
    ends[kind] = Math.max(ends[kind]!, end_ns);
  }
  advance(Number.POSITIVE_INFINITY);
  const total = (wanted: (mask: number) => boolean): number =>
    sums.reduce((sum, ns, mask) => (mask !== 0 && wanted(mask) ? sum + ns : sum), 0);
  const has = (mask: number, kind: number): boolean => (mask & (1 << kind)) !== 0;
  const communication = (kind: number): Communication => ({
    busy_ns: total((mask) => has(mask, kind)),
    exposed_ns: total((mask) => has(mask, kind) && !has(mask, COMPUTE)),
  });
  return {
    compute_ns: total((mask) => has(mask, COMPUTE)),
    idle_ns: Math.max(0, windowNs - total(() => true)),
    collectives: communication(COLLECTIVE),
    sends: communication(SEND),
    other: communication(OTHER_WORK),
    copies_ns: total((mask) => has(mask, COPY)),
  };
}
