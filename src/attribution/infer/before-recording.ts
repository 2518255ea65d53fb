/**
 * Memory from before the recording, of which the trace shows at most the end: identified by who frees it, and by sizes
 * that only parameters have.
 */
import { getOrAdd } from '../../model/group-by.js';
import { maxBy } from '../../model/lists.js';
import type { Component } from '../../model/vocabulary.js';
import type { Attribution } from '../blocks/attribution.js';
import { PARAMETER_GRADIENT, REFINABLE, rowsOfPass } from '../blocks/backward-passes.js';
import { type EqualSet, equalSet } from '../blocks/equal-sets.js';
import { keptRows, outlivesPass } from '../blocks/kept-rows.js';
import { byLabel, type Inferred, labelAt, relabelling, rowsWith } from '../blocks/labels.js';
import { type Lives, NEVER, sizeOf } from '../blocks/lives.js';
import { SizeCounts } from '../blocks/size-counts.js';
import { sizesOfEachSet } from '../blocks/size-sets.js';
import { isAbout } from './buffers.js';
import { WORKSPACE_SIZES } from './workspaces.js';

export const FREED_BY_OPTIMIZER = 'inference.freed-by-optimizer';
export const FREED_BY_ZERO_GRAD = 'inference.freed-by-zero-grad';
export const SIZES_OF_PARAMETERS = 'inference.sizes-of-parameters';
export const PRINTED_PARAMETERS = 'inference.printed-parameters';

/** Bytes of an element against those of the set compared with: the same type, fp32 against bf16, and the reverse. */
const RATIOS = [1, 2, 0.5] as const;
/**
 * Parameters or states that the trace shows, against the set compared with: with fewer, what it shows are constants,
 * step counters and the like.
 */
const LEAST_SEEN = 0.5;
/** Sets of states: master weights and the two moments, or three of a variant of Adam. */
const MOST_STATES = 3;
const MOST_MOMENTS = 2;
/** Of a set so many blocks are freed in the trace: it is no set of parameters. */
const MOSTLY = 0.8;
/** Of rules for what an optimizer frees within its step. */
const STEP_SCRATCH = 'optimizer_step_temporary';
/** A set for some of the parameters: so many blocks, and so much of the bytes of all of them. */
const LEAST_OF_SOME = { blocks: 8, share: 0.1 } as const;

export function inferBeforeRecording(of: Attribution): void {
  if (of.lives.starts > 0) {
    namePrinted(of);
    nameByFree(of);
  }
  nameBySize(of);
}

function isOpen(of: Attribution, row: number): boolean {
  return labelAt(of, row).by === 'none';
}

/** Single blocks of two or four bytes for each parameter of this rank: Megatron's contiguous buffers. */
function namePrinted(of: Attribution): void {
  const count = of.run.rankParameters;
  if (count === null || count < 1e6) return;
  const isParameter = relabelling(of, PRINTED_PARAMETERS, ['parameter', 'param_buffer', 'medium']);
  const isGradient = relabelling(of, PRINTED_PARAMETERS, ['gradient', 'main_grad_buffer', 'medium']);
  for (let row = 0; row < of.lives.starts; row += 1) {
    if (!isOpen(of, row)) continue;
    const bytes = of.lives.bytes[row]!;
    if (isAbout(bytes, 2 * count)) isParameter(row);
    else if (isAbout(bytes, 4 * count)) isGradient(row);
  }
}

/**
 * An optimizer that writes `state = f(state)` frees the old state in its step, and makes another of its size to keep;
 * `zero_grad` frees gradients. Only what is freed is known so, and only where frees carry stacks of their own. What a
 * step frees that had begun when the trace does, and for which it makes no other, is of the step itself.
 */
