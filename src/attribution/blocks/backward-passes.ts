/** The backward passes of a trace, and what the autograd engine allocates in each. */
import type { Phase } from '../../model/log-rows.js';
import { type Attribution, labelAt } from './attribution.js';

export interface BackwardPass {
  /** Blocks that only the engine's own frames show, in order. */
  readonly rows: readonly number[];
  /** Entry of its last allocation. */
  readonly lastSeq: number;
  /** Entry at which something else begins; the trace's number of entries if nothing does. */
  readonly endSeq: number;
}

export const PARAMETER_GRADIENT = 'inference.parameter-gradient';

/** Labels of a rule for a backward allocation that may be the gradient of a parameter or of an activation. */
const REFINABLE = 'activation_gradient';

/** A pass goes on through these: sharded parameters are gathered for it, gradients reduced in it. */
const INSIDE: ReadonlySet<Phase> = new Set<Phase>(['backward', 'grad_finalize', 'param_gather']);

/** In the order of the trace. Passes without a block of the engine are left out. */
export function backwardPasses(of: Attribution): BackwardPass[] {
  const { lives, classes, phases } = of;
  const passes: BackwardPass[] = [];
  let rows: number[] = [];
  let lastSeq = -1;
  const close = (endSeq: number): void => {
    if (rows.length > 0) passes.push({ rows, lastSeq, endSeq });
    rows = [];
  };
  for (let row = lives.starts; row < lives.count; row += 1) {
    const window = phases.phaseOf(row);
    if (!INSIDE.has(window)) {
      close(lives.allocSeq[row]!);
      continue;
    }
    const label = labelAt(of, row);
    const isEngines =
      label.by === 'none'
        ? classes(lives.stackId[row]!).kind !== 'python'
        : label.sub_component === REFINABLE || label.rules[0] === PARAMETER_GRADIENT;
    if (label.phase !== 'backward' || label.component === 'graph_pool' || !isEngines) continue;
    rows.push(row);
    lastSeq = lives.allocSeq[row]!;
  }
  close(lives.events);
  return passes;
}
