/**
 * What a training was doing at each entry of a trace, from the stacks of the allocations: windows of forward, backward,
 * optimizer step, …
 */

import { countUpTo } from '../../model/count-up-to.js';
import type { Phase } from '../../model/log-rows.js';
import { type Lives, NEVER } from './lives.js';
import type { StackClasses } from './stack-classes.js';

/** A run of allocations in one phase. */
export interface PhaseWindow {
  readonly phase: Phase;
  /** Entry of its first allocation. */
  readonly firstSeq: number;
  /** Entry before the first allocation of the next window, or the last of the trace. */
  readonly lastSeq: number;
}

export interface PhaseWindows {
  /** In order, without gaps from the first allocation on. */
  readonly windows: readonly PhaseWindow[];
  /** At an entry; `unknown` before the first allocation. */
  phaseAt(seq: number): Phase;
  /** In which a block of the lives was allocated; `unknown` for those from before the recording. */
  phaseOf(row: number): Phase;
  /** Last entry of the window that contains an allocation. */
  endOf(row: number): number;
  /** Entry at which the next window of `phase` begins behind that of an allocation; NEVER = none. */
  nextStart(phase: Phase, row: number): number;
}

/** Stacks without a phase keep the phase they fall in. */
const KEEPS = new Set<Phase>(['unknown', 'logging']);
/** After these, allocations without a Python frame are of the autograd engine, whose threads have none. */
const BEFORE_BACKWARD = new Set<Phase>(['forward', 'backward', 'grad_finalize', 'param_gather', 'unknown']);

/**
 * Allocations with Python frames tell their phase. Those without any, in a trace that otherwise has them, are made by
 * the engine's threads: they begin or continue a backward window unless an optimizer step, an evaluation or the
 * building of the model surrounds them. Upstream: torch `autograd/engine.cpp`, `Engine::thread_init` (a thread per
 * device).
 */
export function phaseWindows(lives: Lives, classes: StackClasses): PhaseWindows {
  const starts: number[] = [];
  const phases: Phase[] = [];
  let hasFrames = false;
  for (let row = lives.starts; row < lives.count && !hasFrames; row += 1)
    hasFrames = classes(lives.stackId[row]!).kind === 'python';
  const windowOf = new Int32Array(lives.count).fill(-1);
  let current: Phase = 'unknown';
  let stack = -2;
  for (let row = lives.starts; row < lives.count; row += 1) {
    // Runs of one stack are of one phase.
    if (lives.stackId[row] !== stack || starts.length === 0) {
      stack = lives.stackId[row]!;
      const { kind, phase: told } = classes(stack);
      let phase = told;
      if (kind !== 'python' && told === 'unknown' && hasFrames && BEFORE_BACKWARD.has(current)) phase = 'backward';
      if (KEEPS.has(phase)) phase = starts.length > 0 ? current : 'unknown';
      if (starts.length === 0 || phase !== current) {
        current = phase;
        starts.push(lives.allocSeq[row]!);
        phases.push(phase);
      }
    }
    windowOf[row] = starts.length - 1;
  }
  const begins = Float64Array.from(starts);
  const lastOf = (index: number): number => (index + 1 < starts.length ? starts[index + 1]! : lives.events) - 1;
  const nexts = new Map<Phase, Int32Array>();
  const nextOf = (phase: Phase): Int32Array => {
    let next = nexts.get(phase);
    if (next === undefined) {
      next = new Int32Array(starts.length).fill(NEVER);
      for (let i = starts.length - 2; i >= 0; i -= 1) next[i] = phases[i + 1] === phase ? starts[i + 1]! : next[i + 1]!;
      nexts.set(phase, next);
    }
    return next;
  };
  let windows: PhaseWindow[] | undefined;
  return {
    // Seldom asked for, and as many as there are turns between two phases.
    get windows() {
      windows ??= starts.map((firstSeq, i) => ({ phase: phases[i]!, firstSeq, lastSeq: lastOf(i) }));
      return windows;
    },
    phaseAt: (seq) => phases[countUpTo(begins, seq) - 1] ?? 'unknown',
    phaseOf: (row) => phases[windowOf[row]!] ?? 'unknown',
    endOf: (row) => lastOf(windowOf[row]!),
    nextStart: (phase, row) => nextOf(phase)[windowOf[row]!] ?? NEVER,
  };
}
