/**
 * Layouts of the columnar tables and the row shapes of the small ones, as parsers emit them. The ids of the store
 * (`snapshot_id`, `source_id`) are added by ingest. The schema itself is `src/store/migrations.ts`; a test holds the
 * two together.
 */
import type { ColumnSpec, TableLayout } from './columns.js';
import {
  BLOCK_STATES,
  type IncidentKind,
  PROFILER_ACTIONS,
  PROFILER_CATEGORIES,
  SEGMENT_TYPES,
  TRACE_ACTIONS,
} from './vocabulary.js';

const SNAPSHOT_ID: ColumnSpec = { name: 'snapshot_id', kind: 'i32' };
const DEVICE: ColumnSpec = { name: 'device', kind: 'i32' };

/**
 * One row per trace entry. `seq` is the index in that device's trace and the only ordering key (torch inserts under the
 * device lock; `time_us` may jitter). `size_bytes` is the size in the entry: *requested* bytes on alloc and free
 * entries, segment bytes on segment entries, the rounded request on `oom`, Σ active on `snapshot`. The last three
 * columns are derived while ingesting: the alloc of a free, and the running totals since the first entry of that device
 * (they start at 0 and may become negative, where frees of memory allocated before the recording are traced).
 */
export const EVENT_LAYOUT: TableLayout = {
  table: 'event',
  columns: [
    SNAPSHOT_ID,
    DEVICE,
    { name: 'seq', kind: 'i32' },
    { name: 'action', kind: 'u8', values: TRACE_ACTIONS },
    { name: 'addr', kind: 'u64', nullable: true },
    { name: 'size_bytes', kind: 'i64' },
    { name: 'stream', kind: 'i64', nullable: true },
    { name: 'time_us', kind: 'i64', nullable: true },
    { name: 'pool', kind: 'i32', nullable: true, refersTo: 'pool' },
    { name: 'stack_id', kind: 'i32', nullable: true, refersTo: 'stack' },
    { name: 'compile_context_id', kind: 'i32', nullable: true, refersTo: 'text' },
    { name: 'user_metadata_id', kind: 'i32', nullable: true, refersTo: 'text' },
  ],
};

/**
 * One row per segment of the final state. `*_header_bytes` are torch's own sums, kept for checking, never used in
 * accounting.
 */
export const SEGMENT_LAYOUT: TableLayout = {
  table: 'segment',
  columns: [
    SNAPSHOT_ID,
    { name: 'segment', kind: 'i32' },
    DEVICE,
    { name: 'address', kind: 'u64' },
    { name: 'total_bytes', kind: 'i64' },
    { name: 'allocated_header_bytes', kind: 'i64', nullable: true },
    { name: 'active_header_bytes', kind: 'i64', nullable: true },
    { name: 'requested_header_bytes', kind: 'i64', nullable: true },
    { name: 'stream', kind: 'i64', nullable: true },
    { name: 'segment_type', kind: 'u8', values: SEGMENT_TYPES },
    { name: 'pool', kind: 'i32', nullable: true, refersTo: 'pool' },
    { name: 'is_expandable', kind: 'u8', nullable: true },
    { name: 'stack_id', kind: 'i32', nullable: true, refersTo: 'stack' },
  ],
};

/**
 * One row per block of the final state, in address order within its segment. `requested_bytes` is NULL unless the block
 * is active.
 */
export const BLOCK_LAYOUT: TableLayout = {
  table: 'block',
  columns: [
    SNAPSHOT_ID,
    { name: 'segment', kind: 'i32' },
    DEVICE,
    { name: 'address', kind: 'u64' },
    { name: 'size_bytes', kind: 'i64' },
    { name: 'requested_bytes', kind: 'i64', nullable: true },
    { name: 'state', kind: 'u8', values: BLOCK_STATES },
    { name: 'stack_id', kind: 'i32', nullable: true, refersTo: 'stack' },
  ],
};

export const ANNOTATION_STAGES = ['START', 'END', 'other'] as const;

/**
 * One row per `external_annotations` entry: a record_function scope starts or ends. `device` is the thread's current
 * one, and may be wrong.
 */
