/**
 * The contract between parsers and ingest. A parser recognises one format and turns a byte stream into rows; it opens
 * no file.
 */
import type { ColumnBatch } from './columns.js';
import type { AttemptRow, ClockName, KeptFinding, LogPlace } from './log-rows.js';
import type { NsysFact, NsysKind } from './nsys-rows.js';
import type { PackedTexts } from './packed-texts.js';
import type { SourceColumn, TableSource } from './table-source.js';
import type { EventExtraRow, IncidentRow, Note, TraceOomRow } from './tables.js';
import type { Format } from './vocabulary.js';

/** What detection may look at: the first bytes (decompressed if the file is gzip), the name, the size on disk. */
export interface Head {
  /** Up to 64 KiB from the start of the decompressed stream. */
  readonly bytes: Uint8Array;
  /** Base name without `.gz`. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** A parser's claim on a file: 0 (not mine) to 1 (certain), and the sentence `ingest --explain` prints. */
export interface Sniff {
  readonly score: number;
  readonly why: string;
}

/**
 * A pull-based byte stream. `read` fills `target` from `start` and returns the count, 0 at the end; it throws an
 * {@link MbfError} on I/O errors, inflation caps, or a file that changed underneath.
 */
export interface ByteSource {
  /** Length of the stream in bytes where known (uncompressed files), else undefined. */
  readonly sizeBytes: number | undefined;
  read(target: Uint8Array, start: number): Promise<number>;
  /**
   * The whole stream by position, independent of earlier reads, for formats with pages; absent without a file. A
   * compressed file is first unpacked into a temporary one. Valid as long as the source.
   */
  randomAccess?(): Promise<RandomAccess>;
}

/**
 * Bytes by position. Synchronous: a page is a few kilobytes, and a turn of the event loop costs more than reading it.
 */
export interface RandomAccess {
  readonly sizeBytes: number;
  /**
   * Fills `target` from `position` on, and returns how many bytes there were: fewer only at the end. Throws an {@link
   * MbfError} on I/O errors and if the file changed underneath.
   */
  readAt(target: Uint8Array, position: number): number;
  /**
   * Bytes of the file whose name is this file's with `suffix` after it, such as a write-ahead log; undefined if there
   * is none.
   */
  siblingBytes(suffix: string): number | undefined;
}

/**
 * Strings, frames and stacks of one file, interned by content while decoding; ids are dense from 0 and local to the
 * file. Frames of a stack are innermost first. Stack 0 is the empty stack (recorded, but no frames).
 */
export interface Dictionary {
  readonly textCount: number;
  text(id: number): string;
  readonly frameCount: number;
  frame(id: number): { readonly name: number; readonly filename: number; readonly line: number };
  readonly stackCount: number;
  /** Frame ids, innermost first; valid until the next call. */
  stackFrames(id: number): Int32Array;
  readonly poolCount: number;
  /** The two numbers of a pool id; (0, 0) is the default pool. */
  pool(id: number): readonly [number, number];
}

/** What is only known once a whole snapshot was read. */
export interface SnapshotSummary {
  /** Pickle protocol; null for JSON, which has none. */
  readonly protocol: number | null;
  /**
   * `dict`: segments and traces. `list`: bare segment list (torch 1.x, and `torch.cuda.memory_snapshot()` of every
   * version).
   */
  readonly form: 'dict' | 'list';
  /** Detected features, e.g. `block.history`, `event.time_us`; the list of `reference` observations in FORMAT.md. */
  readonly features: readonly string[];
  /** Allocator settings flattened to text; nested dicts as `key.subkey`. */
  readonly settings: ReadonlyMap<string, string>;
  /** Number of entries per device ordinal; lists of idle devices are 0. Empty if the file lacks traces. */
  readonly traceLengths: readonly number[];
  /** Decoder statistics worth keeping: entries taken by the fast path, and so on. */
  readonly statistics: Readonly<Record<string, number>>;
}

/**
 * Memory of the module that decodes a snapshot (`src/wasm`), in which the consumer of its rows may have tables too. It
 * may grow in any call to the module or to a {@link SnapshotSink}: arrays over the `buffer` of before are then empty.
 */
export interface SharedMemory {
  readonly buffer: ArrayBuffer;
}

/**
 * Receives one memory snapshot. Batches are read before the call returns and may be reused by the caller. Those of
 * `events` are in the {@link SharedMemory}.
 */
export interface SnapshotSink {
  events(batch: ColumnBatch): void;
  segments(batch: ColumnBatch): void;
  blocks(batch: ColumnBatch): void;
  annotations(batch: ColumnBatch): void;
  hostEvents(batch: ColumnBatch): void;
  hostSegments(batch: ColumnBatch): void;
  oom(row: TraceOomRow): void;
  eventExtra(row: EventExtraRow): void;
  end(summary: SnapshotSummary): void;
}

/**
 * Rows of one table of a file, by column, in the order of the columns that were announced. Read before the call
 * returns.
 */
export interface RawRows {
  readonly table: string;
  readonly columns: readonly RawColumn[];
  readonly rows: number;
}
/** Numbers have eight bytes each: an integer in two's complement, or a double. A text that is undefined is NULL. */
export type RawColumn =
  | {
      readonly type: 'integer' | 'real';
      readonly bits: BigInt64Array | Float64Array;
      /** 1 for NULL. */
      readonly isNull: Uint8Array;
    }
  | { readonly type: 'text'; readonly texts: readonly (string | undefined)[] };

/** Receives one Nsight Systems export. */
export interface NsysSink {
  /** `source_id` is left to the writer. The batch is read before the call returns. */
  rows(kind: NsysKind, batch: ColumnBatch): void;
  texts(texts: PackedTexts): void;
  fact(fact: NsysFact): void;
  /**
   * Announces the rows of a table as it is in the export; only where all tables are requested. The caller must await
   * it.
   */
  rawTable(table: string, columns: readonly SourceColumn[]): Promise<void>;
  raw(rows: RawRows): void;
}

export interface RowSink {
  note(note: Note): void;
  incident(row: IncidentRow): void;
  /** A figure, setting, phase or iteration of a text. */
  logRow(finding: KeptFinding, place: LogPlace): void;
  /**
   * Rows of {@link PROFILER_MEMORY_LAYOUT}, `source_id` left to the writer. The batch is read before the call returns.
   */
  profilerMemory(batch: ColumnBatch): void;
  /** Absent where no export can come. */
  readonly nsys?: NsysSink | undefined;
  /** A second or later launch in this file. The first is implicit. */
  attempt(row: AttemptRow): void;
  /**
   * Begins a snapshot whose ids refer to `dictionary`, which grows while the file is read. What the consumer takes of
   * `memory` it gives back in `end`.
   */
  snapshot(dictionary: Dictionary, memory: SharedMemory): Promise<SnapshotSink>;
}

export interface ParseContext {
  /** Base name, for rules that read ranks from names. */
  readonly name: string;
  /** Called now and then with the bytes read so far; synchronous and cheap. */
  readonly progress?: ((bytes: number) => void) | undefined;
  /** Keep every table of an export, not only what the questions need. */
  readonly allTables?: boolean | undefined;
  /** Log formats of the user, as `parseFormats` gives them. */
  readonly formats?: string | undefined;
}

/** What a parser learned about the file as a whole. */
export interface ParseSummary {
  readonly rank: number | null;
  readonly rankOrigin: string | null;
  /** What the times of its rows are; `printed` where absent. */
  readonly clock?: ClockName | undefined;
}

export interface ParserSpec {
  readonly id: Format;
  readonly title: string;
  /** Its files are read into a tree of values, which may take far more memory than their bytes. */
  readonly buildsTree?: boolean;
  /** Never throws and never reads on. */
  sniff(head: Head): Sniff;
  /** Throws an {@link MbfError} without `file` on bad input. */
  parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary>;
  /** Reads a format that is also written as a folder of tables; see `TableFolder`. */
  parseTables?(tables: TableSource, sink: RowSink, context: ParseContext): Promise<ParseSummary>;
}
