/**
 * What `compare` returns, and what `diff`, `triage` and `bisect report` share with it. `--json` prints these objects as
 * they are.
 */
import type { DiffComponent, DiffSite } from '../diff-parts.js';
import type { Ending } from '../measurement.js';

export const PRESETS = ['default', 'bridge', 'mlm'] as const;
export type Preset = (typeof PRESETS)[number];

export type CompareVerdict = 'pass' | 'regression' | 'undecided';

/**
 * `regression` of a gate decides the verdict; of any other check it is a warning. `improvement` is not a failure by our
 * own criteria, but is one by presets where upstream is two-sided. `undecided`: inside the noise, or not
 * distinguishable from a disturbance. `skipped`: a side lacks the figure.
 */
export type CheckStatus = 'pass' | 'regression' | 'improvement' | 'undecided' | 'skipped' | 'info';

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
  /** What the figures are of, or why there is none. */
  readonly reason: string | null;
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

export const JUDGEMENTS = ['good', 'bad', 'skip'] as const;
export type Judgement = (typeof JUDGEMENTS)[number];

export interface TriageEvidence {
  readonly text: string;
  /** File and line, handle, or golden name. */
  readonly source: string;
}

export interface TriageResult {
  readonly schema: 'mbforensics/triage@1';
  readonly judgement: Judgement;
  /** As `--on` spells it. */
  readonly criterion: string;
  readonly reason: string;
  readonly evidence: readonly TriageEvidence[];
  readonly run: string;
  readonly commit: string | null;
  readonly golden: string;
  readonly checks: readonly CompareCheck[];
}
