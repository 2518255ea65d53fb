/**
 * Through which callers a site grew. One line of a library (a matrix product, a communication buffer) serves all of a
 * model, so the line alone is not enough: from the site outwards this follows the callers that hold the difference, to
 * where it divides.
 */

import { type Frame, frameKind, frameText } from '../../attribution/frames/call-site.js';
import type { DiffSite } from '../../model/diff-parts.js';
import { getOrAdd } from '../../model/group-by.js';
import { maxOf, pushAll } from '../../model/lists.js';
import type { StackGroup } from './side-stacks.js';

/** A caller with this share of the difference is followed on; the others are summed up. */
const MOST_OF_IT = 0.9;
const ROWS = 4;
const OTHER_CALLERS = 'other callers';

interface Chain {
  /** Frames of the user's code outside the site, innermost first. */
  readonly frames: readonly Frame[];
  readonly side: 'a' | 'b';
  readonly bytes: number;
}

interface Branch {
  readonly chains: Chain[];
  readonly frame: Frame | undefined;
  aBytes: number;
  bBytes: number;
}

/** Rows add up to the difference of the groups; empty if there is one way in, or no difference. */
export function splitByCaller(a: readonly StackGroup[], b: readonly StackGroup[]): DiffSite['callers'] {
  let chains = [...a.map((group) => chainOf(group, 'a')), ...b.map((group) => chainOf(group, 'b'))];
  let followed: Branch | undefined;
  const remainder = { aBytes: 0, bBytes: 0 };
  for (let depth = 0; ; depth += 1) {
    const branches = branchesAt(chains, depth);
    const parts = branches.map((branch) => Math.abs(branch.bBytes - branch.aBytes));
    const all = parts.reduce((sum, part) => sum + part, 0);
    const largest = branches[parts.indexOf(maxOf(parts))];
    if (all === 0 || largest === undefined) break;
    if (branches.length > 1) {
      if (maxOf(parts) < MOST_OF_IT * all || largest.frame === undefined) return rowsOf(branches, remainder);
      followed = largest;
      for (const branch of branches) {
        if (branch === largest) continue;
        remainder.aBytes += branch.aBytes;
        remainder.bBytes += branch.bBytes;
      }
    }
    if (largest.frame === undefined) break;
    chains = largest.chains;
  }
  return followed === undefined ? [] : rowsOf([followed], remainder);
}

function chainOf({ frames, bytes }: StackGroup, side: 'a' | 'b'): Chain {
  const user = frames.filter((frame) => frameKind(frame) === 'code' || frameKind(frame) === 'generated');
  return { frames: user.slice(1), side, bytes };
}

function branchesAt(chains: readonly Chain[], depth: number): Branch[] {
  const nameOf = (frame: Frame): string => `${frame.name} ${frame.filename.split('/').at(-1)}`;
  // Two calls from one function are distinguished by their lines, unless an edit has moved these.
  const lines = new Map<string, { readonly a: Set<number>; readonly b: Set<number> }>();
  for (const { frames, side } of chains) {
    const frame = frames[depth];
    if (frame === undefined) continue;
    const known = lines.get(nameOf(frame)) ?? { a: new Set(), b: new Set() };
    known[side].add(frame.line);
    lines.set(nameOf(frame), known);
  }
  const branches = new Map<string, Branch>();
  for (const chain of chains) {
    const frame = chain.frames[depth];
    let key = '';
    if (frame !== undefined) {
      const { a, b } = lines.get(nameOf(frame))!;
      const moved =
        a.size > 0 && b.size > 0 && [...a].some((line) => !b.has(line)) && [...b].some((line) => !a.has(line));
      key = moved ? nameOf(frame) : `${nameOf(frame)}:${frame.line}`;
    }
    const branch = getOrAdd(branches, key, () => ({ chains: [], frame, aBytes: 0, bBytes: 0 }));
    branch.chains.push(chain);
    if (chain.side === 'a') branch.aBytes += chain.bytes;
    else branch.bBytes += chain.bytes;
  }
  // A caller that only a has and one that only b has, and no more of either: the same under another name.
  const lone = [...branches.entries()].filter(([, branch]) => !isShared(branch));
  const [first, second] = lone;
  if (
    first !== undefined &&
    second !== undefined &&
    lone.length === 2 &&
    first[1].chains[0]!.side !== second[1].chains[0]!.side
  ) {
    branches.delete(second[0]);
    pushAll(first[1].chains, second[1].chains);
    first[1].aBytes += second[1].aBytes;
    first[1].bBytes += second[1].bBytes;
  }
  return [...branches.entries()].sort(([p], [q]) => (p < q ? -1 : 1)).map(([, branch]) => branch);
}

const isShared = ({ chains }: Branch): boolean => chains.some((chain) => chain.side !== chains[0]!.side);

function rowsOf(branches: readonly Branch[], remainder: { aBytes: number; bBytes: number }): DiffSite['callers'] {
  const rows = branches
    .map(({ frame, aBytes, bBytes }) => ({
      caller: frame === undefined ? '(called from nowhere further out)' : frameText(frame),
      a_bytes: aBytes,
      b_bytes: bBytes,
      delta_bytes: bBytes - aBytes,
    }))
    .sort((p, q) => Math.abs(q.delta_bytes) - Math.abs(p.delta_bytes) || q.b_bytes - p.b_bytes);
  const shown = rows.slice(0, ROWS);
  const remainderRow = { caller: OTHER_CALLERS, a_bytes: remainder.aBytes, b_bytes: remainder.bBytes, delta_bytes: 0 };
  for (const row of rows.slice(ROWS)) {
    remainderRow.a_bytes += row.a_bytes;
    remainderRow.b_bytes += row.b_bytes;
  }
  remainderRow.delta_bytes = remainderRow.b_bytes - remainderRow.a_bytes;
  return remainderRow.a_bytes === 0 && remainderRow.b_bytes === 0 ? shown : [...shown, remainderRow];
}
