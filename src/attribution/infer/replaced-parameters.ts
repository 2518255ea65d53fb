/** Optimizers that write `p.data = …`: from the first step on the parameters are what the step allocated. */
import { type Attribution, infer, labelAt } from '../blocks/attribution.js';
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
  const { lives, phases, life } = of;
  const endsAt = new Map<number, number>();
  for (let row = 0; row < lives.count; row += 1) {
    const freed = lives.freedSeq[row]!;
    if (freed === NEVER || labelAt(of, row).component !== 'parameter') continue;
    if (phases.phaseAt(freed) === 'optimizer_step') endsAt.set(freed, row);
  }
  if (endsAt.size === 0) return;
  const votes = new Map<number, number>();
  // By size: the last block that a step allocated and that outlives it.
  const last = new Map<number, number>();
  let born = lives.starts;
  for (let seq = 0; seq < lives.events; seq += 1) {
    // Allocations are in the order of their entries.
    if (lives.allocSeq[born] === seq) {
      const { phase, component } = labelAt(of, born);
      if (phase === 'optimizer_step' && component === 'optimizer_state' && life.lifetimeOf(born) === 'resident')
        last.set(sizeOf(lives, born), born);
      born += 1;
      continue;
    }
    const ended = endsAt.get(seq);
    if (ended === undefined) continue;
    const successor = last.get(sizeOf(lives, ended));
    if (successor === undefined || phases.phaseOf(successor) !== 'optimizer_step') continue;
    const stack = lives.stackId[successor]!;
    votes.set(stack, (votes.get(stack) ?? 0) + 1);
  }
  const makers = new Set([...votes].filter(([, count]) => count >= LEAST_SHARE * endsAt.size).map(([stack]) => stack));
  if (makers.size === 0) return;
  for (let row = lives.starts; row < lives.count; row += 1) {
    if (!makers.has(lives.stackId[row]!) || labelAt(of, row).component !== 'optimizer_state') continue;
    infer(of, row, REPLACED_PARAMETERS, {
      component: 'parameter',
      sub_component: 'replaced_in_step',
      confidence: 'medium',
    });
  }
}
