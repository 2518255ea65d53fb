/** Caches that grow by concatenation, `k = torch.cat([cache, k])`: at every token, or a bank of features per step. */
import type { Attribution } from '../blocks/attribution.js';
import { byLabel, relabelling } from '../blocks/labels.js';
import { NEVER, stackCount } from '../blocks/lives.js';
import { groupRows } from '../blocks/row-groups.js';

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
  const { lives, label } = of;
  const isWanted = byLabel(
    of,
    ({ component, by }) => component === 'activation' || (by === 'none' && component === 'unattributed'),
  );
  const stacks = new Int32Array(lives.count).fill(-1);
  for (let row = lives.starts; row < lives.count; row += 1)
    if (isWanted[label[row]!] === 1) stacks[row] = lives.stackId[row]!;
  const { count, rows, starts } = groupRows(stacks, stackCount(lives));
  const grown: Int32Array[] = [];
  for (let group = 0; group < count; group += 1) {
    const made = rows.subarray(starts[group], starts[group + 1]);
    if (of.classes(lives.stackId[made[0]!]!).kind === 'python' && grows(of, made)) grown.push(made);
  }
  if (grown.length === 0) return;
  const trains = of.passes.count > 0;
  const isCache = relabelling(
    of,
    GROWN_CACHE,
    trains ? ['activation', 'held_across_steps', 'medium'] : ['kv_cache', 'kv_cache', 'medium'],
  );
  for (const made of grown) for (const row of made) isCache(row);
}

/** `rows` in order of their allocation. */
function grows({ lives }: Attribution, rows: Int32Array): boolean {
  const { allocSeq, freedSeq, requested } = lives;
  let freed = 0;
  for (let i = 0; i < rows.length; i += 1) if (freedSeq[rows[i]!] !== NEVER) freed += 1;
  const isEnough = (count: number): boolean => count >= LEAST_REPLACED && count >= LEAST_SHARE * freed;
  const growths = new Map<number, number>();
  let most = 0;
  let next = 0;
  let constant = 0;
  for (let i = 0; i < rows.length && isEnough(freed - constant); i += 1) {
    const row = rows[i]!;
    const end = freedSeq[row]!;
    if (end === NEVER) continue;
    // The last block of the line made before this one goes. Frees come in the order of the allocations.
    while (next + 1 < rows.length && allocSeq[rows[next + 1]!]! < end) next += 1;
    while (allocSeq[rows[next]!]! > end) next -= 1;
    const growth = requested[rows[next]!]! - requested[row]!;
    if (growth > 0) {
      const count = (growths.get(growth) ?? 0) + 1;
      growths.set(growth, count);
      most = Math.max(most, count);
    } else constant += 1;
  }
  return isEnough(most);
}
