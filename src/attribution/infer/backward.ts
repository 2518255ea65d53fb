/**
 * What the autograd engine allocates: its threads lack Python frames, so a block's stack shows at most which operator
 * ran.
 */

import type { Attribution } from '../blocks/attribution.js';
import { PARAMETER_GRADIENT } from '../blocks/backward-passes.js';
import { keptRows } from '../blocks/kept-rows.js';
import { labelAt, relabelling, rowsWith } from '../blocks/labels.js';
import { type Lives, NEVER, sizeOf } from '../blocks/lives.js';
import { groupRows } from '../blocks/row-groups.js';
import { sizeClasses } from '../blocks/size-classes.js';
import { SizeCounts } from '../blocks/size-counts.js';
import { sizesOfEachSet } from '../blocks/size-sets.js';
import { countUpTo } from '../count-up-to.js';

export const ACTIVATION_GRADIENT = 'inference.activation-gradient';

/** Of buffers that a pipeline stage receives into. */
const RECEIVED = 'pipeline_p2p';

const GRADIENT = ['gradient', 'parameter_gradient'] as const;
const OF_ACTIVATION = ['activation', 'activation_gradient'] as const;

/** Blocks freed together are the gradients if they have so much of the bytes of the parameters, size by size, … */
const LEAST_COVERAGE = 0.5;
/** … or so many blocks, and so much of what is freed there, by bytes or blocks: some parameters may be frozen. */
const LEAST_BLOCKS = 8;
const LEAST_SHARE = 0.8;
/** Of memory from before the recording, that may hold states too: so much of its bytes. */
const LEAST_OF_OLDER = 0.1;
/** Two of a size may be the parts of the gradient of one shared parameter. */
const LEAST_OLDER_BLOCKS = 3;

/**
 * Freed before the engine's last allocation of the pass: the gradient of an activation, or what is added to the
 * gradient of a parameter. Still there when the optimizer begins its step: the gradient of a parameter.
 *
 * An optimizer whose step allocates nothing (SGD, a fused Adam once its states exist) shows no step. There the
 * gradients are what `zero_grad` frees at once, between two passes, wherever the program calls it: with the sizes of
 * the parameters, each at most as often as there are parameters of it. If the trace ends first, sizes alone decide. A
 * pipeline stage keeps the gradient of its input for the stage before it: as large as what it receives, and as no
 * parameter.
 */
export function inferBackward(of: Attribution): void {
  const { lives, phases, passes } = of;
  if (passes.count === 0) return;
  const { parameters, older } = knownSizes(of);
  const received = receivedSizes(of);
  const certain = relabelling(of, PARAMETER_GRADIENT, [...GRADIENT, 'high']);
  const likely = relabelling(of, PARAMETER_GRADIENT, [...GRADIENT, 'medium']);
  const isActivation = relabelling(of, ACTIVATION_GRADIENT, [...OF_ACTIVATION, 'high']);
  const open: number[] = [];
  // By index in the rows of all passes: the pass behind whose end it is freed.
  const freedAfter = new Int32Array(passes.rows.length).fill(-1);
  const survives = new Uint8Array(passes.rows.length);
  const seen = new Set<number>();
  for (let pass = 0; pass < passes.count; pass += 1) {
    const lastSeq = passes.lastSeq[pass]!;
    const endSeq = passes.endSeq[pass]!;
    for (let i = passes.starts[pass]!; i < passes.starts[pass + 1]!; i += 1) {
      const row = passes.rows[i]!;
      const freed = lives.freedSeq[row]!;
      const size = sizeOf(lives, row);
      const step = phases.nextStart('optimizer_step', row);
      if (freed < lastSeq || (received.has(size) && !parameters.has(size) && !seen.has(size))) isActivation(row);
      else if (freed >= step && step !== NEVER) {
        certain(row);
        seen.add(size);
      } else if (freed >= lives.events) {
        if (step === NEVER && endSeq < lives.events) {
          likely(row);
          seen.add(size);
        } else open.push(row);
      } else {
        freedAfter[i] = Math.max(pass, countUpTo(passes.lastSeq, freed - 1) - 1);
        // Recomputation divides a pass: what its next part frees was handed on to it.
        const next = passes.rows[passes.starts[freedAfter[i]! + 1]!];
        const isHandedOn = next !== undefined && freed > lives.allocSeq[next]!;
        survives[i] = step === NEVER && freed >= endSeq && !isHandedOn ? 1 : 0;
      }
    }
  }
  const together = groupRows(freedAfter, passes.count);
  for (let group = 0; group < together.count; group += 1) {
    const members = together.rows.subarray(together.starts[group], together.starts[group + 1]);
    const gradients = gradientsOf(lives, passes.rows, members, parameters, older);
    for (const i of members) {
      const row = passes.rows[i]!;
      // What an earlier pass made is older than this one's remains, whatever it is.
      if (gradients.has(row) || (survives[i] === 1 && parameters.bytes === 0)) {
        likely(row);
        seen.add(sizeOf(lives, row));
      } else isActivation(row);
    }
  }
  if (open.length === 0) return;
  const guess = {
    gradient: relabelling(of, PARAMETER_GRADIENT, [...GRADIENT, 'low']),
    activation: relabelling(of, ACTIVATION_GRADIENT, [...OF_ACTIVATION, 'low']),
  };
  // Where stacks show the memory of gradients, what the engine holds is added to it.
  const hasBuffers = rowsWith(of, ({ component, by }) => component === 'gradient' && by === 'rule').length > 0;
  const votes = votesOf(of, open);
  for (const row of open) {
    const vote = votes(row);
    if (vote !== undefined) {
      (vote ? guess.gradient : guess.activation)(row);
      continue;
    }
    const size = sizeOf(lives, row);
    // What is older may be activations too: it decides only where no stack shows a parameter.
    const isKnown = !hasBuffers && (seen.has(size) || (parameters.bytes > 0 ? parameters : older).has(size));
    (isKnown ? guess.gradient : guess.activation)(row);
  }
}

