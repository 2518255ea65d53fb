/** Results of `lake`. */

export interface LakeAddResult {
  readonly schema: 'mbforensics/lake-add@1';
  readonly lake: string;
  /** Name of the run in the lake. */
  readonly run: string;
  readonly block: number;
  readonly blocks: number;
  readonly is_local: boolean;
  /** Ranks of the block. */
  readonly ranks: number;
  readonly tables: readonly {
    readonly table: string;
    readonly level: 'answers' | 'state' | 'events';
    readonly rows: number;
    readonly bytes: number;
  }[];
}

/** A run of a lake, over all of its blocks. */
export interface LakeRun {
  /** Name in the lake. */
  readonly run: string;
  /** As the user calls it. */
  readonly name: string;
  readonly label: string | null;
  readonly commit_sha: string | null;
  /** µs since 1970; null where no file has a time. */
  readonly started_us: number | null;
  readonly blocks: number;
  /** Numbers of blocks that are not whole. */
  readonly missing: readonly number[];
  /** Ranks of the others. */
  readonly ranks: number;
  readonly peak_allocated_bytes: number | null;
  readonly peak_reserved_bytes: number | null;
  /** Most ranks first. */
  readonly causes: readonly { readonly cause: string; readonly detail: string | null; readonly ranks: number }[];
}

/** One that an answer is about. */
export interface AskedLakeRun extends LakeRun {
  /** The rank that was asked about; null: the failure that comes first. */
  readonly rank: number | null;
}

export interface LakeRuns {
  /** The one that began last first. */
  readonly runs: readonly LakeRun[];
  /** Runs that began before. */
  readonly more: number;
}

export interface LakeQuestion {
  /** As `lake ask` takes it; the path of a user's file. */
  readonly name: string;
  readonly title: string;
  readonly why: string;
  readonly parameters: readonly {
    readonly name: string;
    /** VARCHAR or BIGINT. */
    readonly type: string;
    readonly text: string;
    /** As a user would give it; NULL: it has to be given. */
    readonly initial: string | null;
  }[];
  readonly columns: readonly LakeQuestionColumn[];
}

export interface LakeQuestionColumn {
  /** With its unit at the end. */
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly text: string;
}

export interface LakeQuestionsResult {
  readonly schema: 'mbforensics/lake-questions@1';
  readonly questions: readonly LakeQuestion[];
}

export interface LakeAskResult {
  readonly schema: 'mbforensics/lake-ask@1';
  readonly lake: string;
  readonly question: string;
  readonly title: string;
  /** Those that were given. */
  readonly parameters: readonly { readonly name: string; readonly value: string }[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  /** Whether there are more rows. */
  readonly truncated: boolean;
}

export interface CheckedRun {
  readonly run: string;
  readonly blocks: number;
  /** Blocks that have their row of `run_summary`, which is written last. */
  readonly whole_blocks: number;
  /** Numbers of the other blocks. */
  readonly missing: readonly number[];
  readonly ranks: number;
  readonly started_us: number | null;
  readonly files: number;
  readonly bytes: number;
}

/**
 * `damaged`: the content is not that of the name. `double`: two files of one block and table. `mixed`: blocks of
 * different numbers of blocks. `not_whole`: blocks are missing. `not_finished`: left by a process that has ended.
 * `unknown`: no file of a lake.
 */
export interface LakeProblem {
  readonly kind: 'damaged' | 'double' | 'mixed' | 'not_whole' | 'not_finished' | 'unknown';
  readonly run: string | null;
  /** Relative to the lake. */
  readonly path: string;
}

export interface LakeCheckResult {
  readonly schema: 'mbforensics/lake-check@1';
  readonly lake: string;
  /** Of the layout and the tables. */
  readonly version: number;
  readonly runs: readonly CheckedRun[];
  readonly problems: readonly LakeProblem[];
}

export interface CompactedRun {
  readonly run: string;
  /** `changed`: another process wrote to the run meanwhile. */
  readonly outcome: 'compacted' | 'nothing to do' | 'not whole' | 'changed';
  readonly files_before: number;
  readonly files: number;
  readonly before_bytes: number;
  readonly bytes: number;
}

export interface LakeCompactResult {
  readonly schema: 'mbforensics/lake-compact@1';
  readonly lake: string;
  readonly runs: readonly CompactedRun[];
}

export interface ExpiredRun {
  readonly run: string;
  /** When it started, or when its newest file was written, µs since 1970. */
  readonly since_us: number;
  /** Of its failures. */
  readonly causes: readonly string[];
  readonly files: number;
  readonly bytes: number;
}

export interface LakeExpireResult {
  readonly schema: 'mbforensics/lake-expire@1';
  readonly lake: string;
  readonly level: 'state' | 'events';
  readonly is_removed: boolean;
  readonly runs: readonly ExpiredRun[];
}
