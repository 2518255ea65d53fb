/**
 * How much of the growth leads to a hunk. Each grown stack speaks for the hunk that one of its frames is closest to: on a line that differs, some
 * lines off, elsewhere in the function, or merely in the file; frames further out say less, since more memory passes through them.
 */
import { formatBytes } from '../../model/units.js';
import type { Component } from '../../model/vocabulary.js';
import type { GrownStack, Growth, PlacedFrame } from './growth.js';
import type { ReadFile, ReadHunk } from './read-changes.js';
import type { FileMatcher } from './repository-paths.js';

export interface Weighed {
  /** 0 to 1. */
  readonly score: number;
  readonly reason: string;
}

export type Nearness = 'line' | 'near' | 'function' | 'file';

/** What a nearness says for a frame that allocates itself, and how fast that goes down with every frame in between. */
const SAYS: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.07 },
  near: { most: 0.78, decay: 0.1 },
  function: { most: 0.5, decay: 0.15 },
  file: { most: 0.1, decay: 0.2 },
};
/** Where something that freed was taken out: what it freed is allocated elsewhere in the function, or by what it calls. */
const SAYS_RELEASED: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.05 },
  near: { most: 0.94, decay: 0.05 },
  function: { most: 0.88, decay: 0.06 },
  file: { most: 0.25, decay: 0.2 },
};
/** Where something that holds was put in. */
const SAYS_RETAINED: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.06 },
  near: { most: 0.9, decay: 0.07 },
  function: { most: 0.7, decay: 0.1 },
  file: { most: 0.15, decay: 0.2 },
};

const NEAR_LINES = 3;
/** Lines within which a function is likely the same, where nothing names it. */
const NEIGHBOURHOOD = 12;

/** A frame in a file, and the stacks it is in. */
interface Visit {
  readonly stack: number;
  readonly frame: PlacedFrame;
  readonly side: 'a' | 'b';
  readonly strength: number;
}

export type Visits = ReadonlyMap<number, readonly Visit[]>;

/** Frames of grown stacks by the changed file they are in. */
export function visitsOf(growth: Growth, newer: FileMatcher, older: FileMatcher): Visits {
  const visits = new Map<number, Visit[]>();
  growth.stacks.forEach((stack, at) => {
    for (const [side, frames, matcher] of [
      ['b', stack.b, newer],
      ['a', stack.a, older],
    ] as const) {
      for (const frame of frames) {
        for (const { file, strength } of matcher(frame.frame.filename)) {
          const list = visits.get(file) ?? [];
          list.push({ stack: at, frame, side, strength });
          visits.set(file, list);
        }
      }
    }
  });
  return visits;
}

interface Hit {
  readonly visit: Visit;
  readonly nearness: Nearness;
  readonly distance: number;
  readonly says: number;
}

/** Undefined where no stack comes near. */
export function weighHunk(
  file: ReadFile,
  hunk: ReadHunk,
  visits: readonly Visit[],
  growth: Growth,
): Weighed | undefined {
  if (hunk.weight === 0) return undefined;
  const best = new Map<number, Hit>();
  for (const visit of visits) {
    const hit = hitOf(file, hunk, visit, visits);
    const other = best.get(visit.stack);
    if (hit !== undefined && hit.says > (other?.says ?? 0)) best.set(visit.stack, hit);
  }
  if (best.size === 0) return undefined;
  let says = 0;
  for (const [stack, hit] of best) says += growth.stacks[stack]!.share * hit.says;
  const { releases, retains, grows } = hunk.signs;
  const isMemory = releases !== null || retains !== null || grows !== null;
  return {
    score: says * hunk.weight * (isMemory ? 0.97 : 0.9),
    reason: reasonOf(hunk, [...best.values()], growth),
  };
}

function hitOf(file: ReadFile, hunk: ReadHunk, visit: Visit, visits: readonly Visit[]): Hit | undefined {
  const { frame, side, strength } = visit;
  const distance = distanceTo(hunk, frame.frame.line, side);
  const nearness = nearnessOf(file, hunk, visit, distance, visits);
  if (nearness === undefined) return undefined;
  const table = hunk.signs.releases !== null ? SAYS_RELEASED : hunk.signs.retains !== null ? SAYS_RETAINED : SAYS;
  const { most, decay } = table[nearness.is];
  const away = nearness.is === 'near' ? 1 - 0.03 * (distance - 1) : 1;
  // Where the stacks part something was changed, however far out; the older side only tells where the line was.
  const depth = frame.isFork ? Math.min(frame.depth, 1) : frame.depth;
  const says = (most * nearness.factor * away * strength * (side === 'a' ? 0.8 : 1)) / (1 + decay * depth);
  return { visit, nearness: nearness.is, distance, says };
}

/** Lines from a line to the nearest one that differs; a place where lines were only taken out is between two lines. */
function distanceTo({ hunk, lines, old_lines }: ReadHunk, line: number, side: 'a' | 'b'): number {
  if (side === 'a') return nearest(old_lines, line);
  if (lines.length > 0) return nearest(lines, line);
  // What is left of it stands where something was taken from around it.
  if (hunk.new_lines > 0) {
    const end = hunk.new_start + hunk.new_lines - 1;
    return line < hunk.new_start ? hunk.new_start - line : Math.max(0, line - end);
  }
  return line <= hunk.new_start ? hunk.new_start - line + 1 : line - hunk.new_start;
}

