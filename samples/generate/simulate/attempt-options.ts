/** What one simulated launch is made of. */
import type { RunPlan } from '../run.js';
import type { OtherProcess } from './device-moment.js';
import type { DriverObserver } from './profile/observed-driver.js';
import type { RankHooks } from './rank-context.js';
import type { RankProcess } from './rank-process.js';

/**
 * Memory of a process outside the allocator: CUDA context and modules, then NCCL's buffers as its communicators come
 * up.
 */
export interface OutsideMemory {
  readonly contextBytes: number;
  /** Once the model is wrapped for data parallelism. */
  readonly builtBytes: number;
  /** From the first forward pass on. */
  readonly trainingBytes: number;
}

export interface DeviceConditions {
  readonly outside: OutsideMemory;
  /** On this device from the start. */
  readonly otherProcesses: readonly OtherProcess[];
}

/** Padded tokens of each micro-batch: `tokens[step][data rank][micro-batch]`, the micro-batch size included. */
export type Workload = readonly (readonly (readonly number[])[])[];

export interface AttemptOptions {
  readonly plan: RunPlan;
  readonly firstIteration: number;
  /** As many steps as it has are simulated at most. */
  readonly workload: Workload;
  readonly conditions: (rank: number) => DeviceConditions;
  readonly hooks?: RankHooks;
  /** Which ranks to simulate; default all. A trial run of one rank per stage is enough to see what a plan needs. */
  readonly ranks?: readonly number[];
  /** Overrides the GPU's memory: a device without limit shows what a plan would need. */
  readonly deviceBytes?: number;
  readonly records?: (rank: number) => boolean;
  /** Whether the moments of every device are kept, for monitors. Default: no. */
  readonly watches?: boolean;
  /** A profiler around the process of a rank. */
  readonly observer?: (rank: number) => DriverObserver | undefined;
  /** What stands in place of a process: it may change requests on their way. */
  readonly around?: (process: RankProcess) => RankProcess;
}
