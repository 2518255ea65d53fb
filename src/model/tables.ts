/**
 * Row shapes of the small tables, as parsers emit them; the layouts of the columnar ones are made of `queries/schema/`.
 * The ids of the store (`snapshot_id`, `source_id`) are added by ingest.
 */
import type { TableLayout, TableRows } from './columns.js';
import type { LogPlace } from './log-rows.js';
import type { IncidentKind } from './vocabulary.js';

export const STACK_FRAME_LAYOUT = {
  table: 'stack_frame',
  columns: [
    { name: 'stack_id', kind: 'i32' },
    { name: 'pos', kind: 'i32' },
    { name: 'frame_id', kind: 'i32' },
  ],
} as const satisfies TableLayout;

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

/** An `oom` entry of a trace. */
export type TraceOomRow = Omit<TableRows['trace_oom'], 'snapshotId'>;

/** A key of a trace entry without a column, kept verbatim as JSON text. */
export type EventExtraRow = Omit<TableRows['event_extra'], 'snapshotId'>;

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

/** Of a traceback; `source`: its line of code, where that is printed. */
export interface FailingFrame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly source?: string;
}

/** One failure, from one place of a text. Every figure is as printed; nothing is inferred here. */
export interface IncidentRow
  extends Pick<LogPlace, 'rank' | 'rankOrigin' | 'host' | 'device' | 'attempt' | 'line' | 'offset' | 'timeUs'>,
    Pick<TableRows['incident'], 'localRank' | 'pid' | 'exitCode' | 'lastLine' | 'timeText' | 'exception'>,
    Pick<TableRows['incident'], 'tracebackLine' | 'grammar' | 'text'> {
  readonly kind: IncidentKind;
  /** The innermost one of the traceback outside libraries. */
  readonly frame: FailingFrame | null;
  /** The last frames of the traceback, innermost first. */
  readonly frames?: readonly FailingFrame[];
  readonly bytes: Readonly<Partial<Record<IncidentByteField, PrintedBytes>>>;
  /** Other processes named in the message: pid and bytes. */
  readonly processes: readonly { readonly pid: number; readonly printed: PrintedBytes }[];
}
