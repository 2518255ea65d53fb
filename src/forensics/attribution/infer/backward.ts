/** What the autograd engine allocates: its threads have no Python frames, so a block's stack says at most which operator ran. */
import { type DeviceAttribution, infer, labelAt } from '../device-attribution.js';
import { NEVER } from '../lives.js';

export const PARAMETER_GRADIENT = 'inference.parameter-gradient';
export const ACTIVATION_GRADIENT = 'inference.activation-gradient';

/** What a rule may say of a backward allocation without knowing which of the two it is. */
export const REFINABLE = 'activation_gradient';

/**
 * Allocated in a backward window and still there when the optimizer begins its step, or, without one in the trace, when the next forward pass begins: the gradient of a
 * parameter. Freed before: the gradient of an activation. If the trace ends inside the window, sizes decide: those of parameters that are known are theirs.
 */
export function inferBackward(of: DeviceAttribution): void {
  const { lives, classes, phases } = of;
  const open: number[] = [];
  const sizes = new Set<number>();
  for (let row = lives.starts; row < lives.count; row += 1) {
    const label = labelAt(of, row);
    if (label.component === 'parameter') sizes.add(lives.bytes[row]!);
    const refinable =
      label.by === 'none' ? classes(lives.stackId[row]!).kind !== 'python' : label.sub_component === REFINABLE;
    if (!refinable || label.component === 'graph_pool' || label.phase !== 'backward') continue;
    const made = lives.allocSeq[row]!;
    const freed = lives.freedSeq[row]!;
    const step = phases.nextStart('optimizer_step', made);
    const end = step !== NEVER ? step : phases.endOfWindow(made) + 1;
    if (freed < end) name(of, row, false, 'high');
    else if (end < lives.events) {
      name(of, row, true, step !== NEVER ? 'high' : 'medium');
      sizes.add(lives.bytes[row]!);
    } else open.push(row);
  }
  if (open.length === 0) return;
  for (let row = 0; row < lives.starts; row += 1) sizes.add(lives.bytes[row]!);
  for (const row of open) name(of, row, sizes.has(lives.bytes[row]!), 'low');
}

function name(of: DeviceAttribution, row: number, isParameters: boolean, confidence: 'high' | 'medium' | 'low'): void {
  if (isParameters)
    infer(of, row, PARAMETER_GRADIENT, { component: 'gradient', sub_component: 'parameter_gradient', confidence });
  else infer(of, row, ACTIVATION_GRADIENT, { component: 'activation', sub_component: REFINABLE, confidence });
}
