/**
 * What `mbforensics export` writes: the plain object that the encoders of `src/report/export` read, and the document
 * about a written file.
 */
import type { TableRows } from '../columns.js';
import type { DeviceAt } from './at.js';
import type { ReplayDevice } from './replay.js';

/** Formats of `export --as`. The first four show a live set, `snapshot-json` a whole snapshot, the others rows. */
export const EXPORT_FORMATS = ['svg', 'folded', 'speedscope', 'pprof', 'snapshot-json', 'parquet', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The file is empty, and the line 0, where unknown. */
export interface LiveFrame extends Pick<TableRows['frame'], 'name' | 'filename' | 'line'> {
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

/** The moment is `dump` where the device lacks a trace. */
export interface LiveDevice extends Pick<DeviceAt, 'device' | 'moment' | 'seq' | 'basis'> {
  /** Microseconds since 1970; null where the trace lacks times. */
  readonly timeUs: number | null;
  /** Actual bytes of allocated and pending blocks: the sum over all samples that are not inactive. */
  readonly activeBytes: number;
  readonly reservedBytes: number;
  /** In descending order of bytes. */
  readonly samples: readonly LiveSample[];
}

/** The live set of one snapshot at one moment. */
export interface LiveStacks extends Pick<ReplayDevice, 'path' | 'handle' | 'rank'> {
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
  readonly devices: readonly Pick<DeviceAt, 'device' | 'seq' | 'active_bytes' | 'reserved_bytes' | 'basis'>[];
  /** One entry a file of `--table all`. */
  readonly tables: readonly ExportedTable[];
}
