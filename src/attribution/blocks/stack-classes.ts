/** The classes of stacks: each distinct stack is classified once, however many blocks it made. */

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

/** Stacks of one store, each classified once. */
export class StackClassifier {
  private readonly rules: CompiledRules;
  /** By id: they are small integers, and every block asks. */
  private readonly known: ClassifiedStack[] = [];
  private readonly frames = new Map<Frame, FrameMatches>();

  constructor(rules: CompiledRules) {
    this.rules = rules;
  }

  has(id: number): boolean {
    return this.known[id] !== undefined;
  }

  /** Frames innermost first; equal frames should be one object. */
  classify(frames: readonly Frame[]): ClassifiedStack {
    return classifyFrames(this.rules, frames, false, (frame) => this.matchesOf(frame));
  }

  add(id: number, frames: readonly Frame[]): void {
    this.known[id] = this.classify(frames);
  }

  readonly classes: StackClasses = (id) => this.known[id] ?? EMPTY_STACK;

  private matchesOf(frame: Frame): FrameMatches {
    let matches = this.frames.get(frame);
    if (matches === undefined) {
      matches = this.rules.matchesOf(frame.name, frame.filename);
      this.frames.set(frame, matches);
    }
    return matches;
  }
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
