/** The classes of all stacks of a trace: each distinct stack is classified once, however many blocks it made. */
import type { Store } from '../../store/store.js';
import { type Frame, frameKind } from '../stacks/call-site.js';
import { readStacks } from '../stacks/read-stacks.js';
import { classifyStack, type StackClass } from './classify-stack.js';
import type { CompiledRules } from './compile-rules.js';
import { type NamedFrame, namedFrame } from './frame-pattern.js';

/**
 * `none`: no stack, or an empty one. `native`: C++ frames alone, as on the threads of the autograd engine. `python`: at least one Python frame.
 */
export type StackKind = 'none' | 'native' | 'python';

export interface ClassifiedStack extends StackClass {
  readonly kind: StackKind;
  readonly frames: readonly Frame[];
  /** Whether the winner depends on the block: on anything, on its size. */
  readonly needs: { readonly block: boolean; readonly bytes: boolean };
}

const EMPTY: ClassifiedStack = {
  kind: 'none',
  frames: [],
  candidates: [],
  phase: 'unknown',
  phaseFrame: -1,
  recomputeFrame: -1,
  needs: { block: false, bytes: false },
};

/** By stack id; unknown ids, −1 among them, are the empty stack. */
export type StackClasses = (stackId: number) => ClassifiedStack;

export async function readStackClasses(
  store: Store,
  rules: CompiledRules,
  ids: Iterable<number>,
): Promise<StackClasses> {
  const stacks = await readStacks(store, ids);
  const classes = new Map<number, ClassifiedStack>();
  const names = new Map<Frame, NamedFrame>();
  const nameOf = (frame: Frame): NamedFrame => {
    let name = names.get(frame);
    if (name === undefined) {
      name = namedFrame(frame.name, frame.filename);
      names.set(frame, name);
    }
    return name;
  };
  for (const [id, frames] of stacks) classes.set(id, classifyFrames(rules, frames, false, nameOf));
  return (id) => classes.get(id) ?? EMPTY;
}

export function classifyFrames(
  rules: CompiledRules,
  frames: readonly Frame[],
  all = false,
  nameOf: (frame: Frame) => NamedFrame = ({ name, filename }) => namedFrame(name, filename),
): ClassifiedStack {
  if (frames.length === 0) return EMPTY;
  let kind: StackKind = 'none';
  for (const frame of frames) {
    const of = frameKind(frame);
    if (of === 'native' && kind === 'none') kind = 'native';
    else if (of !== 'native' && of !== 'noise') {
      kind = 'python';
      break;
    }
  }
  const stack = classifyStack(rules, frames.map(nameOf), all);
  return { ...stack, kind, frames, needs: needsOf(stack) };
}

function needsOf({ candidates }: StackClass): ClassifiedStack['needs'] {
  const conditions = candidates.flatMap(({ rule }) => rule.when ?? []);
  return {
    block: conditions.length > 0,
    bytes: conditions.some((when) => [when.bytes, when.min_bytes, when.max_bytes].some((one) => one !== undefined)),
  };
}
