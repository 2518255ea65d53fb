/**
 * Row shapes of the small tables, as parsers emit them; the layouts of the columnar ones are made of `queries/schema/`.
 * The ids of the store (`snapshot_id`, `source_id`) are added by ingest.
 */

import { ENUMS, type TableLayout } from './columns.js';
import type { LogPlace } from './log-rows.js';
import type { IncidentKind } from './vocabulary.js';

export const ANNOTATION_STAGES = ENUMS.annotation_stage;

export const STACK_FRAME_LAYOUT: TableLayout = {
  table: 'stack_frame',
  columns: ['stack_id', 'pos', 'frame_id'].map((name) => ({ name, kind: 'i32' })),
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
