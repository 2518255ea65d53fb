/**
 * What a training was doing at each entry of a trace, from the stacks of the allocations: windows of forward, backward,
 * optimizer step, …
 */

import { growColumn } from '../../allocator/walk/grow-column.js';
import { PHASES, type Phase } from '../../model/log-rows.js';
import { countUpTo } from '../count-up-to.js';
import { type Lives, NEVER } from './lives.js';
import type { StackClasses } from './stack-classes.js';

export interface PhaseWindows {
  /**
   * First and last entry of each window of `phase`, in order: that of its first allocation, and the one before the
   * first allocation of the next window, or the last of the trace.
   */
  spansOf(phase: Phase): { readonly firstSeq: number; readonly lastSeq: number }[];
  /** At an entry; `unknown` before the first allocation. */
  phaseAt(seq: number): Phase;
  /** In which a block of the lives was allocated; `unknown` for those from before the recording. */
  phaseOf(row: number): Phase;
  /** Index of {@link phaseOf} in PHASES. */
  codeOf(row: number): number;
  /** Last entry of the window that contains an allocation. */
  endOf(row: number): number;
  /** Entry at which the next window of `phase` begins behind that of an allocation; NEVER = none. */
  nextStart(phase: Phase, row: number): number;
}

const UNKNOWN = PHASES.indexOf('unknown');
const BACKWARD = PHASES.indexOf('backward');
/** Of a stack without Python frames: backward, if the phase before it may turn into that. */
const MAYBE_BACKWARD = PHASES.length;
const codesOf = (phases: readonly Phase[]): Uint8Array =>
  Uint8Array.from(PHASES, (phase) => (phases.includes(phase) ? 1 : 0));
/** Stacks without a phase keep the phase they fall in. */
const KEEPS = codesOf(['unknown', 'logging']);
/** After these, allocations without a Python frame are of the autograd engine, whose threads have none. */
const BEFORE_BACKWARD = codesOf(['forward', 'backward', 'grad_finalize', 'param_gather', 'unknown']);

/**
 * Whether a missing Python frame shows that none was there. Recorded with `context="state"`, only what is live in the
 * dump has frames: nothing that is freed in the trace has any, even if it was allocated before the rest.
 */
function showsFrames(lives: Lives, classes: StackClasses): boolean {
  const isPython = (row: number): boolean => classes(lives.stackId[row]!).kind === 'python';
  let hasFrames = false;
  let lastKept = -1;
  let firstGone = NEVER;
  // Blocks whose free is pending in the dump have frames there too; nothing that is kept is allocated after them.
  let firstFreed = NEVER;
  for (let row = lives.starts; row < lives.count; row += 1) {
    const freed = lives.freedSeq[row]!;
    const made = lives.allocSeq[row]!;
    if (!isPython(row)) {
      if (freed !== NEVER) firstGone = Math.min(firstGone, made);
      continue;
    }
    hasFrames = true;
    if (freed === NEVER) lastKept = made;
    else firstFreed = Math.min(firstFreed, freed);
  }
  if (firstGone < lastKept && firstFreed > lastKept) return false;
  // A ring that begins late in a pass may have none but the engine's: what is older shows that others were recorded.
  for (let row = 0; row < lives.starts && !hasFrames; row += 1) hasFrames = isPython(row);
  return hasFrames;
}

/**
 * Allocations with Python frames tell their phase. Those without any, in a trace that otherwise has them, are made by
 * the engine's threads: they begin or continue a backward window unless an optimizer step, an evaluation or the
 * building of the model surrounds them. Upstream: torch `autograd/engine.cpp`, `Engine::thread_init` (a thread per
 * device).
 */
export function phaseWindows(lives: Lives, classes: StackClasses): PhaseWindows {
  const hasFrames = showsFrames(lives, classes);
  // By stack + 1, looked up once: a trace has many more turns between stacks than stacks.
  const codeOfStack: number[] = [];
  const stackCode = (stackId: number): number => {
    const { kind, phase } = classes(stackId);
    const code = phase === 'unknown' && kind !== 'python' && hasFrames ? MAYBE_BACKWARD : PHASES.indexOf(phase);
    codeOfStack[stackId + 1] = code;
    return code;
  };
  // A trace may have as many windows as allocations: numbers, not objects.
  let starts = new Int32Array(1024);
  let codes = new Uint8Array(1024);
  let count = 0;
  const windowOf = new Int32Array(lives.count).fill(-1);
  let current = UNKNOWN;
  for (let row = lives.starts; row < lives.count; row += 1) {
    const stackId = lives.stackId[row]!;
    let code = codeOfStack[stackId + 1] ?? stackCode(stackId);
    if (code === MAYBE_BACKWARD) code = BEFORE_BACKWARD[current] === 1 ? BACKWARD : current;
    else if (KEEPS[code] === 1) code = current;
    if (code !== current || count === 0) {
      current = code;
      if (count === starts.length) {
        starts = growColumn(starts);
        codes = growColumn(codes);
      }
      starts[count] = lives.allocSeq[row]!;
      codes[count++] = code;
    }
    windowOf[row] = count - 1;
  }
  const begins = starts.subarray(0, count);
  const lastOf = (index: number): number => (index + 1 < count ? starts[index + 1]! : lives.events) - 1;
  const nexts = new Map<Phase, Int32Array>();
  const nextOf = (phase: Phase): Int32Array => {
    let next = nexts.get(phase);
    if (next === undefined) {
      next = new Int32Array(count).fill(NEVER);
      const code = PHASES.indexOf(phase);
      for (let i = count - 2; i >= 0; i -= 1) next[i] = codes[i + 1] === code ? starts[i + 1]! : next[i + 1]!;
      nexts.set(phase, next);
    }
    return next;
  };
  const codeAt = (index: number): number => (index < 0 ? UNKNOWN : codes[index]!);
  const phaseAt = (index: number): Phase => PHASES[codeAt(index)]!;
  return {
    spansOf(phase) {
      const code = PHASES.indexOf(phase);
      const spans: { firstSeq: number; lastSeq: number }[] = [];
      for (let i = 0; i < count; i += 1)
        if (codes[i] === code) spans.push({ firstSeq: starts[i]!, lastSeq: lastOf(i) });
      return spans;
    },
    phaseAt: (seq) => phaseAt(countUpTo(begins, seq) - 1),
    phaseOf: (row) => phaseAt(windowOf[row]!),
    codeOf: (row) => codeAt(windowOf[row]!),
    endOf: (row) => lastOf(windowOf[row]!),
    nextStart: (phase, row) => nextOf(phase)[windowOf[row]!] ?? NEVER,
  };
}
