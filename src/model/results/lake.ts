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
