/** Caches that grow by concatenation, `k = torch.cat([cache, k])`: at every token, or a bank of features per step. */
import { getOrAdd } from '../../model/group-by.js';
import { type Attribution, labelAt, relabelling } from '../blocks/attribution.js';
import { backwardPasses } from '../blocks/backward-passes.js';
import { NEVER } from '../blocks/lives.js';

export const GROWN_CACHE = 'inference.grown-cache';

/** Replaced blocks of a line, and the part of its freed blocks, that must show the pattern. */
const LEAST_REPLACED = 8;
const LEAST_SHARE = 0.8;

/**
 * Each block of the line is freed once the line has made a larger one, always by as much: what a program computes and
 * drops is freed before the line runs again, or is followed by one of its own size. Where nothing is trained it is a KV
 * cache, in a training something else that is kept of the activations.
 */
export function inferGrownCaches(of: Attribution): void {
  const { lives } = of;
  const byStack = new Map<number, number[]>();
  for (let row = lives.starts; row < lives.count; row += 1) {
    const { component, by } = labelAt(of, row);
    if (lives.stackId[row]! < 0 || (component !== 'activation' && !(by === 'none' && component === 'unattributed')))
      continue;
    getOrAdd(byStack, lives.stackId[row]!, () => []).push(row);
  }
  const grown = [...byStack].filter(([stackId, rows]) => of.classes(stackId).kind === 'python' && grows(of, rows));
  if (grown.length === 0) return;
  const trains = backwardPasses(of).length > 0;
  const isCache = relabelling(
    of,
    GROWN_CACHE,
    trains
      ? { component: 'activation', sub_component: 'held_across_steps', confidence: 'medium' }
      : { component: 'kv_cache', sub_component: 'kv_cache', confidence: 'medium' },
  );
  for (const [, rows] of grown) for (const row of rows) isCache(row);
}

/** `rows` in order of their allocation. */
function grows({ lives }: Attribution, rows: readonly number[]): boolean {
  const freed = rows.filter((row) => lives.freedSeq[row] !== NEVER);
  if (freed.length < LEAST_REPLACED) return false;
  const growths = new Map<number, number>();
  let next = 0;
  for (const row of freed) {
    // The last block of the line made before this one goes. Frees come in the order of the allocations.
    while (next + 1 < rows.length && lives.allocSeq[rows[next + 1]!]! < lives.freedSeq[row]!) next += 1;
    while (lives.allocSeq[rows[next]!]! > lives.freedSeq[row]!) next -= 1;
    const growth = lives.requested[rows[next]!]! - lives.requested[row]!;
    if (growth > 0) growths.set(growth, (growths.get(growth) ?? 0) + 1);
  }
  let most = 0;
  for (const count of growths.values()) most = Math.max(most, count);
  return most >= LEAST_REPLACED && most >= LEAST_SHARE * freed.length;
}
