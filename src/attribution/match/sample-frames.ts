/** Frames as rules and users write them: `function path/of/file.py`, with an optional `:line`. */

import type { CompiledRules, FrameMatches } from './compile-rules.js';

const PLACE = /^(.*?)\s+(\S+?)(?::(\d+))?$/s;

export interface WrittenFrame {
  readonly name: string;
  /** Empty where none is written. */
  readonly path: string;
  readonly line: number | null;
}

/** C++ names have spaces of their own: a frame's file is its last word, if that looks like one. */
export function sampleFrames(frames: readonly string[]): WrittenFrame[] {
  return frames.map((text) => {
    const match = PLACE.exec(text.trim());
    const path = match?.[2];
    if (match === null || path === undefined || !/[./\\<]/.test(path) || /[()]/.test(path))
      return { name: text.trim(), path: '', line: null };
    return { name: match[1]!, path, line: match[3] === undefined ? null : Number(match[3]) };
  });
}

/** What written frames match. */
export function sampleMatches(rules: CompiledRules, frames: readonly string[]): FrameMatches[] {
  return sampleFrames(frames).map(({ name, path }) => rules.matchesOf(name, path));
}
