/**
 * Rows of an Nsight Systems export, as the parser emits them. Times are nanoseconds of the report's own clock, 0 at the
 * start of the collection (`nsys_report.clock_offset_ns` makes UTC of them), and may be negative. Processes and threads
 * are the operating system's numbers, taken out of the exporter's `globalPid` and `globalTid`. Upstream: Nsight Systems
 * User Guide, "SQLite Schema Reference"; enumerations as in the ENUM_* tables of schemas 3.0 to 3.25, which agree.
 * What the columns of tables are, and the tables that they are from: `queries/schema/nsys.sql`.
 */
import { enumeration, i32, i64, layout, maybe, type TableLayout, u64 } from './columns.js';

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

const ON_DEVICE = maybe(i32('pid', 'device', 'context', 'stream'), i64('correlation'));

export const NSYS_MEMORY_LAYOUT = layout(
  'nsys_memory',
  i32('source_id', 'seq'),
  i64('start_ns'),
  ON_DEVICE,
  enumeration('operation', MEMORY_OPERATIONS),
  enumeration('kind', MEMORY_KINDS),
  maybe(u64('address')),
  i64('bytes'),
  maybe(u64('pc'), i64('name_id'), u64('pool_address'), i64('pool_bytes', 'pool_used_bytes')),
);

export const NSYS_POOL_LAYOUT = layout(
  'nsys_pool',
  i32('source_id', 'seq'),
  i64('start_ns'),
  maybe(i32('pid', 'device'), i64('correlation')),
  enumeration('operation', POOL_OPERATIONS),
  enumeration('pool_type', POOL_TYPES),
  maybe(u64('address'), i64('threshold_bytes', 'pool_bytes', 'pool_used_bytes')),
);

export const NSYS_API_LAYOUT = layout(
  'nsys_api',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  maybe(i32('pid', 'tid'), i64('correlation')),
  i64('name_id'),
  maybe(i32('return_value', 'event_class'), i64('callchain')),
);

export const NSYS_KERNEL_LAYOUT = layout(
  'nsys_kernel',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  ON_DEVICE,
  i64('name_id'),
  maybe(i64('demangled_id')),
  i64('blocks', 'threads'),
  maybe(i32('registers'), i64('local_memory_bytes', 'graph_node')),
);

export const NSYS_COPY_LAYOUT = layout(
  'nsys_copy',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  ON_DEVICE,
  enumeration('operation', COPY_OPERATIONS),
  maybe(enumeration('copy_kind', COPY_KINDS)),
  i64('bytes'),
  maybe(
    enumeration('source_kind', MEMORY_KINDS),
    enumeration('target_kind', MEMORY_KINDS),
    i32('source_device', 'target_device', 'migration_cause'),
    i64('graph_node'),
  ),
);

export const NSYS_SYNC_LAYOUT = layout(
  'nsys_sync',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  ON_DEVICE,
  maybe(i32('sync_type')),
);

export const NSYS_GRAPH_LAYOUT = layout(
  'nsys_graph',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  ON_DEVICE,
  maybe(i64('graph', 'graph_exec')),
);

export const NSYS_NVTX_LAYOUT = layout(
  'nsys_nvtx',
  i32('source_id', 'seq'),
  i64('start_ns'),
  maybe(i64('end_ns')),
  enumeration('type', NVTX_TYPES),
  maybe(i32('pid', 'tid', 'end_tid'), i64('domain', 'range_id'), i32('category'), i64('text_id')),
);

export const NSYS_LIBRARY_LAYOUT = layout(
  'nsys_library',
  i32('source_id'),
  i64('start_ns', 'end_ns'),
  enumeration('library', TRACED_LIBRARIES),
  maybe(i32('pid', 'tid'), i64('name_id')),
);

export const NSYS_FRAME_LAYOUT = layout(
  'nsys_frame',
  i32('source_id'),
  i64('callchain'),
  i32('depth'),
  maybe(i64('symbol_id', 'module_id')),
);

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
export const LOST_EVENTS =
  /not all .{0,200} (?:have been|were) collected|events might be missing|\blost\b|dropped|out of order|buffer overflow/i;

/** Errors of CUPTI and numbers of collected events, which the profiler reports as information. */
const CAPTURE_FAULTS =
  /CUPTI_ERROR|CUDA_ERROR|might be missing|\b(?:failed|unable|cannot|could not)\b|^Number of (?:CUDA|CUPTI) events/i;

/** Findings worth keeping. The others report success, with paths that contain the user's name. */
export function keepsDiagnostic(severity: string, text: string): boolean {
  return severity === 'warning' || severity === 'error' || LOST_EVENTS.test(text) || CAPTURE_FAULTS.test(text);
}

const OPTIONS_KEPT = 'environment, command line, paths and user names; options that contain none of them are kept';
/** Tables of an export that are never copied whole, not even with every table, and what they contain. */
export const PRIVATE_TABLES: ReadonlyMap<string, string> = new Map([
  ['META_DATA_CAPTURE', OPTIONS_KEPT],
  ['META_DATA_EXPORT', OPTIONS_KEPT],
  ['EXPORT_META_DATA', OPTIONS_KEPT],
  ['TARGET_INFO_SYSTEM_ENV', 'environment of the machine; the host name is kept'],
  ['ProcessStreams', 'output of the job'],
  ['ANALYSIS_FILE', 'files of the job'],
]);

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
