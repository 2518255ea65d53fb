/** What an attribution is made of while inferences refine it. */
import type { BlockLabel, LabelTable } from './labels.js';
import type { LifeClasses } from './life-classes.js';
import type { Lives } from './lives.js';
import type { PhaseWindows } from './phase-windows.js';
import type { StackClasses } from './stack-classes.js';

export interface Attribution {
  readonly lives: Lives;
  readonly classes: StackClasses;
  readonly phases: PhaseWindows;
  readonly life: LifeClasses;
  readonly table: LabelTable;
  /** By row of the lives: number of its label. */
  readonly label: Int32Array;
  /** What is known of the run besides its snapshots. */
  readonly run: RunFigures;
}

/** Figures of the run's logs and configuration that size arithmetic holds against; null = not known. */
export interface RunFigures {
  /** Elements of the parameters this rank holds, as the run printed them. */
  readonly rankParameters: number | null;
  readonly distributedOptimizer: boolean | null;
}

export const NO_RUN_FIGURES: RunFigures = { rankParameters: null, distributedOptimizer: null };

/** One way of knowing more than the stack says. Changes labels; later ones see what earlier ones found. */
export type Inference = (of: Attribution) => void;

export function labelAt({ table, label }: Attribution, row: number): BlockLabel {
  return table.labels[label[row]!]!;
}

/**
 * Gives rows another label, by inference; what the stack's rule said stays among its rules. The way from each label to
 * the other is found once.
 */
export function relabelling(
  of: Attribution,
  rule: string,
  change: Pick<BlockLabel, 'component' | 'sub_component' | 'confidence'>,
): (row: number) => void {
  const numbers: number[] = [];
  return (row) => {
    const from = of.label[row]!;
    let to = numbers[from];
    if (to === undefined) {
      const before = of.table.labels[from]!;
      const rules = before.rules.includes(rule) ? before.rules : [rule, ...before.rules];
      to = of.table.number({ ...before, ...change, by: 'inference', rules });
      numbers[from] = to;
    }
    of.label[row] = to;
  };
}

/** {@link relabelling} of one row. */
export function infer(
  of: Attribution,
  row: number,
  rule: string,
  change: Pick<BlockLabel, 'component' | 'sub_component' | 'confidence'>,
): void {
  relabelling(of, rule, change)(row);
}
