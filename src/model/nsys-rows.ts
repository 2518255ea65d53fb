/**
 * Rows of an Nsight Systems export, as the parser emits them. Times are nanoseconds of the report's own clock, 0 at the
 * start of the collection (`nsys_report.clock_offset_ns` makes UTC of them), and may be negative. Processes and threads
 * are the operating system's numbers, taken out of the exporter's `globalPid` and `globalTid`. Upstream: Nsight Systems
 * User Guide, "SQLite Schema Reference"; enumerations as in the ENUM_* tables of schemas 3.0 to 3.25, which agree.
 */
import type { ColumnSpec, TableLayout } from './columns.js';

/** `memKind`, ENUM_CUDA_MEM_KIND, in the order of its numbers. */
export const MEMORY_KINDS = [
  'pageable',
  'pinned',
  'device',
  'array',
  'managed',
  'device_static',
  'managed_static',
  'unknown',
] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** `memoryOperationType`, ENUM_CUDA_DEV_MEM_EVENT_OPER. */
export const MEMORY_OPERATIONS = ['allocation', 'deallocation', 'other'] as const;
/** `operationType` of a memory pool, ENUM_CUDA_MEMPOOL_OPER. */
export const POOL_OPERATIONS = ['invalid', 'created', 'destroyed', 'trimmed', 'other'] as const;
/** `poolType`, ENUM_CUDA_MEMPOOL_TYPE. */
export const POOL_TYPES = ['invalid', 'local', 'imported', 'other'] as const;
/** `copyKind`, ENUM_CUDA_MEMCPY_OPER, in the order of its numbers. */
export const COPY_KINDS = [
  'unknown',
  'host_to_device',
  'device_to_host',
  'host_to_array',
  'array_to_host',
  'array_to_array',
  'array_to_device',
  'device_to_array',
  'device_to_device',
  'host_to_host',
  'peer_to_peer',
  'managed_host_to_device',
  'managed_device_to_host',
  'managed_device_to_device',
  'other',
] as const;
export type CopyKind = (typeof COPY_KINDS)[number];
export const COPY_OPERATIONS = ['memcpy', 'memset'] as const;
/** `eventType` of NVTX_EVENTS that matter here; the numbers are those of ENUM_NSYS_EVENT_TYPE. */
export const NVTX_TYPES = [
  'category',
  'mark',
  'push_pop',
  'start_end',
  'thread_name',
  'domain',
  'domain_end',
  'other',
] as const;
export type NvtxType = (typeof NVTX_TYPES)[number];
/** Libraries whose calls nsys traces as ranges of their own. */
export const TRACED_LIBRARIES = [
  'cublas',
  'cudnn',
  'cusolver',
  'cusparse',
  'cufft',
  'mpi',
  'nvshmem',
  'ucx',
  'openacc',
  'other',
] as const;
export type TracedLibrary = (typeof TRACED_LIBRARIES)[number];

const SOURCE: ColumnSpec = { name: 'source_id', kind: 'i32' };
const i64 = (name: string): ColumnSpec => ({ name, kind: 'i64' });
const i32 = (name: string): ColumnSpec => ({ name, kind: 'i32' });
const maybe64 = (name: string): ColumnSpec => ({ name, kind: 'i64', nullable: true });
const maybe32 = (name: string): ColumnSpec => ({ name, kind: 'i32', nullable: true });
const address = (name: string): ColumnSpec => ({ name, kind: 'u64', nullable: true });
/** The row's place in its table. */
const SEQ = i32('seq');
const SPAN = [i64('start_ns'), i64('end_ns')];
const ON_DEVICE = [maybe32('pid'), maybe32('device'), maybe32('context'), maybe32('stream'), maybe64('correlation')];

/** CUDA_GPU_MEMORY_USAGE_EVENTS: what the driver gave and took. Only with `--cuda-memory-usage=true`. */
export const NSYS_MEMORY_LAYOUT: TableLayout = {
  table: 'nsys_memory',
  columns: [
    SOURCE,
    SEQ,
    i64('start_ns'),
    ...ON_DEVICE,
    { name: 'operation', kind: 'u8', values: MEMORY_OPERATIONS },
    { name: 'kind', kind: 'u8', values: MEMORY_KINDS },
    address('address'),
    i64('bytes'),
    address('pc'),
    maybe64('name_id'),
    address('pool_address'),
    maybe64('pool_bytes'),
    maybe64('pool_used_bytes'),
  ],
};

