/**
 * Layouts of the columnar tables and the row shapes of the small ones, as parsers emit them. The ids of the store
 * (`snapshot_id`, `source_id`) are added by ingest. What the columns are is in `queries/schema/`; an appender refuses a
 * layout that is not that of its table.
 */

import { enumeration, f64, i32, i64, layout, maybe, pool, stack, text, u8, u64 } from './columns.js';
import type { LogPlace } from './log-rows.js';
import {
  BLOCK_STATES,
  type IncidentKind,
  PROFILER_ACTIONS,
  PROFILER_CATEGORIES,
  SEGMENT_TYPES,
  TRACE_ACTIONS,
} from './vocabulary.js';

export const EVENT_LAYOUT = layout(
  'event',
  i32('snapshot_id', 'device', 'seq'),
  enumeration('action', TRACE_ACTIONS),
  maybe(u64('addr')),
  i64('size_bytes'),
  maybe(i64('stream', 'time_us'), pool('pool'), stack('stack_id'), text('compile_context_id', 'user_metadata_id')),
);

export const SEGMENT_LAYOUT = layout(
  'segment',
  i32('snapshot_id', 'segment', 'device'),
  u64('address'),
  i64('total_bytes'),
  maybe(i64('allocated_header_bytes', 'active_header_bytes', 'requested_header_bytes', 'stream')),
  enumeration('segment_type', SEGMENT_TYPES),
  maybe(pool('pool'), u8('is_expandable'), stack('stack_id')),
);

export const BLOCK_LAYOUT = layout(
  'block',
  i32('snapshot_id', 'segment', 'device'),
  u64('address'),
  i64('size_bytes'),
  maybe(i64('requested_bytes')),
  enumeration('state', BLOCK_STATES),
  maybe(stack('stack_id')),
  maybe(i64('left_over_bytes')),
);

export const HOST_EVENT_LAYOUT = layout(
  'host_event',
  i32('snapshot_id', 'seq'),
  enumeration('action', TRACE_ACTIONS),
  maybe(u64('addr')),
  i64('size_bytes'),
  maybe(i64('time_us'), pool('pool'), stack('stack_id')),
);

export const HOST_SEGMENT_LAYOUT = layout(
  'host_segment',
  i32('snapshot_id', 'segment'),
  u64('address'),
  i64('total_bytes', 'allocated_bytes', 'active_bytes'),
  maybe(pool('pool'), stack('stack_id')),
);

export const ANNOTATION_STAGES = ['START', 'END', 'other'] as const;

export const ANNOTATION_LAYOUT = layout(
  'annotation',
  i32('snapshot_id', 'ordinal'),
  enumeration('stage', ANNOTATION_STAGES),
  text('name_id'),
  maybe(i32('device'), i64('time_us')),
);

export const STACK_FRAME_LAYOUT = layout('stack_frame', i32('stack_id', 'pos', 'frame_id'));

const LOG_PLACE = [i32('source_id', 'attempt', 'line'), i64('byte_offset'), maybe(i32('rank'))].flat();

/** One row per printed training iteration; see `IterationFinding`. */
export const LOG_ITERATION_LAYOUT = layout(
  'log_iteration',
  LOG_PLACE,
  text('format_id'),
  maybe(i64('time_us')),
  i64('iteration'),
  maybe(
    i64('target_iterations'),
    f64('step_ms'),
    i64('consumed_samples', 'global_batch_size'),
    f64('tflops_per_gpu', 'learning_rate', 'loss', 'loss_scale', 'grad_norm'),
    i64('skipped_iterations', 'nan_iterations'),
  ),
);

/** One row per figure of a memory line; see `MemoryFinding`. */
export const LOG_MEMORY_LAYOUT = layout(
  'log_memory',
  LOG_PLACE,
  maybe(i32('device'), text('host_id')),
  text('format_id'),
  maybe(i64('time_us', 'iteration'), text('moment_id')),
  text('metric_id'),
  maybe(i64('bytes')),
  f64('value'),
  text('unit_id'),
  f64('precision_bytes'),
);

/** One row per sample of a gauge; see `GaugeFinding`. `device` is the driver's index on the node. */
export const LOG_GAUGE_LAYOUT = layout(
  'log_gauge',
  LOG_PLACE,
  maybe(i32('device'), text('host_id')),
  text('format_id'),
  maybe(i64('time_us'), text('gpu_id'), i64('pid'), text('process_id')),
  text('metric_id'),
  i64('bytes'),
  f64('value'),
  text('unit_id'),
  f64('precision_bytes'),
);

/** One row per other figure or word; see `ValueFinding`. */
export const LOG_FIGURE_LAYOUT = layout(
  'log_figure',
  LOG_PLACE,
  maybe(i32('device'), text('host_id')),
  text('format_id'),
  maybe(i64('time_us', 'iteration')),
  text('name_id'),
  maybe(f64('value'), text('unit_id', 'text_id')),
);

export const PROFILER_MEMORY_LAYOUT = layout(
  'profiler_memory',
  i32('source_id', 'ordinal'),
  maybe(i64('time_ns'), enumeration('action', PROFILER_ACTIONS)),
  i64('delta_bytes'),
  enumeration('category', PROFILER_CATEGORIES),
);

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
/** Of a traceback; `source`: its line of code, where that is printed. */
export interface FailingFrame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly source?: string;
}

export interface IncidentRow extends Pick<LogPlace, 'rank' | 'host' | 'device' | 'attempt' | 'line' | 'timeUs'> {
  readonly kind: IncidentKind;
  /** How the rank is known: the rule's name, e.g. `prefix:[rankN]:`, `prefix:srun`, `file_name`. */
  readonly rankOrigin: string | null;
  /** Rank on its node, of torchrun; no global rank follows from it. */
  readonly localRank: number | null;
  readonly pid: number | null;
  /** Of the process, where the message is a footer that contains it; negative for a signal. */
  readonly exitCode: number | null;
  readonly lastLine: number;
  /** Byte offset of the first line in the (decompressed) file. */
  readonly offset: number;
  readonly timeText: string | null;
  readonly exception: string | null;
  /** Line of `Traceback (most recent call last)`, and the innermost frame outside libraries. */
  readonly tracebackLine: number | null;
  readonly frame: FailingFrame | null;
  /** The last frames of the traceback, innermost first. */
  readonly frames?: readonly FailingFrame[];
  /** Id of the grammar entry that matched, e.g. `torch.cuda_oom@2.1`. */
  readonly grammar: string;
  readonly text: string;
  readonly bytes: Readonly<Partial<Record<IncidentByteField, PrintedBytes>>>;
  /** Other processes named in the message: pid and bytes. */
  readonly processes: readonly { readonly pid: number; readonly printed: PrintedBytes }[];
}
