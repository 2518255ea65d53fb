/** What `knobs` and `explain` return. */
import type { AdviceEvidence, EvidenceGrade, SymptomHit } from './advise.js';
import type { LintFinding, LintSeverity } from './lint.js';

/**
 * The effect of turning it on, or raising it. `depends`: on its value, or on other settings; `unknown`: not in any
 * guide.
 */
export type MemoryEffect = 'less' | 'more' | 'none' | 'depends' | 'unknown';
export type SpeedEffect = 'faster' | 'slower' | 'none' | 'depends' | 'unknown';

export type KnobKind = 'setting' | 'env' | 'launch' | 'tool';

export interface KnobSpellings {
  readonly nemo: readonly string[];
  readonly megatron_bridge: readonly string[];
  readonly megatron_lm: readonly string[];
}

export interface KnobEffect<Effect> {
  readonly effect: Effect;
  /** The amount, where a source gives it; may be empty. */
  readonly text: string;
}

export interface KnobRow {
  /** Canonical key of a setting, name of a variable, or a name of its own. */
  readonly id: string;
  readonly title: string;
  readonly group: string;
  readonly kind: KnobKind;
  readonly spellings: KnobSpellings;
  readonly memory: KnobEffect<MemoryEffect>;
  readonly speed: KnobEffect<SpeedEffect>;
  /** The best grade of what is known of it. */
  readonly grade: EvidenceGrade;
}

export interface KnobsResult {
  readonly schema: 'mbforensics/knobs@1';
  readonly filter: string | null;
  /** How many there are in all. */
  readonly total: number;
  readonly groups: readonly { readonly id: string; readonly title: string }[];
  readonly knobs: readonly KnobRow[];
}

/** Something else that `explain` knows, with one line about it. */
export interface Reference {
  readonly id: string;
  readonly text: string;
}

export interface RuleReference extends Reference {
  readonly severity: LintSeverity;
}

/** A name of upstream without a knob of its own. */
export interface ExplainedName {
  readonly is: 'name';
  readonly id: string;
  readonly kind: 'setting' | 'variable' | 'allocator option' | 'module';
  /** What an option does; null: see the lists, knobs and rules that have it. */
  readonly does: string | null;
  /** Class that has the field, or that it is an argument; null: unknown. */
  readonly of: string | null;
  /** Releases that have it, like `Megatron-Core ≥ 0.19`; null: all, or unknown. */
  readonly versions: string | null;
  readonly source: string | null;
  /** Other names of the same setting. */
  readonly also: readonly string[];
  readonly spellings: KnobSpellings;
  /** Settings that are lists of modules and accept it; `since`: null of all releases. */
  readonly lists: readonly {
    readonly list: string;
    /** What happens to the modules of the list. */
    readonly what: string;
    /** What the module is. */
    readonly does: string;
    readonly since: string | null;
  }[];
  readonly defaults: readonly { readonly value: string | null; readonly source: string }[];
  readonly rules: readonly RuleReference[];
  /** Ids of knobs that mention it. */
  readonly knobs: readonly string[];
  /** Ids of fixes that mention it. */
  readonly fixes: readonly string[];
  /** Published measurements with it. */
  readonly measured: readonly Reference[];
}

export interface ExplainedRule extends Pick<LintFinding, 'severity' | 'message' | 'fix' | 'source' | 'error'> {
  readonly is: 'rule';
  readonly id: string;
  /** What must not be, versions included. */
  readonly condition: string;
  /** Texts like `mcore ≥ 0.16, < 0.19`; empty: every version. */
  readonly versions: readonly string[];
  readonly evidence: EvidenceGrade;
  readonly knobs: readonly string[];
  readonly disputes: readonly Reference[];
}

export interface ExplainedKnob extends KnobRow {
  readonly is: 'knob';
  readonly values: string;
  readonly evidence: readonly AdviceEvidence[];
  readonly requires: readonly string[];
  readonly conflicts: readonly string[];
  /** As a guide has it, and nothing accepts it. */
  readonly misspelt: readonly string[];
  /** Of a list of modules: what it accepts; `since`: null of all releases. */
  readonly modules: readonly { readonly name: string; readonly since: string | null; readonly does: string }[];
  readonly rules: readonly Reference[];
  /** Ids of fixes that mention it. */
  readonly fixes: readonly string[];
  readonly disputes: readonly Reference[];
}

export interface ExplainedSymptom extends Pick<SymptomHit, 'id' | 'symptom' | 'cause' | 'fix'> {
  readonly is: 'symptom';
  readonly name: string;
  /** How the guides confirm it. */
  readonly confirm: string;
  readonly disputes: readonly Reference[];
}

export interface ExplainedDisagreement {
  readonly is: 'disagreement';
  readonly id: string;
  readonly topic: string;
  readonly a: string;
  readonly b: string;
  readonly resolution: string;
}

export interface ExplainedFix {
  readonly is: 'fix';
  readonly id: string;
  readonly title: string;
  readonly disputes: readonly Reference[];
}

export interface ExplainedError {
  readonly is: 'error';
  readonly id: string;
  /** Who has to act. */
  readonly who: string;
  readonly remedy: string;
}

export type Explained =
  | ExplainedRule
  | ExplainedKnob
  | ExplainedName
  | ExplainedSymptom
  | ExplainedDisagreement
  | ExplainedFix
  | ExplainedError;

export interface ExplainResult {
  readonly schema: 'mbforensics/explain@1';
  readonly asked: string;
  /** One name may mean several things: a rule and a symptom. */
  readonly found: readonly Explained[];
}
