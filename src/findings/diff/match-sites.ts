/**
 * Which allocating lines of one recording are which of the other, and by how much each grew.
 *
 * A site is the frame a reader would name (`call-site.ts`). Sites pair in steps, each only over what the steps before
 * left: lines of the same function in the same file (`exact`, `line_shifted`, or `moved` with their file); functions
 * that are in another file (`moved`) or have another name (`renamed`) but the same functions around them; and stacks
 * whose site is a function that only one side has, put between known ones: a decorator, an extracted helper. What is
 * left is `only_a` or `only_b`.
 *
 * Both sides are put in an order of their own content first, so that exchanging them exchanges the answer and nothing
 * else.
 */

import { type Frame, type FrameKind, frameKind, frameText, isPython } from '../../attribution/frames/call-site.js';
import type { DiffSite, SiteMatch } from '../../model/diff-parts.js';
import { getOrAdd } from '../../model/group-by.js';
import { GENERATED_PATHS, normalPath } from '../stacks/normal-path.js';
import { type AllocatingLine, alignLines } from './align-lines.js';
import { matchPaths } from './match-paths.js';

/** Blocks of one stack. */
export interface StackGroup {
  /** Innermost first; empty where none were recorded. */
  readonly frames: readonly Frame[];
  /**
   * What kind of group it is: '' for stacks of allocations. Groups of different kinds never pair, and a group without
   * frames pairs with that of the same kind: it is named by it.
   */
  readonly kind: string;
  /** Actual bytes. */
  readonly bytes: number;
  readonly count: number;
}

/** A row of the diff before it is looked at closer, with the groups it is made of. */
export interface SiteDelta extends Omit<DiffSite, 'sizes' | 'callers'> {
  /** Positions in the lists given, for who wants to look closer. */
  readonly a_groups: readonly number[];
  readonly b_groups: readonly number[];
}

/** Sites in descending order of |delta|, then of bytes; their sums are those of the groups. */
export function matchSites(a: readonly StackGroup[], b: readonly StackGroup[]): SiteDelta[] {
  const frames = new FrameTable();
  const first = readSide(a, frames);
  const second = readSide(b, frames);
  const swapped = first.fingerprint > second.fingerprint;
  const [x, y] = swapped ? [second, first] : [first, second];
  const matched = new Matcher(x, y).run();
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

type Role = 'noise' | 'native' | 'torch' | 'user';

interface FrameInfo {
  readonly role: Role;
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** Of all of it, and of the name alone. */
  readonly hash: number;
  readonly nameHash: number;
}

/** What only passes calls on is as poor a name for a site as torch itself. */
const ROLES: Readonly<Record<FrameKind, Role>> = {
  noise: 'noise',
  native: 'native',
  runtime: 'torch',
  torch: 'torch',
  generated: 'user',
  code: 'user',
};

/** Each distinct frame is looked at once: stacks share most of theirs. */
class FrameTable {
  readonly #byObject = new Map<Frame, FrameInfo>();
  readonly #byContent = new Map<string, FrameInfo>();
  readonly #paths = new Map<string, string>();

  of(frame: Frame): FrameInfo {
    return getOrAdd(this.#byObject, frame, () => {
      const key = `${frame.line}\0${frame.name}\0${frame.filename}`;
      return getOrAdd(this.#byContent, key, () => this.#read(frame, key));
    });
  }

  #read(frame: Frame, key: string): FrameInfo {
    const python = isPython(frame);
    const path = getOrAdd(this.#paths, frame.filename, () => normalPath(frame.filename));
    const name = python ? frame.name : nativeName(frame.name);
    return {
      role: ROLES[frameKind(frame)],
      name,
      path: python ? path : '',
      // Lines of compiled code change with every build of torch, and the reader does not edit them.
      line: python ? frame.line : 0,
      text: python ? frameText(frame) : name,
      hash: hashText(key),
      nameHash: hashText(name),
    };
  }
}

/**
 * `torch::autograd::generated::MulBackward0::apply(std::vector<…>&&)` → `MulBackward0::apply`; compilers' suffixes go
 * too.
 */
function nativeName(name: string): string {
  const plain = name
    .replace(/ \[clone [^\]]*\]/g, '')
    .replace(/\.(?:llvm|constprop|isra|part|cold)\b.*$/, '')
    .replaceAll('(anonymous namespace)', '{anonymous}');
  const end = plain.search(/[(<]/);
  const path = (end > 0 ? plain.slice(0, end) : plain).split(' ').at(-1)!.split('::');
  return path.slice(path.at(-1) === 'call' || path.at(-1) === 'redispatch' ? -3 : -2).join('::');
}

interface Stack {
  /** Position in the list given. */
  readonly group: number;
  /** Visible frames, innermost first. */
  readonly frames: readonly FrameInfo[];
  /** Index of the site in `frames`; −1 without frames. */
  readonly at: number;
  readonly kind: string;
  readonly bytes: number;
  readonly count: number;
}

interface Side {
  readonly stacks: readonly Stack[];
  /** Differs for different contents, and depends on nothing but the content. */
  readonly fingerprint: string;
}

function readSide(groups: readonly StackGroup[], table: FrameTable): Side {
  let sumA = 0;
  let sumB = 0;
  let total = 0;
  const stacks = groups.map((group, at): Stack => {
    let hash = hashText(group.kind);
    const frames: FrameInfo[] = [];
    for (const frame of group.frames) {
      const info = table.of(frame);
      hash = Math.imul(hash ^ info.hash, 0x0100_0193) >>> 0;
      if (info.role !== 'noise') frames.push(info);
    }
    if (frames.length === 0) for (const frame of group.frames) frames.push(table.of(frame));
    const mixed = Math.imul(hash ^ (group.bytes % 0xffff_fffb), 0x9e37_79b1) ^ Math.imul(group.count + 1, 0x85eb_ca6b);
    sumA = (sumA + (mixed >>> 0)) % 0xffff_ffff;
    sumB = (sumB + (Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d) >>> 0)) % 0xffff_ffff;
    total += group.bytes;
    const { kind, bytes, count } = group;
    return { group: at, frames, at: siteIndex(frames), kind, bytes, count };
  });
  const digits = (value: number): string => value.toString(16).padStart(16, '0');
  return { stacks, fingerprint: `${digits(total)} ${digits(stacks.length)} ${digits(sumA)} ${digits(sumB)}` };
}

