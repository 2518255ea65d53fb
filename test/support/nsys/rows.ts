/** What a planted capture records, with what the generator knows of each row and no column has. */
import {
  emptyRecording,
  type MemoryRow,
  type Recording as PlainRecording,
} from '../../../samples/generate/write/nsys/capture.js';

export { COPY, NVTX } from '../../../samples/generate/write/nsys/capture.js';

export type Owner =
  | ('torch' | 'nccl' | 'cublas' | 'cudnn' | 'pinned')
  | ('managed' | 'static' | 'async_pool' | 'graph' | 'other');

export interface ThreadPlan {
  readonly tid: number;
  /** Null: not in ThreadNames. */
  readonly name: string | null;
}

/** The caller. `nvtxPath`: push/pop ranges open on the calling thread when the call began, outermost first. */
interface Caller {
  readonly owner: Owner;
  readonly api: string;
  readonly nvtxPath: readonly string[];
  readonly tid: number;
  readonly threadName: string | null;
}

export interface MemoryEvent extends MemoryRow {
  /** `module`: the library that called, as the call chain names it; null: no call chain. */
  readonly label: Caller & { readonly module: string | null };
}

/** A call that wanted memory and got none. No column has the bytes it asked for. */
export interface FailedRequest extends Caller {
  readonly pid: number;
  readonly atNs: number;
  readonly bytes: number;
}

/** Rows as they are recorded: process by process, so not in the order of time. */
export interface Recording extends PlainRecording {
  readonly memory: MemoryEvent[];
  readonly failures: FailedRequest[];
}

export function plantedRecording(): Recording {
  return { ...emptyRecording(), memory: [], failures: [] };
}
