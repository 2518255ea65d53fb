/**
 * What verbs return. Each is a plain object that `--json` prints as it is and `src/report` renders as text, so the two
 * cannot disagree. Field names are the JSON's: outside scripts rely on them.
 */

import type { FirstFailureResult } from '../first-failure.js';
import type { LaunchEnd } from '../launch-end.js';
import type { CaughtOoms, LaunchOoms, RunState } from '../run-state.js';
import type { Unworded } from '../statement.js';
import type {
  AccountingFrom,
  CaptureId,
  CauseTest,
  Evidence,
  EvidenceQuery,
  PeakAccount,
  TotalKind,
  Verdict,
} from '../verdict.js';
import type { Cause, SourceStatus } from '../vocabulary.js';
import type { AdviceAction, AdviceFix, AdviceText, PasteForm } from './advise.js';
import type { DeviceAt } from './at.js';
import type { AskedLakeRun } from './lake.js';
import type {
  BridgeFigures,
  GroupKey,
  KeyGroup,
  LifetimeBasis,
  LifetimeBytes,
  MemoryVizFigures,
  MosaicFigures,
  PeakGroup,
} from './peak.js';
import type { RowOf } from './row-of.js';

export type { PeakGroup };

/** Something that went wrong with one input or question; `text` includes the place. */
export interface Failure {
  /** As of `docs/errors.md`. */
  readonly code: string;
  readonly text: string;
  readonly remedy: string;
  /** Byte of the decompressed file. */
  readonly offset: number | null;
}

