/** Activations that outlive the step they were computed in: a leak, or a block that is not an activation. */
import { countUpTo } from '../../model/count-up-to.js';
import { type Attribution, labelAt, relabelling } from '../blocks/attribution.js';

export const HELD_ACROSS_STEPS = 'inference.held-across-steps';

/**
 * Boundaries lived through before it is said: what a loop variable holds (the loss, the logits) survives one, until the
 * next step assigns it again.
 */
const LEAST_BOUNDARIES = 2;
const SUB = 'held_across_steps';

/**
 * What no rule knows, but is made in forward passes and held, are copies of what these compute; of such a line the
 * blocks of the last steps are the same, though they had no time yet to show it.
 */
export function inferHeld(of: Attribution): void {
  const { lives, life, classes } = of;
  if (life.boundaries.length < LEAST_BOUNDARIES) return;
  const isActivation = relabelling(of, HELD_ACROSS_STEPS, {
    component: 'activation',
    sub_component: SUB,
    confidence: 'medium',
  });
  const isLogits = relabelling(of, HELD_ACROSS_STEPS, {
    component: 'logits_loss',
    sub_component: SUB,
    confidence: 'medium',
  });
  const unknownMakers = new Set<number>();
  for (let row = lives.starts; row < lives.count; row += 1) {
    const { component, by, phase } = labelAt(of, row);
    const isUnknown = by === 'none' && phase === 'forward';
    if (component !== 'activation' && component !== 'logits_loss' && !isUnknown) continue;
    const first = countUpTo(life.boundaries, lives.allocSeq[row]! - 1);
    const boundary = life.boundaries[first + LEAST_BOUNDARIES - 1];
    if (boundary === undefined || lives.freedSeq[row]! <= boundary) continue;
    if (isUnknown) {
      if (classes(lives.stackId[row]!).kind === 'python') unknownMakers.add(lives.stackId[row]!);
    } else if (component === 'activation') isActivation(row);
    else isLogits(row);
  }
  if (unknownMakers.size === 0) return;
  const isKept = relabelling(of, HELD_ACROSS_STEPS, { component: 'activation', sub_component: SUB, confidence: 'low' });
  for (let row = lives.starts; row < lives.count; row += 1)
    if (unknownMakers.has(lives.stackId[row]!) && labelAt(of, row).by === 'none') isKept(row);
}
