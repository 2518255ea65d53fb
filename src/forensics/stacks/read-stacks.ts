/** Fetches the frames of stacks by id. */
import type { Store } from '../../store/store.js';
import { callSite, type Frame } from './call-site.js';

export async function readStacks(store: Store, ids: Iterable<number>): Promise<Map<number, Frame[]>> {
  const wanted = [...new Set(ids)].filter((id) => id >= 0);
  const stacks = new Map<number, Frame[]>(wanted.map((id) => [id, []]));
  for (let start = 0; start < wanted.length; start += 10_000) {
    const stack_ids = wanted.slice(start, start + 10_000).join(',');
    for (const row of await store.all('snapshot.stack_frames', { stack_ids })) {
      stacks.get(row.stack_id)?.push({ name: row.name, filename: row.filename, line: row.line });
    }
  }
  return stacks;
}

/** What to call memory whose stack has no frames, or none was recorded. */
export const NO_FRAMES = '(no Python frames: autograd thread, or stacks not recorded)';
export const NO_STACK = '(no stack: allocated before the recording)';

export function siteOf(stackId: number, stacks: ReadonlyMap<number, readonly Frame[]>): string {
  if (stackId < 0) return NO_STACK;
  return callSite(stacks.get(stackId) ?? []) ?? NO_FRAMES;
}
