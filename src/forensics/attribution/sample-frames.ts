/** Frames as rules and users write them: `function path/of/file.py`, with an optional `:line`. */
import { type NamedFrame, namedFrame } from './frame-pattern.js';

const PLACE = /^(.*?)\s+(\S+?)(?::(\d+))?$/s;

export interface WrittenFrame extends NamedFrame {
  readonly line: number | null;
}

/** C++ names have spaces of their own: a frame's file is its last word, if that looks like one. */
export function sampleFrames(frames: readonly string[]): WrittenFrame[] {
  return frames.map((text) => {
    const match = PLACE.exec(text.trim());
    const path = match?.[2];
    if (match === null || path === undefined || !/[./\\<]/.test(path) || /[()]/.test(path))
      return { ...namedFrame(text.trim(), ''), line: null };
    return { ...namedFrame(match[1]!, path), line: match[3] === undefined ? null : Number(match[3]) };
  });
}
