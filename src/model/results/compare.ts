/** What `compare` returns, and what `diff`, `triage` and `bisect report` share with it. */
import type { DiffComponent, DiffSite } from '../diff-parts.js';
import type { Disturbance, Ending, MeasuredStatus } from '../measurement.js';
import type { Text, Unworded } from '../statement.js';
import type { Cause, CauseDetail } from '../vocabulary.js';

export const PRESETS = ['default', 'bridge', 'mlm'] as const;
export type Preset = (typeof PRESETS)[number];

export type CompareVerdict = 'pass' | 'regression' | 'undecided';

/**
 * `regression` of a gate decides the verdict; of any other check it is a warning. `improvement` is not a failure by our
 * own criteria, but is one by presets where upstream is two-sided. `undecided`: inside the noise, or not
 * distinguishable from a disturbance. `skipped`: a side lacks the figure.
 */
export type CheckStatus = 'pass' | 'regression' | 'improvement' | 'undecided' | 'skipped' | 'info';

/**
 * What the figures of a check are of, or why there is none, as the macro `judged_checks` names it. The sentence is made
 * in `src/report/compare/check-reason.ts`.
 */
export type CheckReason =
  | {
      readonly code:
        | 'all_lines'
        | 'first_lines'
        | 'ranks_of_stage'
        | 'one_rank'
        | 'depends_on_history'
        | 'retries_of_rank'
        | 'no_memory'
        | 'broken_loss'
        | 'no_loss'
        | 'no_common_loss';
    }
  | { readonly code: 'ending'; readonly golden: MeasuredStatus; readonly current: MeasuredStatus }
  | { readonly code: 'snapshots' | 'snapshots_with_refused'; readonly rank: number | null }
  /** `least`: bytes of a part of a peak, or steady iterations. */
  | { readonly code: 'small_part' | 'no_steps' | 'current_without_steps'; readonly least: number }
  | { readonly code: 'steady_iterations'; readonly from: number; readonly to: number }
  | { readonly code: 'last_common_loss'; readonly iteration: number }
  /** Failed before its steps were steady: parts of its peak are of another moment. Null: before any iteration. */
  | { readonly code: 'ended_early'; readonly iteration: number | null }
  | { readonly code: 'disturbed'; readonly kind: Disturbance['kind']; readonly text: string }
  /** Of a preset: upstream's words. */
  | { readonly code: 'preset'; readonly text: Text };

export interface CompareCheck {
  /**
   * `status`, `peak_allocated`, `step_time`, `component:activation`, `peak_allocated:stage 0`, …; of presets the
   * upstream name of the metric.
   */
  readonly name: string;
  readonly golden: number | string | null;
  readonly current: number | string | null;
  /** `bytes`, `ms`, `TFLOP/s/GPU`, `GB`, `s`, `1`; empty for words. */
  readonly unit: string;
  /** current − golden. */
  readonly delta: number | null;
  /** delta / golden. */
  readonly relative: number | null;
  /** Largest relative change that passes; null where none is judged. */
  readonly tolerance: number | null;
  readonly status: CheckStatus;
  /** Whether the verdict follows from it. */
  readonly gate: boolean;
  /** Half-width of the uncertainty of `delta`, in `unit`; null where unknown. */
  readonly noise: number | null;
  /** Least relative change for the worse that noise does not explain; null where unknown. */
  readonly detectable: number | null;
  /** The same with six golden runs that vary as these; null where there are as many. */
  readonly detectable_repeated: number | null;
  /** What the figures are of, or why there is none, in words; null as long as there are none. */
  readonly reason: string | null;
  /** The same as data; null of presets, whose reasons are upstream's words. */
  readonly why: CheckReason | null;
  /** The run failed: it needs at least this. */
  readonly is_least: boolean;
}

export interface ContractEntry {
  /** `model`, `workload`, `layout`, `device`, `precision`, `revision`. */
  readonly group: 'model' | 'workload' | 'layout' | 'device' | 'precision' | 'revision';
  readonly key: string;
  readonly golden: string | null;
  readonly current: string | null;
  readonly same: boolean;
  /** A difference here makes figures incomparable; `--force` compares all the same. */
  readonly blocking: boolean;
}

/** A setting of a run that differs from the golden one's, and moves what is judged. */
export interface SettingChange {
  readonly key: string;
  readonly golden: string | null;
  readonly current: string | null;
  /** Which way it moves the figure: `up` is for the worse. `unknown` of keys of the contract. */
  readonly way: 'up' | 'down' | 'unknown';
  /** A key of the contract. */
  readonly is_contract: boolean;
}

export interface ChangedValue {
  readonly key: string;
  readonly a: string | null;
  readonly b: string | null;
}

/** A changed hunk or knob that may be why, the likeliest first. */
export interface Suspect {
  /**
   * Of a hunk: path at the newer commit, from the repository's root (`3rdparty/Megatron-LM/megatron/…` inside a
   * submodule). Of a knob: its file; empty if unknown.
   */
  readonly file: string;
  /** `@@ -12,3 +12,4 @@ def forward`; absent for knobs. */
  readonly hunk?: string;
  /** Setting, variable or dependency; absent for hunks. */
  readonly key?: string;
  readonly reason: string;
  /** Of a setting: the cause of the failure that it bears on; absent where it is scored by what grew. */
  readonly cause?: Cause;
  /** 0 to 1. */
  readonly score: number;
  /** Commits in between that touch it, newest first. */
  readonly commits: readonly { readonly sha: string; readonly subject: string }[];
  /** Lines taken out and put in, a few of them. */
  readonly lines: readonly string[];
}

