/**
 * Which of hundreds of patterns can fit a frame at all: by a literal part of the path, or by a literal function name.
 */
import { listOf, type NamedFrame } from './frame-pattern.js';
import type { FramePattern } from './rule.js';

/** Numbers of patterns, filed under what a frame must have to fit them. */
export class PatternIndex {
  /** By a folder or a file of the path. */
  private readonly bySegment = new Map<string, number[]>();
  private readonly byFunction = new Map<string, number[]>();
  /** Of C++ names. */
  private readonly native: number[] = [];
  private readonly others: number[] = [];
  private seen = new Int32Array(64);
  private query = 0;

  add(item: number, patterns: FramePattern | readonly FramePattern[]): void {
    if (item >= this.seen.length) this.seen = new Int32Array(2 * item);
    const filings: (readonly [number[], undefined] | readonly [Map<string, number[]>, string])[] = [];
    for (const { file, function: name } of listOf(patterns)) {
      const segments = file === undefined ? [] : listOf(file).map(decidingSegment);
      const names = name === undefined ? [] : listOf(name).map((text) => text.slice(text.lastIndexOf('.') + 1));
      if (segments.length > 0 && segments.every((segment) => segment !== undefined))
        for (const segment of segments) filings.push([this.bySegment, segment]);
      else if (names.length > 0 && names.every((text) => text.includes('::'))) filings.push([this.native, undefined]);
      else if (names.length > 0 && names.every(isLiteral))
        for (const text of names) filings.push([this.byFunction, text]);
      else filings.push([this.others, undefined]);
    }
    for (const [where, key] of filings) {
      if (key === undefined) where.push(item);
      else {
        const items = where.get(key);
        if (items === undefined) where.set(key, [item]);
        else items.push(item);
      }
    }
  }

  /** What may fit, in ascending order, each once. */
  candidates({ name, bare, segments }: NamedFrame): number[] {
    this.query += 1;
    const found: number[] = [];
    const take = (items: readonly number[] | undefined): void => {
      if (items === undefined) return;
      for (const item of items) {
        if (this.seen[item] === this.query) continue;
        this.seen[item] = this.query;
        found.push(item);
      }
    };
    take(this.others);
    for (const segment of segments) take(this.bySegment.get(segment));
    take(this.byFunction.get(bare));
    if (name.includes('::')) take(this.native);
    // A C++ name is its own bare name, dots and all.
    const tail = name.slice(name.lastIndexOf('.') + 1);
    if (tail !== bare) take(this.byFunction.get(tail));
    return found.sort((a, b) => a - b);
  }
}

const isLiteral = (text: string): boolean => !text.includes('*');

/** The file's name if it is literal, else the longest literal folder: the rarer, the better. */
function decidingSegment(path: string): string | undefined {
  const segments = path.split('/');
  const last = segments.at(-1)!;
  if (isLiteral(last)) return last;
  return segments.filter(isLiteral).sort((a, b) => b.length - a.length)[0];
}