/** Of ascending numbers; infinite for none. */
function nearest(lines: readonly number[], line: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle]! < line) low = middle + 1;
    else high = middle;
  }
  return Math.min(
    Math.abs((lines[low] ?? Number.POSITIVE_INFINITY) - line),
    Math.abs((lines[low - 1] ?? Number.POSITIVE_INFINITY) - line),
  );
}

function nearnessOf(
  file: ReadFile,
  hunk: ReadHunk,
  { frame, side }: Visit,
  distance: number,
  visits: readonly Visit[],
): { readonly is: Nearness; readonly factor: number } | undefined {
  if (distance === 0) return { is: 'line', factor: 1 };
  // Older lines say where something was, newer ones whether anything is there now.
  if (side === 'a') return distance <= NEAR_LINES ? { is: 'near', factor: 1 } : undefined;
  const line = frame.frame.line;
  const other = isOtherFunction(hunk, frame);
  if (distance <= NEAR_LINES) return { is: 'near', factor: other ? 0.6 : 1 };
  if (other) return { is: 'file', factor: 1 };
  const named = hunk.function_name === frame.name || hunk.inner_functions.some(({ name }) => name === frame.name);
  if (!named && distance > NEIGHBOURHOOD) return { is: 'file', factor: 1 };
  const factor = (named ? 1 : 0.6) * (distance <= 40 ? 1 : distance <= 120 ? 0.8 : distance <= 300 ? 0.5 : 0.25);
  // Many classes of a file have a `forward`: another function in between means another one of that name.
  return { is: 'function', factor: isInterrupted(file, hunk, line, frame.name, visits) ? factor * 0.3 : factor };
}

/** Whether the hunk begins the function after a frame's line, or ends in another function than the frame's. */
function isOtherFunction(hunk: ReadHunk, { frame, name }: PlacedFrame): boolean {
  const before = hunk.inner_functions.filter((one) => one.line <= frame.line).at(-1);
  if (before !== undefined) return before.name !== name;
  const begins = hunk.inner_functions[0];
  if (begins !== undefined && begins.line > frame.line && hunk.lines.every((line) => line >= begins.line)) return true;
  // The frame stands before the hunk, which says in which function it is.
  return hunk.function_name !== null && hunk.function_name !== name && frame.line < hunk.hunk.new_start - NEIGHBOURHOOD;
}

/** Whether anything between the two is known to be of another function. */
function isInterrupted(file: ReadFile, hunk: ReadHunk, line: number, name: string, visits: readonly Visit[]): boolean {
  const [low, high] = [Math.min(line, hunk.hunk.new_start), Math.max(line, hunk.hunk.new_start)];
  const isBetween = (at: number): boolean => at > low && at < high;
  return (
    file.hunks.some(
      (one) =>
        one !== hunk && isBetween(one.hunk.new_start) && one.function_name !== null && one.function_name !== name,
    ) || visits.some(({ frame, side }) => side === 'b' && isBetween(frame.frame.line) && frame.name !== name)
  );
}

function reasonOf(hunk: ReadHunk, hits: readonly Hit[], growth: Growth): string {
  // What most of its weight comes from: one line, or one function.
  const groups = new Map<
    string,
    { readonly hit: Hit; says: number; bytes: number; components: Map<Component, number> }
  >();
  for (const hit of hits) {
    const stack = growth.stacks[hit.visit.stack]!;
    const { frame, name } = hit.visit.frame;
    const key = `${hit.nearness}\0${name}\0${hit.nearness === 'line' || hit.nearness === 'near' ? frame.line : ''}`;
    const group = groups.get(key) ?? { hit, says: 0, bytes: 0, components: new Map() };
    group.says += hit.says * stack.share;
    group.bytes += stack.bytes;
    addComponent(group.components, stack);
    groups.set(key, group);
  }
  const top = [...groups.values()].sort((p, q) => q.says - p.says)[0]!;
  const { hit } = top;
  const { frame, depth, name } = hit.visit.frame;
  const amount = `${formatBytes(top.bytes)} of ${formatBytes(growth.bytes)}`;
  const component = [...top.components].sort((p, q) => q[1] - p[1])[0]?.[0];
  const what = component === undefined ? '' : ` (${component})`;
  const where = depth === 0 ? `is where ${amount} grew` : `leads to where ${amount} grew`;
  const lines = (count: number): string => `${count} ${count === 1 ? 'line' : 'lines'}`;
  const was = hit.visit.side === 'a' ? 'old ' : '';
  const place =
    hit.nearness === 'line'
      ? `${was}line ${frame.line} in ${name} ${where}${what}`
      : hit.nearness === 'near'
        ? `${was}line ${frame.line} in ${name}, ${lines(hit.distance)} from this change, ${where}${what}`
        : hit.nearness === 'function'
          ? `line ${frame.line} in ${name}, the function this changes, ${where}${what}`
          : `line ${frame.line} in ${name} of this file ${where}${what}`;
  return `${place}${signText(hunk)}`;
}

function addComponent(components: Map<Component, number>, { component, bytes }: GrownStack): void {
  if (component !== null) components.set(component, (components.get(component) ?? 0) + bytes);
}

/** What the change takes out or puts in, where that looks like memory. */
export function signText({ signs }: ReadHunk): string {
  if (signs.releases !== null) return `; this takes out \`${signs.releases}\``;
  if (signs.retains !== null) return `; this puts in \`${signs.retains}\``;
  return signs.grows === null ? '' : `; this puts in \`${signs.grows}\``;
}
