/** Frames as rules and users write them: `function path/of/file.py`, with an optional `:line`. */

import type { CompiledRules, FrameMatches } from './compile-rules.js';

export interface WrittenFrame {
  readonly name: string;
  /** Empty where none is written. */
  readonly path: string;
  readonly line: number | null;
}

/** C++ names have spaces of their own: a frame's file is its last word, if that looks like one. */
export function sampleFrames(frames: readonly string[]): WrittenFrame[] {
  return frames.map((text) => {
    const written = text.trim();
    const place = written.split(/\s+/).at(-1)!;
    const [, path = '', line] = /^(.+?)(?::(\d+))?$/.exec(place) ?? [];
    const name = written.slice(0, written.length - place.length).trimEnd();
    if (name === '' || !/[./\\<]/.test(path) || /[()]/.test(path)) return { name: written, path: '', line: null };
    return { name, path, line: line === undefined ? null : Number(line) };
  });
}

/** What written frames match. */
export function sampleMatches(rules: CompiledRules, frames: readonly string[]): FrameMatches[] {
  return sampleFrames(frames).map(({ name, path }) => rules.matchesOf(name, path));
}
