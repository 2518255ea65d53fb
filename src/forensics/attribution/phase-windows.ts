/** What a training was doing at each entry of a trace, from the stacks of the allocations: windows of forward, backward, optimizer step, … */
import type { Phase } from '../../model/log-rows.js';
import { countUpTo } from '../stacks/annotation-stages.js';
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
  /** Entry at which the first window of `phase` begins at or after `seq`; NEVER = none. */
  nextStart(phase: Phase, seq: number): number;
  /** Last entry of the window that holds `seq`. */
  endOfWindow(seq: number): number;
}

/** Stacks that say nothing of a phase keep the one they fall in. */
const KEEPS = new Set<Phase>(['unknown', 'logging']);
/** After these, allocations without a Python frame are of the autograd engine, whose threads have none. */
const BEFORE_BACKWARD = new Set<Phase>(['forward', 'backward', 'grad_finalize', 'param_gather', 'unknown']);

/**
 * Allocations with Python frames tell their phase. Those without any, in a trace that otherwise has them, are made by the engine's threads: they begin or continue a
 * backward window unless an optimizer step, an evaluation or the building of the model surrounds them. Upstream: torch `autograd/engine.cpp`,
 * `Engine::thread_init` (a thread per device).
 */
export function phaseWindows(lives: Lives, classes: StackClasses): PhaseWindows {
  const starts: number[] = [];
  const phases: Phase[] = [];
  let hasFrames = false;
  for (let row = lives.starts; row < lives.count && !hasFrames; row += 1)
    hasFrames = classes(lives.stackId[row]!).kind === 'python';
  let current: Phase = 'unknown';
  let stack = -2;
  for (let row = lives.starts; row < lives.count; row += 1) {
    if (lives.stackId[row] === stack && starts.length > 0) continue;
    stack = lives.stackId[row]!;
    const { kind, phase: told } = classes(stack);
    let phase = told;
    if (kind !== 'python' && told === 'unknown' && hasFrames && BEFORE_BACKWARD.has(current)) phase = 'backward';
    if (KEEPS.has(phase)) {
      if (starts.length > 0) continue;
      phase = 'unknown';
    }
    if (starts.length > 0 && phase === current) continue;
    current = phase;
    starts.push(lives.allocSeq[row]!);
    phases.push(phase);
  }
  const begins = Float64Array.from(starts);
  const byPhase = new Map<Phase, Float64Array>();
  const startsOf = (phase: Phase): Float64Array => {
    let own = byPhase.get(phase);
    if (own === undefined) {
      own = begins.filter((_, i) => phases[i] === phase);
      byPhase.set(phase, own);
    }
    return own;
  };
  const indexAt = (seq: number): number => countUpTo(begins, seq) - 1;
  const lastOf = (index: number): number => (index + 1 < starts.length ? starts[index + 1]! : lives.events) - 1;
  return {
    windows: starts.map((firstSeq, i) => ({ phase: phases[i]!, firstSeq, lastSeq: lastOf(i) })),
    phaseAt: (seq) => phases[indexAt(seq)] ?? 'unknown',
    nextStart(phase, seq) {
      const own = startsOf(phase);
      const at = countUpTo(own, seq - 1);
      return at < own.length ? own[at]! : NEVER;
    },
    endOfWindow: (seq) => lastOf(indexAt(seq)),
  };
}
