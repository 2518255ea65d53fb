/**
 * Rows of an Nsight Systems export, as the parser emits them. Times are nanoseconds of the report's own clock, 0 at the
 * start of the collection (`nsys_report.clock_offset_ns` makes UTC of them), and may be negative. Processes and threads
 * are the operating system's numbers, taken out of the exporter's `globalPid` and `globalTid`. Upstream: Nsight Systems
 * User Guide, "SQLite Schema Reference". What the columns of tables are, and the tables that they are from:
 * `queries/schema/nsys.sql`; enumerations: `enums.sql` there.
 */
import { type ENUMS, LAYOUTS, type TableLayout, type TableRows } from './columns.js';

export type MemoryKind = (typeof ENUMS)['nsys_memory_kind'][number];
export type NvtxType = (typeof ENUMS)['nsys_nvtx_type'][number];

export const NSYS_LAYOUTS = {
  memory: LAYOUTS.nsys_memory,
  pool: LAYOUTS.nsys_pool,
  api: LAYOUTS.nsys_api,
  kernel: LAYOUTS.nsys_kernel,
  copy: LAYOUTS.nsys_copy,
  sync: LAYOUTS.nsys_sync,
  graph: LAYOUTS.nsys_graph,
  nvtx: LAYOUTS.nsys_nvtx,
  library: LAYOUTS.nsys_library,
  frame: LAYOUTS.nsys_frame,
} as const satisfies Record<string, TableLayout>;
export type NsysKind = keyof typeof NSYS_LAYOUTS;

/** Rows a batch: the widest of them fits the buffers in which batches travel between threads. */
export const NSYS_BATCH_ROWS = 32_768;

export type NsysForm = 'sqlite' | 'parquetdir' | 'jsonlines';

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

type FactKind = 'report' | 'table' | 'gpu' | 'device' | 'process' | 'thread' | 'diagnostic' | 'option';
/** A row of the table `nsys_` and its kind. */
export type NsysFact = {
  [Kind in FactKind]: { readonly row: Kind } & Omit<TableRows[`nsys_${Kind}`], 'sourceId'>;
}[FactKind];

/** A text of the report and the number by which its rows name it. */
export interface NsysText {
  readonly id: number;
  readonly text: string;
}