/** What blocks of the same stack and size were in passes that are over, where that is one thing: gradients or not. */
function votesOf(of: Attribution, open: readonly number[]): (row: number) => boolean | undefined {
  const { classOf, count } = sizeClasses(of.lives);
  const seen = new Uint8Array(count);
  const isOpen = new Set(open);
  for (const row of of.passes.rows)
    if (!isOpen.has(row)) seen[classOf[row]!]! |= labelAt(of, row).component === 'gradient' ? 1 : 2;
  return (row) => {
    const vote = seen[classOf[row]!];
    return vote === 1 ? true : vote === 2 ? false : undefined;
  };
}

function receivedSizes(of: Attribution): ReadonlySet<number> {
  const received = rowsWith(
    of,
    ({ component, sub_component }) => component === 'communication' && sub_component === RECEIVED,
  );
  return new Set(received.map((row) => sizeOf(of.lives, row)));
}

/** Sizes of the parameters that their stacks show, and of what is from before the recording and not known. */
function knownSizes(of: Attribution): { readonly parameters: SizeCounts; readonly older: SizeCounts } {
  const { lives } = of;
  const parameters = new SizeCounts();
  const older = new SizeCounts();
  for (const row of rowsWith(of, ({ component }) => component === 'parameter')) parameters.add(sizeOf(lives, row));
  const isKept = keptRows(of);
  for (let row = 0; row < lives.starts; row += 1)
    if (labelAt(of, row).by === 'none' && isKept(row)) older.add(sizeOf(lives, row));
  return { parameters, older };
}

const NONE: ReadonlySet<number> = new Set();

/** Those of the blocks freed between two passes that are the gradients of parameters; empty if they are not. */
function gradientsOf(
  lives: Lives,
  of: readonly number[],
  freed: Int32Array,
  parameters: SizeCounts,
  older: SizeCounts,
): ReadonlySet<number> {
  const known = parameters.bytes > 0 ? parameters : older;
  if (known.bytes === 0) return NONE;
  // What the engine still held at the end of the pass goes first, the gradients later.
  const latest = Array.from(freed, (i) => of[i]!).sort((a, b) => lives.freedSeq[b]! - lives.freedSeq[a]!);
  const all = latest.reduce((sum, row) => sum + sizeOf(lives, row), 0);
  let found = ofSizes(lives, latest, known);
  if (known === older) {
    const sizes = new SizeCounts();
    for (const row of found) sizes.add(sizeOf(lives, row));
    const each = sizesOfEachSet(older, sizes, 1);
    if (each !== undefined) found = ofSizes(lives, latest, each);
  }
  const bytes = found.reduce((sum, row) => sum + sizeOf(lives, row), 0);
  const isMost =
    bytes >= LEAST_SHARE * all || (found.length >= LEAST_BLOCKS && found.length >= LEAST_SHARE * freed.length);
  const covers =
    known === parameters
      ? bytes >= LEAST_COVERAGE * known.bytes || (isMost && found.length >= LEAST_BLOCKS)
      : isMost && found.length >= LEAST_OLDER_BLOCKS && bytes >= LEAST_OF_OLDER * known.bytes;
  return new Set(covers ? found : []);
}

/** The first rows of each size, as many as there are of it. */
function ofSizes(lives: Lives, rows: readonly number[], sizes: SizeCounts): number[] {
  const found = rows.filter((row) => sizes.take(sizeOf(lives, row)));
  // A copy for each of many passes would cost more than to put back what was taken.
  for (const row of found) sizes.add(sizeOf(lives, row));
  return found;
}
