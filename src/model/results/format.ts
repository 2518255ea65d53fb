/** Results of `formats` and `formats explain`. */

export interface FormatInfo {
  readonly id: string;
  /** `line`, `block`: figures and settings. `message`: a wording of a failure. */
  readonly form: 'line' | 'block' | 'message';
  readonly producer: string;
  readonly title: string;
  readonly versions: string;
  readonly source: string;
  readonly anchors: readonly string[];
  /** What is read, with units. */
  readonly fields: Readonly<Record<string, string>>;
  /** One line as it is printed, or the first lines of a block. */
  readonly sample: string;
}

/** Names of scalars (TensorBoard, W&B, exports) of one producer. */
export interface ScalarInfo {
  readonly producer: string;
  readonly versions: string;
  readonly source: string;
  readonly names: readonly {
    /** As written, or a regular expression. */
    readonly name: string;
    readonly is_pattern: boolean;
    /** `iteration: stepMs`, `memory: max_allocated, bytes`, … */
    readonly becomes: string;
  }[];
}

export interface FormatsResult {
  readonly schema: 'mbforensics/formats@1';
  /** Kinds of files that `ingest` reads. */
  readonly files: readonly { readonly id: string; readonly title: string }[];
  readonly scalars: readonly ScalarInfo[];
  /** Lines and blocks of text logs, and the wordings of failures. */
  readonly formats: readonly FormatInfo[];
}

/** Lines that differ in their numbers only. */
export interface UnmatchedGroup {
  /** The topic of a number in it: `memory`, `iteration`, `throughput`, `time`, `parameters`, `failure`. */
  readonly topic: string;
  /** The line with its numbers as `N`. */
  readonly shape: string;
  readonly count: number;
  readonly line: number;
  readonly text: string;
}

export interface FormatsExplainResult {
  readonly schema: 'mbforensics/formats-explain@1';
  readonly file: string;
  readonly lines: number;
  readonly matched_lines: number;
  readonly formats: readonly {
    readonly id: string;
    readonly title: string;
    /** Records of a line format, lines of a block. */
    readonly count: number;
    readonly rows: number;
    readonly first_line: number;
  }[];
  readonly messages: readonly { readonly id: string; readonly count: number; readonly first_line: number }[];
  /** Lines with a relevant figure that no format read; the most frequent first. */
  readonly unmatched: readonly UnmatchedGroup[];
  /** Further shapes of such lines than are listed. */
  readonly unmatched_others: { readonly shapes: number; readonly lines: number };
}