function nameByFree(of: Attribution): void {
  const { lives, classes, phases } = of;
  const isGradient = relabelling(of, FREED_BY_ZERO_GRAD, ['gradient', 'parameter_gradient', 'medium']);
  const isState = relabelling(of, FREED_BY_OPTIMIZER, ['optimizer_state', 'state', 'medium']);
  const isParameter = relabelling(of, FREED_BY_OPTIMIZER, ['parameter', 'replaced_in_step', 'low']);
  const isScratch = relabelling(of, FREED_BY_OPTIMIZER, ['temporary', STEP_SCRATCH, 'medium']);
  // Of the step that the trace begins in; one that allocates no more still frees.
  const end = isBegunInStep(of) ? phases.endOf(lives.starts) : (lives.allocSeq[lives.starts] ?? lives.events) - 1;
  const next = phases.spansOf('optimizer_step').find(({ firstSeq }) => firstSeq > end)?.lastSeq ?? lives.events;
  const madeBy = (component: Component): readonly [begun: SizeCounts, next: SizeCounts] => {
    const made = [new SizeCounts(), new SizeCounts()] as const;
    for (const row of rowsWith(of, (label) => label.component === component && label.phase === 'optimizer_step'))
      if (row >= lives.starts && lives.allocSeq[row]! <= next)
        made[lives.allocSeq[row]! <= end ? 0 : 1].add(sizeOf(lives, row));
    return made;
  };
  const states = madeBy('optimizer_state');
  const parameters = madeBy('parameter');
  for (let row = 0; row < lives.starts; row += 1) {
    if (lives.stackIsOfFree[row] === 0 || !isOpen(of, row)) continue;
    const stack = classes(lives.stackId[row]!);
    if (stack.frames.some(({ name }) => name === 'zero_grad' || name.endsWith('.zero_grad'))) isGradient(row);
    else if (stack.phase === 'optimizer_step') {
      const size = sizeOf(lives, row);
      const step = lives.freedSeq[row]! <= end ? 0 : 1;
      if (states[step].take(size)) isState(row);
      else if (parameters[step].take(size)) isParameter(row);
      else (step === 0 ? isScratch : isState)(row);
    }
  }
}

const isBegunInStep = ({ lives, phases }: Attribution): boolean =>
  lives.starts < lives.count && phases.phaseOf(lives.starts) === 'optimizer_step';

/**
 * Gradients have the sizes of the parameters, and so have the states of most optimizers. Older blocks with those very
 * sizes, in that very number, are the parameters; a second and a third set are gradients and states, unless the trace
 * shows where those come from. Which block of several of one size is of which set is not known: the sums are right.
 */
function nameBySize(of: Attribution): void {
  const { lives } = of;
  nameStepMade(of);
  nameOlderGradients(of);
  const open = olderRows(of);
  if (open.length === 0) return;
  const reference = sizesOfOneSet(of, open);
  if (reference === undefined) return;
  const { sizes, gradientsAreOlder } = reference;
  // What lives on is older than what goes: parameters are never freed. The trace shows who made what has a stack.
  const order = (row: number): number => (lives.freedSeq[row] === NEVER ? 0 : 2) + (isMadeByCode(of, row) ? 1 : 0);
  open.sort((a, b) => order(a) - order(b));
  let left: readonly number[] = open;
  const take = (set: EqualSet, label: Inferred): void => {
    set.rows.forEach(relabelling(of, SIZES_OF_PARAMETERS, label));
    const taken = new Set(set.rows);
    left = left.filter((row) => !taken.has(row));
  };
  const seen = bytesSeen(of);
  const isKept = keptRows(of);
  if (seen.parameter < LEAST_SEEN * sizes.bytes) {
    const kept = left.filter(isKept);
    // They are of the type of their gradients where any set is.
    const set = equalSet(lives, kept, sizes, [1]) ?? equalSet(lives, kept, sizes, RATIOS);
    if (set === undefined) return;
    take(set, ['parameter', 'by_size', 'medium']);
  }
  if (gradientsAreOlder) {
    // The threads of the autograd engine lack Python frames.
    const engines = left.filter((row) => !isMadeByCode(of, row) && outlivesPass(of, row));
    const set = equalSet(lives, engines, sizes, RATIOS);
    if (set === undefined) return;
    take(set, ['gradient', 'parameter_gradient', 'medium']);
  }
  if (seen.optimizer_state >= LEAST_SEEN * sizes.bytes) {
    left = left.filter(isKept);
    const masters = equalSet(lives, left, sizes, [2]);
    if (masters !== undefined) take(masters, ['optimizer_state', 'master_param', 'medium']);
    const copies = equalSet(lives, left, sizes, [1]);
    if (copies !== undefined) take(copies, ['parameter', 'copy', 'low']);
    return;
  }
  const states: EqualSet[] = [];
  const hasGradients = of.table.labels.some(({ component }) => component === 'gradient');
  left = left.filter((row) => outlivesPass(of, row));
  for (let i = 0; i < MOST_STATES; i += 1) {
    const set = equalSet(lives, left, sizes, RATIOS) ?? (states.length > 0 ? setOfSome(lives, left, sizes) : undefined);
    if (set === undefined) break;
    // Gradients that no pass of the trace shows may be the third.
    if (states.length === MOST_MOMENTS && set.ratio === states[0]!.ratio && !hasGradients && !gradientsAreOlder) break;
    if (isFreed(of, set.rows)) take(set, ['gradient', 'parameter_gradient', 'low']);
    else {
      states.push(set);
      // A second set may also be an average of the parameters.
      const isOne = set.isWhole && states.length === 1;
      take(set, ['optimizer_state', 'by_size', isOne ? 'medium' : 'low']);
    }
  }
  nameStates(of, states);
}

