/**
 * How much of the growth leads to a hunk. Each grown stack counts for the hunk that is nearest to one of its frames: on
 * a line that differs, some lines away, elsewhere in the function, or only in the file. Outer frames count less, since
 * more memory passes through them.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { getOrAdd } from '../../model/group-by.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Cause, Component } from '../../model/vocabulary.js';
import type { Growth, PlacedFrame } from './growth.js';
import type { ReadFile, ReadHunk } from './read-changes.js';
import type { FileMatcher } from './repository-paths.js';

const sentence = sentencesOf('suspects');

export interface Scored {
  /** 0 to 1. */
  readonly score: number;
  readonly reason: Text;
  /** See `Suspect`. */
  readonly cause?: Cause;
}

type Nearness = 'line' | 'near' | 'function' | 'file';

/** The score of a nearness for a frame that allocates itself, and its decay with every frame in between. */
const NEARNESS_SCORES: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.06 },
  near: { most: 0.78, decay: 0.1 },
  function: { most: 0.5, decay: 0.15 },
  file: { most: 0.1, decay: 0.2 },
};
/**
 * Where something that freed was removed: what it freed is allocated elsewhere in the function, or by what it calls.
 */
const RELEASED_SCORES: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.05 },
  near: { most: 0.94, decay: 0.05 },
  function: { most: 0.88, decay: 0.06 },
  file: { most: 0.25, decay: 0.2 },
};
/** Where something that holds memory was added. */
const RETAINED_SCORES: Readonly<Record<Nearness, { readonly most: number; readonly decay: number }>> = {
  line: { most: 1, decay: 0.06 },
  near: { most: 0.9, decay: 0.07 },
  function: { most: 0.7, decay: 0.1 },
  file: { most: 0.15, decay: 0.2 },
};

const NEAR_LINES = threshold('suspects.near_lines');
const NEIGHBOURHOOD = threshold('suspects.neighbourhood');

/** A line with frames. Many stacks share one: its nearness is computed once for each hunk. */
interface Point {
  readonly side: 'a' | 'b';
  readonly line: number;
  readonly name: string;
}

/** A frame of a stack in a file. */
interface Visit {
  readonly stack: number;
  readonly frame: PlacedFrame;
  readonly point: number;
  readonly strength: number;
}

interface FileVisits {
  readonly points: Point[];
  readonly visits: Visit[];
  /** Point by side, line and name. */
  readonly known: Map<string, number>;
}

/** By the index of the changed file. */
export type Visits = ReadonlyMap<number, FileVisits>;

/** Frames of grown stacks by the changed file they are in. */
export function visitsOf(growth: Growth, newer: FileMatcher, older: FileMatcher): Visits {
  const visits = new Map<number, FileVisits>();
  growth.stacks.forEach((stack, at) => {
    for (const [side, frames, matcher] of [
      ['b', stack.b, newer],
      ['a', stack.a, older],
    ] as const) {
      for (const frame of frames) {
        const { line } = frame.frame;
        const key = `${side}${line} ${frame.name}`;
        for (const { file, strength } of matcher(frame.frame.filename)) {
          const fileVisits = getOrAdd(visits, file, (): FileVisits => ({ points: [], visits: [], known: new Map() }));
          const { points, known } = fileVisits;
          const point = getOrAdd(known, key, () => points.push({ side, line, name: frame.name }) - 1);
          fileVisits.visits.push({ stack: at, frame, point, strength });
        }
      }
    }
  });
  return visits;
}

/** The relation of a hunk to a line. */
interface Relation {
  readonly point: Point;
  readonly nearness: Nearness;
  readonly distance: number;
  /** Up to 1: less where the relation is uncertain. */
  readonly factor: number;
}

interface Hit {
  readonly visit: Visit;
  readonly relation: Relation;
  readonly score: number;
}

/** Undefined where no stack comes near. */
export function scoreHunk(
  file: ReadFile,
  hunk: ReadHunk,
  found: FileVisits | undefined,
  growth: Growth,
): Scored | undefined {
  if (hunk.weight === 0 || found === undefined) return undefined;
  const { points, visits } = found;
  const relations = points.map((point) => relationOf(file, hunk, point, points));
  const { releases, retains, grows } = hunk.signs;
  const table = releases !== null ? RELEASED_SCORES : retains !== null ? RETAINED_SCORES : NEARNESS_SCORES;
  const best = new Map<number, Hit>();
  for (const visit of visits) {
    const relation = relations[visit.point];
    if (relation === undefined) continue;
    const score = visitScore(relation, visit, table);
    if (score > (best.get(visit.stack)?.score ?? 0)) best.set(visit.stack, { visit, relation, score });
  }
  if (best.size === 0) return undefined;
  let score = 0;
  let inner = 0;
  for (const [stack, { score: hitScore, visit }] of best) {
    score += growth.stacks[stack]!.share * hitScore;
    if (visit.frame.depth === 0) inner += growth.stacks[stack]!.share * hitScore;
  }
  // Memory allocated at a line further out would be a site of its own.
  const isMemory = releases !== null || retains !== null || (grows !== null && inner > score / 2);
  return {
    score: score * hunk.weight * (isMemory ? 0.97 : 0.9),
    reason: reasonOf(hunk, [...best.values()], growth),
  };
}

