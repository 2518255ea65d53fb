/** What grew, and through which frames: the scale on which hunks and settings are scored. */

import { type Frame, frameKind, isPython } from '../../attribution/frames/call-site.js';
import type { DiffComponent } from '../../model/diff-parts.js';
import type { Component } from '../../model/vocabulary.js';
import type { GrownSite } from '../diff/grown-sites.js';
import { normalPath } from '../stacks/normal-path.js';

/** A Python frame with its place in the stack. */
export interface PlacedFrame {
  readonly frame: Frame;
  /** `<locals>` and classes left out. */
  readonly name: string;
  /** Frames of code between it and the allocation, without torch's and decorators'. */
  readonly depth: number;
  /** At this frame the older stack and the newer one part. */
  readonly isFork: boolean;
}

export interface GrownStack {
  readonly bytes: number;
  /** Of all that grew. */
  readonly share: number;
  readonly component: Component | null;
  readonly a: readonly PlacedFrame[];
  readonly b: readonly PlacedFrame[];
  /** File of the innermost frame that is code, as `normalPath` names it; empty without such a frame. */
  readonly owner: string;
}

export interface Growth {
  /** Of sites that grew; 0 where none is known. */
  readonly bytes: number;
  readonly stacks: readonly GrownStack[];
  /** Of components, where there are any, else of sites. */
  readonly components: ReadonlyMap<Component, { readonly a_bytes: number; readonly delta_bytes: number }>;
  /** Σ of components that grew. */
  readonly component_bytes: number;
  /** Share of the whole difference that no site and no component shows: reserved, or outside of torch. */
  readonly beyond: number;
  /** How many sites the growth is spread over, were they equal. */
  readonly spread: number;
}

export function readGrowth(
  sites: readonly GrownSite[],
  components: readonly DiffComponent[],
  totalDeltaBytes: number | null,
): Growth {
  const grown = withoutReplaced(sites).filter(({ delta_bytes }) => delta_bytes > 0);
  const bytes = grown.reduce((sum, { delta_bytes }) => sum + delta_bytes, 0);
  // Sites that are reached in several ways are all given the same older stack; where that one differs from the newer
  // one lacks meaning.
  const pairs = new Map<readonly Frame[], number>();
  for (const { a_frames } of grown) pairs.set(a_frames, (pairs.get(a_frames) ?? 0) + 1);
  const stacks = grown.map((site) => readStack(site, bytes, pairs.get(site.a_frames) === 1));
  const sums = new Map<Component, { a_bytes: number; delta_bytes: number }>();
  for (const { component, a_bytes, delta_bytes } of components) sums.set(component, { a_bytes, delta_bytes });
  if (![...sums.values()].some(({ delta_bytes }) => delta_bytes > 0)) {
    for (const { component, delta_bytes } of sites) {
      if (component === null) continue;
      const sum = sums.get(component) ?? { a_bytes: 0, delta_bytes: 0 };
      sums.set(component, { ...sum, delta_bytes: sum.delta_bytes + delta_bytes });
    }
  }
  const componentBytes = [...sums.values()].reduce((sum, one) => sum + Math.max(0, one.delta_bytes), 0);
  const known = Math.max(bytes, componentBytes);
  const beyond = totalDeltaBytes === null || totalDeltaBytes <= 0 ? 0 : Math.max(0, 1 - known / totalDeltaBytes);
  const squares = stacks.reduce((sum, { share }) => sum + share * share, 0);
  return {
    bytes,
    stacks,
    components: sums,
    component_bytes: componentBytes,
    beyond,
    spread: squares === 0 ? 0 : 1 / squares,
  };
}

/**
 * Sites that only one side has may be the same site, rewritten beyond recognition. So for each component, growth is
 * first offset by what disappeared; the remaining sites keep their proportions.
 */
function withoutReplaced(sites: readonly GrownSite[]): GrownSite[] {
  const came = new Map<Component | null, number>();
  const went = new Map<Component | null, number>();
  const add = (sums: Map<Component | null, number>, { component, delta_bytes }: GrownSite): void =>
    void sums.set(component, (sums.get(component) ?? 0) + Math.abs(delta_bytes));
  const isNew = ({ a_frames, delta_bytes }: GrownSite): boolean => a_frames.length === 0 && delta_bytes > 0;
  for (const site of sites) {
    if (isNew(site)) add(came, site);
    else if (site.b_frames.length === 0 && site.delta_bytes < 0) add(went, site);
  }
  return sites.map((site) => {
    if (!isNew(site)) return site;
    const left = 1 - (went.get(site.component) ?? 0) / came.get(site.component)!;
    return { ...site, delta_bytes: site.delta_bytes * Math.max(0, left) };
  });
}

function readStack(site: GrownSite, all: number, isPair: boolean): GrownStack {
  const [a, b] = [place(site.a_frames), place(site.b_frames)];
  const owner = site.b_frames.find((frame) => frameKind(frame) === 'code');
  return {
    bytes: site.delta_bytes,
    share: site.delta_bytes / all,
    component: site.component,
    a,
    b: isPair ? markFork(a, b) : b,
    owner: owner === undefined ? '' : normalPath(owner.filename),
  };
}

function place(frames: readonly Frame[]): PlacedFrame[] {
  let depth = 0;
  const placedFrames: PlacedFrame[] = [];
  for (const frame of frames) {
    if (!isPython(frame)) continue;
    const kind = frameKind(frame);
    const name = frame.name.split('.').at(-1)!;
    placedFrames.push({ frame, name, depth, isFork: false });
    if (kind === 'code' || kind === 'generated') depth += 1;
  }
  return placedFrames;
}

/**
 * Marks the last frame, from outside, that both have, and the first that only b has. Torch's own frames differ with its
 * version.
 */
function markFork(a: readonly PlacedFrame[], b: readonly PlacedFrame[]): PlacedFrame[] {
  const isOwn = ({ frame }: PlacedFrame): boolean => frameKind(frame) === 'code';
  const [first, second] = [a.filter(isOwn).reverse(), b.filter(isOwn).reverse()];
  if (first.length === 0 || second.length === 0) return [...b];
  let common = 0;
  while (common < Math.min(first.length, second.length) && first[common]!.name === second[common]!.name) common += 1;
  if (common === 0 || (common === first.length && common === second.length)) return [...b];
  const marked = new Set([second[common - 1], second[common]]);
  return b.map((one) => (marked.has(one) ? { ...one, isFork: true } : one));
}
