/**
 * What verbs return. Each is a plain object that `--json` prints as it is and `src/report` renders as text, so the two cannot disagree.
 * Field names are the JSON's: outside scripts rely on them.
 */
import type { FirstFailureResult } from './log-results.js';
import type {
  BridgeFigures,
  GroupKey,
  KeyGroup,
  LifetimeBasis,
  MemoryVizFigures,
  MosaicFigures,
} from './peak-results.js';
import type { Cause, CauseDetail, Confidence, SourceStatus } from './vocabulary.js';

/** Something that went wrong with one input or question; `text` includes the place. */
export interface Failure {
  readonly code: string;
  readonly text: string;
  readonly remedy: string;
  readonly offset: number | null;
}

export interface NoteResult {
  readonly kind: string;
  readonly severity: string;
  readonly text: string;
  readonly count: number;
  readonly device: number | null;
  readonly seq: number | null;
  readonly offset: number | null;
  readonly line: number | null;
}

export interface IngestSource {
  readonly run: string;
  readonly path: string;
  readonly format: string | null;
  readonly status: SourceStatus;
  readonly rank: number | null;
  readonly notes: readonly NoteResult[];
  readonly error: Failure | null;
  /** `--explain`: every parser's claim. */
  readonly detection?: readonly { readonly parser: string; readonly score: number; readonly why: string }[];
}

export interface IngestResult {
  readonly schema: 'mbforensics/ingest@1';
  readonly db: string;
  readonly runs: readonly {
    readonly name: string;
    readonly label: string | null;
    readonly commit: string | null;
    readonly path: string;
  }[];
  readonly sources: readonly IngestSource[];
}

/** An `oom` entry. */
export interface OomEntry {
  readonly seq: number;
  readonly requested_bytes: number;
  readonly device_free_bytes: number | null;
}

/** One device of one snapshot. Trace fields are null where the device has no trace. */
export interface SnapshotDevice {
  readonly device: number;
  readonly segments: number;
  readonly blocks: number;
  readonly reserved_bytes: number;
  readonly allocated_bytes: number;
  readonly active_bytes: number;
  readonly inactive_bytes: number;
  readonly largest_inactive_block_bytes: number | null;
  readonly events: number | null;
  readonly actions: Readonly<Record<string, number>> | null;
  readonly unmatched_free_bytes: number | null;
  /** For parity with other tools: mixes actual and requested sizes, never used in accounting. */
  readonly start_anchored_bytes: number | null;
  readonly peak_anchored_bytes: number | null;
  /** Largest Σ of actual block sizes, active and pending, from walking the trace back; null when the walk does not hold. */
  readonly peak_active_bytes: number | null;
  /** Entry after which the peak holds; null if it is the state before the first entry. */
  readonly peak_seq: number | null;
  readonly start_reserved_bytes: number | null;
  readonly peak_reserved_bytes: number | null;
  readonly ooms: readonly OomEntry[] | null;
  /** `cold`: empty at the start. `late`: recording began with live memory. `overwritten`: the ring lost its oldest entries. */
  readonly start: 'cold' | 'late' | 'overwritten' | null;
  readonly pools: readonly {
    readonly pool: readonly [number, number];
    readonly segment_type: string;
    readonly stream: number | null;
    readonly expandable: boolean | null;
    readonly segments: number;
    readonly reserved_bytes: number;
    readonly active_bytes: number;
  }[];
  /** Violations of the walk from the final state back to the first entry. */
  readonly walk_violations: number | null;
  readonly uncertain_blocks: number | null;
}

export interface SnapshotInfo {
  readonly path: string;
  readonly handle: string;
  readonly run: string;
  readonly rank: number | null;
  /** Of the pickle; null for JSON. */
  readonly protocol: number | null;
  readonly form: string;
  readonly features: readonly string[];
  /** The earliest torch that writes all of these features. */
  readonly torch_at_least: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly invariants_hold: boolean;
  readonly notes: readonly NoteResult[];
  readonly devices: readonly SnapshotDevice[];
}

export interface SnapshotResult {
  readonly schema: 'mbforensics/snapshot@1';
  readonly snapshots: readonly SnapshotInfo[];
}

export interface PeakGroup {
  readonly bytes: number;
  readonly count: number;
}

export interface PeakDevice {
  readonly device: number;
  /** Entry after which the peak holds; null: before the first entry, or no trace (then it is the dumped state). */
  readonly seq: number | null;
  /** `dump` where the device has no trace, else the moment asked for: `peak`, `oom`, `seq:N`, … */
  readonly moment: string;
  readonly active_bytes: number;
  readonly reserved_bytes: number;
  /** `actual`: block sizes. `approximate`: the trace contradicts the walk back, so some blocks may be wrong. */
  readonly basis: 'actual' | 'approximate';
  readonly blocks: number;
  readonly sites: readonly (PeakGroup & { readonly site: string })[];
  readonly stacks: readonly (PeakGroup & {
    readonly stack_id: number | null;
    readonly frames: readonly string[];
    readonly origin: string;
  })[];
  /** What `--limit` left out. */
  readonly other_sites: PeakGroup & { readonly groups: number };
  readonly other_stacks: PeakGroup & { readonly groups: number };
  /** The live set by `by` (default: site); together with `other_groups` they add up to `active_bytes`. */
  readonly by: GroupKey;
  /** Frames that make a key of `site` and `module`. */
  readonly depth: number;
  readonly groups: readonly KeyGroup[];
  readonly other_groups: PeakGroup & {
    readonly groups: number;
    readonly resident_bytes: number | null;
    readonly transient_bytes: number | null;
    readonly unknown_bytes: number | null;
  };
  readonly lifetime: LifetimeBasis;
}

