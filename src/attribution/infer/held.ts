/** Activations that outlive the step they were computed in: a leak, or a block that is not an activation. */
import { countUpTo } from '../../model/count-up-to.js';
import { type Attribution, labelAt, relabelling } from '../blocks/attribution.js';
import { sizeOf } from '../blocks/lives.js';

export const HELD_ACROSS_STEPS = 'inference.held-across-steps';

/**
 * Boundaries lived through before it is said: what a loop variable holds (the loss, the logits) survives one, until the
 * next step assigns it again.
 */
const LEAST_BOUNDARIES = 2;
/** Blocks of one line that are held, without one that is not, before its youngest blocks count too. */
const LEAST_HELD = 2;
const SUB = 'held_across_steps';

/**
 * What no rule knows, but is made in forward passes and held, are copies of what these compute. Of a line whose blocks
 * are all held, those of the last steps are the same, though they had no time yet to show it.
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
  // By stack and size (a line makes several tensors): blocks that are held, and −∞ once one was freed early.
  const heldBy = new Map<string, number>();
  const keyOf = (row: number): string => `${lives.stackId[row]} ${sizeOf(lives, row)}`;
  for (let row = lives.starts; row < lives.count; row += 1) {
    const { component, by, phase } = labelAt(of, row);
    const isUnknown = by === 'none' && phase === 'forward';
    if (component !== 'activation' && component !== 'logits_loss' && !isUnknown) continue;
    const first = countUpTo(life.boundaries, lives.allocSeq[row]! - 1);
    const boundary = life.boundaries[first + LEAST_BOUNDARIES - 1];
    const isHeld = boundary !== undefined && lives.freedSeq[row]! > boundary;
    const key = keyOf(row);
    if (isHeld) heldBy.set(key, (heldBy.get(key) ?? 0) + 1);
    else if (lives.freedSeq[row]! < lives.events) heldBy.set(key, Number.NEGATIVE_INFINITY);
    if (!isHeld) continue;
    if (isUnknown) {
      if (classes(lives.stackId[row]!).kind === 'python') unknownMakers.add(lives.stackId[row]!);
    } else if (component === 'activation') isActivation(row);
    else isLogits(row);
  }
  const isKept = relabelling(of, HELD_ACROSS_STEPS, { component: 'activation', sub_component: SUB, confidence: 'low' });
  const areKeptLogits = relabelling(of, HELD_ACROSS_STEPS, {
    component: 'logits_loss',
    sub_component: SUB,
    confidence: 'low',
  });
  for (let row = lives.starts; row < lives.count; row += 1) {
    const { component, by, sub_component } = labelAt(of, row);
    if (by === 'none') {
      if (unknownMakers.has(lives.stackId[row]!)) isKept(row);
    } else if (
      (component === 'activation' || component === 'logits_loss') &&
      sub_component !== SUB &&
      (heldBy.get(keyOf(row)) ?? 0) >= LEAST_HELD
    )
      (component === 'activation' ? isKept : areKeptLogits)(row);
  }
}