/**
 * Where stacks show the parameters, memory without any is what the autograd engine made: with their sizes, and still
 * there when the optimizer begins its step, the gradients that the ring lost. Those that the trace shows are less.
 */
function nameOlderGradients(of: Attribution): void {
  const { lives, classes, phases } = of;
  if (lives.starts === 0) return;
  const step = phases.spansOf('optimizer_step')[0]?.firstSeq ?? lives.events;
  // Blocks that are there after this entry.
  const at = isBegunInStep(of) ? -1 : Math.min(step, lives.events) - 1;
  const isThere = (row: number): boolean => lives.allocSeq[row]! <= at && lives.freedSeq[row]! > at;
  const sizes = new SizeCounts();
  for (const row of rowsWith(of, ({ component }) => component === 'parameter'))
    if (isThere(row)) sizes.add(sizeOf(lives, row));
  if (sizes.bytes === 0) return;
  for (const row of rowsWith(of, ({ component }) => component === 'gradient'))
    if (isThere(row)) sizes.take(sizeOf(lives, row));
  const isGradient = relabelling(of, SIZES_OF_PARAMETERS, ['gradient', 'parameter_gradient', 'medium']);
  for (let row = 0; row < lives.starts; row += 1) {
    const { by, sub_component } = labelAt(of, row);
    const isEngines = (by === 'none' || sub_component === REFINABLE) && classes(lives.stackId[row]!).kind !== 'python';
    if (isEngines && isThere(row) && sizes.take(sizeOf(lives, row))) isGradient(row);
  }
}

/** A stack of its own, with Python frames. */
function isMadeByCode({ lives, classes }: Attribution, row: number): boolean {
  return lives.stackIsOfFree[row] === 0 && classes(lives.stackId[row]!).kind === 'python';
}

/**
 * `step` of a file whose name no rule knows may be an optimizer's or a trainer's. What it made before the recording and
 * keeps, with the sizes of a whole set of blocks without a stack, are states of these parameters.
 */
function nameStepMade(of: Attribution): void {
  const { lives, classes } = of;
  const isState = relabelling(of, SIZES_OF_PARAMETERS, ['optimizer_state', 'by_size', 'medium']);
  const made = new Map<number, number[]>();
  const unmade: number[] = [];
  for (let row = 0; row < lives.starts; row += 1) {
    if (!isOpen(of, row)) continue;
    if (!isMadeByCode(of, row)) unmade.push(row);
    else if (lives.freedSeq[row] === NEVER) getOrAdd(made, lives.stackId[row]!, () => []).push(row);
  }
  for (const [stackId, rows] of made) {
    if (rows.length < LEAST_OF_SOME.blocks || !isStep(classes(stackId).frames)) continue;
    const sizes = new SizeCounts();
    for (const row of rows) sizes.add(sizeOf(lives, row));
    if (equalSet(lives, unmade, sizes, RATIOS) === undefined) continue;
    rows.forEach(isState);
  }
}

const STEP = /(?:^|\.)step$/;
/** Further in than `step`: modules compute there. */
const COMPUTES = /(?:^|\.)(?:forward|backward|_call_impl|closure)$/;

function isStep(frames: readonly { readonly name: string }[]): boolean {
  const step = frames.findIndex(({ name }) => STEP.test(name));
  return step >= 0 && !frames.slice(0, step).some(({ name }) => COMPUTES.test(name));
}

/**
 * From before the recording, or made ahead of the first backward pass by code that no rule knows, and kept: parameters
 * that a program makes without modules.
 */
function olderRows(of: Attribution): number[] {
  const { lives } = of;
  const rows: number[] = [];
  const first = of.passes.rows[0] ?? lives.starts;
  for (let row = 0; row < first; row += 1)
    if (isOpen(of, row) && (row < lives.starts || lives.freedSeq[row] === NEVER)) rows.push(row);
  return rows;
}

