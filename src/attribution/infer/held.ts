/** Activations that outlive the step they were computed in: a leak, or a block that is not an activation. */
import type { Component, Confidence } from '../../model/vocabulary.js';
import type { Attribution } from '../blocks/attribution.js';
import { byLabel, relabelling } from '../blocks/labels.js';
import { stackCount } from '../blocks/lives.js';
import { sizeClasses } from '../blocks/size-classes.js';

export const HELD_ACROSS_STEPS = 'inference.held-across-steps';

/**
 * Boundaries lived through before it is said: what a loop variable holds (the loss, the logits) survives one, until the
 * next step assigns it again.
 */
const LEAST_BOUNDARIES = 2;
/** Blocks of one line that are held, without one that is not, before its youngest blocks count too. */
const LEAST_HELD = 2;
const SUB = 'held_across_steps';

/** Kinds of labels; 0 = any other. */
const UNKNOWN = 1;
const ACTIVATION = 2;
const LOGITS = 3;
const kindOf = (component: Component): number =>
  component === 'activation' ? ACTIVATION : component === 'logits_loss' ? LOGITS : 0;

/**
 * What no rule knows, but is made in forward passes and held, are copies of what these compute. Of a line whose blocks
 * are all held, those of the last steps are the same, though they had no time yet to show it.
 */
export function inferHeld(of: Attribution): void {
  const { lives, label, classes } = of;
  const { boundaries } = of.life;
  if (boundaries.length < LEAST_BOUNDARIES) return;
  const kinds = byLabel(of, ({ component, by, phase }) =>
    by === 'none' && phase === 'forward' ? UNKNOWN : kindOf(component),
  );
  const isActivation = naming(of, 'activation', 'medium');
  const isLogits = naming(of, 'logits_loss', 'medium');
  const makesUnknown = new Uint8Array(stackCount(lives));
  // By class, since a line makes several tensors: blocks that are held, and −1 once one was freed early.
  const { classOf, count } = sizeClasses(lives);
  const heldBy = new Int32Array(count);
  // The end of the step that a block is made in.
  let boundary = 0;
  for (let row = 0; row < lives.count; row += 1) {
    while (boundary < boundaries.length && boundaries[boundary]! < lives.allocSeq[row]!) boundary += 1;
    const kind = kinds[label[row]!];
    if (kind === 0 || lives.stackIsOfFree[row] === 1) continue;
    const last = boundary + LEAST_BOUNDARIES - 1;
    const freed = lives.freedSeq[row]!;
    const sizeClass = classOf[row]!;
    if (last >= boundaries.length || freed <= boundaries[last]!) {
      if (freed < lives.events) heldBy[sizeClass] = -1;
      continue;
    }
    if (heldBy[sizeClass]! >= 0) heldBy[sizeClass]! += 1;
    if (kind === ACTIVATION) isActivation(row);
    else if (kind === LOGITS) isLogits(row);
    else if (classes(lives.stackId[row]!).kind === 'python') makesUnknown[lives.stackId[row]!] = 1;
  }
  const left = byLabel(of, ({ component, by, sub_component }) =>
    by === 'none' ? UNKNOWN : sub_component === SUB ? 0 : kindOf(component),
  );
  const isKept = naming(of, 'activation', 'low');
  const areKeptLogits = naming(of, 'logits_loss', 'low');
  for (let row = 0; row < lives.count; row += 1) {
    const kind = left[label[row]!];
    if (kind === UNKNOWN) {
      if (lives.stackIsOfFree[row] === 0 && makesUnknown[lives.stackId[row]!] === 1) isKept(row);
    } else if (kind !== 0 && heldBy[classOf[row]!]! >= LEAST_HELD) (kind === ACTIVATION ? isKept : areKeptLogits)(row);
  }
}

const naming = (of: Attribution, component: Component, confidence: Confidence): ((row: number) => void) =>
  relabelling(of, HELD_ACROSS_STEPS, [component, SUB, confidence]);
