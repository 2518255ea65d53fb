/**
 * Which allocating lines of one recording are which of the other, and by how much each grew.
 *
 * A site is the frame a reader would name (`call-site.ts`). Sites pair in steps, each only over what the steps before
 * left: lines of the same function in the same file (`exact`, `line_shifted`, or `moved` with their file); functions
 * that are in another file (`moved`) or have another name (`renamed`) but the same functions around them; and stacks
 * whose site is a function that only one side has, put between known ones: a decorator, an extracted helper. What is
 * left is `only_a` or `only_b`.
 *
 * Which lines of a file are the same is decided for the whole file (`map-lines.ts`), by all lines of both traces where
 * they are known.
 *
 * Both sides are put in an order of their own content first, so that exchanging them exchanges the answer and nothing
 * else.
 */

import type { DiffSite, SiteMatch } from '../../model/diff-parts.js';
import { getOrAdd } from '../../model/group-by.js';
import { minOf } from '../../model/lists.js';
import { GENERATED_PATHS } from '../stacks/normal-path.js';
import { type AllocatingLine, alignLines } from './align-lines.js';
import { type FileLine, type LineMap, mapLines } from './map-lines.js';
import { matchPaths } from './match-paths.js';
import {
  type FrameInfo,
  FrameTable,
  readSide,
  type Side,
  type Stack,
  type StackGroup,
  type TraceLine,
} from './side-stacks.js';

/** A row of the diff before it is looked at closer, with the groups it is made of. */
export interface SiteDelta extends Omit<DiffSite, 'sizes' | 'callers'> {
  /** Positions in the lists given, for who wants to look closer. */
  readonly a_groups: readonly number[];
  readonly b_groups: readonly number[];
}

/** Empty for a side without a trace. */
export interface TraceLines {
  readonly a: readonly TraceLine[];
  readonly b: readonly TraceLine[];
}

/** Sites in descending order of |delta|, then of bytes; their sums are those of the groups. */
export function matchSites(
  a: readonly StackGroup[],
  b: readonly StackGroup[],
  traces: TraceLines = { a: [], b: [] },
): SiteDelta[] {
  const frames = new FrameTable();
  const isTraced = traces.a.length > 0 && traces.b.length > 0;
  const first = readSide(a, traces.a, isTraced, frames);
  const second = readSide(b, traces.b, isTraced, frames);
  const swapped = first.fingerprint > second.fingerprint;
  const [x, y] = swapped ? [second, first] : [first, second];
  const matched = new Matcher(x, y, isTraced).run();
  const sites = matched.map((pair) => toDelta(swapped ? { ...pair, x: pair.y, y: pair.x } : pair, a, b));
  // The order before a tie is that of the content, whichever side came first.
  const order = sites.map((_, i) => i);
  order.sort((i, j) => {
    const p = sites[i]!;
    const q = sites[j]!;
    return (
      Math.abs(q.delta_bytes) - Math.abs(p.delta_bytes) ||
      Math.max(q.a_bytes, q.b_bytes) - Math.max(p.a_bytes, p.b_bytes) ||
      i - j
    );
  });
  return order.map((i) => sites[i]!);
}

/** One allocating line of one side. */
interface Site extends AllocatingLine {
  bytes: number;
  count: number;
  readonly around: [number, number];
  readonly stacks: Stack[];
  /** As the largest of its stacks has it: one function may be in several places of one installation. */
  text: string;
  textBytes: number;
}

/** The allocating lines of one function. */
interface SiteFunction {
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly path: string;
  /** By line. */
  readonly lines: Map<number, Site>;
}

interface Pair {
  x: Site | null;
  y: Site | null;
  match: 'exact' | 'line_shifted' | 'moved' | 'renamed' | 'only';
  through: string | null;
}

/** Frames around a site that identify its place in the program. */
const CALLERS = 8;
const CALLEES = 4;
/** A feature that more pairs of functions share than this no longer distinguishes them. */
const MOST_SHARING = 256;
const LEAST_MOVED = 0.25;
const LEAST_RENAMED = 0.6;