function bytesSeen(of: Attribution): { parameter: number; optimizer_state: number } {
  const bytesOf = (wanted: Component): number =>
    rowsWith(of, ({ component }) => component === wanted)
      .filter((row) => of.lives.freedSeq[row]! >= of.lives.events)
      .reduce((sum, row) => sum + sizeOf(of.lives, row), 0);
  return { parameter: bytesOf('parameter'), optimizer_state: bytesOf('optimizer_state') };
}

/** Freed in the trace, and not by an optimizer that writes its states anew. */
function isFreed({ lives, phases }: Attribution, rows: readonly number[]): boolean {
  const freed = rows.filter(
    (row) => lives.freedSeq[row]! < lives.events && phases.phaseAt(lives.freedSeq[row]!) !== 'optimizer_step',
  );
  return freed.length >= MOSTLY * rows.length;
}

/** Two sets, or two and master weights of another type, are Adam's where the trace runs it. */
function nameStates(of: Attribution, states: readonly EqualSet[]): void {
  const master = states.length === 3 && states.every(({ ratio, isWhole }) => ratio === 2 && isWhole);
  const isAdam = master || (states.length === 2 && states.every(({ isWhole }) => isWhole) && runsAdam(of));
  if (!isAdam) return;
  const names = master ? ['master_param', 'exp_avg', 'exp_avg_sq'] : ['exp_avg', 'exp_avg_sq'];
  states.forEach(({ rows }, i) => {
    rows.forEach(relabelling(of, SIZES_OF_PARAMETERS, ['optimizer_state', names[i]!, 'medium']));
  });
}

const ADAM = /(?:^|_)adamw?(?:_|$)/i;
/** Names of files and functions of optimizers with two states for each parameter. */
const TWO_STATES = /adam|lamb/i;

function runsAdam({ lives, classes }: Attribution): boolean {
  const asked = new Set<number>();
  for (let row = lives.starts; row < lives.count; row += 1) {
    const id = lives.stackId[row]!;
    if (asked.has(id)) continue;
    asked.add(id);
    const { phase, frames } = classes(id);
    if (phase === 'optimizer_step' && frames.some(({ name }) => ADAM.test(name))) return true;
  }
  return false;
}

interface Reference {
  readonly sizes: SizeCounts;
  /** The passes of the trace add to gradients that were there before. */
  readonly gradientsAreOlder: boolean;
}

/**
 * How many parameters there are of each size: of the gradients that one pass makes, else of what passes make and free
 * again where they add to gradients that exist, else of what an optimizer needs for all of them at once, else of the
 * states that have stacks. These are more than the gradients of a pass that the trace ends in.
 */
function sizesOfOneSet(of: Attribution, open: readonly number[]): Reference | undefined {
  const made = largestGradients(of);
  const hasEnded = of.passes.endSeq.some((endSeq) => endSeq < of.lives.events);
  const states = largestStates(of);
  if (made !== undefined)
    return {
      sizes: !hasEnded && states !== undefined && states.bytes > made.bytes ? states : made,
      gradientsAreOlder: false,
    };
  const hasGradients = of.table.labels.some(({ component }) => component === 'gradient');
  const added = hasGradients ? undefined : sizesAdded(of, open);
  if (added !== undefined) return { sizes: added, gradientsAreOlder: true };
  const scratch = largestScratch(of);
  if (scratch !== undefined) return { sizes: scratch, gradientsAreOlder: !hasGradients && hasEnded };
  return states && { sizes: states, gradientsAreOlder: !hasGradients && of.passes.count === 0 };
}

/** Of the pass that made most; undefined if none made any. */
function largestGradients(of: Attribution): SizeCounts | undefined {
  const { lives, label, passes } = of;
  const isGradient = byLabel(
    of,
    ({ component, rules }) => component === 'gradient' && rules.includes(PARAMETER_GRADIENT),
  );
  let largest = new SizeCounts();
  for (let pass = 0; pass < passes.count; pass += 1) {
    const sizes = new SizeCounts();
    for (const row of rowsOfPass(passes, pass)) if (isGradient[label[row]!] === 1) sizes.add(sizeOf(lives, row));
    if (sizes.bytes > largest.bytes) largest = sizes;
  }
  return largest.bytes > 0 ? largest : undefined;
}

