/** Rules compiled once: what is left per stack is to run their frame tests. */
import { compilePatterns, type FrameTest } from './frame-pattern.js';
import type { AttributionRule, PhaseRule, RuleTier } from './rule.js';

export interface CompiledRule {
  readonly rule: AttributionRule;
  readonly tier: RuleTier['name'];
  /** Place in the order of all rules. */
  readonly order: number;
  readonly at: FrameTest;
  readonly within: FrameTest | undefined;
  readonly through: FrameTest | undefined;
  readonly without: FrameTest | undefined;
}

export interface CompiledPhase {
  readonly rule: PhaseRule;
  readonly at: FrameTest;
}

export interface CompiledRules {
  readonly tiers: readonly (readonly CompiledRule[])[];
  /** In order of precedence. */
  readonly phases: readonly CompiledPhase[];
  /** Frames under which a forward pass is a recomputation. */
  readonly recompute: FrameTest;
}

/** Throws an `Error` that names the rule whose pattern cannot be compiled. */
export function compileRules(
  tiers: readonly RuleTier[],
  phases: readonly PhaseRule[],
  recompute: FrameTest,
): CompiledRules {
  let order = 0;
  return {
    tiers: tiers.map((tier) =>
      tier.rules.map((rule) => {
        try {
          return compileRule(rule, tier.name, order++);
        } catch (error) {
          throw new Error(`rule ${rule.id}: ${(error as Error).message}`);
        }
      }),
    ),
    phases: phases.map((rule) => ({ rule, at: compilePatterns(rule.at) })),
    recompute,
  };
}

function compileRule(rule: AttributionRule, tier: RuleTier['name'], order: number): CompiledRule {
  const optional = (patterns: AttributionRule['within']): FrameTest | undefined =>
    patterns === undefined ? undefined : compilePatterns(patterns);
  return {
    rule,
    tier,
    order,
    at: compilePatterns(rule.at),
    within: optional(rule.within),
    through: optional(rule.through),
    without: optional(rule.without),
  };
}
