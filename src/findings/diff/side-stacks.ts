/** The stacks of one side, as `matchSites` compares them: frames of one place of code are one, noise is left out. */
import { type Frame, type FrameKind, frameKind, frameText, isPython } from '../../attribution/frames/call-site.js';
import { getOrAdd } from '../../model/group-by.js';
import { normalPath } from '../stacks/normal-path.js';

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

/** A line on the stacks of a trace, whatever of its allocations is live. */
export interface TraceLine extends Frame {
  /** Of the whole trace, with the line anywhere on their stack. */
  readonly allocs: number;
  /** Requested. */
  readonly bytes: number;
}

type Role = 'noise' | 'native' | 'torch' | 'user';

export interface FrameInfo {
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
export class FrameTable {
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
    .replace(/ \[clone [^\]]{0,200}\]/g, '')
    .replace(/\.(?:llvm|constprop|isra|part|cold)\b.*$/, '')
    .replaceAll('(anonymous namespace)', '{anonymous}');
  const end = plain.search(/[(<]/);
  const path = (end > 0 ? plain.slice(0, end) : plain).split(' ').at(-1)!.split('::');
  return path.slice(path.at(-1) === 'call' || path.at(-1) === 'redispatch' ? -3 : -2).join('::');
}

export interface Stack {
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

export interface Side {
  readonly stacks: readonly Stack[];
  /** Every frame that was seen, with the allocations through it; null where the other side's are not comparable. */
  readonly seen: ReadonlyMap<FrameInfo, Passing | null>;
  /** Differs for different contents, and depends on nothing but the content. */
  readonly fingerprint: string;
}

interface Passing {
  allocs: number;
  bytes: number;
}

/** What passes a line is of the traces where both sides have one, else of what is live. */
function passingLines(
  stacks: readonly Stack[],
  trace: readonly TraceLine[],
  isTraced: boolean,
  table: FrameTable,
): Map<FrameInfo, Passing | null> {
  const seen = new Map<FrameInfo, Passing | null>();
  for (const { frames, bytes, count } of stacks) {
    for (const frame of new Set(frames)) {
      if (isTraced) seen.set(frame, null);
      else {
        const passing = getOrAdd(seen, frame, () => ({ allocs: 0, bytes: 0 }))!;
        passing.allocs += count;
        passing.bytes += bytes;
      }
    }
  }
  for (const { allocs, bytes, ...frame } of trace) {
    const info = table.of(frame);
    if (isTraced) seen.set(info, { allocs, bytes });
    else if (!seen.has(info)) seen.set(info, null);
  }
  return seen;
}

export function readSide(
  groups: readonly StackGroup[],
  trace: readonly TraceLine[],
  isTraced: boolean,
  table: FrameTable,
): Side {
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
  const seen = passingLines(stacks, trace, isTraced, table);
  return { stacks, seen, fingerprint: `${digits(total)} ${digits(stacks.length)} ${digits(sumA)} ${digits(sumB)}` };
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
  const node = frames.findIndex((frame) => /Backward\w{0,100}::apply$/.test(frame.name));
  if (node >= 0) return node;
  // The outermost: what is inside it (`empty_strided`) serves every operator.
  const operator = frames.findLastIndex((frame) => frame.name.startsWith('_ops::'));
  return operator >= 0 ? operator : Math.min(0, frames.length - 1);
}