export interface ComparedRun {
  readonly name: string;
  readonly commit: string | null;
  readonly ending: Ending | null;
  /** `golden`, `run`, `file`: where the figures come from. */
  readonly origin: 'golden' | 'run' | 'file';
  readonly runs: number;
  /** Steady iterations of the first run; null without any. */
  readonly steps: number | null;
}

export interface CompareResult {
  readonly schema: 'mbforensics/compare@1';
  readonly verdict: CompareVerdict;
  /** One sentence: why. */
  readonly summary: string;
  readonly preset: Preset;
  readonly golden: ComparedRun;
  readonly current: ComparedRun;
  /** All that was compared, differences first. */
  readonly contract: readonly ContractEntry[];
  /** Why nothing was judged; null where something was. */
  readonly refused: string | null;
  readonly checks: readonly CompareCheck[];
  /** Of the rank whose snapshots are compared. */
  readonly components: readonly DiffComponent[];
  readonly sites: readonly DiffSite[];
  readonly config: readonly ChangedValue[];
  readonly env: readonly ChangedValue[];
  readonly suspects: readonly Suspect[];
  readonly notes: readonly string[];
}

/** A suspect without its sentence. */
export type FoundSuspect = Unworded<Suspect, 'reason'>;

/** A comparison without its sentences. */
export type JudgedComparison = Omit<CompareResult, 'summary' | 'refused' | 'suspects' | 'notes'> & {
  readonly suspects: readonly FoundSuspect[];
  readonly notes: readonly Text[];
  /** The contract differs, and only the status was judged. */
  readonly is_refused: boolean;
};

export const JUDGEMENTS = ['good', 'bad', 'skip'] as const;
export type Judgement = (typeof JUDGEMENTS)[number];

/** Why a commit, or one of its runs, is judged as it is. */
export type JudgementReason =
  | {
      /**
       * `ending`: how the run ended. `out_of_reach`: another process held the memory. `host_memory`: the host's, not
       * the device's. `not_hunted`: an OOM, while throughput is hunted. `stopped_early`: before what is hunted could
       * show.
       */
      readonly code: 'ending' | 'out_of_reach' | 'host_memory' | 'not_hunted' | 'stopped_early';
      readonly status: MeasuredStatus;
      /** Whether the commit is judged by its ending. */
      readonly by_ending: boolean;
    }
  /** A failure other than an OOM; `is_flaky`: of the machine, or of the time limit. */
  | { readonly code: 'died_otherwise'; readonly status: MeasuredStatus; readonly is_flaky: boolean }
  | { readonly code: 'came_to_its_end' | 'nothing_trained' }
  /** The contract does not hold: the entries that differ, at least one. */
  | { readonly code: 'not_comparable'; readonly differs: readonly ContractEntry[] }
  /** Worse than golden, by a setting in which golden and the hunted run agree. */
  | { readonly code: 'other_setting'; readonly change: SettingChange; readonly judged: JudgementReason }
  | { readonly code: 'other_cause'; readonly status: MeasuredStatus; readonly hunted: Cause }
  | { readonly code: 'different_oom'; readonly own: Cause; readonly hunted: Cause }
  | { readonly code: 'different_detail'; readonly own: CauseDetail | null; readonly hunted: CauseDetail | null }
  | { readonly code: 'runs_disagree'; readonly bad: number; readonly good: number; readonly first: JudgementReason }
  /** `other_figure`: the run ran out of memory, though not by what is hunted. */
  | { readonly code: 'figure' | 'within_noise'; readonly check: CompareCheck }
  | { readonly code: 'other_figure'; readonly check: CompareCheck; readonly status: MeasuredStatus }
  | { readonly code: 'no_figures'; readonly criterion: string }
  | { readonly code: 'no_run'; readonly problem: LaunchProblem }
  /** What `triage` was given cannot be read. */
  | { readonly code: 'not_readable' };

/** What went wrong with a launch of `bisect run`. */
export type LaunchProblem =
  | { readonly code: 'timed_out'; readonly seconds: number }
  | { readonly code: 'signal'; readonly signal: string }
  | { readonly code: 'exit'; readonly exit: number | null }
  | { readonly code: 'unreadable'; readonly cause: LaunchProblem | null };

/** A judgement without its sentences. */
export interface CommitJudgement {
  readonly judgement: Judgement;
  readonly why: JudgementReason;
  readonly evidence: readonly { readonly source: string; readonly run: string | null; readonly why: JudgementReason }[];
  readonly checks: readonly CompareCheck[];
  /** What differs from the golden run's settings; see `settingChanges`. */
  readonly settings: readonly SettingChange[];
  /** Whether any setting is known of both. */
  readonly has_common_settings: boolean;
  /** Files of its output that cannot be read, each with the reason. */
  readonly unreadable?: readonly string[];
  /** What went wrong besides with the last launch. */
  readonly problem?: LaunchProblem;
}

export interface TriageEvidence {
  readonly text: string;
  /** File and line, handle, or golden name. */
  readonly source: string;
}

export interface TriageResult extends Pick<CommitJudgement, 'judgement' | 'why' | 'checks' | 'settings'> {
  readonly schema: 'mbforensics/triage@1';
  /** As `--on` spells it. */
  readonly criterion: string;
  readonly reason: string;
  readonly evidence: readonly TriageEvidence[];
  readonly run: string;
  readonly commit: string | null;
  readonly golden: string;
}

/** Golden values as a judge of commits has them. */
export interface GoldenEvidence {
  readonly runs: number;
  readonly steps: number | null;
}
