/** What `bisect report` returns. */
import type { CompareCheck, CompareResult, Judgement, Suspect } from './compare.js';

/**
 * `found`: one commit is to blame. `suspects`: skipped commits keep several in question. `unfinished`: commits are left
 * to be judged.
 */
export type BisectState = 'found' | 'suspects' | 'unfinished';

export interface BisectStep {
  readonly sha: string;
  readonly subject: string;
  readonly judgement: Judgement;
  /** Runs that the judgement rests on. */
  readonly runs: number;
  readonly reason: string;
  /** Path of what was kept of them; empty: nothing. */
  readonly bundle: string;
  /** Position in the order of the history: the earliest judged commit has the least. Null of a commit git lacks. */
  readonly place: number | null;
  /** The figure that was judged; null where the ending was, or where there is none. */
  readonly figure: { readonly name: string; readonly value: number; readonly unit: string } | null;
}

/** A commit and its representative run. */
export interface BisectSide {
  readonly sha: string;
  readonly run: string;
}

/** A setting that took another value within the range, and bears on what is judged. */
export interface BisectSetting {
  readonly key: string;
  readonly from: string | null;
  readonly to: string | null;
  /** The commit that changed it; null where several between `after` and `before` may have. */
  readonly commit: { readonly sha: string; readonly subject: string } | null;
  /** The last launched commit with the value before, and the first one with the value behind. */
  readonly after: string;
  readonly before: string;
  /** Which way it moves what is judged: `up` is for the worse. */
  readonly way: 'up' | 'down' | 'unknown';
  /** Runs with the new value are not comparable with the golden run. */
  readonly is_contract: boolean;
}

export interface BisectReportResult extends Pick<CompareResult, 'components' | 'sites' | 'config' | 'env' | 'notes'> {
  readonly schema: 'mbforensics/bisect-report@1';
  /** As `triage --on` spells it. */
  readonly criterion: string;
  readonly golden: string;
  readonly state: BisectState;
  /** `judged_runs`: runs of the culprit itself. */
  readonly culprit: { readonly sha: string; readonly subject: string; readonly judged_runs: number } | null;
  /** Commits of which one is to blame, oldest first; empty once it is found. */
  readonly suspects_left: readonly {
    readonly sha: string;
    readonly subject: string;
    readonly why_skipped: string | null;
  }[];
  /** In the order in which they were judged. */
  readonly steps: readonly BisectStep[];
  /** The last good commit. */
  readonly before: BisectSide | null;
  /** The first bad one. */
  readonly after: BisectSide | null;
  /** Active bytes at the peak, after − before; null where a side lacks a snapshot. */
  readonly total_delta_bytes: number | null;
  /** `golden` is the run before, `current` the one after. */
  readonly checks: readonly CompareCheck[];
  /** Settings that changed inside the range, the oldest change first. */
  readonly settings: readonly BisectSetting[];
  /** Hunks of the culprit, or of all commits left. */
  readonly suspects: readonly Suspect[];
  readonly confidence: 'high' | 'medium' | 'low';
  readonly confidence_reason: string;
}
