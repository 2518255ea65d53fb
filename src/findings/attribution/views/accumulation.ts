/** Accumulation points: the deepest frame that still covers most of a set of blocks. */

import { type Frame, frameKind, frameText, visibleFrames } from '../../../attribution/frames/call-site.js';
import type { AccumulationPoint } from '../../../model/results/attribute.js';
import type { Component } from '../../../model/vocabulary.js';

/** Callers shown beside the frame. */
const CALLERS = 3;

export interface StackBytes {
  readonly frames: readonly Frame[];
  readonly bytes: number;
}

/** Every stack passes through torch's and the interpreter's frames; a reader can only change the others. */
function ownFrames(frames: readonly Frame[]): readonly Frame[] {
  const own = frames.filter((frame) => frameKind(frame) === 'code' || frameKind(frame) === 'generated');
  return own.length > 0 ? own : visibleFrames(frames);
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
  const path: Frame[] = [];
  let covered = total;
  for (let depth = 1; ; depth += 1) {
    const callees = new Map<string, { frame: Frame; bytes: number }>();
    for (const { frames, bytes } of inside) {
      const frame = frames.at(-depth);
      if (frame === undefined) continue;
      const key = `${frame.name} ${frame.filename} ${frame.line}`;
      const callee = callees.get(key);
      if (callee === undefined) callees.set(key, { frame, bytes });
      else callee.bytes += bytes;
    }
    let best: { frame: Frame; bytes: number } | undefined;
    for (const callee of callees.values()) if (best === undefined || callee.bytes > best.bytes) best = callee;
    if (best === undefined || best.bytes === 0 || best.bytes < share * total) break;
    const { frame } = best;
    inside = inside.filter(({ frames }) => {
      const own = frames.at(-depth);
      return own !== undefined && own.name === frame.name && own.filename === frame.filename && own.line === frame.line;
    });
    path.push(frame);
    covered = best.bytes;
  }
  const point = path.at(-1);
  return {
    component,
    frame: point === undefined ? null : frameText(point),
    callers: path.slice(0, -1).reverse().slice(0, CALLERS).map(frameText),
    bytes: point === undefined ? 0 : covered,
    share: total === 0 || point === undefined ? 0 : covered / total,
  };
}
