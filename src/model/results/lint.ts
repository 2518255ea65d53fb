/** What `lint` returns. */
import type { FoundIteration } from '../settings-read.js';

export const LINT_SEVERITIES = ['error', 'warning', 'note'] as const;
export type LintSeverity = (typeof LINT_SEVERITIES)[number];

/** A fact that a finding rests on. */
export interface LintFact {
  /** Canonical key of a setting, name of a variable or package, or `device`. */
  readonly key: string;
  readonly value: string | null;
  /**
   * `default`: not set, the framework's default; `assumed`: a variable that is set nowhere; `unknown`: what is missing.
   */
  readonly by: 'told' | 'default' | 'assumed' | 'unknown';
  /** The spelling in the source, with its place; null where it was not set. */
  readonly raw_key: string | null;
  readonly file: string | null;
  readonly line: number | null;
  /** Of a default: where it is defined. */
  readonly source: string | null;
}

/** The last iteration that the run printed after the settings. */
export type LintProof = Pick<FoundIteration, 'iteration' | 'file' | 'line'>;

export interface LintFinding {
  readonly rule: string;
  readonly severity: LintSeverity;
  /** Why a rule of severity error is a warning: the run trained with these settings. Null: as severe as its rule. */
  readonly accepted_by: LintProof | null;
  /** Place of the first explicit fact; null without one. */
  readonly file: string | null;
  readonly line: number | null;
  readonly keys: readonly string[];
  readonly message: string;
  readonly fix: string;
  readonly source: string;
  /** The framework's message when it refuses; null if it prints none. */
  readonly error: string | null;
  readonly evidence: 'asserted' | 'measured' | 'documented' | 'config';
  readonly facts: readonly LintFact[];
}

/** A rule that could not be decided. */
export interface LintUnknown extends Pick<LintFinding, 'rule' | 'severity' | 'message' | 'facts'> {
  /** What would decide it: keys of settings, variables, packages. */
  readonly needs: readonly string[];
}

/** A setting that no rule reads and the catalogue of settings lacks: silence about it is not a check. */
export interface LintUnknownSetting {
  readonly key: string;
  readonly value: string;
  /** As {@link LintFact}. */
  readonly raw_key: string;
  /** Class and releases of upstream that have it, like `TransformerConfig, ≥ 0.19`; null: no catalogue has the name. */
  readonly known: string | null;
  readonly file: string | null;
  readonly line: number | null;
}

export interface LintResult {
  readonly schema: 'mbforensics/lint@1';
  /** Files or run that were judged. */
  readonly subject: readonly string[];
  readonly run: string | null;
  readonly framework: { readonly name: string | null; readonly version: string | null };
  readonly versions: Readonly<Record<string, string>>;
  readonly device: string | null;
  /** Whether the environment is known: captured whole, in part (a script), or not at all. */
  readonly environment: 'whole' | 'partial' | 'none';
  /** How many rules were tried, and how many settings were read. */
  readonly rules: number;
  readonly settings: number;
  readonly findings: readonly LintFinding[];
  readonly unknown: readonly LintUnknown[];
  readonly unknown_settings: readonly LintUnknownSetting[];
  /** Defaults that findings rest on. */
  readonly assumed: readonly LintFact[];
}
