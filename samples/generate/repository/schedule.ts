/**
 * What happens when in a repository: an ordinary project's changes, a few runs that fail for reasons of their own, and
 * one commit that is to blame.
 */
import { chance, pick, type Random, shuffled, wholeBetween } from '../simulate/random.js';
import { REFACTORS, type Refactor } from './refactors.js';

export type TroubleKind = 'flaky' | 'broken' | 'straggler';

/** `bump`: the submodule moves on, by commits that change how its code looks. */
export type Ordinary =
  | { readonly kind: Refactor; readonly side: 'superproject' }
  | { readonly kind: 'bump'; readonly refactors: readonly Refactor[] }
  | { readonly kind: 'docs' | 'tests' | 'config' | 'config_small' };

export type Slot =
  | Ordinary
  /** `lasts`: commits until the one that mends it. */
  | { readonly kind: TroubleKind; readonly certain: boolean; readonly mendedAt: number }
  | { readonly kind: 'fix'; readonly of: number }
  | { readonly kind: 'planted' };

export interface Schedule {
  /** Of the commits after the first good one, in order. */
  readonly slots: readonly Slot[];
  /** Index into `slots`. */
  readonly planted: number;
  /** Slots whose runs cannot be judged and that are next to the planted one, itself included. */
  readonly skippedNear: readonly number[];
}

/** `hangs`: whether a bad program that hangs too can only hang; one that runs out of memory first does not. */
export function drawSchedule(random: Random, commits: number, skippedNeighbour: boolean, hangs: boolean): Schedule {
  if (commits < 20) throw new RangeError(`a history of ${commits} commits has no room for its troubles`);
  const slots: (Slot | undefined)[] = Array.from({ length: commits });
  const planted = wholeBetween(random, Math.floor(commits * 0.2), Math.floor(commits * 0.8));
  slots[planted] = { kind: 'planted' };
  const skippedNear = skippedNeighbour ? spoilNeighbours(random, slots, planted, hangs) : [];
  const near = new Set([planted - 1, planted, planted + 1, ...skippedNear, ...skippedNear.map((at) => at + 1)]);
  const troubles: readonly TroubleKind[] = [
    ...(chance(random, 0.5) ? ['flaky' as const] : []),
    'flaky',
    'flaky',
    'broken',
    'straggler',
  ];
  for (const [i, kind] of troubles.entries()) {
    const free = slots
      .map((_, at) => at)
      .filter(
        (at) =>
          at + 1 < commits - 1 && isFree(slots, at) && isFree(slots, at + 1) && !near.has(at) && !near.has(at + 1),
      );
    const at = pick(random, free);
    slots[at] = { kind, certain: kind !== 'flaky' || i === 0, mendedAt: at + 1 };
    slots[at + 1] = { kind: 'fix', of: at };
  }
  return {
    slots: fill(random, slots, new Set(skippedNear)),
    planted,
    skippedNear,
  };
}

function isFree(slots: readonly (Slot | undefined)[], at: number): boolean {
  return at >= 0 && slots[at] === undefined;
}

/**
 * One to three commits before the planted one, or itself, do not run: what is mended in the planted commit, or after
 * it.
 */
function spoilNeighbours(random: Random, slots: (Slot | undefined)[], planted: number, hangs: boolean): number[] {
  const before = wholeBetween(random, 0, 3);
  const first = planted - before;
  const alsoPlanted = before === 0 || chance(random, 0.3);
  const kind = alsoPlanted && !hangs ? 'broken' : pick(random, ['broken', 'flaky'] as const);
  const mendedAt = alsoPlanted ? planted + 1 : planted;
  if (before > 0) slots[first] = { kind, certain: true, mendedAt };
  if (alsoPlanted) slots[planted + 1] = { kind: 'fix', of: before > 0 ? first : planted };
  const spoiled: number[] = [];
  for (let at = first; at < mendedAt; at += 1) spoiled.push(at);
  // Between them nothing that would need the code to be whole.
  for (const at of spoiled) slots[at] ??= { kind: pick(random, ['docs', 'tests', 'config'] as const) };
  return spoiled;
}

/** Every kind of change at least once, the rest as it comes. */
function fill(random: Random, slots: readonly (Slot | undefined)[], fixed: ReadonlySet<number>): Slot[] {
  const bump = (): Ordinary => ({
    kind: 'bump',
    refactors: Array.from({ length: wholeBetween(random, 1, 3) }, () => pick(random, REFACTORS)),
  });
  const needed: Ordinary[] = [
    ...REFACTORS.map((kind): Ordinary => ({ kind, side: 'superproject' })),
    ...REFACTORS.map((kind): Ordinary => ({ kind: 'bump', refactors: [kind] })),
    { kind: 'docs' },
    { kind: 'tests' },
    { kind: 'config' },
    { kind: 'config' },
    { kind: 'config_small' },
    bump(),
  ];
  const free = slots.filter((slot) => slot === undefined).length;
  const ordinary = (): Ordinary => {
    const kind = pick(random, ['bump', 'refactor', 'refactor', 'docs', 'tests', 'config'] as const);
    if (kind === 'bump') return bump();
    return kind === 'refactor' ? { kind: pick(random, REFACTORS), side: 'superproject' } : { kind };
  };
  const list = [...needed, ...Array.from({ length: Math.max(0, free - needed.length) }, ordinary)];
  const queue = shuffled(random, list.slice(0, Math.max(free, 0)));
  return slots.map((slot, at) => slot ?? (fixed.has(at) ? { kind: 'docs' } : queue.pop()!));
}
