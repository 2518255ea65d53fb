/**
 * What `mbforensics export` writes: the plain object that the encoders of `src/report/export` read, and the document
 * about a written file.
 */

/** Formats of `export --as`. The first four show a live set, `snapshot-json` a whole snapshot, the others rows. */
export const EXPORT_FORMATS = ['svg', 'folded', 'speedscope', 'pprof', 'snapshot-json', 'parquet', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface LiveFrame {
  readonly name: string;
  /** As recorded; empty where there is none. */
  readonly filename: string;
  /** 0 = unknown. */
  readonly line: number;
  /** Function and place on one line, as the other verbs print it. */
  readonly text: string;
}

/** `inactive` is a hole: a free block inside a segment. */
export type LiveState = 'active_allocated' | 'active_pending_free' | 'inactive';

/** Blocks that have everything but their addresses in common. */
export interface LiveSample {
  /** Row of {@link LiveStacks.stacks}. */
  readonly stack: number;
  readonly state: LiveState;
  /** Null where the file lacks it. */
  readonly stream: number | null;
  readonly pool: readonly [number, number] | null;
  readonly segmentType: 'small' | 'large';
  /** Address of the segment; null unless segments were asked for. */
  readonly segment: number | null;
  /** Actual bytes. */
  readonly bytes: number;
  readonly blocks: number;
}

export interface LiveDevice {
  readonly device: number;
  /** The requested moment; `dump` where the device lacks a trace. */
  readonly moment: string;
  /** Entry after which the state holds; null = before the first, or no trace. */
  readonly seq: number | null;
  /** Microseconds since 1970; null where the trace lacks times. */
  readonly timeUs: number | null;
  /** `approximate`: the trace contradicts itself, so sizes are best estimates. */
  readonly basis: 'actual' | 'approximate';
  /** Actual bytes of allocated and pending blocks: the sum over all samples that are not inactive. */
  readonly activeBytes: number;
  readonly reservedBytes: number;
  /** In descending order of bytes. */
  readonly samples: readonly LiveSample[];
}

/** The live set of one snapshot at one moment. */
export interface LiveStacks {
  readonly path: string;
  readonly handle: string;
  readonly rank: number | null;
  readonly frames: readonly LiveFrame[];
  /** Rows of `frames`, root first, leaf last; none is empty: memory without a stack has one frame that states so. */
  readonly stacks: readonly (readonly number[])[];
  readonly devices: readonly LiveDevice[];
  /** Devices of the snapshot without the requested moment, which are left out. */
  readonly missing: readonly number[];
}

export interface ExportedTable {
  readonly table: string;
  readonly file: string;
  readonly bytes: number;
  readonly rows: number;
}

/** A finished export's description of its file. Fields that a format lacks are null. */
export interface ExportResult {
  readonly schema: 'mbforensics/export@1';
  readonly format: ExportFormat;
  /** The file, or the directory of `--table all`. */
  readonly file: string;
  readonly bytes: number;
  /** Rows of a table or query; trace entries of a snapshot. */
  readonly rows: number | null;
  /** Lines of folded stacks, samples of a profile. */
  readonly stacks: number | null;
  /** What the weights add up to. */
  readonly sum_bytes: number | null;
  readonly handle: string | null;
  readonly moment: string | null;
  readonly devices: readonly {
    readonly device: number;
    readonly seq: number | null;
    readonly active_bytes: number;
    readonly reserved_bytes: number;
    readonly basis: LiveDevice['basis'];
  }[];
  /** One entry a file of `--table all`. */
  readonly tables: readonly ExportedTable[];
}