export interface PeakResult {
  readonly schema: 'mbforensics/peak@1';
  readonly snapshots: readonly {
    readonly path: string;
    readonly handle: string;
    readonly rank: number | null;
    readonly devices: readonly PeakDevice[];
    /** Devices whose trace has no such moment. */
    readonly devices_without_moment?: readonly number[];
    /** Of `--grouping`. */
    readonly bridge?: BridgeFigures;
    readonly mosaic?: MosaicFigures;
    readonly memory_viz?: readonly MemoryVizFigures[];
  }[];
}

export interface Evidence {
  /** `E1`, unique within the answer. */
  readonly id: string;
  readonly text: string;
  /** File and line, or file and entry. */
  readonly source: string;
}

export interface RuledOut {
  readonly cause: Cause;
  readonly why: string;
}

export interface AccountingPart {
  readonly part: string;
  readonly bytes: number;
}

/** The answer of one cause's test, with the figures it was decided by. */
export interface CauseTestResult {
  readonly cause: Cause;
  readonly outcome: 'holds' | 'fails' | 'not_testable';
  /** Why; of a test that could not run, what it needs. */
  readonly text: string;
  /** Names end in their unit (`_bytes`, `_steps`, …). */
  readonly numbers: Readonly<Record<string, number>>;
  /** Id of the capture that would let it run; null where it ran. */
  readonly capture: string | null;
}

/** Lines to paste, by framework. */
export interface CaptureLines {
  readonly megatron_bridge: readonly string[];
  readonly nemo: readonly string[];
  readonly megatron_lm: readonly string[];
  readonly pytorch: readonly string[];
}

/** What to record next time, and which causes that would settle. */
export interface VerdictCapture {
  readonly id: string;
  readonly settles: readonly Cause[];
  readonly title: string;
  readonly lines: CaptureLines;
}

export interface Verdict {
  readonly rank: number | null;
  readonly device: number | null;
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  /** One line: what happened. */
  readonly summary: string;
  readonly evidence: readonly Evidence[];
  readonly ruled_out: readonly RuledOut[];
  /** What could not be tested, and the capture that would settle it. */
  readonly missing: readonly string[];
  /** Every test, in the order they are tried; none for lines that carry no figures. */
  readonly tests: readonly CauseTestResult[];
  /** One capture for each test that could not run. */
  readonly captures: readonly VerdictCapture[];
  /** The rules that made one verdict of the tests' answers, and what lowered the confidence. */
  readonly combination: readonly string[];
  /** What the parts add up to, in words: `device total`, `reserved + device free (device total not in the evidence)`. */
  readonly accounting_total: { readonly text: string; readonly bytes: number } | null;
  readonly accounting: readonly AccountingPart[];
  /** What to do next, cheapest first. */
  readonly next: readonly string[];
  /** What ran out, where known. */
  readonly request: { readonly bytes: number; readonly site: string | null } | null;
}

export interface DiagnoseResult {
  readonly schema: 'mbforensics/diagnose@1';
  readonly run: string;
  /** The surest first, then the device that failed first, the others by rank. */
  readonly verdicts: readonly Verdict[];
  /** Null where no text tells of a failure. */
  readonly first_failure: FirstFailureResult | null;
  /** Inputs that failed: the answer may lack them. */
  readonly failed_sources: readonly { readonly path: string; readonly error: Failure }[];
}

export interface RunsResult {
  readonly schema: 'mbforensics/runs@1';
  readonly db: string;
  readonly runs: readonly {
    readonly name: string;
    readonly label: string | null;
    readonly commit: string | null;
    readonly path: string;
    readonly created_at: string;
    readonly sources: number;
    readonly failed: number;
    readonly snapshots: number;
    readonly incidents: number;
  }[];
}

export interface SourcesResult {
  readonly schema: 'mbforensics/sources@1';
  readonly db: string;
  readonly sources: readonly {
    readonly run: string;
    readonly path: string;
    readonly format: string | null;
    readonly status: string;
    readonly file_bytes: number;
    readonly rank: number | null;
    readonly rank_origin: string | null;
    readonly sha256: string | null;
    readonly notes: number;
    readonly error: Failure | null;
  }[];
}

export interface SqlResult {
  readonly schema: 'mbforensics/sql@1';
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
}
