/** A rule about configurations. Upstream refuses what an error rule describes; the guides give warnings and notes. */
import type { VersionName } from '../../model/results/log.js';
import type { Condition } from '../settings/condition.js';

/**
 * `error`: the framework refuses to start, or training is silently broken. `warning`: costs memory or speed, or has no
 * effect. `note`: worth a look.
 */
export type Severity = 'error' | 'warning' | 'note';

/** Versions that have a rule: from `from` on, and before `before`. */
export interface VersionRange {
  readonly package: VersionName;
  readonly from?: string;
  readonly before?: string;
}

export interface LintRule {
  /** As in the constraint catalogue of `constraint-texts.ts`, where upstream prints something. */
  readonly id: string;
  readonly severity: Severity;
  /**
   * What is wrong, in one sentence for every configuration. `{key}` is replaced by the value in force, `{clause}` by
   * the alternatives of the condition that hold.
   */
  readonly message: string;
  /** Broken when this holds. */
  readonly when: Condition;
  /** Only in these versions; of several ranges, all must hold. An unknown version makes a broken rule unknown. */
  readonly versions?: readonly VersionRange[];
  /** What to do, shortest first. */
  readonly fix: string;
  /** What upstream prints; null: nothing, it is silent. */
  readonly error: string | null;
  /** File and function that assert it, or the guide that states it. */
  readonly source: string;
  /** `asserted` by upstream code, `measured`, `documented`, or `config`: a default or a value of a recipe. */
  readonly evidence: 'asserted' | 'measured' | 'documented' | 'config';
}
