/** Devices of exports: a healthy one to change, and an export with kernels of one's own. */
import type { Timeline } from '../../../src/findings/symptoms/evidence.js';
import { changed, globalPid, globalTid, PID, smallExport, sqliteBytes, TID } from '../../support/nsys-export.js';

const NONE = { busy_ns: 0, exposed_ns: 0 };
const NO_WAITS = { met: 0, waited: 0, waited_ns: 0 };

/** Two steps of 50 ms, nothing to be said of it. */
export function timelineOf(more: Partial<Timeline> = {}): Timeline {
  return {
    ...{ path: 'nsys.sqlite', rank: 0, stage: 0, steps: 2, window_ns: 100e6, compute_ns: 90e6, idle_ns: 5e6 },
    ...{ collectives: { busy_ns: 20e6, exposed_ns: 2e6 }, sends: NONE, other: NONE },
    ...{ launch_gaps: { count: 10, ns: 1e6 }, norm_waits: NO_WAITS, overlap_waits: NO_WAITS, all_kernels_ns: 90e6 },
    ...{ gemm: { total_ns: 60e6, median_ns: 600e3 }, collective_kernels: { total_ns: 20e6, median_ns: 2e6 } },
    ...more,
  };
}

export interface Kernel {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly stream?: number;
  /** When its call was made; missing: long before. */
  readonly launch?: number;
}

export interface Captured {
  readonly kernels: readonly Kernel[];
  readonly steps: readonly { readonly start: number; readonly end: number }[];
  /** `NAME=value` of the process. */
  readonly environment?: readonly string[];
}

const EMPTY = ['CUPTI_ACTIVITY_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET', 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE'];
const NO_MEMORY = ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'CUDA_GPU_MEMORY_POOL_EVENTS'];
const NAMES = 10_000;
const CALLS = 1_000_000;

/** Bytes of a SQLite export of one process with these kernels; times in ns. */
export function exportOf({ kernels, steps, environment = ['RANK=0', 'WORLD_SIZE=1'] }: Captured): Buffer {
  const tables = smallExport({ environment });
  const names = [...new Set([...kernels.map(({ name }) => name), 'cudaLaunchKernel_v7000'])];
  const id = (name: string): number => NAMES + names.indexOf(name);
  const first = (table: string) => tables[table]!.rows[0]!;
  const range = tables['NVTX_EVENTS']!.rows.find(({ text }) => text === 'step 1 – größer')!;
  const kernelRows = kernels.map(({ name, start, end, stream = 7 }, i) => ({
    ...{ ...first('CUPTI_ACTIVITY_KIND_KERNEL'), start, end, streamId: stream, correlationId: CALLS + i },
    ...{ globalPid: globalPid(PID), demangledName: id(name), shortName: id(name) },
  }));
  const callRows = kernels.map(({ start, launch = start - 1_000_000 }, i) => ({
    ...{ ...first('CUPTI_ACTIVITY_KIND_RUNTIME'), start: launch, end: launch + 900, correlationId: CALLS + i },
    ...{ globalTid: globalTid(PID, TID), nameId: id('cudaLaunchKernel_v7000') },
  }));
  const ranges = steps.map(({ start, end }, i) => ({ ...range, start, end, text: `iteration ${i + 1}` }));
  const texts = [...tables['StringIds']!.rows, ...names.map((value) => ({ id: id(value), value }))];
  return sqliteBytes(
    changed(tables, {
      ...Object.fromEntries([...EMPTY, ...NO_MEMORY].map((table) => [table, { rows: [] }])),
      ...{ StringIds: { rows: texts }, NVTX_EVENTS: { rows: ranges } },
      ...{ CUPTI_ACTIVITY_KIND_KERNEL: { rows: kernelRows }, CUPTI_ACTIVITY_KIND_RUNTIME: { rows: callRows } },
    }),
  );
}
