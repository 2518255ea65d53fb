/** Optimizers that write `p.data = …`: from the first step on the parameters are what the step allocated. */
import type { Attribution } from '../blocks/attribution.js';
import { byLabel, relabelling, rowsWith } from '../blocks/labels.js';
import { NEVER, sizeOf } from '../blocks/lives.js';

export const REPLACED_PARAMETERS = 'inference.replaced-parameters';

/** Of the parameters freed in an optimizer's step, so many must have their successor from the same line. */
const LEAST_SHARE = 0.5;

/**
 * Where a parameter is freed within an optimizer's step, the block of the same size that the step allocated last before
 * and that outlives it has taken its place. The line that makes most of these successors makes parameters; without this
 * they would count as states. Repeated, since the successors are replaced in the next step.
 */
export function inferReplacedParameters(of: Attribution): void {
  const { lives, phases, life, label } = of;
  const isStepState = byLabel(
    of,
    ({ component, phase }) => component === 'optimizer_state' && phase === 'optimizer_step',
  );
  const endsAt = new Map<number, number>();
  for (const row of rowsWith(of, ({ component }) => component === 'parameter')) {
    const freed = lives.freedSeq[row]!;
    if (freed !== NEVER && phases.phaseAt(freed) === 'optimizer_step') endsAt.set(freed, row);
  }
  if (endsAt.size === 0) return;
  const votes = new Map<number, number>();
  // By size: the last block that a step allocated and that outlives it.
  const last = new Map<number, number>();
  let born = lives.starts;
  for (const [seq, ended] of [...endsAt].sort(([a], [b]) => a - b)) {
    // Allocations are in the order of their entries.
    for (; born < lives.count && lives.allocSeq[born]! <= seq; born += 1)
      if (isStepState[label[born]!] === 1 && life.lifetimeOf(born) === 'resident') last.set(sizeOf(lives, born), born);
    // An allocation that shows that the block before it had gone.
    if (born > lives.starts && lives.allocSeq[born - 1] === seq) continue;
    const successor = last.get(sizeOf(lives, ended));
    if (successor === undefined || phases.phaseOf(successor) !== 'optimizer_step') continue;
    const stack = lives.stackId[successor]!;
    votes.set(stack, (votes.get(stack) ?? 0) + 1);
  }
  const makers = new Set([...votes].filter(([, count]) => count >= LEAST_SHARE * endsAt.size).map(([stack]) => stack));
  if (makers.size === 0) return;
  const isReplacement = relabelling(of, REPLACED_PARAMETERS, ['parameter', 'replaced_in_step', 'medium']);
  for (const row of rowsWith(of, ({ component }) => component === 'optimizer_state'))
    if (row >= lives.starts && makers.has(lives.stackId[row]!)) isReplacement(row);
}