export const ANNOTATION_LAYOUT: TableLayout = {
  table: 'annotation',
  columns: [
    SNAPSHOT_ID,
    { name: 'ordinal', kind: 'i32' },
    { name: 'stage', kind: 'u8', values: ANNOTATION_STAGES },
    { name: 'name_id', kind: 'i32', refersTo: 'text' },
    { name: 'device', kind: 'i32', nullable: true },
    { name: 'time_us', kind: 'i64', nullable: true },
  ],
};

/** The frames of each stack, innermost first: `pos` 0 is where the allocator was called. */
export const STACK_FRAME_LAYOUT: TableLayout = {
  table: 'stack_frame',
  columns: [
    { name: 'stack_id', kind: 'i32' },
    { name: 'pos', kind: 'i32' },
    { name: 'frame_id', kind: 'i32' },
  ],
};

const SOURCE_ID: ColumnSpec = { name: 'source_id', kind: 'i32' };
const nullableText = (name: string): ColumnSpec => ({ name, kind: 'i32', nullable: true, refersTo: 'text' });
const text = (name: string): ColumnSpec => ({ name, kind: 'i32', refersTo: 'text' });
const nullable = (name: string, kind: ColumnSpec['kind']): ColumnSpec => ({ name, kind, nullable: true });
const LOG_PLACE: readonly ColumnSpec[] = [
  SOURCE_ID,
  { name: 'attempt', kind: 'i32' },
  { name: 'line', kind: 'i32' },
  { name: 'byte_offset', kind: 'i64' },
  nullable('rank', 'i32'),
];

/** One row per printed training iteration; see `IterationFinding`. */
export const LOG_ITERATION_LAYOUT: TableLayout = {
  table: 'log_iteration',
  columns: [
    ...LOG_PLACE,
    text('format_id'),
    nullable('time_us', 'i64'),
    { name: 'iteration', kind: 'i64' },
    nullable('target_iterations', 'i64'),
    nullable('step_ms', 'f64'),
    nullable('consumed_samples', 'i64'),
    nullable('global_batch_size', 'i64'),
    nullable('tflops_per_gpu', 'f64'),
    nullable('learning_rate', 'f64'),
    nullable('loss', 'f64'),
    nullable('loss_scale', 'f64'),
    nullable('grad_norm', 'f64'),
    nullable('skipped_iterations', 'i64'),
    nullable('nan_iterations', 'i64'),
  ],
};

/** One row per figure of a memory line; see `MemoryFinding`. */
export const LOG_MEMORY_LAYOUT: TableLayout = {
  table: 'log_memory',
  columns: [
    ...LOG_PLACE,
    nullable('device', 'i32'),
    nullableText('host_id'),
    text('format_id'),
    nullable('time_us', 'i64'),
    nullable('iteration', 'i64'),
    nullableText('moment_id'),
    text('metric_id'),
    nullable('bytes', 'i64'),
    { name: 'value', kind: 'f64' },
    text('unit_id'),
    { name: 'precision_bytes', kind: 'f64' },
  ],
};

/** One row per sample of a gauge; see `GaugeFinding`. `device` is the driver's index on the node. */
export const LOG_GAUGE_LAYOUT: TableLayout = {
  table: 'log_gauge',
  columns: [
    ...LOG_PLACE,
    nullable('device', 'i32'),
    nullableText('host_id'),
    text('format_id'),
    nullable('time_us', 'i64'),
    nullableText('gpu_id'),
    nullable('pid', 'i64'),
    nullableText('process_id'),
    text('metric_id'),
    { name: 'bytes', kind: 'i64' },
    { name: 'value', kind: 'f64' },
    text('unit_id'),
    { name: 'precision_bytes', kind: 'f64' },
  ],
};

/** One row per other figure or word; see `ValueFinding`. */
export const LOG_FIGURE_LAYOUT: TableLayout = {
  table: 'log_figure',
  columns: [
    ...LOG_PLACE,
    nullable('device', 'i32'),
    nullableText('host_id'),
    text('format_id'),
    nullable('time_us', 'i64'),
    nullable('iteration', 'i64'),
    text('name_id'),
    nullable('value', 'f64'),
    nullableText('unit_id'),
    nullableText('text_id'),
  ],
};

/**
 * One row per change of one category in a memory timeline of torch.profiler. `ordinal` is the event of a raw timeline,
 * or the point in time of one that holds sums (several rows a point, and no action: each is the difference to the point
 * before). `time_ns` is NULL for what existed before the profiler started.
 */
