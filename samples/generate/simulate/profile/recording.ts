/** What Nsight Systems would record of one process. Times are the simulation's, µs. */
import type { ObservedCall } from './observed-driver.js';

export type ProfiledThread = 'main' | 'autograd' | 'nccl_service';

/** Who asks the driver, as the call chain would show it. */
export type DriverCaller = 'torch' | 'torch_backward' | 'nccl_init' | 'nccl_connect' | 'nccl_proxy' | 'cublas';

export interface DriverCall extends ObservedCall {
  readonly thread: ProfiledThread;
  readonly caller: DriverCaller;
}

export interface ProfiledRange {
  readonly thread: ProfiledThread;
  readonly domain: 'default' | 'NCCL';
  readonly text: string;
  readonly startUs: number;
  /** Null: the process ended in it. */
  readonly endUs: number | null;
}

/** A call of cuBLAS. */
export interface LibraryCall {
  readonly thread: ProfiledThread;
  readonly name: string;
  readonly startUs: number;
  readonly endUs: number;
}

export type ProfiledStream = 'compute' | 'data_parallel' | 'pipeline';

export interface GpuWork {
  readonly thread: ProfiledThread;
  /** When the thread asked for it. */
  readonly launchUs: number;
  readonly stream: ProfiledStream;
  readonly startUs: number;
  readonly endUs: number;
}

export type KernelName =
  | 'gemm'
  | 'norm'
  | 'norm_backward'
  | 'attention'
  | 'attention_backward'
  | 'swiglu'
  | 'swiglu_backward'
  | 'embedding'
  | 'square_sum'
  | 'adam'
  | 'all_reduce'
  | 'send_recv'
  | 'reduce_scatter'
  | 'all_gather';

export interface Kernel extends GpuWork {
  readonly kernel: KernelName;
}

export interface Copy extends GpuWork {
  readonly operation: 'host_to_device' | 'device_to_host' | 'set';
  readonly bytes: number;
}

/** A thread waits for a stream. */
export interface Wait {
  readonly thread: ProfiledThread;
  readonly stream: ProfiledStream;
  readonly startUs: number;
  readonly endUs: number;
}

/** Of each kind in the order in which it began on its thread. */
export interface ProfileRecording {
  readonly calls: readonly DriverCall[];
  readonly ranges: readonly ProfiledRange[];
  readonly library: readonly LibraryCall[];
  readonly kernels: readonly Kernel[];
  readonly copies: readonly Copy[];
  readonly waits: readonly Wait[];
}
