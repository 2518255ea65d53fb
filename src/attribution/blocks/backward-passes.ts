/** The backward passes of a trace, and what the autograd engine allocates in each. */
import { PHASES, type Phase } from '../../model/log-rows.js';
import { type BlockLabel, byLabel, type LabelledRows } from './labels.js';
import type { Lives } from './lives.js';
import type { PhaseWindows } from './phase-windows.js';
import type { StackClasses } from './stack-classes.js';

/** In the order of the trace. A trace may have as many passes as allocations: numbers, not objects. */
export interface BackwardPasses {
  readonly count: number;
  /** Blocks that only the engine's own frames show, pass by pass, in order. Every pass has one. */
  readonly rows: readonly number[];
  /** By pass: index of its first row; one more for where the last pass ends. */
  readonly starts: readonly number[];
  /** By pass: entry of its last allocation. */
  readonly lastSeq: Int32Array;
  /** By pass: entry at which something else begins; the trace's number of entries if nothing does. */
  readonly endSeq: readonly number[];
}

export const PARAMETER_GRADIENT = 'inference.parameter-gradient';

/** Labels of a rule for a backward allocation that may be the gradient of a parameter or of an activation. */
export const REFINABLE = 'activation_gradient';

/** A pass goes on through these: sharded parameters are gathered for it, gradients reduced in it. */
const INSIDE: ReadonlySet<Phase> = new Set<Phase>(['backward', 'grad_finalize', 'param_gather']);

/** Passes without a block of the engine are left out. */
export function backwardPasses(
  of: LabelledRows & { readonly lives: Lives; readonly classes: StackClasses; readonly phases: PhaseWindows },
): BackwardPasses {
  const { lives, label, classes, phases } = of;
  const isInside = Uint8Array.from(PHASES, (phase) => (INSIDE.has(phase) ? 1 : 0));
  const isBackward = ({ phase, component }: BlockLabel) => phase === 'backward' && component !== 'graph_pool';
  const isUnknown = byLabel(of, (one) => isBackward(one) && one.by === 'none');
  const isEngines = byLabel(
    of,
    (one) =>
      isBackward(one) && one.by !== 'none' && (one.sub_component === REFINABLE || one.rules[0] === PARAMETER_GRADIENT),
  );
  const rows: number[] = [];
  const starts = [0];
  const lastSeqs: number[] = [];
  const endSeqs: number[] = [];
  let lastSeq = -1;
  const close = (endSeq: number): void => {
    if (rows.length === starts.at(-1)) return;
    starts.push(rows.length);
    lastSeqs.push(lastSeq);
    endSeqs.push(endSeq);
  };
  for (let row = lives.starts; row < lives.count; row += 1) {
    if (isInside[phases.codeOf(row)] !== 1) {
      close(lives.allocSeq[row]!);
      continue;
    }
    const number = label[row]!;
    if (isEngines[number] !== 1 && (isUnknown[number] !== 1 || classes(lives.stackId[row]!).kind === 'python'))
      continue;
    rows.push(row);
    lastSeq = lives.allocSeq[row]!;
  }
  close(lives.events);
  return { count: lastSeqs.length, rows, starts, lastSeq: new Int32Array(lastSeqs), endSeq: endSeqs };
}

export function rowsOfPass({ rows, starts }: BackwardPasses, pass: number): readonly number[] {
  return rows.slice(starts[pass], starts[pass + 1]);
}