function visitScore(
  { point, nearness, distance, factor }: Relation,
  { frame, strength }: Visit,
  table: typeof NEARNESS_SCORES,
): number {
  const { most, decay } = table[nearness];
  const away = nearness === 'near' ? 1 - 0.03 * (distance - 1) : 1;
  // Where the stacks part, something was changed, at any depth; the older side only shows where the line was.
  const depth = frame.isFork ? Math.min(frame.depth, 1) : frame.depth;
  return (most * factor * away * strength * (point.side === 'a' ? 0.8 : 1)) / (1 + decay * depth);
}

/** Lines from a line to the nearest one that differs; a place where lines were only taken out is between two lines. */
function distanceTo({ hunk, lines, old_lines }: ReadHunk, line: number, side: 'a' | 'b'): number {
  if (side === 'a') return nearest(old_lines, line);
  if (lines.length > 0) {
    // Added lines need not be where lines were removed: a new function after the end of another.
    const taken = old_lines.length > 0 ? Math.max(1, Math.abs(hunk.new_start - line)) : Number.POSITIVE_INFINITY;
    return Math.min(nearest(lines, line), taken);
  }
  // The remaining lines are where lines around them were removed.
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

function relationOf(file: ReadFile, hunk: ReadHunk, point: Point, points: readonly Point[]): Relation | undefined {
  const distance = distanceTo(hunk, point.line, point.side);
  const of = (nearness: Nearness, factor = 1): Relation => ({ point, nearness, distance, factor });
  if (distance === 0) return of('line');
  // Older lines show where something was, newer ones whether anything is there now.
  if (point.side === 'a') return distance <= NEAR_LINES ? of('near') : undefined;
  const isOther = isOtherFunction(hunk, point);
  if (distance <= NEAR_LINES) return of('near', isOther ? 0.6 : 1);
  if (isOther) return of('file');
  const isNamed = hunk.function_name === point.name || hunk.inner_functions.some(({ name }) => name === point.name);
  if (!isNamed && distance > NEIGHBOURHOOD) return of('file');
  const factor = (isNamed ? 1 : 0.6) * (distance <= 40 ? 1 : distance <= 120 ? 0.8 : distance <= 300 ? 0.5 : 0.25);
  // Many classes of a file have a `forward`: another function in between means a different `forward`.
  return of('function', isInterrupted(file, hunk, point, points) ? factor * 0.3 : factor);
}

/** Whether the hunk begins the function after a line, or is in another function than the line. */
function isOtherFunction(hunk: ReadHunk, { line, name }: Point): boolean {
  const before = hunk.inner_functions.filter((one) => one.line <= line).at(-1);
  if (before !== undefined) return before.name !== name;
  const begins = hunk.inner_functions[0];
  const isAllAfter = hunk.old_lines.length === 0 && hunk.lines.every((one) => one >= (begins?.line ?? 0));
  if (begins !== undefined && begins.line > line && isAllAfter) return true;
  // The line is before the hunk, whose header names its function.
  return hunk.function_name !== null && hunk.function_name !== name && line < hunk.hunk.new_start - NEIGHBOURHOOD;
}

/** Whether anything between the two is known to be of another function. */
function isInterrupted(file: ReadFile, hunk: ReadHunk, { line, name }: Point, points: readonly Point[]): boolean {
  const [low, high] = [Math.min(line, hunk.hunk.new_start), Math.max(line, hunk.hunk.new_start)];
  const isBetween = (at: number): boolean => at > low && at < high;
  return (
    file.hunks.some(
      (one) =>
        one !== hunk && isBetween(one.hunk.new_start) && one.function_name !== null && one.function_name !== name,
    ) || points.some((other) => other.side === 'b' && isBetween(other.line) && other.name !== name)
  );
}

function reasonOf(hunk: ReadHunk, hits: readonly Hit[], growth: Growth): Text {
  // The largest part of its score: one line, or one function.
  const groups = new Map<
    string,
    { readonly hit: Hit; score: number; bytes: number; components: Map<Component, number> }
  >();
  for (const hit of hits) {
    const { nearness, point } = hit.relation;
    const key = `${nearness}\0${point.name}\0${nearness === 'line' || nearness === 'near' ? point.line : ''}`;
    const group = getOrAdd(groups, key, () => ({ hit, score: 0, bytes: 0, components: new Map() }));
    const { component, bytes, share } = growth.stacks[hit.visit.stack]!;
    group.score += hit.score * share;
    group.bytes += bytes;
    if (component !== null) group.components.set(component, (group.components.get(component) ?? 0) + bytes);
  }
  const top = [...groups.values()].sort((p, q) => q.score - p.score)[0]!;
  const { visit, relation } = top.hit;
  const { point, nearness, distance } = relation;
  return sentence('hunk', {
    ...{ old: point.side === 'a', line: point.line, name: point.name, nearness, distance },
    ...{ leads: visit.frame.depth !== 0, grown_bytes: top.bytes, all_bytes: growth.bytes, sign: signOf(hunk) },
    component: [...top.components].sort((p, q) => q[1] - p[1])[0]?.[0],
  });
}

/** What the change removes or adds, if that looks like memory. */
export function signOf({ signs: { releases, retains, grows } }: ReadHunk): Text | null {
  if (releases !== null) return sentence('took', { sign: releases });
  const sign = retains ?? grows;
  return sign === null ? null : sentence('put', { sign });
}
