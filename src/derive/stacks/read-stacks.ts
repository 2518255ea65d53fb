/** Fetches the frames of stacks by id. */

import { callSite, type Frame } from '../../attribution/frames/call-site.js';
import type { Store } from '../../store/store.js';

/** Ids in one statement. */
const AT_ONCE = 10_000;
const SPEC = { stack_id: 'i32', frame_id: 'i32' } as const;

/** What is kept of a store: its stacks do not change while it is open for reading. */
interface KnownStacks {
  readonly stacks: Map<number, readonly Frame[]>;
  readonly frames: Map<number, Frame>;
}

/** The views of one answer ask for the same stacks; beyond this many, they are read again. */
const MOST_KEPT = 20_000;
const kept = new WeakMap<Store, KnownStacks>();

function knownOf(store: Store): KnownStacks {
  let known = store.mode === 'read' ? kept.get(store) : undefined;
  if (known === undefined || known.stacks.size > MOST_KEPT) {
    known = { stacks: new Map(), frames: new Map() };
    kept.set(store, known);
  }
  return known;
}

/**
 * Frames innermost first. Equal frames are one object: stacks have most of theirs in common, and so may whatever is
 * found out about them.
 */
export async function readStacks(store: Store, ids: Iterable<number>): Promise<Map<number, readonly Frame[]>> {
  const { stacks, frames } = knownOf(store);
  const wanted = [...new Set(ids)].filter((id) => id >= 0);
  const missing = wanted.filter((id) => !stacks.has(id));
  const numbers = new Map<number, number[]>(missing.map((id) => [id, []]));
  const inUse = new Set<number>();
  for (let start = 0; start < missing.length; start += AT_ONCE) {
    const stack_ids = missing.slice(start, start + AT_ONCE).join(',');
    for await (const { rows, columns } of store.readQueryColumns('snapshot.stack_frames', { stack_ids }, SPEC)) {
      for (let i = 0; i < rows; i += 1) {
        numbers.get(columns.stack_id[i]!)?.push(columns.frame_id[i]!);
        if (!frames.has(columns.frame_id[i]!)) inUse.add(columns.frame_id[i]!);
      }
    }
  }
  await addFrames(store, [...inUse], frames);
  for (const [id, own] of numbers) {
    const found: Frame[] = [];
    for (const number of own) {
      const frame = frames.get(number);
      if (frame !== undefined) found.push(frame);
    }
    stacks.set(id, found);
  }
  return new Map(wanted.map((id) => [id, stacks.get(id)!]));
}

async function addFrames(store: Store, ids: readonly number[], frames: Map<number, Frame>): Promise<void> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const frame_ids = ids.slice(start, start + AT_ONCE).join(',');
    for (const { frame_id, name, filename, line } of await store.all('snapshot.frames', { frame_ids }))
      frames.set(frame_id, { name, filename, line });
  }
}

/** What to call memory with an empty or unrecorded stack. */
export const NO_FRAMES = '(no Python frames: autograd thread, or stacks not recorded)';
export const NO_STACK = '(no stack: allocated before the recording)';

export function siteOf(stackId: number, stacks: ReadonlyMap<number, readonly Frame[]>): string {
  if (stackId < 0) return NO_STACK;
  return callSite(stacks.get(stackId) ?? []) ?? NO_FRAMES;
}

/** Names a site of the store; null is a stack without frames, or no stack. */
export function siteName(site: string | null, hasStack: boolean): string {
  return site ?? (hasStack ? NO_FRAMES : NO_STACK);
}