class Matcher {
  readonly #x: Side;
  readonly #y: Side;
  /** Normal path of either side → the name both sides' file goes by. */
  readonly #fileOfX = new Map<string, string>();
  readonly #fileOfY = new Map<string, string>();
  readonly #movedFiles = new Set<string>();
  /** By the name that both sides' file goes by. */
  readonly #maps = new Map<string, LineMap>();
  readonly #pairs: Pair[] = [];

  readonly #isTraced: boolean;

  constructor(x: Side, y: Side, isTraced: boolean) {
    this.#x = x;
    this.#y = y;
    this.#isTraced = isTraced;
  }

  run(): Pair[] {
    this.#matchFiles();
    this.#mapFiles();
    const knownX = this.#functionsOf(this.#x, this.#fileOfX);
    const knownY = this.#functionsOf(this.#y, this.#fileOfY);
    const restX = this.#sites(this.#x.stacks, this.#fileOfX, knownY, (stack) => stack.at);
    const restY = this.#sites(this.#y.stacks, this.#fileOfY, knownX, (stack) => stack.at);
    for (const key of [...restX.keys()].sort()) {
      const x = restX.get(key)!;
      const y = restY.get(key);
      if (y !== undefined) this.#align(x, y, this.#movedFiles.has(x.path) ? 'moved' : undefined, null);
    }
    dropEmpty(restX);
    dropEmpty(restY);
    this.#matchElsewhere(restX, restY, knownX, knownY);
    this.#matchThrough(restX, restY, knownX, knownY);
    for (const [rest, side] of [
      [restX, 'x'],
      [restY, 'y'],
    ] as const) {
      for (const key of [...rest.keys()].sort()) {
        for (const site of linesOf(rest.get(key)!)) {
          this.#pairs.push({
            x: side === 'x' ? site : null,
            y: side === 'y' ? site : null,
            match: 'only',
            through: null,
          });
        }
      }
    }
    return this.#pairs;
  }

  #matchFiles(): void {
    const filesOf = (side: Side): Map<string, Set<string>> => {
      const files = new Map<string, Set<string>>();
      for (const frame of side.seen.keys()) {
        if (frame.path !== '') getOrAdd(files, frame.path, () => new Set()).add(frame.name);
      }
      return files;
    };
    for (const { a, b, relation } of matchPaths(filesOf(this.#x), filesOf(this.#y))) {
      // Two files of one side never share a name: a pair is named after both.
      const name = a === b ? a : `${a}\n${b}`;
      this.#fileOfX.set(a, name);
      this.#fileOfY.set(b, name);
      if (relation === 'moved') this.#movedFiles.add(name);
    }
  }

  /** Generated files lose their names, so that many are one here: their lines are not those of one text. */
  #mapFiles(): void {
    const x = linesOfFiles(this.#x, this.#fileOfX);
    const y = linesOfFiles(this.#y, this.#fileOfY);
    for (const [file, lines] of x) {
      const counterparts = y.get(file);
      if (counterparts !== undefined && !GENERATED_PATHS.has(file))
        this.#maps.set(file, mapLines(lines, counterparts, this.#isTraced));
    }
  }

  /** Every function on any stack. */
  #functionsOf(side: Side, files: ReadonlyMap<string, string>): Set<string> {
    return new Set([...side.seen.keys()].map((frame) => functionKey(frame, files)));
  }

  /** Stacks by the function and line of the frame that `at` chooses; −1 leaves a stack out if it has frames. */
  #sites(
    stacks: readonly Stack[],
    files: ReadonlyMap<string, string>,
    otherKnown: ReadonlySet<string>,
    at: (stack: Stack) => number,
  ): Map<string, SiteFunction> {
    const functions = new Map<string, SiteFunction>();
    for (const stack of stacks) {
      const index = at(stack);
      if (index < 0 && stack.frames.length > 0) continue;
      const frame = stack.frames[index];
      const path = frame === undefined ? '' : (files.get(frame.path) ?? frame.path);
      const name = frame?.name ?? '';
      // Generated files lose their names, so the function that called into them distinguishes them.
      const isShared = (caller: FrameInfo): boolean => otherKnown.has(functionKey(caller, files));
      const place = GENERATED_PATHS.has(path) ? `${path} ${generatedFor(stack, index, isShared)}` : path;
      const key = `${stack.kind}\0${name}\0${place}`;
      const entry = getOrAdd(functions, key, () => ({ key, kind: stack.kind, name, path, lines: new Map() }));
      const line = frame?.line ?? 0;
      const site = getOrAdd(entry.lines, line, () => ({
        line,
        bytes: 0,
        count: 0,
        around: [0, 0],
        stacks: [],
        text: '',
        textBytes: -1,
      }));
      site.bytes += stack.bytes;
      site.count += stack.count;
      site.stacks.push(stack);
      const text = frame?.text ?? '';
      if (stack.bytes > site.textBytes || (stack.bytes === site.textBytes && text < site.text)) {
        site.text = text;
        site.textBytes = stack.bytes;
      }
      eachNeighbour(stack, index, (neighbour, direction) => {
        const bit = (neighbour.nameHash ^ (direction === '<' ? 0 : 0x2d)) & 63;
        site.around[bit >> 5]! |= 1 << (bit & 31);
      });
    }
    return functions;
  }

  /** Pairs the lines of two functions, and takes them out of both. */
  #align(x: SiteFunction, y: SiteFunction, match: 'moved' | 'renamed' | undefined, through: string | null): void {
    for (const [p, q] of this.#linePairs(x, y)) {
      this.#pairs.push({ x: p, y: q, match: match ?? (p.line === q.line ? 'exact' : 'line_shifted'), through });
      x.lines.delete(p.line);
      y.lines.delete(q.line);
    }
  }

  /** By the map of their file; of functions that it does not place, by their own lines. */
  #linePairs(x: SiteFunction, y: SiteFunction): [Site, Site][] {
    const map = x.path === y.path ? this.#maps.get(x.path) : undefined;
    const linesX = linesOf(x);
    const linesY = linesOf(y);
    if (map !== undefined) {
      const mapped = linesX.flatMap((p): [Site, Site][] => {
        const q = y.lines.get(x.name === y.name ? (map.pairs.get(p.line) ?? Number.NaN) : map.to(p.line));
        return q === undefined ? [] : [[p, q]];
      });
      if (mapped.length > 0 || (x.name === y.name && !isUnplaced(x, y, map))) return mapped;
    }
    return alignLines(linesX, linesY).map(([i, j]) => [linesX[i]!, linesY[j]!]);
  }

  /** Functions of another file or name with the same functions around them, the most alike first. */
  #matchElsewhere(
    restX: Map<string, SiteFunction>,
    restY: Map<string, SiteFunction>,
    knownX: ReadonlySet<string>,
    knownY: ReadonlySet<string>,
  ): void {
    const describe = (
      rest: Map<string, SiteFunction>,
      files: ReadonlyMap<string, string>,
      other: ReadonlySet<string>,
    ) =>
      [...rest.keys()].sort().flatMap((key) => {
        const entry = rest.get(key)!;
        // Native code and memory without frames lack a file to move to.
        if (entry.path === '' || entry.path.startsWith('<')) return [];
        return [{ entry, features: featuresOf(entry, files, texts), gone: !other.has(`${entry.name}\0${entry.path}`) }];
      });
    const texts = { '<': new Map<FrameInfo, string>(), '>': new Map<FrameInfo, string>() };
    const listX = describe(restX, this.#fileOfX, knownY);
    const listY = describe(restY, this.#fileOfY, knownX);
    const index = new Map<string, { readonly x: number[]; readonly y: number[] }>();
    const note = (feature: string, side: 'x' | 'y', i: number): void => {
      const entry = getOrAdd(index, feature, () => ({ x: [], y: [] }));
      entry[side].push(i);
    };
    const sides = [
      ['x', listX],
      ['y', listY],
    ] as const;
    for (const [side, list] of sides) {
      list.forEach(({ entry, features }, i) => {
        note(entry.name, side, i);
        for (const feature of features) note(feature, side, i);
      });
    }
    // A name of very many functions (`forward`) distinguishes them only together with the frames around them.
    for (const [side, list] of sides) {
      list.forEach(({ entry, features }, i) => {
        const { x, y } = index.get(entry.name)!;
        if (x.length * y.length <= MOST_SHARING) return;
        for (const feature of features) note(`${entry.name} ${feature}`, side, i);
      });
    }
    const scores = new Map<number, number>();
    for (const { x, y } of index.values()) {
      if (x.length * y.length > MOST_SHARING) continue;
      for (const i of x) {
        for (const j of y) {
          const id = i * listY.length + j;
          if (scores.has(id)) continue;
          const p = listX[i]!;
          const q = listY[j]!;
          let score = 0;
          // A function that the other side still has, on some stack, has neither moved nor got another name.
          if (p.gone && q.gone && p.entry.kind === q.entry.kind) {
            const { both, share } = overlap(p.features, q.features);
            const sameFile = p.entry.path === q.entry.path;
            if (p.entry.name === q.entry.name) score = share >= LEAST_MOVED ? 1 + share : 0;
            // One caller in common is what any two callees of `train_step` have.
            else if (share >= LEAST_RENAMED && both >= (sameFile ? 1 : 2)) score = share + (sameFile ? 0.2 : 0);
          }
          scores.set(id, score);
        }
      }
    }
    const candidates = [...scores].filter(([, score]) => score > 0).sort(([i, p], [j, q]) => q - p || i - j);
    const usedX = new Set<number>();
    const usedY = new Set<number>();
    for (const [id] of candidates) {
      const j = id % listY.length;
      const i = (id - j) / listY.length;
      if (usedX.has(i) || usedY.has(j)) continue;
      usedX.add(i);
      usedY.add(j);
      const x = listX[i]!.entry;
      const y = listY[j]!.entry;
      this.#align(x, y, x.name === y.name ? 'moved' : 'renamed', null);
    }
    dropEmpty(restX);
    dropEmpty(restY);
  }

  /**
   * Stacks whose site is a function that the other side has nowhere: seen from outside, the first function known to
   * both is where the other side allocates, if it does. They join that line if it is without a counterpart, or lost
   * there what came here.
   */
  #matchThrough(
    restX: Map<string, SiteFunction>,
    restY: Map<string, SiteFunction>,
    knownX: ReadonlySet<string>,
    knownY: ReadonlySet<string>,
  ): void {
    for (const [ownFunctions, ownFiles, other, otherKnown, side] of [
      [restX, this.#fileOfX, restY, knownY, 'x'],
      [restY, this.#fileOfY, restX, knownX, 'y'],
    ] as const) {
      const byStack = new Map<Stack, { readonly entry: SiteFunction; readonly site: Site }>();
      for (const key of [...ownFunctions.keys()].sort()) {
        const entry = ownFunctions.get(key)!;
        for (const site of linesOf(entry)) for (const stack of site.stacks) byStack.set(stack, { entry, site });
      }
      const outer = (stack: Stack): number => {
        let known = stack.at;
        while (known >= 0 && known < stack.frames.length) {
          const frame = stack.frames[known]!;
          if (frame.role === 'user' && otherKnown.has(functionKey(frame, ownFiles))) {
            return known === stack.at ? -1 : known;
          }
          known += 1;
        }
        return -1;
      };
      const stacks = [...byStack.keys()].filter((stack) => stack.at >= 0 && outer(stack) >= 0);
      const seen = this.#sites(stacks, ownFiles, otherKnown, outer);
      const pairsOfLine = this.#pairsByLine(side);
      for (const key of [...seen.keys()].sort()) {
        const here = seen.get(key)!;
        const there = other.get(key);
        if (there !== undefined) {
          const before = this.#pairs.length;
          if (side === 'x') this.#align(here, there, undefined, null);
          else this.#align(there, here, undefined, null);
          for (const pair of this.#pairs.slice(before)) {
            pair.through = throughText(side === 'x' ? pair.x! : pair.y!);
            if (this.#movedFiles.has(here.path)) pair.match = 'moved';
            takeOut(byStack, (side === 'x' ? pair.x! : pair.y!).stacks);
          }
        }
        for (const site of linesOf(here)) {
          this.#joinLoser(pairsOfLine.get(`${key}\0${site.line}`), site, side, byStack);
        }
      }
      dropEmpty(ownFunctions);
      dropEmpty(other);
    }
  }

  /** Adds a line's stacks to the pair of the same line, if that makes its difference smaller. */
  #joinLoser(
    pair: Pair | undefined,
    site: Site,
    side: 'x' | 'y',
    byStack: Map<Stack, { readonly entry: SiteFunction; readonly site: Site }>,
  ): void {
    if (pair === undefined || pair.x === null || pair.y === null) return;
    const delta = side === 'x' ? pair.x.bytes - pair.y.bytes : pair.y.bytes - pair.x.bytes;
    if (Math.abs(delta + site.bytes) >= Math.abs(delta) + site.bytes) return;
    const ownSite = pair[side]!;
    pair[side] = {
      ...ownSite,
      bytes: ownSite.bytes + site.bytes,
      count: ownSite.count + site.count,
      stacks: [...ownSite.stacks, ...site.stacks],
    };
    pair.through ??= throughText(site);
    takeOut(byStack, site.stacks);
  }

  /** Pairs by function and line of one side. */
  #pairsByLine(side: 'x' | 'y'): Map<string, Pair> {
    const files = side === 'x' ? this.#fileOfX : this.#fileOfY;
    const pairsByKey = new Map<string, Pair>();
    for (const pair of this.#pairs) {
      const site = pair[side];
      const stack = site?.stacks[0];
      const frame = stack?.frames[stack.at];
      if (site !== undefined && site !== null && frame !== undefined) {
        pairsByKey.set(`${stack!.kind}\0${functionKey(frame, files)}\0${site.line}`, pair);
      }
    }
    return pairsByKey;
  }
}

/** Removes stacks from the lines they were counted at. */
function takeOut(
  byStack: Map<Stack, { readonly entry: SiteFunction; readonly site: Site }>,
  stacks: readonly Stack[],
): void {
  for (const stack of stacks) {
    const place = byStack.get(stack);
    if (place === undefined) continue;
    const { entry, site } = place;
    site.bytes -= stack.bytes;
    site.count -= stack.count;
    site.stacks.splice(site.stacks.indexOf(stack), 1);
    if (site.stacks.length === 0) entry.lines.delete(site.line);
    byStack.delete(stack);
  }
}

const functionKey = (frame: FrameInfo, files: ReadonlyMap<string, string>): string =>
  `${frame.name}\0${files.get(frame.path) ?? frame.path}`;

function linesOfFiles({ seen }: Side, files: ReadonlyMap<string, string>): Map<string, FileLine[]> {
  const byFile = new Map<
    string,
    Map<number, { functions: Set<string>; allocs: number | null; bytes: number | null }>
  >();
  for (const [{ name, path, line }, passing] of seen) {
    const file = files.get(path);
    if (file === undefined) continue;
    const lines = getOrAdd(byFile, file, () => new Map());
    const entry = getOrAdd(lines, line, () => ({ functions: new Set<string>(), allocs: 0, bytes: 0 }));
    entry.functions.add(name);
    entry.allocs = passing === null || entry.allocs === null ? null : entry.allocs + passing.allocs;
    entry.bytes = passing === null || entry.bytes === null ? null : entry.bytes + passing.bytes;
  }
  return new Map(
    [...byFile].map(([file, lines]) => [
      file,
      [...lines].map(([line, entry]) => ({ line, ...entry })).sort((p, q) => p.line - q.line),
    ]),
  );
}

/**
 * Whether a function may be elsewhere in the file than the map has it: no line of it has a pair, and it is not between
 * two lines that moved by one distance.
 */
function isUnplaced(x: SiteFunction, y: SiteFunction, { pairs, mappedFunctions }: LineMap): boolean {
  if (mappedFunctions.has(x.name)) return false;
  const first = minOf(x.lines.keys());
  // The file begins unmoved.
  let before: readonly [number, number] = [0, 0];
  for (const [line, other] of pairs) {
    if (line > first) {
      const isBetween = [...y.lines.keys()].every((own) => own > before[1] && own < other);
      return !isBetween || other - line !== before[1] - before[0];
    }
    before = [line, other];
  }
  return true;
}

function linesOf(entry: SiteFunction): Site[] {
  return [...entry.lines.values()].sort((p, q) => p.line - q.line);
}

function dropEmpty(rest: Map<string, SiteFunction>): void {
  for (const [key, entry] of rest) if (entry.lines.size === 0) rest.delete(key);
}

/** The nearest function that both sides have outside generated code: the generated code was made for it. */
function generatedFor(stack: Stack, index: number, isShared: (caller: FrameInfo) => boolean): string {
  for (let i = index + 1; i < stack.frames.length; i += 1) {
    const frame = stack.frames[i]!;
    if (frame.role === 'user' && !frame.path.startsWith('<') && isShared(frame))
      return `${frame.name} ${frame.path.split('/').at(-1)}`;
  }
  return '';
}

/** Functions around a site, by name: the nearest of the user's outside, the nearest of torch's inside. */
function eachNeighbour(stack: Stack, index: number, take: (frame: FrameInfo, direction: '<' | '>') => void): void {
  for (let i = index + 1, left = CALLERS; i < stack.frames.length && left > 0; i += 1) {
    const frame = stack.frames[i]!;
    if (frame.role !== 'user') continue;
    take(frame, '<');
    left -= 1;
  }
  for (let i = index - 1, left = CALLEES; i >= 0 && left > 0; i -= 1) {
    const frame = stack.frames[i]!;
    if (frame.role === 'native' && !frame.name.startsWith('_ops::')) continue;
    take(frame, '>');
    left -= 1;
  }
}

/** What is around the stacks of a function: callers by name and file, callees by name. */
function featuresOf(
  entry: SiteFunction,
  files: ReadonlyMap<string, string>,
  texts: Readonly<Record<'<' | '>', Map<FrameInfo, string>>>,
): ReadonlySet<string> {
  const features = new Set<string>();
  for (const site of entry.lines.values()) {
    for (const stack of site.stacks) {
      eachNeighbour(stack, stack.at, (frame, direction) => {
        // Its own name would distinguish a function that calls itself from its successor.
        if (frame.name === entry.name) return;
        let text = texts[direction].get(frame);
        if (text === undefined) {
          text = `${direction} ${frame.name} ${files.get(frame.path) ?? frame.path}`;
          texts[direction].set(frame, text);
        }
        features.add(text);
      });
    }
  }
  return features;
}

/** Shared features, and their share of all. */
function overlap(x: ReadonlySet<string>, y: ReadonlySet<string>): { readonly both: number; readonly share: number } {
  let both = 0;
  for (const feature of x) if (y.has(feature)) both += 1;
  const either = x.size + y.size - both;
  return { both, share: either === 0 ? 0 : both / either };
}

/** The site proper of stacks that were counted at a line further out. */
function throughText(site: Site): string | null {
  const stack = largestStack(site.stacks);
  return stack.at < 0 ? null : stack.frames[stack.at]!.text;
}

function largestStack(stacks: readonly Stack[]): Stack {
  return stacks.reduce((most, stack) => {
    if (stack.bytes !== most.bytes) return stack.bytes > most.bytes ? stack : most;
    return (stack.frames[stack.at]?.text ?? '') < (most.frames[most.at]?.text ?? '') ? stack : most;
  });
}

function toDelta(pair: Pair, a: readonly StackGroup[], b: readonly StackGroup[]): SiteDelta {
  const aSite = pair.x === null ? null : nameOf(pair.x);
  const bSite = pair.y === null ? null : nameOf(pair.y);
  const sum = (site: Site | null, groups: readonly StackGroup[], of: 'bytes' | 'count'): number =>
    (site?.stacks ?? []).reduce((total, stack) => total + groups[stack.group]![of], 0);
  const aBytes = sum(pair.x, a, 'bytes');
  const bBytes = sum(pair.y, b, 'bytes');
  const aCount = sum(pair.x, a, 'count');
  const bCount = sum(pair.y, b, 'count');
  let { match }: { match: Pair['match'] | SiteMatch } = pair;
  if (match === 'only') match = pair.x === null ? 'only_b' : 'only_a';
  return {
    site: bSite ?? aSite ?? '',
    a_site: aSite,
    b_site: bSite,
    a_bytes: aBytes,
    b_bytes: bBytes,
    delta_bytes: bBytes - aBytes,
    a_count: aCount,
    b_count: bCount,
    delta_count: bCount - aCount,
    match,
    through: pair.through,
    a_groups: (pair.x?.stacks ?? []).map((stack) => stack.group),
    b_groups: (pair.y?.stacks ?? []).map((stack) => stack.group),
  };
}

function nameOf(site: Site): string {
  const kind = site.stacks[0]?.kind ?? '';
  if (site.text === '') return kind;
  return kind === '' ? site.text : `${site.text} ${kind}`;
}