/** CUDA_GPU_MEMORY_POOL_EVENTS: pools of cudaMallocAsync. */
export const NSYS_POOL_LAYOUT: TableLayout = {
  table: 'nsys_pool',
  columns: [
    SOURCE,
    SEQ,
    i64('start_ns'),
    maybe32('pid'),
    maybe32('device'),
    maybe64('correlation'),
    { name: 'operation', kind: 'u8', values: POOL_OPERATIONS },
    { name: 'pool_type', kind: 'u8', values: POOL_TYPES },
    address('address'),
    maybe64('threshold_bytes'),
    maybe64('pool_bytes'),
    maybe64('pool_used_bytes'),
  ],
};

/** CUPTI_ACTIVITY_KIND_RUNTIME: calls of CUDA's runtime and driver interfaces. */
export const NSYS_API_LAYOUT: TableLayout = {
  table: 'nsys_api',
  columns: [
    SOURCE,
    ...SPAN,
    maybe32('pid'),
    maybe32('tid'),
    maybe64('correlation'),
    i64('name_id'),
    maybe32('return_value'),
    maybe32('event_class'),
    maybe64('callchain'),
  ],
};

/** CUPTI_ACTIVITY_KIND_KERNEL. `blocks` and `threads` are products of the three dimensions of grid and block. */
export const NSYS_KERNEL_LAYOUT: TableLayout = {
  table: 'nsys_kernel',
  columns: [
    SOURCE,
    ...SPAN,
    ...ON_DEVICE,
    i64('name_id'),
    maybe64('demangled_id'),
    i64('blocks'),
    i64('threads'),
    maybe32('registers'),
    maybe64('local_memory_bytes'),
    maybe64('graph_node'),
  ],
};

/** CUPTI_ACTIVITY_KIND_MEMCPY and _MEMSET. The kinds of source and destination are NULL for memset's source. */
export const NSYS_COPY_LAYOUT: TableLayout = {
  table: 'nsys_copy',
  columns: [
    SOURCE,
    ...SPAN,
    ...ON_DEVICE,
    { name: 'operation', kind: 'u8', values: COPY_OPERATIONS },
    { name: 'copy_kind', kind: 'u8', nullable: true, values: COPY_KINDS },
    i64('bytes'),
    { name: 'source_kind', kind: 'u8', nullable: true, values: MEMORY_KINDS },
    { name: 'target_kind', kind: 'u8', nullable: true, values: MEMORY_KINDS },
    maybe32('source_device'),
    maybe32('target_device'),
    maybe32('migration_cause'),
    maybe64('graph_node'),
  ],
};

/** CUPTI_ACTIVITY_KIND_SYNCHRONIZATION. `sync_type` 1 event, 2 stream waits for event, 3 stream, 4 context. */
export const NSYS_SYNC_LAYOUT: TableLayout = {
  table: 'nsys_sync',
  columns: [SOURCE, ...SPAN, ...ON_DEVICE, maybe32('sync_type')],
};

/** CUPTI_ACTIVITY_KIND_GRAPH_TRACE: a CUDA graph replayed as a whole, its kernels unseen. */
export const NSYS_GRAPH_LAYOUT: TableLayout = {
  table: 'nsys_graph',
  columns: [SOURCE, ...SPAN, ...ON_DEVICE, maybe64('graph'), maybe64('graph_exec')],
};

/**
 * NVTX_EVENTS. `end_ns` is NULL for marks and for ranges never ended; `text_id` is negative for a text stored in the
 * row itself.
 */
export const NSYS_NVTX_LAYOUT: TableLayout = {
  table: 'nsys_nvtx',
  columns: [
    SOURCE,
    SEQ,
    i64('start_ns'),
    maybe64('end_ns'),
    { name: 'type', kind: 'u8', values: NVTX_TYPES },
    maybe32('pid'),
    maybe32('tid'),
    maybe32('end_tid'),
    maybe64('domain'),
    maybe64('range_id'),
    maybe32('category'),
    maybe64('text_id'),
  ],
};

/** CUBLAS_EVENTS, CUDNN_EVENTS and their like: calls of a library. */
export const NSYS_LIBRARY_LAYOUT: TableLayout = {
  table: 'nsys_library',
  columns: [
    SOURCE,
    ...SPAN,
    { name: 'library', kind: 'u8', values: TRACED_LIBRARIES },
    maybe32('pid'),
    maybe32('tid'),
    maybe64('name_id'),
  ],
};

