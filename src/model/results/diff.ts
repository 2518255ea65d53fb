/** What `diff` returns. */
import type { DiffComponent, DiffSite } from '../diff-parts.js';
import type { CommitInfo, SubmoduleChange } from '../git.js';
import type { Text, Unworded, Worded } from '../statement.js';
import type { AtResult, DeviceAt } from './at.js';
import type { ChangedValue, CompareCheck, FoundSuspect, Suspect } from './compare.js';
import type { NsysComparison } from './nsys.js';
import type { RowOf } from './row-of.js';

/** One side: a device of a snapshot at a moment of its trace. Sizes are actual. */
export interface DiffSide
  extends Pick<DeviceAt, 'path' | 'rank' | 'device' | 'seq' | 'basis' | 'pending_bytes' | 'reserved_bytes'>,
    Pick<AtResult, 'segments' | 'active_bytes' | 'allocated_bytes' | 'inactive_bytes' | 'blocks'> {
  /** As the user named it. */
  readonly operand: string;
  readonly handle: string;
  readonly run: string;
  /** As it was asked for: `peak`, `step:7`. */
  readonly moment: string;
  readonly has_trace: boolean;
  /** Active bytes without the stack of their allocation. */
  readonly no_stack_bytes: number;
  /** OOM entries in the trace of this device. */
  readonly ooms: number;
  /** The earliest torch that writes all that this snapshot has. */
  readonly torch_at_least: string | null;
}

export interface DiffPool extends RowOf<'diff.pool_changes'> {
  readonly segment_type: 'small' | 'large';
}

/** Totals of one pair of devices: of another device of the same snapshots, or of another rank. */
export interface DiffTotals
  extends Omit<RowOf<'diff.pool_changes'>, 'pool' | 'segment_type' | 'side_stream' | 'a_segments' | 'b_segments'> {
  readonly a: string;
  readonly b: string;
  readonly rank: number | null;
  readonly a_device: number;
  readonly b_device: number;
}

type Known<Row> = { readonly [Field in keyof Row]: Exclude<Row[Field], null> };

/** The differences between two memory snapshots. */
export interface SnapshotDiff {
  /** Handles. */
  readonly a: string;
  readonly b: string;
  readonly a_info: DiffSide;
  readonly b_info: DiffSide;
  /** Of active bytes; what `sites` and `remainder_bytes` add up to. */
  readonly total_delta_bytes: number;
  /** reserved = allocated + pending + inactive, each as b − a. */
  readonly reserved: {
    readonly delta_bytes: number;
    readonly allocated_delta_bytes: number;
    readonly pending_delta_bytes: number;
    readonly inactive_delta_bytes: number;
  };
  /**
   * In descending order of |delta|; those of equal bytes and counts are left to the remainder, whatever became of their
   * lines.
   */
  readonly sites: readonly DiffSite[];
  readonly remainder_bytes: number;
  /** Sites without a difference, and what `--limit` and `--min` left out. */
  readonly remainder: Known<
    Pick<
      RowOf<'diff.memory'>,
      'sites' | 'changed' | 'a_bytes' | 'b_bytes' | 'a_count' | 'b_count' | 'grown_bytes' | 'shrunk_bytes'
    >
  >;
  /** By component, in descending order of |delta|; they add up to `total_delta_bytes`. */
  readonly components: readonly DiffComponent[];
  readonly pools: readonly DiffPool[];
  /** Allocator settings that differ; null where a side does not record one. */
  readonly settings: readonly RowOf<'diff.settings'>[];
  readonly features: { readonly only_a: readonly string[]; readonly only_b: readonly string[] };
  /** Other devices of the same two snapshots. */
  readonly devices: readonly DiffTotals[];
  /** `--all-ranks`: every rank that both have. */
  readonly ranks: readonly DiffTotals[];
  /**
   * As Megatron Bridge's snapshot comparison counts: requested bytes, over the whole trace, from 0 at its first entry.
   * Null without a trace on both sides.
   */
  readonly bridge_compare: {
    readonly peak_a: number;
    readonly peak_b: number;
    readonly peak_diff: number;
    /** Live before the first entry: active bytes at the dump less what the trace added in requested bytes. */
    readonly baseline_a: number;
    readonly baseline_b: number;
    readonly abs_peak_a: number;
    readonly abs_peak_b: number;
    readonly allocs_a: number;
    readonly allocs_b: number;
  } | null;
  /** What keeps the two from being alike, or the answer from being sure. */
  readonly notes: readonly Text[];
  /** `--max-growth`: whether b's active bytes exceed a's by more. */
  readonly gate: { readonly max_growth_bytes: number; readonly exceeded: boolean } | null;
}

/** For a run without a snapshot: the same fields, without those that were not recorded. */
export interface NoSnapshotDiff extends Omit<SnapshotDiff, 'a_info' | 'b_info' | 'total_delta_bytes' | 'reserved'> {
  readonly a_info: null;
  readonly b_info: null;
  readonly total_delta_bytes: null;
  readonly reserved: null;
}

/** The differences between the runs, and the repository of their commits. */
export interface RunDiff {
  readonly a_run: string;
  readonly b_run: string;
  /** Peaks of memory by stage, step time, throughput, loss: `golden` is a, `current` is b. Empty within one run. */
  readonly checks: readonly CompareCheck[];
  /** Settings, variables (and the allocator's), versions of libraries that differ. */
  readonly config: readonly ChangedValue[];
  readonly env: readonly ChangedValue[];
  readonly versions: readonly ChangedValue[];
  /** Steps less steps of Nsight Systems exports; null unless both have one. */
  readonly nsys: Unworded<NsysComparison, 'warnings'> | null;
  /** Null without a repository. */
  readonly commits: {
    readonly a: string;
    readonly b: string;
    /** Commits in between that touch a file of a suspect, newest first; and how many there are in all. */
    readonly touching: readonly Pick<CommitInfo, 'sha' | 'subject'>[];
    readonly in_between: number;
    readonly changed_files: number;
    readonly submodules: readonly SubmoduleChange[];
  } | null;
  readonly suspects: readonly FoundSuspect[];
}

export type DiffResult = { readonly schema: 'mbforensics/diff@1' } & (Worded<SnapshotDiff> | Worded<NoSnapshotDiff>) &
  Omit<RunDiff, 'suspects' | 'nsys'> & {
    readonly suspects: readonly Suspect[];
    readonly nsys: NsysComparison | null;
  };
