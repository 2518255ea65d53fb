/**
 * What was measured, and published: the tables of the guides and of Megatron Bridge's skills. Peaks are decimal GB,
 * throughput is MODEL_TFLOP/s/GPU, as the guides have them; null where none is given.
 */

import { loadData } from './load-data.js';
import { sourceText } from './sources.js';

export interface Workload {
  readonly id: string;
  readonly text: string;
  readonly model: string;
  readonly gpus: string | null;
  readonly golden_tflops: number | null;
  readonly regression_percent: number | null;
}

/** Sizes of the mapping; absent where not given, or not of the workload. */
export interface Layout {
  readonly tp?: number;
  readonly pp?: number;
  readonly vpp?: number;
  readonly dp?: number;
}

export interface Experiment {
  readonly id: string;
  readonly workload: string;
  readonly title: string;
  readonly layout: Layout;
  /** Canonical keys and variables that make it what it is. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tflops: number | null;
  /** Printed as `~`. */
  readonly isRounded?: true;
  readonly vs_golden_percent: number | null;
  readonly peak_gb: number | null;
  /** Against the row that it is compared with; null: there is none, or none was printed. */
  readonly peak_change_gb: number | null;
  /** Percent of the peak, where only that is printed. */
  readonly peak_change_percent: number | null;
  /** Step time over that of the row it is compared with: 1.9 is almost twice as slow. */
  readonly step_factor: number | null;
  /** Percent of the throughput, against the same row. */
  readonly throughput_change_percent: number | null;
  /** What it is compared with. */
  readonly control: string | null;
  /** `matched`: a control that differs in this alone. */
  readonly isMatched: boolean;
  readonly result: string;
  readonly caveat: string;
  readonly source: string;
}

const NOTHING = {
  layout: {},
  settings: {},
  tflops: null,
  vs_golden_percent: null,
  peak_gb: null,
  peak_change_gb: null,
  peak_change_percent: null,
  step_factor: null,
  throughput_change_percent: null,
  control: null,
  isMatched: false,
  caveat: '',
} as const;

type WorkloadData = Pick<Workload, 'id' | 'text' | 'model'> & Partial<Workload>;
type ExperimentData = Pick<Experiment, 'id' | 'workload' | 'title' | 'result' | 'source'> & Partial<Experiment>;

const DATA = loadData('measured') as {
  readonly workloads: readonly WorkloadData[];
  readonly experiments: readonly ExperimentData[];
};

export const WORKLOADS: readonly Workload[] = DATA.workloads.map((workload) => ({
  gpus: null,
  golden_tflops: null,
  regression_percent: null,
  ...workload,
}));

export const EXPERIMENTS: readonly Experiment[] = DATA.experiments.map((experiment) => ({
  ...NOTHING,
  ...experiment,
  source: sourceText(experiment.source),
}));
