/** One rule about configurations, as data. Upstream refuses what an error rule describes; warnings and notes are what the guides know. */
import type { VersionName } from '../../model/log-results.js';
import type { Condition } from '../settings/condition.js';
import type { Framework } from '../settings/facts.js';

/** `error`: the framework refuses to start, or training is silently broken. `warning`: costs memory or speed, or has no effect. `note`: worth a look. */
export type Severity = 'error' | 'warning' | 'note';

/** Versions that have a rule: from `from` on, and before `before`. */
export interface VersionRange {
  readonly package: VersionName;
  readonly from?: string;
  readonly before?: string;
}

/** What a generic test runs each rule on. Keys are canonical, values as a configuration has them. */
export interface Sample {
  readonly config: Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>;
  /** Missing: the environment was captured whole and is empty. `unknown`: nothing tells it. */
  readonly env?: Readonly<Record<string, string>> | 'unknown';
  readonly versions?: Readonly<Partial<Record<VersionName, string>>>;
  readonly framework?: Framework;
  /** A name that {@link deviceOf} knows: `h100-80gb`. */
  readonly gpu?: string;
}

export interface LintRule {
  /** As in the constraint catalogue of `constraint-texts.ts`, where upstream prints something. */
  readonly id: string;
  readonly severity: Severity;
  /** What is wrong, in one sentence that stands for every configuration. `{key}` is replaced by the value in force. */
  readonly message: string;
  /** Broken when this holds. */
  readonly when: Condition;
  /** Only in these versions; of several ranges, all must hold. An unknown version makes a broken rule unknown. */
  readonly versions?: readonly VersionRange[];
  /** What to do, shortest first. */
  readonly fix: string;
  /** What upstream prints; null: nothing, it is silent. */
  readonly error: string | null;
  /** File and function that assert it, or the guide that says it. */
  readonly source: string;
  /** How well it is known: `asserted` by upstream code, `measured`, `documented` or `config` (a default or recipe value). */
  readonly evidence: 'asserted' | 'measured' | 'documented' | 'config';
  /** Statements of the guides that it carries. */
  readonly statements?: readonly string[];
  readonly fails: readonly Sample[];
  readonly passes: readonly Sample[];
  /** Where a fact is missing that decides. */
  readonly unknown?: readonly Sample[];
}
