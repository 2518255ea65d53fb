/** What `lint` returns. Field names are the JSON's. */

export const LINT_SEVERITIES = ['error', 'warning', 'note'] as const;
export type LintSeverity = (typeof LINT_SEVERITIES)[number];

/** A fact that a finding rests on. */
export interface LintFact {
  /** Canonical key of a setting, name of a variable or package, or `device`. */
  readonly key: string;
  readonly value: string | null;
  /**
   * `default`: nobody told it, the framework's default; `assumed`: a variable that nothing sets; `unknown`: what is
   * missing.
   */
  readonly by: 'told' | 'default' | 'assumed' | 'unknown';
  /** As spelt, with its place; null where nobody told it. */
  readonly raw_key: string | null;
  readonly file: string | null;
  readonly line: number | null;
  /** Of a default: where it is defined. */
  readonly source: string | null;
}

export interface LintFinding {
  readonly rule: string;
  readonly severity: LintSeverity;
  /** Place of the first of the facts that was told; null where none was. */
  readonly file: string | null;
  readonly line: number | null;
  readonly keys: readonly string[];
  readonly message: string;
  readonly fix: string;
  readonly source: string;
  /** What the framework prints when it refuses; null where it says nothing. */
  readonly error: string | null;
  readonly evidence: 'asserted' | 'measured' | 'documented' | 'config';
  readonly facts: readonly LintFact[];
}

/** A rule that could not be decided. */
export interface LintUnknown {
  readonly rule: string;
  readonly severity: LintSeverity;
  readonly message: string;
  /** What would decide it: keys of settings, variables, packages. */
  readonly needs: readonly string[];
  readonly facts: readonly LintFact[];
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
  /** Defaults that findings rest on. */
  readonly assumed: readonly LintFact[];
}
