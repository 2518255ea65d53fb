import type { RequestedMemory, Size } from './figures.js';

/**
 * One row of accounting: a job, or one of its steps. Undefined is what the query did not ask for, or what Slurm left
 * empty.
 */
export interface AccountingRecord {
  /** `4711`, `4711_3` of an array, `4711+0` of a heterogeneous job. */
  readonly job: string;
  /** `batch`, `extern`, `interactive`, `0`; null for the job itself. */
  readonly step: string | null;
  readonly name?: string | undefined;
  /** As {@link parseState} knows it. */
  readonly state: string | null;
  /** As printed, with the text after it. */
  readonly stateText: string;
  /** Exit code, negative for a signal. */
  readonly exitCode: number | null;
  readonly exitText?: string | undefined;
  readonly startUs?: number | undefined;
  readonly endUs?: number | undefined;
  readonly endText?: string | undefined;
  readonly elapsedS?: number | undefined;
  readonly limitS?: number | undefined;
  readonly nodeList?: string | undefined;
  readonly nodes?: number | undefined;
  readonly cpus?: number | undefined;
  readonly tasks?: number | undefined;
  readonly reqMem?: RequestedMemory | undefined;
  /** Allocated to the job over all nodes: what cgroups enforce. */
  readonly allocMem?: Size | undefined;
  /** Largest sample of any task, and where it was taken. */
  readonly maxRss?: Size | undefined;
  readonly maxRssNode?: string | undefined;
  readonly aveRss?: Size | undefined;
  /** Sum of the maxima of all tasks, of the step where it is largest: seff prints it instead of {@link maxRss}. */
  readonly summedRss?: Size | undefined;
  readonly maxVmSize?: Size | undefined;
  readonly gpuMem?: Size | undefined;
  readonly gpuUtil?: number | undefined;
  readonly failedNode?: string | undefined;
  readonly reason?: string | undefined;
  readonly line: number;
  readonly offset: number;
  /** The record's own words. */
  readonly text: string;
}
