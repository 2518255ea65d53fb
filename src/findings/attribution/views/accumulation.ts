/** Accumulation points: the deepest frame that still covers most of a set of blocks. */

import { callSite, type Frame, frameKind, frameText } from '../../../attribution/frames/call-site.js';
import { getOrAdd } from '../../../model/group-by.js';
import type { AccumulationPoint } from '../../../model/results/attribute.js';
import type { Component } from '../../../model/vocabulary.js';

/** Callers shown beside the frame. */
const CALLERS = 3;

export interface StackBytes {
  readonly frames: readonly Frame[];
  readonly bytes: number;
}

interface Step {
  readonly key: string;
  readonly text: string;
}

/**
 * Every stack passes through torch's and the interpreter's frames; a reader can only change the others. Where there are
 * no others, the stack is its call site.
 */
function ownFrames(frames: readonly Frame[]): readonly Step[] {
  const own = frames.filter((frame) => frameKind(frame) === 'code' || frameKind(frame) === 'generated');
  if (own.length > 0) return own.map(stepOf);
  const site = callSite(frames);
  return site === undefined ? [] : [{ key: site, text: site }];
}

/** Stacks have most frames in common, as the same objects. */
const steps = new WeakMap<Frame, Step>();

function stepOf(frame: Frame): Step {
  const known = steps.get(frame);
  if (known !== undefined) return known;
  const step = { key: `${frame.name} ${frame.filename} ${frame.line}`, text: frameText(frame) };
  steps.set(frame, step);
  return step;
}

/**
 * Goes down from the outermost frames into the callee that covers most, as long as that is at least `share` of `total`.
 * Blocks without frames count in the total: a point that covers half of what has stacks may cover little of what there
 * is.
 */
export function accumulationPoint(
  stacks: readonly StackBytes[],
  component: Component | null,
  share: number,
): AccumulationPoint {
  const total = stacks.reduce((sum, { bytes }) => sum + bytes, 0);
  let inside = stacks
    .map(({ frames, bytes }) => ({ frames: ownFrames(frames), bytes }))
    .filter(({ frames }) => frames.length > 0);
  const path: string[] = [];
  let covered = total;
  for (let depth = 1; ; depth += 1) {
    const callees = new Map<string, { step: Step; bytes: number }>();
    for (const { frames, bytes } of inside) {
      const step = frames.at(-depth);
      if (step === undefined) continue;
      getOrAdd(callees, step.key, () => ({ step, bytes: 0 })).bytes += bytes;
    }
    let best: { step: Step; bytes: number } | undefined;
    for (const callee of callees.values()) if (best === undefined || callee.bytes > best.bytes) best = callee;
    if (best === undefined || best.bytes === 0 || best.bytes < share * total) break;
    const { key, text } = best.step;
    inside = inside.filter(({ frames }) => frames.at(-depth)?.key === key);
    path.push(text);
    covered = best.bytes;
  }
  const point = path.at(-1);
  return {
    component,
    frame: point ?? null,
    callers: path.slice(0, -1).reverse().slice(0, CALLERS),
    bytes: point === undefined ? 0 : covered,
    share: total === 0 || point === undefined ? 0 : covered / total,
  };
}
