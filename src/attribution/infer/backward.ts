/**
 * What the autograd engine allocates: its threads lack Python frames, so a block's stack shows at most which operator
 * ran.
 */
import { type Attribution, labelAt, relabelling } from '../blocks/attribution.js';
import { NEVER, sizeOf } from '../blocks/lives.js';

export const PARAMETER_GRADIENT = 'inference.parameter-gradient';
export const ACTIVATION_GRADIENT = 'inference.activation-gradient';

/** Labels of a rule for a backward allocation that may be either of the two. */
export const REFINABLE = 'activation_gradient';

/** Of buffers that a pipeline stage receives into. */
const RECEIVED = 'pipeline_p2p';

const GRADIENT = { component: 'gradient', sub_component: 'parameter_gradient' } as const;
const OF_ACTIVATION = { component: 'activation', sub_component: REFINABLE } as const;

/**
 * Allocated in a backward window and still there when the optimizer begins its step, or, without one in the trace, when
 * the next forward pass begins: the gradient of a parameter. Freed before: the gradient of an activation. If the trace
 * ends inside the window, sizes decide: those of parameters that are known are theirs. A pipeline stage keeps the
 * gradient of its input for the stage before it: as large as what it receives, and as no parameter.
 */
export function inferBackward(of: Attribution): void {
  const { lives, classes, phases } = of;
  const open: number[] = [];
  const sizes = new Set<number>();
  const isParameter = relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'high' });
  const isParameterPerhaps = relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'medium' });
  const received = new Set<number>();
  for (let row = 0; row < lives.count; row += 1) {
    const { component, sub_component } = labelAt(of, row);
    if (component === 'communication' && sub_component === RECEIVED) received.add(sizeOf(lives, row));
  }
  const isActivation = relabelling(of, ACTIVATION_GRADIENT, { ...OF_ACTIVATION, confidence: 'high' });
  for (let row = lives.starts; row < lives.count; row += 1) {
    const label = labelAt(of, row);
    if (label.component === 'parameter') sizes.add(sizeOf(lives, row));
    if (label.phase !== 'backward' || label.component === 'graph_pool') continue;
    const refinable =
      label.by === 'none' ? classes(lives.stackId[row]!).kind !== 'python' : label.sub_component === REFINABLE;
    if (!refinable) continue;
    const freed = lives.freedSeq[row]!;
    const step = phases.nextStart('optimizer_step', row);
    const end = step !== NEVER ? step : phases.endOf(row) + 1;
    const size = sizeOf(lives, row);
    if (freed < end || (received.has(size) && !sizes.has(size))) isActivation(row);
    else if (end < lives.events) {
      (step !== NEVER ? isParameter : isParameterPerhaps)(row);
      sizes.add(size);
    } else open.push(row);
  }
  if (open.length === 0) return;
  for (let row = 0; row < lives.starts; row += 1) sizes.add(sizeOf(lives, row));
  const guess = {
    gradient: relabelling(of, PARAMETER_GRADIENT, { ...GRADIENT, confidence: 'low' }),
    activation: relabelling(of, ACTIVATION_GRADIENT, { ...OF_ACTIVATION, confidence: 'low' }),
  };
  for (const row of open) (sizes.has(sizeOf(lives, row)) ? guess.gradient : guess.activation)(row);
}
