import type { IncidentKind } from './vocabulary.js';

/**
 * How a launch ended. `cancelled`: by its user, or by a signal from outside. `killed`: by SIGKILL, and no line shows
 * who sent it; the host may have been out of memory. `unknown`: no line shows it. A launcher that ends its processes
 * does not show why.
 */
export const LAUNCH_ENDINGS = [
  'finished',
  'oom',
  'failed',
  'cancelled',
  'time_limit',
  'preempted',
  'node_failure',
  'killed',
  'unknown',
] as const;
export type LaunchEnding = (typeof LAUNCH_ENDINGS)[number];

/** The end of a launch and the line that shows it; without one, the line of its last iteration. */
export interface LaunchEnd {
  readonly attempt: number;
  readonly ending: LaunchEnding;
  /** Kind of the failure line that shows it. */
  readonly ending_kind: IncidentKind | null;
  readonly ending_file: string | null;
  readonly ending_line: number | null;
  /** Of the process that failed first; null where no line shows it. */
  readonly ending_rank: number | null;
  readonly ending_host: string | null;
}
