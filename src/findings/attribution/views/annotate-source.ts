/** A source file with the bytes that were live through each of its lines. */

import type { Frame } from '../../../attribution/frames/call-site.js';
import type { AnnotatedLine } from '../../../model/results/attribute.js';

export interface StackShare {
  readonly frames: readonly Frame[];
  readonly bytes: number;
  readonly blocks: number;
}

export interface SourceBytes {
  readonly matched: readonly string[];
  readonly lines: readonly AnnotatedLine[];
  readonly beyond_bytes: number;
}

/**
 * Those recorded files that share the longest tail of folders with `path`, at least the name. The run was seldom
 * started where the reader has the file.
 */
export function sameFile(path: string, files: Iterable<string>): string[] {
  const own = path.replaceAll('\\', '/').split('/').reverse();
  let most = 0;
  let found: string[] = [];
  for (const file of new Set(files)) {
    const parts = file.replaceAll('\\', '/').split('/').reverse();
    let equal = 0;
    while (equal < own.length && equal < parts.length && own[equal] === parts[equal]) equal += 1;
    if (equal === 0 || equal < most) continue;
    if (equal > most) found = [];
    most = equal;
    found.push(file);
  }
  return found.sort();
}

/** `text` is the file's content. A line counts a stack once, however often recursion passes it. */
export function annotateSource(path: string, text: string, stacks: readonly StackShare[]): SourceBytes {
  const matched = sameFile(
    path,
    stacks.flatMap(({ frames }) => frames.map(({ filename }) => filename)),
  );
  const files = new Set(matched);
  const sums = new Map<number, { bytes: number; self: number; blocks: number }>();
  for (const { frames, bytes, blocks } of stacks) {
    const seen = new Set<number>();
    for (const { filename, line } of frames) {
      if (!files.has(filename) || seen.has(line)) continue;
      const first = seen.size === 0;
      seen.add(line);
      const sum = sums.get(line) ?? { bytes: 0, self: 0, blocks: 0 };
      sum.bytes += bytes;
      sum.blocks += blocks;
      if (first) sum.self += bytes;
      sums.set(line, sum);
    }
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  let beyond = 0;
  for (const [line, { self }] of sums) if (line < 1 || line > lines.length) beyond += self;
  return {
    matched,
    lines: lines.map((content, i) => {
      const sum = sums.get(i + 1);
      return {
        line: i + 1,
        text: content,
        bytes: sum?.bytes ?? 0,
        self_bytes: sum?.self ?? 0,
        blocks: sum?.blocks ?? 0,
      };
    }),
    beyond_bytes: beyond,
  };
}
