/** Activations that outlive the step they were computed in: a leak, or something that is no activation. */

import { countUpTo } from '../../stacks/annotation-stages.js';
import { type DeviceAttribution, infer, labelAt } from '../device-attribution.js';

export const HELD_ACROSS_STEPS = 'inference.held-across-steps';

/** Boundaries lived through before it is said: what a loop variable holds (the loss, the logits) survives one, until the next step assigns it again. */
const LEAST_BOUNDARIES = 2;

export function inferHeld(of: DeviceAttribution): void {
  const { lives, life } = of;
  if (life.boundaries.length < LEAST_BOUNDARIES) return;
  for (let row = lives.starts; row < lives.count; row += 1) {
    const label = labelAt(of, row);
    if (label.component !== 'activation' && label.component !== 'logits_loss') continue;
    const first = countUpTo(life.boundaries, lives.allocSeq[row]! - 1);
    const boundary = life.boundaries[first + LEAST_BOUNDARIES - 1];
    if (boundary === undefined || lives.freedSeq[row]! <= boundary) continue;
    infer(of, row, HELD_ACROSS_STEPS, {
      component: label.component,
      sub_component: 'held_across_steps',
      confidence: label.confidence,
    });
  }
}
