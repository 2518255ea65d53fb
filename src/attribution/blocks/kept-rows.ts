/** Which older blocks may be of a model or its optimizer, by how long the trace shows them. */
import type { Attribution } from './attribution.js';

/**
 * Whether a block may be a parameter, a state, or a copy of one: never freed, or not before a step is over, or by an
 * optimizer that writes its states anew. Without steps: not before a pass is over. Activations go before.
 */
export function keptRows({ lives, life, phases, passes }: Attribution): (row: number) => boolean {
  const end = life.boundaries[0] ?? passes.endSeq[0] ?? lives.events;
  return (row) => {
    const freed = lives.freedSeq[row]!;
    return freed >= lives.events || freed > end || (freed >= 0 && phases.phaseAt(freed) === 'optimizer_step');
  };
}

/** Not freed while the first pass of the trace goes on, as activations and their gradients are. */
export function outlivesPass({ lives, passes }: Attribution, row: number): boolean {
  const freed = lives.freedSeq[row]!;
  const [first] = passes.rows;
  return freed >= 0 && (first === undefined || freed < lives.allocSeq[first]! || freed > passes.lastSeq[0]!);
}
