/**
 * What the autograd engine allocates: its threads lack Python frames, so a block's stack shows at most which operator
 * ran.
 */
import { getOrAdd } from '../../model/group-by.js';
import { type Attribution, labelAt, relabelling } from '../blocks/attribution.js';
import { type BackwardPass, backwardPasses, PARAMETER_GRADIENT } from '../blocks/backward-passes.js';
import { NEVER, sizeOf } from '../blocks/lives.js';
import { SizeCounts } from '../blocks/size-counts.js';
import { sizesOfEachSet } from '../blocks/size-sets.js';

export const ACTIVATION_GRADIENT = 'inference.activation-gradient';

/** Of buffers that a pipeline stage receives into. */
const RECEIVED = 'pipeline_p2p';

const GRADIENT = { component: 'gradient', sub_component: 'parameter_gradient' } as const;
const OF_ACTIVATION = { component: 'activation', sub_component: 'activation_gradient' } as const;

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
  const { lives, phases } = of;
  const passes = backwardPasses(of);
  if (passes.length === 0) return;
  const { parameters, older } = knownSizes(of);
  const received = receivedSizes(of);
  const certain = relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'high' });
  const likely = relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'medium' });
  const isActivation = relabelling(of, ACTIVATION_GRADIENT, { ...OF_ACTIVATION, confidence: 'high' });
  const open: number[] = [];
  // By pass behind whose end they are freed.
  const freedAfter = new Map<number, { row: number; survives: boolean }[]>();
  const seen = new Set<number>();
  passes.forEach((pass, index) => {
    for (const row of pass.rows) {
      const freed = lives.freedSeq[row]!;
      const size = sizeOf(lives, row);
      const step = phases.nextStart('optimizer_step', row);
      if (freed < pass.lastSeq || (received.has(size) && !parameters.has(size) && !seen.has(size))) isActivation(row);
      else if (freed >= step && step !== NEVER) {
        certain(row);
        seen.add(size);
      } else if (freed >= lives.events) {
        if (step === NEVER && pass.endSeq < lives.events) {
          likely(row);
          seen.add(size);
        } else open.push(row);
      } else {
        const survives = step === NEVER && freed >= pass.endSeq;
        getOrAdd(freedAfter, passBefore(passes, freed, index), () => []).push({ row, survives });
      }
    }
  });
  for (const rows of freedAfter.values()) {
    const gradients = gradientsOf(of, rows, parameters, older);
    for (const { row, survives } of rows) {
      // What an earlier pass made is older than this one's remains, whatever it is.
      if (gradients.has(row) || (survives && parameters.bytes === 0)) {
        likely(row);
        seen.add(sizeOf(lives, row));
      } else isActivation(row);
    }
  }
  if (open.length === 0) return;
  const guess = {
    gradient: relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'low' }),
    activation: relabelling(of, ACTIVATION_GRADIENT, { ...OF_ACTIVATION, confidence: 'low' }),
  };
  for (const row of open) {
    const size = sizeOf(lives, row);
    const isKnown = seen.has(size) || parameters.has(size) || older.has(size);
    (isKnown ? guess.gradient : guess.activation)(row);
  }
}

/** Index of the last pass that is over at an entry; `from` is. */
function passBefore(passes: readonly BackwardPass[], seq: number, from: number): number {
  let index = from;
  while (index + 1 < passes.length && passes[index + 1]!.lastSeq < seq) index += 1;
  return index;
}

function receivedSizes(of: Attribution): ReadonlySet<number> {
  const sizes = new Set<number>();
  for (let row = 0; row < of.lives.count; row += 1) {
    const { component, sub_component } = labelAt(of, row);
    if (component === 'communication' && sub_component === RECEIVED) sizes.add(sizeOf(of.lives, row));
  }
  return sizes;
}

/** Sizes of the parameters that their stacks show, and of what is from before the recording and not known. */
function knownSizes(of: Attribution): { readonly parameters: SizeCounts; readonly older: SizeCounts } {
  const { lives } = of;
  const parameters = new SizeCounts();
  const older = new SizeCounts();
  for (let row = 0; row < lives.count; row += 1) {
    const { component, by } = labelAt(of, row);
    if (component === 'parameter') parameters.add(sizeOf(lives, row));
    else if (row < lives.starts && by === 'none') older.add(sizeOf(lives, row));
  }
  return { parameters, older };
}

/** Those of the blocks freed between two passes that are the gradients of parameters; empty if they are not. */
function gradientsOf(
  { lives }: Attribution,
  rows: readonly { readonly row: number }[],
  parameters: SizeCounts,
  older: SizeCounts,
): ReadonlySet<number> {
  // What the engine still held at the end of the pass goes first, the gradients later.
  const latest = rows.map(({ row }) => row).sort((a, b) => lives.freedSeq[b]! - lives.freedSeq[a]!);
  const all = latest.reduce((sum, row) => sum + sizeOf(lives, row), 0);
  const known = parameters.bytes > 0 ? parameters : older;
  let found = ofSizes(lives, latest, known);
  if (known === older) {
    const sizes = new SizeCounts();
    for (const row of found) sizes.add(sizeOf(lives, row));
    const each = sizesOfEachSet(older, sizes, 1);
    if (each !== undefined) found = ofSizes(lives, latest, each);
  }
  const bytes = found.reduce((sum, row) => sum + sizeOf(lives, row), 0);
  const isMost =
    bytes >= LEAST_SHARE * all || (found.length >= LEAST_BLOCKS && found.length >= LEAST_SHARE * rows.length);
  const covers =
    known === parameters
      ? bytes >= LEAST_COVERAGE * known.bytes || (isMost && found.length >= LEAST_BLOCKS)
      : isMost && found.length >= LEAST_OLDER_BLOCKS && bytes >= LEAST_OF_OLDER * known.bytes;
  return new Set(covers ? found : []);
}

/** The first rows of each size, as many as there are of it. */
function ofSizes(lives: Attribution['lives'], rows: readonly number[], sizes: SizeCounts): number[] {
  const left = sizes.copy();
  return rows.filter((row) => left.take(sizeOf(lives, row)));
}
