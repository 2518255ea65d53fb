/** The classes of all stacks of a trace: each distinct stack is classified once, however many blocks it made. */
import type { Store } from '../../store/store.js';
import { type Frame, frameKind } from '../stacks/call-site.js';
import { readStacks } from '../stacks/read-stacks.js';
import { classifyStack, type StackClass } from './classify-stack.js';
import type { CompiledRules } from './compile-rules.js';
import type { NamedFrame } from './frame-pattern.js';

/**
 * `none`: no stack, or an empty one. `native`: C++ frames alone, as on the threads of the autograd engine. `python`: at least one Python frame.
 */
export type StackKind = 'none' | 'native' | 'python';

export interface ClassifiedStack extends StackClass {
  readonly kind: StackKind;
  readonly frames: readonly Frame[];
}

const EMPTY: ClassifiedStack = {
  kind: 'none',
  frames: [],
  candidates: [],
  phase: 'unknown',
  phaseFrame: -1,
  recomputeFrame: -1,
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
      name = named(frame);
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
  nameOf: (frame: Frame) => NamedFrame = named,
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
  return { ...classifyStack(rules, frames.map(nameOf), all), kind, frames };
}

function named({ name, filename }: Frame): NamedFrame {
  return { name, path: filename.includes('\\') ? filename.replaceAll('\\', '/') : filename };
}
