/** What `verify-fix` returns. */
import type { Ending } from '../measurement.js';
import type { Cause, CauseDetail, Component } from '../vocabulary.js';
import type { AdviceFix } from './advise.js';
import type { ChangedValue, ContractEntry, TriageEvidence } from './compare.js';

/**
 * `fixed`: the failure is gone, optimizer states exist and steps are steady. `progress`: the failure moved to a later
 * point, or less memory is needed, without a pass. `no_effect`: nothing changed, or the same failure. `not_active`: the
 * change is not in force. `worse`, `undecided`: literally.
 */
export type VerifyVerdict = 'fixed' | 'progress' | 'no_effect' | 'not_active' | 'worse' | 'undecided';

/** `partly`: on some ranks, or some of it. `untested`: without a record of it. */
export type EffectOutcome = 'active' | 'partly' | 'inactive' | 'untested';

/** Kinds of evidence that a change is in force. */
export type ChangeKind =
  | 'allocator'
  | 'environment'
  | 'recompute'
  | 'optimizer'
  | 'gradients'
  | 'parallel'
  | 'activation_offload'
  | 'graphs'
  | 'setting';

/** The source: file and line, a snapshot's handle, or how it was computed. */
export type VerifyEvidence = TriageEvidence;

export interface VerifyEffect {
  readonly outcome: EffectOutcome;
  readonly text: string;
  readonly source: string;
  /** Ranks with a record: those on which it is in force, and those on which it is not. */
  readonly ranks: { readonly active: readonly number[]; readonly inactive: readonly number[] };
  readonly evidence: readonly VerifyEvidence[];
  /** What would settle it; null where it is settled. */
  readonly needs: string | null;
}

export interface VerifyChange {
  /** Canonical key of a setting, or the name of a variable. */
  readonly key: string;
  readonly kind: ChangeKind;
  /** Null: not set, or (`from_known` false) not known. */
  readonly from: string | null;
  readonly from_known: boolean;
  /** As it was meant: a script may ask for what no process has. */
  readonly to: string | null;
  /** Fix of the advice on the run before that this is, or is part of. */
  readonly fix: string | null;
  /** Whether all of that fix was done. */
  readonly fix_complete: boolean;
  /** What the advice on the run before names as no fix. */
  readonly non_fix: string | null;
  /** Keys that are one change have one group. */
  readonly group: string;
  /** Whether what was gained is put down to it. */
  readonly credited: boolean;
  /** What it has to do with the cause of the failure of either run; null: no known effect on it. */
  readonly on_cause: string | null;
  readonly effect: VerifyEffect;
}

export interface VerifyRun {
  readonly run: string;
  readonly ending: Ending;
  readonly cause: Cause | null;
  readonly detail: CauseDetail | null;
  readonly summary: string;
  /** Of its failure. */
  readonly rank: number | null;
  readonly stage: number | null;
  /** Last iteration printed before the failure; null: none was. */
  readonly iteration: number | null;
  /** What the failing rank was doing, where that is known. */
  readonly phase: string | null;
  readonly first_iteration: number | null;
  readonly last_iteration: number | null;
  /** Iterations after warm-up, by which it is timed. */
  readonly steady_steps: number;
}

/** What the advice on the run before promised of the same change. */
export interface VerifyExpected
  extends Pick<
    AdviceFix,
    'title' | 'saving_bytes' | 'saving_by' | 'saving_text' | 'cost_percent' | 'cost_text' | 'closes'
  > {
  readonly fix: string;
}

export interface VerifyFigure {
  readonly before: number | null;
  readonly after: number | null;
  readonly delta: number | null;
  readonly percent: number | null;
  /** Half-width of what `delta` is uncertain by, in its unit; null where unknown. */
  readonly noise: number | null;
  /** What the figures are of, or why there are none. */
  readonly of: string;
}

export interface VerifyMeasured {
  readonly peak_allocated: VerifyFigure;
  /** Of the first memory line, which is what experiments are published by. */
  readonly first_peak_allocated: VerifyFigure;
  readonly peak_reserved: VerifyFigure;
  /** Reserved by PyTorch and not in use: at the failure, else at the peak. */
  readonly cached: VerifyFigure;
  readonly step_ms: VerifyFigure;
  readonly tflops: VerifyFigure;
}

export interface VerifyJudgement {
  readonly about: 'change' | 'failure' | 'memory' | 'fragmentation' | 'time';
  readonly outcome: 'better' | 'as_expected' | 'less' | 'worse' | 'note' | 'untested';
  readonly text: string;
}

/** What limits the run after the change. */
export interface VerifyBottleneck {
  readonly kind: 'failure' | 'memory' | 'speed' | 'unknown';
  readonly text: string;
  readonly cause: Cause | null;
  readonly rank: number | null;
  readonly stage: number | null;
  readonly component: Component | null;
  readonly component_bytes: number | null;
  readonly peak_bytes: number | null;
  readonly device_bytes: number | null;
  /** Device less the largest reserve and what was outside PyTorch. */
  readonly headroom_bytes: number | null;
}

export interface VerifyFixResult {
  readonly schema: 'mbforensics/verify-fix@1';
  readonly before: VerifyRun;
  readonly after: VerifyRun;
  readonly verdict: VerifyVerdict;
  /** One sentence: why. */
  readonly summary: string;
  readonly changes: readonly VerifyChange[];
  /** What differs and bears on neither memory nor speed, or follows from a change. */
  readonly beside: readonly ChangedValue[];
  readonly expected: VerifyExpected | null;
  readonly measured: VerifyMeasured;
  readonly judgement: readonly VerifyJudgement[];
  readonly bottleneck: VerifyBottleneck;
  /** Properties that differ but should be equal, except for the changes themselves. */
  readonly contract: readonly ContractEntry[];
  /** Why the comparison is not fair; empty where it is. */
  readonly unfair: readonly string[];
  /** Facts without a record, and what would supply them. */
  readonly missing: readonly string[];
}
