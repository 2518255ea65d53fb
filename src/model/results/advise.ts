/** What `advise` returns. */
import type { LiveComponents, Step, Verdict } from '../verdict.js';

/**
 * How well a statement is known: a figure of an experiment, our model's own figure, upstream code, a guide without
 * data, a default.
 */
export const EVIDENCE_GRADES = ['measured', 'computed', 'asserted', 'documented', 'config'] as const;
export type EvidenceGrade = (typeof EVIDENCE_GRADES)[number];

/** What to change. Canonical keys and names of variables; null: unset, None. */
export interface AdviceChange {
  readonly settings: Readonly<Record<string, string | null>>;
  readonly env: Readonly<Record<string, string | null>>;
}

/** The same change as lines to paste. Empty where a framework lacks the setting. */
export interface PasteLines {
  /** Of a launch script: `export …`. */
  readonly sbatch: readonly string[];
  /** Assignments of a recipe: `cfg.model.… = …`. */
  readonly megatron_bridge: readonly string[];
  /** Flags of a command line. */
  readonly megatron_lm: readonly string[];
  readonly nemo: readonly string[];
  /** Settings of another trainer, as it has them; where it has them for the change, `python` is empty. */
  readonly trainer: readonly string[];
  /** Lines of a training script that is not Megatron's. */
  readonly python: readonly string[];
}

export type PasteForm = keyof PasteLines;

export interface AdviceEvidence {
  readonly text: string;
  readonly grade: EvidenceGrade;
  readonly source: string;
}

/**
 * How a saving was found, the surest first: replayed, as published of this very workload, from what was live, by the
 * estimator, from the message.
 */
export const SAVINGS_BY = ['what_if', 'measured', 'attribution', 'estimate', 'message'] as const;
export type SavingBy = (typeof SAVINGS_BY)[number];

/**
 * How a cost was found: measured on this very workload, on another one, from the guides, computed from the layout, or
 * free since nothing is added to a step.
 */
export const COSTS_BY = ['workload', 'measured', 'guide', 'computed', 'design'] as const;
export type CostBy = (typeof COSTS_BY)[number];

/** `conditional`: allowed as far as is known, but something that decides is unknown. */
export type FixStatus = 'recommended' | 'possible' | 'conditional' | 'forbidden';

/** Fields whose sentences are made last. */
export type AdviceText =
  | ('title' | 'text' | 'saving_text' | 'cost_text' | 'cost_on' | 'requires' | 'forbidden_text' | 'disputes' | 'why')
  | ('shortfall_text' | 'to_come_text' | 'limits');

export interface AdviceFix {
  readonly id: string;
  /** Place in the list, from 1; what is forbidden comes last. */
  readonly rank: number;
  readonly status: FixStatus;
  readonly title: string;
  /** Expected for the failed rank; null where unknown. */
  readonly saving_bytes: number | null;
  readonly saving_by: SavingBy | null;
  readonly saving_text: string;
  /** Percent of throughput lost, 0 for nothing, negative for a gain; null where no source has a figure. */
  readonly cost_percent: number | null;
  readonly cost_by: CostBy | null;
  /** Of what was measured: model and GPUs. */
  readonly cost_on: string | null;
  readonly cost_text: string;
  /**
   * The row of the published experiment whose workload the run has; null if there is none. GB are decimal, as printed
   * there.
   */
  readonly published: {
    readonly experiment: string;
    readonly peak_gb: number | null;
    readonly tflops: number | null;
    readonly vs_golden_percent: number | null;
  } | null;
  /** Whether the saving covers the shortfall; null where one of them is unknown. */
  readonly closes: boolean | null;
  /** What has to be so, or has to be done with it. */
  readonly requires: readonly string[];
  /** Id of the rule that the change would break; null if none. */
  readonly forbidden_by: string | null;
  /** The rule in words, with the value that breaks it and its place. */
  readonly forbidden_text: string | null;
  readonly change: AdviceChange;
  readonly paste: PasteLines;
  readonly evidence: readonly AdviceEvidence[];
  /** Where sources disagree: the value of each, and the one used. */
  readonly disputes: readonly string[];
  readonly source: string;
}

/** What people reach for and what does not help here. */
export interface NonFix extends Pick<AdviceFix, 'id' | 'title' | 'evidence' | 'source'> {
  /** Why, with this run's own figures where there are any. */
  readonly why: string;
}

/** The cheapest changes that together cover the shortfall. */
export interface AdvicePlan extends Pick<AdviceFix, 'saving_bytes' | 'closes' | 'cost_percent' | 'change' | 'paste'> {
  readonly fixes: readonly string[];
  readonly text: string;
}

/**
 * One thing to do: a step of the verdict, or fixes that are made together. With both, the fixes carry out the step. The
 * first is the first to do.
 */
export interface AdviceAction {
  readonly step: Step | null;
  /** Ids; empty where no setting carries out the step. */
  readonly fixes: readonly string[];
}

/** A symptom of the guides that this run shows. */
export interface SymptomHit {
  /** `S1` to `S29`. */
  readonly id: string;
  readonly symptom: string;
  /** What of the run matches, with its place. */
  readonly seen: string;
  readonly source: string;
  readonly cause: string;
  /** The confirmation step of the guides, carried out here: `confirmed`, `refuted`, or `untested` for want of data. */
  readonly confirmation: 'confirmed' | 'refuted' | 'untested';
  readonly confirmation_text: string;
  readonly fix: string;
}

export interface AdviseResult extends Pick<Verdict, 'rank' | 'cause' | 'detail' | 'confidence'> {
  readonly schema: 'mbforensics/advise@1';
  readonly run: string;
  readonly summary: string;
  /**
   * Bytes by which the request failed. Full device: live + request − the memory available to the process. Fragmented
   * device: the bytes missing from the driver. Null where unknown.
   */
  readonly shortfall_bytes: number | null;
  readonly shortfall_text: string;
  /**
   * Additional need of a first step that did not complete, by the estimate: Adam's moments, activations of further
   * micro-batches. 0 where a step completed or nothing is known.
   */
  readonly to_come_bytes: number;
  /** Empty if it is 0. */
  readonly to_come_text: string;
  readonly device_bytes: number | null;
  /** Live bytes of the failing rank by component, the most first; empty without a snapshot. */
  readonly components: LiveComponents['parts'];
  /** Name of the published experiment whose workload this is; null if none. */
  readonly published_case: string | null;
  readonly fixes: readonly AdviceFix[];
  readonly plan: AdvicePlan | null;
  /** What to do, the first thing first: the steps of the verdict and the plan in one list. */
  readonly actions: readonly AdviceAction[];
  /** The sentences of `actions`, as `diagnose` prints them. */
  readonly next: readonly string[];
  readonly non_fixes: readonly NonFix[];
  readonly symptoms: readonly SymptomHit[];
  /** What could not be computed, and why. */
  readonly limits: readonly string[];
}
