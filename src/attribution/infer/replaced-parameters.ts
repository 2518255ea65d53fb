/** Optimizers that write `p.data = …`: from the first step on the parameters are what the step allocated. */
import { getOrAdd } from '../../model/group-by.js';
import { maxBy, maxOf } from '../../model/lists.js';
import type { Attribution } from '../blocks/attribution.js';
import { equalSet } from '../blocks/equal-sets.js';
import { byLabel, relabelling, rowsWith } from '../blocks/labels.js';
import { NEVER, sizeOf } from '../blocks/lives.js';
import { SizeCounts } from '../blocks/size-counts.js';

export const REPLACED_PARAMETERS = 'inference.replaced-parameters';

/** Of the parameters freed in an optimizer's step, so many must have their successor from the same line. */
const LEAST_SHARE = 0.5;
/** Sets of the same parameters are equally large. */
const ALIKE = 0.99;
const NONE: ReadonlySet<number> = new Set();

/**
 * Where a parameter is freed within an optimizer's step, the block of the same size that the step allocated last before
 * and that outlives it has taken its place. The line that makes most of these successors makes parameters; without this
 * they would count as states. Repeated, since the successors are replaced in the next step.
 */
export function inferReplacedParameters(of: Attribution): void {
  const { lives, phases } = of;
  const endsAt = new Map<number, number>();
  for (const row of rowsWith(of, ({ component }) => component === 'parameter')) {
    const freed = lives.freedSeq[row]!;
    if (freed !== NEVER && phases.phaseAt(freed) === 'optimizer_step') endsAt.set(freed, row);
  }
  const makers = endsAt.size > 0 ? makersOfSuccessors(of, endsAt) : lastMaker(of);
  if (makers.size === 0) return;
  const isReplacement = relabelling(of, REPLACED_PARAMETERS, [
    'parameter',
    'replaced_in_step',
    endsAt.size > 0 ? 'medium' : 'low',
  ]);
  for (const row of rowsWith(of, ({ component }) => component === 'optimizer_state'))
    if (lives.stackIsOfFree[row] === 0 && makers.has(lives.stackId[row]!)) isReplacement(row);
}

/** Stacks whose blocks take the places of parameters. */
function makersOfSuccessors(of: Attribution, endsAt: ReadonlyMap<number, number>): ReadonlySet<number> {
  const { lives, phases, life, label } = of;
  const isStepState = byLabel(
    of,
    ({ component, phase }) => component === 'optimizer_state' && phase === 'optimizer_step',
  );
  const votes = new Map<number, number>();
  // By size: the last block that a step allocated and that outlives it.
  const last = new Map<number, number>();
  let born = lives.starts;
  for (const [seq, ended] of [...endsAt].sort(([a], [b]) => a - b)) {
    // Allocations are in the order of their entries.
    for (; born < lives.count && lives.allocSeq[born]! <= seq; born += 1)
      if (isStepState[label[born]!] === 1 && life.lifetimeOf(born) === 'resident') last.set(sizeOf(lives, born), born);
    // An allocation that shows that the block before it had gone.
    if (born > lives.starts && lives.allocSeq[born - 1] === seq) continue;
    const successor = last.get(sizeOf(lives, ended));
    // What a program frees when it ends goes in the window of its last step, long after the states were made.
    if (successor === undefined || phases.endOf(successor) < seq) continue;
    const stack = lives.stackId[successor]!;
    votes.set(stack, (votes.get(stack) ?? 0) + 1);
  }
  return new Set([...votes].filter(([, count]) => count >= LEAST_SHARE * endsAt.size).map(([stack]) => stack));
}

/**
 * Where a ring lost the parameters: of several lines that make sets of equal bytes anew in a step, the last, for a
 * parameter is computed from its states. None where parameters show, or older blocks of their sizes that are kept.
 */
function lastMaker(of: Attribution): ReadonlySet<number> {
  const { lives, phases, life, table } = of;
  if (table.labels.some(({ component }) => component === 'parameter')) return NONE;
  const made = new Map<number, { sizes: SizeCounts; last: number; replaced: number; freed: number[] }>();
  const window = new Map<number, number>();
  for (const row of rowsWith(
    of,
    ({ component, phase }) => component === 'optimizer_state' && phase === 'optimizer_step',
  )) {
    if (row < lives.starts || life.lifetimeOf(row) !== 'resident') continue;
    const stack = lives.stackId[row]!;
    const end = phases.endOf(row);
    if (window.get(stack) !== end) {
      const { replaced = 0, freed = [] } = made.get(stack) ?? {};
      // What is freed in a window in which the line allocates nothing is not replaced: the program ends.
      const isReplaced = (seq: number): boolean => seq <= end && phases.phaseAt(seq) === 'optimizer_step';
      const count = replaced + freed.filter(isReplaced).length;
      made.set(stack, { sizes: new SizeCounts(), last: -1, replaced: count, freed: [] });
    }
    window.set(stack, end);
    const line = made.get(stack)!;
    line.sizes.add(sizeOf(lives, row));
    line.last = lives.allocSeq[row]!;
    if (lives.freedSeq[row]! > end) line.freed.push(lives.freedSeq[row]!);
  }
  // In the first step of the trace a line replaces what is older.
  const older = new Map<number, number[]>();
  for (let row = 0; row < lives.starts; row += 1)
    if (phases.phaseAt(lives.freedSeq[row]!) === 'optimizer_step')
      getOrAdd(older, sizeOf(lives, row), () => []).push(lives.freedSeq[row]!);
  for (const line of made.values()) {
    let count = 0;
    for (const [size, blocks] of line.sizes) {
      const freed = (older.get(size) ?? []).filter((seq) => seq < line.last);
      // Each line has its own.
      const taken = new Set(freed.slice(0, blocks));
      older.set(
        size,
        (older.get(size) ?? []).filter((seq) => !taken.has(seq)),
      );
      count += size * taken.size;
    }
    if (count >= LEAST_SHARE * line.sizes.bytes) line.replaced += 1;
  }
  const largest = maxOf([...made.values()].map(({ sizes }) => sizes.bytes));
  const lines = [...made].filter(([, { sizes, replaced }]) => replaced > 0 && sizes.bytes >= ALIKE * largest);
  const last = maxBy(lines, ([, line]) => line.last);
  if (last === undefined || lines.length < 2) return NONE;
  const kept = rowsWith(of, ({ by }) => by === 'none').filter(
    (row) => row < lives.starts && lives.freedSeq[row] === NEVER,
  );
  return equalSet(lives, kept, last[1].sizes, [1, 0.5]) === undefined ? new Set([last[0]]) : NONE;
}
