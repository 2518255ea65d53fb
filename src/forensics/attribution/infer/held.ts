/** Activations that outlive the step they were computed in: a leak, or something that is no activation. */

import { countUpTo } from '../../stacks/annotation-stages.js';
import { type DeviceAttribution, labelAt, relabelling } from '../device-attribution.js';

export const HELD_ACROSS_STEPS = 'inference.held-across-steps';

/** Boundaries lived through before it is said: what a loop variable holds (the loss, the logits) survives one, until the next step assigns it again. */
const LEAST_BOUNDARIES = 2;

export function inferHeld(of: DeviceAttribution): void {
  const { lives, life } = of;
  if (life.boundaries.length < LEAST_BOUNDARIES) return;
  const held = (component: 'activation' | 'logits_loss') =>
    relabelling(of, HELD_ACROSS_STEPS, { component, sub_component: 'held_across_steps', confidence: 'medium' });
  const isHeld = { activation: held('activation'), logits_loss: held('logits_loss') };
  for (let row = lives.starts; row < lives.count; row += 1) {
    const label = labelAt(of, row);
    if (label.component !== 'activation' && label.component !== 'logits_loss') continue;
    const first = countUpTo(life.boundaries, lives.allocSeq[row]! - 1);
    const boundary = life.boundaries[first + LEAST_BOUNDARIES - 1];
    if (boundary === undefined || lives.freedSeq[row]! <= boundary) continue;
    if (label.component === 'activation') isHeld.activation(row);
    else isHeld.logits_loss(row);
  }
}
