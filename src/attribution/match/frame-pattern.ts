/**
 * Frame patterns compiled: globs over path suffixes and function names, without regular expressions and without
 * backtracking.
 */
import type { FramePattern } from './rule.js';

/** A frame as patterns see it, split once: hundreds of patterns are compared with each. */
export interface NamedFrame {
  readonly name: string;
  /** Without class or outer function. */
  readonly bare: string;
  /** With forward slashes. */
  readonly path: string;
  readonly segments: readonly string[];
}

export function namedFrame(name: string, filename: string): NamedFrame {
  const path = filename.includes('\\') ? filename.replaceAll('\\', '/') : filename;
  return { name, bare: bareName(name), path, segments: path.split('/') };
}

export type FrameTest = (frame: NamedFrame) => boolean;

/** A pattern, or several of which one must fit. Throws a plain `Error` with the reason for an invalid one. */
export function compilePatterns(patterns: FramePattern | readonly FramePattern[]): FrameTest {
  const tests = listOf(patterns).map(compilePattern);
  return tests.length === 1 ? tests[0]! : (frame) => tests.some((test) => test(frame));
}

function compilePattern(pattern: FramePattern): FrameTest {
  const file = pattern.file === undefined ? undefined : anyOf(listOf(pattern.file).map(compilePath));
  const name = pattern.function === undefined ? undefined : anyOf(listOf(pattern.function).map(compileFunction));
  if (file !== undefined && name !== undefined) return (frame) => name(frame) && file(frame);
  const only = file ?? name;
  if (only !== undefined) return only;
  throw new Error('a frame pattern needs a file, a function, or both');
}

type TextTest = (text: string) => boolean;

function anyOf(tests: readonly FrameTest[]): FrameTest {
  return tests.length === 1 ? tests[0]! : (frame) => tests.some((test) => test(frame));
}

export function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/** `**` alone between slashes spans folders; at the end it matches everything below a folder. */
function compilePath(pattern: string): FrameTest {
  const segments = pattern.split('/');
  if (pattern === '' || segments.includes(''))
    throw new Error(`${JSON.stringify(pattern)} is not a path suffix such as core/transformer/mlp.py`);
  if (!pattern.includes('*'))
    return ({ path }) =>
      path.endsWith(pattern) && (path.length === pattern.length || path[path.length - pattern.length - 1] === '/');
  const tests = segments.map((segment) => (segment === '**' ? null : compileGlob(segment)));
  if (tests.every((test) => test === null)) throw new Error(`${JSON.stringify(pattern)} fits every file`);
  const below = tests.at(-1) === null;
  return (frame) => fitsPath(frame.segments, tests, below);
}

/**
 * The parts between `**` are runs of segments with a fixed length. The last run is anchored at the end of the path
 * (unless `**` ends the pattern), the others are searched from the end, each as close to the one after it as it goes:
 * the earliest choice never rules out a later one, so nothing is tried twice.
 */
function fitsPath(path: readonly string[], tests: readonly (TextTest | null)[], below: boolean): boolean {
  let end = path.length;
  let to = tests.length;
  let anchored = true;
  if (below) {
    // At least one segment is below the folder.
    end -= 1;
    to -= 1;
    anchored = false;
  }
  while (to > 0) {
    let from = to;
    while (from > 0 && tests[from - 1] !== null) from -= 1;
    const length = to - from;
    let at = end - length;
    if (anchored) {
      if (at < 0 || !fitsRun(path, at, tests, from, to)) return false;
    } else {
      while (at >= 0 && !fitsRun(path, at, tests, from, to)) at -= 1;
      if (at < 0) return false;
    }
    end = at;
    to = from;
    while (to > 0 && tests[to - 1] === null) to -= 1;
    anchored = false;
  }
  return true;
}

function fitsRun(path: readonly string[], at: number, tests: readonly (TextTest | null)[], from: number, to: number) {
  for (let i = from; i < to; i += 1) if (!tests[i]!(path[at + i - from]!)) return false;
  return true;
}

function compileFunction(pattern: string): FrameTest {
  if (pattern === '') throw new Error('an empty function name fits nothing');
  const dot = pattern.lastIndexOf('.');
  const whole = compileGlob(pattern);
  // Of `Class.*` a name without a class could be anything.
  if (dot >= 0 && pattern.slice(dot + 1) === '*')
    throw new Error(`${JSON.stringify(pattern)} fits every function that is recorded without its class`);
  if (dot < 0) return ({ bare, name }) => whole(bare) || (bare !== name && whole(name));
  const bare = compileGlob(pattern.slice(dot + 1));
  const tail = compileGlob(`*.${pattern}`);
  // A name without a class is all that older recordings have.
  return ({ name }) => (name.includes('.') ? whole(name) || tail(name) : bare(name));
}

/** `Class.method` and `function.<locals>.inner` to their last part; C++ names are left alone. */
function bareName(name: string): string {
  if (name.includes('::') || name.includes('(')) return name;
  return name.slice(name.lastIndexOf('.') + 1);
}

/**
 * `*` matches any text. The pieces between stars are found left to right, each at its first place: linear in the text
 * for each piece.
 */
export function compileGlob(pattern: string): TextTest {
  const pieces = pattern.split('*');
  if (pieces.length === 1) return (text) => text === pattern;
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  const middle = pieces.slice(1, -1).filter((piece) => piece !== '');
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const piece of middle) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}