export const PROFILER_MEMORY_LAYOUT: TableLayout = {
  table: 'profiler_memory',
  columns: [
    SOURCE_ID,
    { name: 'ordinal', kind: 'i32' },
    nullable('time_ns', 'i64'),
    { name: 'action', kind: 'u8', nullable: true, values: PROFILER_ACTIONS },
    { name: 'delta_bytes', kind: 'i64' },
    { name: 'category', kind: 'u8', values: PROFILER_CATEGORIES },
  ],
};

/** Rows per batch handed to ingest: a multiple of DuckDB's 2048-row vectors; larger batches were not faster. */
export const BATCH_ROWS = 65_536;

/**
 * Something odd in an input, worth a line to the reader. Equal kinds of one source are folded into one note with a
 * count.
 */
export interface Note {
  /** A stable word, e.g. `ring_truncated`, `unknown_key`, `tiling_violated`. */
  readonly kind: string;
  readonly text: string;
  readonly severity: 'info' | 'warning';
  readonly offset?: number | undefined;
  readonly line?: number | undefined;
  readonly device?: number | undefined;
  readonly seq?: number | undefined;
  readonly count?: number | undefined;
}

/** An `oom` entry of a trace. `requestedBytes` is the *rounded request*, smaller than what the OOM message prints. */
export interface TraceOomRow {
  readonly device: number;
  readonly seq: number;
  readonly requestedBytes: number;
  /** cudaMemGetInfo's free bytes at that moment: the only driver number in a snapshot. */
  readonly deviceFreeBytes: number | null;
}

/** A key of a trace entry without a column, kept verbatim as JSON text. */
export interface EventExtraRow {
  readonly device: number;
  readonly seq: number;
  readonly key: string;
  readonly valueJson: string;
}

/** A byte figure of a message, with what was printed and how exactly it was printed (half of the last digit's unit). */
export interface PrintedBytes {
  readonly bytes: number;
  readonly text: string;
  readonly precisionBytes: number;
}

/**
 * The byte fields a failure message can carry. Names follow torch's message; see `reserved` for the 1.0–2.0 wording.
 */
export const INCIDENT_BYTE_FIELDS = [
  'requested',
  'total',
  'free',
  'process',
  'allocated',
  'reserved',
  'reservedUnallocated',
  'privatePool',
  'allowed',
  'otherProcess',
] as const;
export type IncidentByteField = (typeof INCIDENT_BYTE_FIELDS)[number];

/** One failure, from one place of a text. Every figure is as printed; nothing is inferred here. */
export interface IncidentRow {
  readonly kind: IncidentKind;
  readonly rank: number | null;
  /** How the rank is known: the rule's name, e.g. `prefix:[rankN]:`, `prefix:srun`, `file_name`. */
  readonly rankOrigin: string | null;
  /** Rank on its node, of torchrun; no global rank follows from it. */
  readonly localRank: number | null;
  readonly host: string | null;
  readonly device: number | null;
  readonly pid: number | null;
  /** Of the process, where the message is a footer that contains it; negative for a signal. */
  readonly exitCode: number | null;
  /** Launch inside the file, from 1. */
  readonly attempt: number;
  /** 1-based first and last line. */
  readonly line: number;
  readonly lastLine: number;
  /** Byte offset of the first line in the (decompressed) file. */
  readonly offset: number;
  readonly timeText: string | null;
  /** {@link timeText} with date and time, as microseconds since 1970 were it UTC. */
  readonly timeUs: number | null;
  readonly exception: string | null;
  /** Line of `Traceback (most recent call last)`, and the innermost frame outside libraries. */
  readonly tracebackLine: number | null;
  readonly frame: { readonly file: string; readonly line: number; readonly function: string } | null;
  /** Id of the grammar entry that matched, e.g. `torch.cuda_oom@2.1`. */
  readonly grammar: string;
  readonly text: string;
  readonly bytes: Readonly<Partial<Record<IncidentByteField, PrintedBytes>>>;
  /** Other processes named in the message: pid and bytes. */
  readonly processes: readonly { readonly pid: number; readonly printed: PrintedBytes }[];
}