export interface NoteResult extends Omit<RowOf<'store.notes'>, 'source_id' | 'byte_offset'> {
  readonly offset: number | null;
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

export interface RunName {
  readonly name: string;
  readonly label: string | null;
  readonly commit: string | null;
  readonly path: string;
}

export interface IngestResult {
  readonly schema: 'mbforensics/ingest@1';
  readonly db: string;
  readonly runs: readonly RunName[];
  readonly sources: readonly IngestSource[];
  /** Why directories that were named together are runs of their own; null: they are not. */
  readonly separated: string | null;
}

/** An `oom` entry. */
export type OomEntry = Pick<RowOf<'snapshot.ooms'>, 'seq' | 'requested_bytes' | 'device_free_bytes'>;

/** One device of one snapshot. Trace fields are null where the device lacks a trace. */
export interface SnapshotDevice
  extends Omit<RowOf<'snapshot.devices'>, 'requested_delta_peak_seq' | 'first_action' | 'invariants_hold'> {
  readonly actions: Readonly<Record<string, number>> | null;
  /**
   * Largest Σ of actual block sizes, active and pending, from walking the trace back; null when the walk does not hold.
   */
  readonly peak_active_bytes: number | null;
  /** Entry after which the peak holds; null if it is the state before the first entry. */
  readonly peak_seq: number | null;
  readonly ooms: readonly OomEntry[] | null;
  /**
   * `cold`: empty at the start. `late`: recording began with live memory. `overwritten`: the ring lost its oldest
   * entries.
   */
  readonly start: 'cold' | 'late' | 'overwritten' | null;
  readonly pools: readonly (Omit<RowOf<'snapshot.pools'>, 'device' | 'pool_id_a' | 'pool_id_b' | 'is_expandable'> & {
    readonly pool: readonly [number, number];
    readonly expandable: boolean | null;
  })[];
  /** Violations of the walk from the final state back to the first entry. */
  readonly walk_violations: number | null;
  readonly uncertain_blocks: number | null;
}

/** Pinned memory of the host (torch 2.14, on request): what torch's host allocator holds, and what is in use of it. */
export interface PinnedHostMemory
  extends Pick<RowOf<'snapshot.pinned_host_memory'>, 'rank' | 'blocks' | 'total_bytes' | 'active_bytes' | 'site'>,
    Pick<RowOf<'snapshot.pinned_host_memory'>, 'site_bytes'> {}

export interface SnapshotInfo extends Pick<RowOf<'snapshot.list'>, 'handle' | 'run' | 'rank' | 'protocol' | 'form'> {
  readonly path: string;
  readonly features: readonly string[];
  /** The earliest torch that writes all of these features. */
  readonly torch_at_least: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly invariants_hold: boolean;
  readonly notes: readonly NoteResult[];
  readonly devices: readonly SnapshotDevice[];
  /** Null where none is held, or none was recorded. */
  readonly pinned_host_memory: PinnedHostMemory | null;
}

export interface SnapshotResult {
  readonly schema: 'mbforensics/snapshot@1';
  readonly snapshots: readonly SnapshotInfo[];
}

export interface PeakDevice extends Pick<DeviceAt, 'device' | 'seq' | 'active_bytes' | 'reserved_bytes' | 'basis'> {
  /** Whether the trace has an OOM of this device. Such devices come first, then those with most live memory. */
  readonly ran_out: boolean;
  /** `dump` where the device lacks a trace, else the requested moment: `peak`, `oom`, `seq:N`, … */
  readonly moment: string;
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
  readonly other_groups: PeakGroup & LifetimeBytes & { readonly groups: number };
  readonly lifetime: LifetimeBasis;
}

export interface PeakResult {
  readonly schema: 'mbforensics/peak@1';
  readonly snapshots: readonly {
    readonly path: string;
    readonly handle: string;
    readonly rank: number | null;
    readonly devices: readonly PeakDevice[];
    /** Devices whose trace lacks the requested moment. */
    readonly devices_without_moment?: readonly number[];
    /** Of `--grouping`. */
    readonly bridge?: BridgeFigures;
    readonly mosaic?: MosaicFigures;
    readonly memory_viz?: readonly MemoryVizFigures[];
  }[];
}

/** Evidence with its sentence. */
export interface EvidenceResult extends Evidence {
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
  /** File and line, file and entry, or how it was subtracted. */
  readonly source: string;
  /**
   * Shares that add up to `bytes`, where they are known: requested and rounding of what is allocated, live and free of
   * private pools.
   */
  readonly of?: readonly AccountingPart[];
}

export interface AccountingTotal {
  readonly kind: TotalKind;
  /**
   * What the parts add up to, in words: `device total`, `reserved + device free (device total not in the evidence)`.
   */
  readonly text: string;
  readonly bytes: number;
  readonly source: string;
}

export interface PeakAccounting extends Omit<PeakAccount, 'total' | 'parts'> {
  readonly total: AccountingTotal;
  readonly parts: readonly AccountingPart[];
}

/**
 * PyTorch's own advice in the message, `expandable_segments:True` (before 2.2 `max_split_size_mb`), held against the
 * evidence.
 */
export interface HintResult {
  readonly verdict: 'applies' | 'already_on' | 'cannot_explain' | 'forbidden' | 'unknown';
  /** Why, with its numbers. */
  readonly text: string;
  readonly source: string;
}

/** The answer of one cause's test, with the figures it was decided by. */
export interface CauseTestResult extends Pick<CauseTest, 'cause' | 'outcome' | 'reason' | 'numbers' | 'capture'> {
  /** Why; of a test that could not run, what it needs. */
  readonly text: string;
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
  readonly id: CaptureId;
  readonly settles: readonly Cause[];
  readonly title: string;
  readonly lines: CaptureLines;
}

interface VerdictTexts {
  /** One line: what happened. */
  readonly summary: string;
  readonly evidence: readonly EvidenceResult[];
  readonly ruled_out: readonly RuledOut[];
  /** What could not be tested, and the capture that would settle it. */
  readonly missing: readonly string[];
  readonly tests: readonly CauseTestResult[];
  readonly captures: readonly VerdictCapture[];
  /** The rules that made one verdict of the tests' answers, and what lowered the confidence. */
  readonly combination: readonly string[];
  readonly accounting_total: AccountingTotal | null;
  readonly accounting: readonly AccountingPart[];
  readonly accounting_peak: PeakAccounting | null;
  readonly hint: HintResult | null;
  /** The sentences of `steps`. */
  readonly next: readonly string[];
}

/** A verdict with its sentences. */
export type VerdictResult = Omit<Verdict, keyof VerdictTexts | 'rules'> & VerdictTexts;

/** Least, median and most of a figure over ranks. */
export type RankSpread = Pick<RowOf<'verdict.rank_fragmentation'>, 'ranks' | 'least' | 'median' | 'most' | 'most_rank'>;

export interface StageSpread {
  /** Pipeline stage; null: the layout of the ranks is not known, so these are all ranks. */
  readonly pp: number | null;
  readonly ranks: readonly number[];
  /** Largest of each rank, from its trace or its memory lines, whichever saw more. */
  readonly peak_allocated_bytes: RankSpread | null;
  readonly peak_reserved_bytes: RankSpread | null;
}

/** Reserve that was not in use at one moment of a rank. */
export interface RankGap
  extends Pick<RowOf<'verdict.rank_fragmentation'>, 'reserved_bytes' | 'active_bytes' | 'gap_bytes'> {
  readonly rank: number;
  readonly moment: 'oom' | 'peak' | 'dump' | 'lines';
}

export interface RankFragmentation {
  /**
   * `snapshot`: states at the OOM or the peak. `log`: largest reserved − largest allocated of the memory lines, on
   * every rank.
   */
  readonly from: 'snapshot' | 'log';
  readonly failed: RankGap;
  readonly others: RankSpread;
  /**
   * True: at least twice what any other rank has, and at least 2 % of its reserve. False: half of the others have at
   * least half as much. Else null.
   */
  readonly only_failed: boolean | null;
}

/** Call sites whose live blocks keep partly free segments from the driver. */
export interface RankPinning {
  readonly ranks: readonly number[];
  readonly sites: readonly {
    readonly site: string;
    /** Ranks among whose five largest it is. */
    readonly ranks: number;
    /** Over these ranks: segments it sits in, and its live bytes there. */
    readonly segments: number;
    readonly bytes: number;
  }[];
}

export interface RanksResult {
  readonly world_size: number | null;
  readonly layout_origin: string | null;
  readonly stages: readonly StageSpread[];
  /** Null where fewer than two ranks have figures of one kind. */
  readonly fragmentation: RankFragmentation | null;
  /** Null without a snapshot of a known rank. */
  readonly pinning: RankPinning | null;
  /** Snapshots whose traces were not walked, since there were too many. */
  readonly snapshots_left_out: number;
}

/** What `diagnose` has of a fix. */
export type ShortFix = Pick<
  AdviceFix,
  | 'id'
  | 'title'
  | 'status'
  | 'saving_bytes'
  | 'saving_by'
  | 'cost_percent'
  | 'cost_by'
  | 'cost_on'
  | 'closes'
  | 'forbidden_by'
  | 'requires'
  | 'paste'
>;

/** The answer of `advise` in short: what to change, and what not. */
export interface DiagnoseAdvice {
  /** Ids of fixes that together are enough, the cheapest there are; null if none is known to be. */
  readonly plan: readonly string[] | null;
  /** As of `advise`. */
  readonly actions: readonly AdviceAction[];
  readonly fixes: readonly ShortFix[];
  /** Forms of the lines to paste: those of the run's framework, or of each where it is not known. */
  readonly paste_forms: readonly PasteForm[];
  /** Ids of measures that will not help. */
  readonly non_fixes: readonly string[];
}

/** What `diagnose` finds, before its verdicts are worded. */
export interface Diagnosis {
  readonly run: string;
  /** The surest first, then the device that failed first, the others by rank. */
  readonly verdicts: readonly Verdict[];
  /** Null where no text reports a failure. */
  readonly first_failure: FirstFailureResult | null;
  /** How each launch of the texts ended, in their order. */
  readonly launches: readonly LaunchEnd[];
  /** The launch that the verdicts from texts are about, from 1. */
  readonly judged_launch: number;
  /** Other launches, which ran out of memory. */
  readonly launch_ooms: readonly LaunchOoms[];
  /** Progress, memory and pace of that launch; null where no text has them. */
  readonly run_state: RunState | null;
  /** Out-of-memory errors after which the program went on; null where none is seen. */
  readonly caught_ooms: CaughtOoms | null;
  /** Failure messages of a log with very many of them that are counted and not kept. */
  readonly messages_dropped: number;
  /** Null where only one rank is known. */
  readonly ranks: RanksResult | null;
  /** Formats of the files that were read, in alphabetical order; empty if a file led to a verdict. */
  readonly read_formats: readonly string[];
  /** Inputs that failed: the answer may lack them. */
  readonly failed_sources: readonly { readonly path: string; readonly error: Failure }[];
  /** Null where it was not asked for. */
  readonly advice: Unworded<DiagnoseAdvice, AdviceText> | null;
  /** Of the snapshot that holds most; null where none holds any, or none was recorded. */
  readonly pinned_host_memory: PinnedHostMemory | null;
  /** Of a run of a lake: all of its ranks. The rest is about what the tasks of some blocks saw. */
  readonly lake?: AskedLakeRun;
}

export interface DiagnoseResult extends Omit<Diagnosis, 'verdicts' | 'advice'> {
  readonly schema: 'mbforensics/diagnose@1';
  readonly verdicts: readonly VerdictResult[];
  readonly advice: DiagnoseAdvice | null;
}

/** `diagnose --each` */
export interface DiagnoseEachResult {
  readonly schema: 'mbforensics/diagnose-each@1';
  readonly paths: readonly string[];
  /** One for each path, in their order. */
  readonly runs: readonly DiagnoseResult[];
}

/** Instead of a result, where the verb could not answer. */
export interface ErrorResult extends Failure {
  readonly schema: 'mbforensics/error@1';
  readonly file: string | null;
  readonly line: number | null;
  readonly exit_code: number;
}

/** The current lines of a text around a statement. */
export interface ShownLines {
  /**
   * `same`: size and checksum are those of the ingested file; of a large file, the checksum of a sample and the time of
   * change. `same_size`: a large file of which only that is certain. The others: the reason for missing lines.
   */
  readonly status: 'same' | 'same_size' | 'changed' | 'gone' | 'unreadable';
  readonly first_line: number;
  readonly lines: readonly string[];
}

/** One handle of a diagnosis, or (without a handle) all of them. */
export interface ShowResult {
  readonly schema: 'mbforensics/show@1';
  readonly run: string;
  /** Which verdict, from 1, and of how many. */
  readonly verdict: number;
  readonly verdicts: number;
  readonly rank: number | null;
  readonly device: number | null;
  readonly cause: Cause;
  /** The entry asked for; null for the list and for words. */
  readonly evidence: EvidenceResult | null;
  /** All entries of the verdict, where none was asked for. */
  readonly handles: readonly EvidenceResult[] | null;
  /** Where `accounting` was asked for. */
  readonly accounting: {
    readonly total: AccountingTotal | null;
    readonly parts: readonly AccountingPart[];
    readonly from: AccountingFrom | null;
    readonly peak: PeakAccounting | null;
  } | null;
  /**
   * Where `tests` was asked for: every cause's test, what they lacked, which rules made one verdict of them, and all
   * rules.
   */
  readonly tests: {
    readonly tests: readonly CauseTestResult[];
    readonly missing: readonly string[];
    readonly combination: readonly string[];
    readonly rules: readonly { readonly id: string; readonly text: string }[];
  } | null;
  /** Where `captures` was asked for. */
  readonly captures: readonly VerdictCapture[] | null;
  readonly query: {
    readonly name: string;
    readonly title: string;
    readonly sql: string;
    readonly params: EvidenceQuery['params'];
  } | null;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  /** Rows beyond `--limit`. */
  readonly rows_left_out: number;
  readonly text: ShownLines | null;
  /** Stack of the failing request, innermost first; null for other statements. */
  readonly frames: readonly string[] | null;
}

export interface RunsResult {
  readonly schema: 'mbforensics/runs@1';
  readonly db: string;
  readonly runs: readonly (RunName &
    Pick<RowOf<'store.runs'>, 'created_at' | 'sources' | 'failed' | 'snapshots' | 'incidents'>)[];
}

export interface SourcesResult {
  readonly schema: 'mbforensics/sources@1';
  readonly db: string;
  readonly sources: readonly (Omit<
    RowOf<'store.sources'>,
    'source_id' | 'display_path' | 'error_code' | 'error_text'
  > & { readonly path: string; readonly error: Failure | null })[];
}

/** `sql --list` */
export interface SqlLibraryResult {
  readonly schema: 'mbforensics/sql-library@1';
  readonly objects: readonly SqlLibraryObject[];
}

export interface SqlLibraryObject {
  readonly name: string;
  readonly kind: 'view' | 'macro' | 'table';
  readonly title: string;
  readonly why: string;
  readonly parameters: readonly { readonly name: string; readonly type: string; readonly text: string }[];
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly nullable: boolean;
    readonly text: string;
  }[];
}

export interface SqlResult {
  readonly schema: 'mbforensics/sql@1';
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
}
