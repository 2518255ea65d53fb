/** What the pieces of composed logs are made of. */

/** How a launch ended. `stopped`: its text breaks off; `signalled`: a signal from outside, of whom is unknown. */
export type ComposedEnding =
  | 'finished'
  | 'cancelled'
  | 'time_limit'
  | 'preempted'
  | 'signalled'
  | 'killed'
  | 'host_oom'
  | 'oom'
  | 'failed'
  | 'stopped';

export type Draw = (below: number) => number;

/** Numbers of a linear congruence, equal on every machine. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What failed first; null is what no line shows. */
export interface FirstFailing {
  readonly rank: number | null;
  readonly host: string | null;
  /** `rank` is a task of `srun`: a rank only if nothing else starts the ranks of a task. */
  readonly isTask?: true;
}

export interface LaunchEndLines {
  /** Standard error of the processes: tracebacks. */
  readonly err?: readonly string[];
  /** Standard output of the processes. */
  readonly out?: readonly string[];
  /** Of the launcher, printed after the processes ended. */
  readonly launcher?: readonly string[];
  /** Undefined: nothing is expected. */
  readonly first?: FirstFailing;
}

/** An array: lines of the launcher. */
export type EndingOf = (draw: Draw, last: number | null) => readonly string[] | LaunchEndLines;