/** What one line of an optimizer allocates for all parameters before it frees any: temporaries of `_foreach_`. */
function largestScratch(of: Attribution): SizeCounts | undefined {
  const { lives, phases } = of;
  const scratch = new Map<number, { sizes: SizeCounts; blocks: number; freed: number; last: number }>();
  for (const row of rowsWith(of, ({ sub_component }) => sub_component === STEP_SCRATCH)) {
    if (row < lives.starts) continue;
    const key = (lives.stackId[row]! + 1) * lives.events + phases.endOf(row);
    const group = getOrAdd(scratch, key, () => ({ sizes: new SizeCounts(), blocks: 0, freed: NEVER, last: -1 }));
    group.sizes.add(sizeOf(lives, row));
    group.blocks += 1;
    group.freed = Math.min(group.freed, lives.freedSeq[row]!);
    group.last = lives.allocSeq[row]!;
  }
  return [...scratch.values()]
    .filter(({ blocks, freed, last }) => blocks >= LEAST_OF_SOME.blocks && freed > last)
    .map(({ sizes }) => sizes)
    .sort((a, b) => b.bytes - a.bytes)[0];
}

/** Of the line that made most. Where one line makes both moments of each parameter, half of what it made. */
function largestStates(of: Attribution): SizeCounts | undefined {
  const { lives, classes, label } = of;
  const { labels } = of.table;
  const states = new Map<number, { readonly sizes: SizeCounts; readonly stackId: number }>();
  // By label: the first with the same rules. A line may make states of several kinds.
  const rulesOf = labels.map(({ rules }) => rules.join(' ')).map((rules, _, all) => all.indexOf(rules));
  for (const row of rowsWith(of, ({ component }) => component === 'optimizer_state')) {
    const stackId = lives.stackId[row]!;
    const key = (stackId + 1) * labels.length + rulesOf[label[row]!]!;
    getOrAdd(states, key, () => ({ sizes: new SizeCounts(), stackId })).sizes.add(sizeOf(lives, row));
  }
  const [largest, second] = [...states.values()].sort((a, b) => b.sizes.bytes - a.sizes.bytes);
  if (largest === undefined) return undefined;
  const { sizes, stackId } = largest;
  const isBoth =
    (second === undefined || second.sizes.bytes < LEAST_SEEN * sizes.bytes) &&
    classes(stackId).frames.some(
      ({ name, filename }) => TWO_STATES.test(name) || TWO_STATES.test(fileName(filename)),
    ) &&
    [...sizes].every(([, count]) => count % 2 === 0);
  if (!isBoth) return sizes;
  const half = new SizeCounts();
  for (const [size, count] of sizes) half.add(size, count / 2);
  return half;
}

const fileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * Where gradients are kept between steps, or added up over passes that began before the recording, a pass makes one
 * block for each parameter and frees it once it is added. Older blocks of those sizes are so many times as many as
 * there are sets. Undefined where most sizes do not agree on one number, or on less than two sets.
 */
function sizesAdded(of: Attribution, open: readonly number[]): SizeCounts | undefined {
  const { lives } = of;
  const older = new SizeCounts();
  for (const row of open) if (!WORKSPACE_SIZES.has(lives.requested[row]!)) older.add(sizeOf(lives, row));
  const { starts, endSeq } = of.passes;
  const ended = [...endSeq.keys()].filter((pass) => endSeq[pass]! < lives.events);
  const pass = maxBy(ended, (one) => starts[one + 1]! - starts[one]!);
  if (pass === undefined) return undefined;
  const made = new SizeCounts();
  for (const row of rowsOfPass(of.passes, pass)) made.add(sizeOf(lives, row));
  return sizesOfEachSet(older, made, 2);
}

/** Optimizers that keep a second state for some parameters only: of each of their sizes, one for each parameter. */
function setOfSome(lives: Lives, from: readonly number[], sizes: SizeCounts): EqualSet | undefined {
  const present = new SizeCounts();
  for (const row of from) present.add(sizeOf(lives, row));
  const wanted = new SizeCounts();
  for (const [size, count] of sizes) if (present.countOf(size) >= count) wanted.add(size, count);
  if (wanted.bytes < LEAST_OF_SOME.share * sizes.bytes) return undefined;
  const rows = from.filter((row) => wanted.take(sizeOf(lives, row)));
  return rows.length < LEAST_OF_SOME.blocks ? undefined : { rows, ratio: 1, isWhole: false };
}
