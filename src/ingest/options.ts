/** What an ingest is asked for. */
import type { ParserSpec } from '../model/parser.js';
import type { IngestSource } from '../model/results/common.js';
import type { Store } from '../store/store.js';

/** A store that is opened while the first file is already being decoded. */
export interface StoreToOpen {
  readonly file: string;
  /** The store does not exist yet, so that all files are unknown. */
  readonly isNew: boolean;
  /** Called once. Closing the store is the caller's. */
  open(): Promise<Store>;
}

export interface IngestOptions {
  readonly store: Store | StoreToOpen;
  /** Default: all. */
  readonly parsers?: readonly ParserSpec[] | undefined;
  readonly paths: readonly string[];
  readonly run?: string | undefined;
  readonly label?: string | undefined;
  readonly commit?: string | undefined;
  readonly each?: boolean | undefined;
  /** Fail where directories are of unlike runs; default: each of them becomes a run. */
  readonly oneRun?: boolean | undefined;
  /** Keep every table of an Nsight Systems export. */
  readonly allTables?: boolean | undefined;
  /** See `ParseContext`. */
  readonly formats?: string | undefined;
  /** Whether links out of a directory are followed. */
  readonly followLinks?: boolean | undefined;
  /** Files of other ranks, by their names or folders, are left out; null: of no single rank. */
  readonly ofRanks?: ((rank: number | null) => boolean) | undefined;
  /** Add every parser's claim to the result. */
  readonly explain?: boolean | undefined;
  /** Nothing is concluded from the rows: for tests of reading. */
  readonly rowsOnly?: boolean | undefined;
  /** Whether the log is left for the closing of the store to write into the file: it is asked first. */
  readonly keepsLog?: boolean;
  /** That decode bulky files. Default: one for each core but one. */
  readonly decoders?: number | undefined;
  /** Time of this ingest; the caller's clock, so that tests can hold it. */
  readonly now: Date;
  readonly progress?: IngestProgress | undefined;
}

/** Files are named by their display path; sizes are bytes on disk. */
export interface IngestProgress {
  /** More files, of so many bytes, will be read. */
  files(count: number, bytes: number): void;
  read(file: string, bytesRead: number, bytesTotal: number): void;
  done(file: string, bytes: number, status: IngestSource['status']): void;
  /** All files are read; conclusions follow. */
  derive(): void;
}
