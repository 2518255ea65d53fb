/** What an attribution is made of while inferences refine it. */
import type { BackwardPasses } from './backward-passes.js';
import type { LabelledRows } from './labels.js';
import type { LifeClasses } from './life-classes.js';
import type { Lives } from './lives.js';
import type { PhaseWindows } from './phase-windows.js';
import type { StackClasses } from './stack-classes.js';

/** What is known of the blocks before they have labels. */
export interface BlockFacts {
  readonly lives: Lives;
  readonly classes: StackClasses;
  readonly phases: PhaseWindows;
  readonly life: LifeClasses;
  /** What is known of the run besides its snapshots. */
  readonly run: RunFigures;
}

export type LabelledBlocks = BlockFacts & LabelledRows;

export interface Attribution extends BlockFacts, LabelledRows {
  /** No inference changes which blocks these are. */
  readonly passes: BackwardPasses;
}

/** Figures of the run's logs and configuration that size arithmetic holds against; null = not known. */
export interface RunFigures {
  /** Elements of the parameters this rank holds, as the run printed them. */
  readonly rankParameters: number | null;
  readonly distributedOptimizer: boolean | null;
}

export const NO_RUN_FIGURES: RunFigures = { rankParameters: null, distributedOptimizer: null };

/** Figures of which labels are the same. */
export function figuresStamp({ rankParameters, distributedOptimizer }: RunFigures): string {
  return JSON.stringify([rankParameters, distributedOptimizer]);
}
