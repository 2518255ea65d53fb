/** The classes of all stacks of a trace: each distinct stack is classified once, however many blocks it made. */

import { type Frame, frameKind } from '../frames/call-site.js';
import { classifyStack, type StackClass } from '../match/classify-stack.js';
import type { CompiledRules, FrameMatches } from '../match/compile-rules.js';

/**
 * `none`: no stack, or an empty one. `native`: C++ frames alone, as on the threads of the autograd engine. `python`: at
 * least one Python frame.
 */
export type StackKind = 'none' | 'native' | 'python';

export interface ClassifiedStack extends StackClass {
  readonly kind: StackKind;
  readonly frames: readonly Frame[];
  /** What of the block the winner may depend on. */
  readonly needs: { readonly pool: boolean; readonly lifetime: boolean; readonly bytes: boolean };
}

const EMPTY_STACK: ClassifiedStack = {
  kind: 'none',
  frames: [],
  candidates: [],
  phase: 'unknown',
  phaseFrame: -1,
  recomputeFrame: -1,
  needs: { pool: false, lifetime: false, bytes: false },
};

/** By stack id; unknown ids, −1 among them, are the empty stack. */
export type StackClasses = (stackId: number) => ClassifiedStack;

/** By the ids of the stacks. */
export function classifyStacks(
  rules: CompiledRules,
  stacks: Iterable<readonly [number, readonly Frame[]]>,
): StackClasses {
  // By id: they are small integers, and every block asks.
  const classes: ClassifiedStack[] = [];
  // Equal frames are one object.
  const known = new Map<Frame, FrameMatches>();
  const matchesOf = (frame: Frame): FrameMatches => {
    let matches = known.get(frame);
    if (matches === undefined) {
      matches = rules.matchesOf(frame.name, frame.filename);
      known.set(frame, matches);
    }
    return matches;
  };
  for (const [id, frames] of stacks) classes[id] = classifyFrames(rules, frames, false, matchesOf);
  return (id) => classes[id] ?? EMPTY_STACK;
}

export function classifyFrames(
  rules: CompiledRules,
  frames: readonly Frame[],
  all = false,
  matchesOf: (frame: Frame) => FrameMatches = ({ name, filename }) => rules.matchesOf(name, filename),
): ClassifiedStack {
  if (frames.length === 0) return EMPTY_STACK;
  let kind: StackKind = 'none';
  for (const frame of frames) {
    const of = frameKind(frame);
    if (of === 'native' && kind === 'none') kind = 'native';
    else if (of !== 'native' && of !== 'noise') {
      kind = 'python';
      break;
    }
  }
  const stack = classifyStack(rules, frames.map(matchesOf), all);
  return { ...stack, kind, frames, needs: needsOf(stack) };
}

function needsOf({ candidates }: StackClass): ClassifiedStack['needs'] {
  const conditions = candidates.flatMap(({ rule }) => rule.when ?? []);
  return {
    pool: conditions.some(({ pool }) => pool !== undefined),
    lifetime: conditions.some(({ lifetime }) => lifetime !== undefined),
    bytes: conditions.some((when) => [when.bytes, when.min_bytes, when.max_bytes].some((one) => one !== undefined)),
  };
}