/** CUDA_CALLCHAINS: frames of the host's stack at a call, innermost first (`depth` 0). Only with `--cudabacktrace`. */
export const NSYS_FRAME_LAYOUT: TableLayout = {
  table: 'nsys_frame',
  columns: [SOURCE, i64('callchain'), i32('depth'), maybe64('symbol_id'), maybe64('module_id')],
};

export const NSYS_LAYOUTS = {
  memory: NSYS_MEMORY_LAYOUT,
  pool: NSYS_POOL_LAYOUT,
  api: NSYS_API_LAYOUT,
  kernel: NSYS_KERNEL_LAYOUT,
  copy: NSYS_COPY_LAYOUT,
  sync: NSYS_SYNC_LAYOUT,
  graph: NSYS_GRAPH_LAYOUT,
  nvtx: NSYS_NVTX_LAYOUT,
  library: NSYS_LIBRARY_LAYOUT,
  frame: NSYS_FRAME_LAYOUT,
} as const satisfies Record<string, TableLayout>;
export type NsysKind = keyof typeof NSYS_LAYOUTS;

/** Rows a batch: the widest of them fits the buffers in which batches travel between threads. */
export const NSYS_BATCH_ROWS = 32_768;

/** A report's metadata. Null: not in the report. */
export interface NsysReportRow {
  readonly row: 'report';
  readonly form: NsysForm;
  readonly productVersion: string | null;
  readonly schemaVersion: string | null;
  /** UTC of a time t of this report is t plus this, ns; null: not known. Beyond 2^53. */
  readonly clockOffsetNs: bigint | null;
  /** Where the clock comes from, in words. */
  readonly clockOrigin: string | null;
  readonly durationNs: bigint | null;
  readonly host: string | null;
  /** Whether `--cuda-memory-usage` was on. */
  readonly memoryEventsCollected: boolean | null;
  /** `Graph` or `Node`: whether a replayed CUDA graph is one row or its kernels. */
  readonly graphTrace: string | null;
  /** The export was limited to some tables or times: rows may refer to what is not there. */
  readonly isPartial: boolean;
  /** Every table was copied into the schema `nsys_raw`. */
  readonly hasAllTables: boolean;
}

export const NSYS_FORMS = ['sqlite', 'parquetdir', 'jsonlines'] as const;
export type NsysForm = (typeof NSYS_FORMS)[number];

/** A table of the report and how many rows it has. `rows` null: not counted (damage before the first row). */
export interface NsysTableRow {
  readonly row: 'table';
  readonly name: string;
  readonly rows: number;
  /** Whether its rows are in the store, under whatever name. */
  readonly isRead: boolean;
}

export interface NsysGpuRow {
  readonly row: 'gpu';
  /** Number of the GPU in the report (`TARGET_INFO_GPU.id`), which is not the CUDA ordinal of any process. */
  readonly id: number;
  readonly name: string | null;
  readonly totalBytes: number | null;
  readonly busLocation: string | null;
  readonly uuid: string | null;
}

/** CUDA ordinal of a process → GPU of the report; TARGET_INFO_CUDA_DEVICE. */
export interface NsysDeviceRow {
  readonly row: 'device';
  readonly pid: number;
  readonly device: number;
  readonly gpuId: number | null;
}

export interface NsysProcessRow {
  readonly row: 'process';
  readonly pid: number;
  readonly name: string | null;
  readonly rank: number | null;
  readonly rankOrigin: string | null;
}

export interface NsysThreadRow {
  readonly row: 'thread';
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
}

export interface NsysDiagnosticRow {
  readonly row: 'diagnostic';
  readonly timeNs: bigint | null;
  /** `info`, `warning`, `error`, or the number where this version does not know it. */
  readonly severity: string;
  readonly text: string;
}

/** The profiler's messages about missing events: every count is then a lower bound. */
export const LOST_EVENTS = /not all .* (?:have been|were) collected|\blost\b|dropped|out of order|buffer overflow/i;

/** Findings worth keeping. The others report success, with paths that contain the user's name. */
export function keepsDiagnostic(severity: string, text: string): boolean {
  return severity === 'warning' || severity === 'error' || LOST_EVENTS.test(text);
}

export interface NsysOptionRow {
  readonly row: 'option';
  readonly key: string;
  readonly value: string;
}

export type NsysFact =
  | NsysReportRow
  | NsysTableRow
  | NsysGpuRow
  | NsysDeviceRow
  | NsysProcessRow
  | NsysThreadRow
  | NsysDiagnosticRow
  | NsysOptionRow;

/** A text of the report and the number by which its rows name it. */
export interface NsysText {
  readonly id: number;
  readonly text: string;
}
