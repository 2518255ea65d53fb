/** Devices of exports: a healthy one to change, and an export with kernels of one's own. */
import type { Timeline } from '../../../src/findings/symptoms/evidence.js';
import {
  changed,
  globalPid,
  globalTid,
  PID,
  type Row,
  smallExport,
  sqliteBytes,
  TID,
} from '../../support/nsys-export.js';

/** Two steps of 50 ms, nothing to be said of it. */
export function timelineOf(more: Partial<Timeline> = {}): Timeline {
  return {
    path: 'nsys.sqlite',
    rank: 0,
    stage: 0,
    steps: 2,
    window_ns: 100e6,
    compute_ns: 90e6,
    idle_ns: 5e6,
    collectives: { busy_ns: 20e6, exposed_ns: 2e6 },
    sends: { busy_ns: 0, exposed_ns: 0 },
    other: { busy_ns: 0, exposed_ns: 0 },
    launch_gaps: { count: 10, ns: 1e6 },
    gemm: { total_ns: 60e6, median_ns: 600e3 },
    collective_kernels: { total_ns: 20e6, median_ns: 2e6 },
    all_kernels_ns: 90e6,
    norm_waits: { met: 0, waited: 0, waited_ns: 0 },
    overlap_waits: { met: 0, waited: 0, waited_ns: 0 },
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

const NAMES = 10_000;
const CALLS = 1_000_000;

/** Bytes of a SQLite export of one process with these kernels; times in ns. */
export function exportOf({ kernels, steps, environment = ['RANK=0', 'WORLD_SIZE=1'] }: Captured): Buffer {
  const tables = smallExport({ environment });
  const names = [...new Set([...kernels.map(({ name }) => name), 'cudaLaunchKernel_v7000'])];
  const id = (name: string): number => NAMES + names.indexOf(name);
  const first = (table: string): Row => tables[table]!.rows[0]!;
  const range = tables['NVTX_EVENTS']!.rows.find(({ text }) => text === 'step 1 – größer')!;
  return sqliteBytes(
    changed(tables, {
      StringIds: {
        rows: [...tables['StringIds']!.rows, ...names.map((value) => ({ id: id(value), value }))],
      },
      CUPTI_ACTIVITY_KIND_KERNEL: {
        rows: kernels.map(({ name, start, end, stream = 7 }, i) => ({
          ...first('CUPTI_ACTIVITY_KIND_KERNEL'),
          start,
          end,
          streamId: stream,
          correlationId: CALLS + i,
          globalPid: globalPid(PID),
          demangledName: id(name),
          shortName: id(name),
        })),
      },
      CUPTI_ACTIVITY_KIND_RUNTIME: {
        rows: kernels.map(({ start, launch = start - 1_000_000 }, i) => ({
          ...first('CUPTI_ACTIVITY_KIND_RUNTIME'),
          start: launch,
          end: launch + 900,
          globalTid: globalTid(PID, TID),
          correlationId: CALLS + i,
          nameId: id('cudaLaunchKernel_v7000'),
        })),
      },
      CUPTI_ACTIVITY_KIND_MEMCPY: { rows: [] },
      CUPTI_ACTIVITY_KIND_MEMSET: { rows: [] },
      CUPTI_ACTIVITY_KIND_GRAPH_TRACE: { rows: [] },
      CUDA_GPU_MEMORY_USAGE_EVENTS: { rows: [] },
      CUDA_GPU_MEMORY_POOL_EVENTS: { rows: [] },
      NVTX_EVENTS: { rows: steps.map(({ start, end }, i) => ({ ...range, start, end, text: `iteration ${i + 1}` })) },
    }),
  );
}
