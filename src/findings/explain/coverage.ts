/** Who carries each statement of the guides and each constraint of upstream, so that nothing is read and then forgotten. */
import type { LintRule } from '../lint/rule.js';
import { RULES } from '../lint/rules/index.js';
import { type Carriers, carriersOf } from './carriers.js';
import { CONSTRAINTS } from './constraints.js';
import { REASONS } from './reasons.js';
import { STATEMENTS } from './statements/index.js';

export interface StatementCoverage {
  readonly id: string;
  readonly carriers: Carriers;
  /** Where nothing carries it; null with nothing at all means that it was forgotten. */
  readonly reason: string | null;
  readonly isCarried: boolean;
}

export interface CoveringRule {
  readonly id: string;
  /** Configurations that it is tried on: broken, kept, not decidable. */
  readonly fails: number;
  readonly passes: number;
  readonly unknown: number;
}

export interface ConstraintCoverage {
  readonly id: string;
  /** Of the same id, or parts of it: `id-…`. */
  readonly rules: readonly CoveringRule[];
}

export interface Coverage {
  readonly statements: readonly StatementCoverage[];
  readonly constraints: readonly ConstraintCoverage[];
}

export function coverage(): Coverage {
  return {
    statements: STATEMENTS.map(({ id }) => coverageOf(id)),
    constraints: CONSTRAINTS.map((id) => ({ id, rules: RULES.filter((rule) => isFor(rule, id)).map(covering) })),
  };
}

export function coverageOf(id: string): StatementCoverage {
  const carriers = carriersOf(id);
  const isCarried = Object.values(carriers).some((ids: readonly string[]) => ids.length > 0);
  return { id, carriers, isCarried, reason: isCarried ? null : (REASONS[id] ?? null) };
}

const KNOWN = new Set(CONSTRAINTS);

function isFor(rule: LintRule, constraint: string): boolean {
  return rule.id === constraint || (rule.id.startsWith(`${constraint}-`) && !KNOWN.has(rule.id));
}

const covering = ({ id, fails, passes, unknown = [] }: LintRule): CoveringRule => ({
  id,
  fails: fails.length,
  passes: passes.length,
  unknown: unknown.length,
});
