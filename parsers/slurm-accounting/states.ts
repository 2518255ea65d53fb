import type { IncidentKind } from '../../src/model/vocabulary.js';

/**
 * States of jobs and steps as sacct prints them, with their kind of failure; null: none, or not one yet. Failures are
 * ordered by how specific they are about why a job ended; the first that one of its records has is its cause. CANCELLED
 * and PREEMPTED are decisions, not faults, as in logs (`parsers/log/failures/schedulers.ts`).
 * Upstream: slurm.schedmd.com/job_state_codes.html.
 */
const STATES: Readonly<Record<string, IncidentKind | null>> = {
  OUT_OF_MEMORY: 'host_oom',
  NODE_FAIL: 'hardware',
  BOOT_FAIL: 'hardware',
  TIMEOUT: 'time_limit',
  DEADLINE: 'time_limit',
  PREEMPTED: 'preempted',
  LAUNCH_FAILED: 'other',
  RECONFIG_FAIL: 'other',
  FAILED: 'other',
  SPECIAL_EXIT: 'other',
  REVOKED: 'cancelled',
  CANCELLED: 'cancelled',
  COMPLETED: null,
  RUNNING: null,
  PENDING: null,
  REQUEUED: null,
  RESIZING: null,
  SUSPENDED: null,
  COMPLETING: null,
  CONFIGURING: null,
  STOPPED: null,
};
const BY_WEIGHT = Object.keys(STATES).filter((state) => STATES[state] !== null);

/**
 * A printed state: `CANCELLED by 1000` has a user behind it, and a column of ten characters cuts to `OUT_OF_ME+`. Null:
 * none.
 */
export function parseState(text: string): string | null {
  const word = /^([A-Z_]{3,24})(\+)?(?: by \d{1,10})?$/.exec(text.trim());
  if (word === null) return null;
  const [, name = '', cut] = word;
  if (Object.hasOwn(STATES, name)) return name;
  return cut === undefined ? null : (Object.keys(STATES).find((state) => state.startsWith(name)) ?? null);
}

/** Kind of failure of a state of {@link parseState}. */
export function failureOf(state: string): IncidentKind | null {
  return STATES[state] ?? null;
}

/** Lower is stronger; Infinity for a state that is not a failure. */
export function weightOf(state: string): number {
  const at = BY_WEIGHT.indexOf(state);
  return at < 0 ? Number.POSITIVE_INFINITY : at;
}