/** FNV-1a. */
function hashText(text: string): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193);
  return hash >>> 0;
}

/**
 * As `callSite` chooses; in a stack without Python the autograd node or the operator, where `callSite` has only the
 * allocator itself: all of the backward pass would be one site.
 */
function siteIndex(frames: readonly FrameInfo[]): number {
  const user = frames.findIndex((frame) => frame.role === 'user');
  if (user >= 0) return user;
  const python = frames.findIndex((frame) => frame.role === 'torch');
  if (python >= 0) return python;
  const node = frames.findIndex((frame) => /Backward\w*::apply$/.test(frame.name));
  if (node >= 0) return node;
  // The outermost: what is inside it (`empty_strided`) serves every operator.
  const operator = frames.findLastIndex((frame) => frame.name.startsWith('_ops::'));
  return operator >= 0 ? operator : Math.min(0, frames.length - 1);
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
  readonly #pairs: Pair[] = [];

  constructor(x: Side, y: Side) {
    this.#x = x;
    this.#y = y;
  }

  run(): Pair[] {
    this.#matchFiles();
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
      const seen = new Set<FrameInfo>();
      for (const { frames } of side.stacks) {
        for (const frame of frames) {
          if (frame.path === '' || seen.has(frame)) continue;
          seen.add(frame);
          const names = getOrAdd(files, frame.path, () => new Set());
          names.add(frame.name);
        }
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

  /** Every function on any stack. */
  #functionsOf(side: Side, files: ReadonlyMap<string, string>): Set<string> {
    const known = new Set<string>();
    const seen = new Set<FrameInfo>();
    for (const { frames } of side.stacks) {
      for (const frame of frames) {
        if (seen.has(frame)) continue;
        seen.add(frame);
        known.add(functionKey(frame, files));
      }
    }
    return known;
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
    const linesX = linesOf(x);
    const linesY = linesOf(y);
    for (const [i, j] of alignLines(linesX, linesY)) {
      const p = linesX[i]!;
      const q = linesY[j]!;
      this.#pairs.push({ x: p, y: q, match: match ?? (p.line === q.line ? 'exact' : 'line_shifted'), through });
      x.lines.delete(p.line);
      y.lines.delete(q.line);
    }
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
