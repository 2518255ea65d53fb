/** Rules compiled once: what is left per stack is to run their frame tests. */
import type { Phase } from '../../model/log-rows.js';
import { compilePatterns, type FrameTest, type NamedFrame, remembered } from './frame-pattern.js';
import type { AttributionRule, PhaseRule, RuleTier } from './rule.js';

export interface CompiledRule {
  readonly rule: AttributionRule;
  readonly tier: RuleTier['name'];
  readonly at: FrameTest;
  readonly within: FrameTest | undefined;
  readonly through: FrameTest | undefined;
  readonly without: FrameTest | undefined;
}

/** What one frame alone matches. */
export interface FrameMatches {
  /** Per tier, in order of the list. */
  readonly tiers: readonly (readonly CompiledRule[])[];
  /** Place of {@link phase} in the order of precedence; Infinity where the frame tells none. */
  readonly phaseRank: number;
  readonly phase: Phase;
  /** Below this frame a forward pass runs for the second time, up to the next call of the engine. */
  readonly recompute: boolean;
  /** The autograd engine is called. */
  readonly engine: boolean;
}

export interface CompiledRules {
  readonly tierCount: number;
  /** Kept by frame: a trace has a few thousand different frames, in as many as a million stacks. */
  matchesOf(frame: NamedFrame): FrameMatches;
}

/** Frames remembered; a store of many runs must not fill the memory. */
const FRAMES_KEPT = 100_000;

/** Throws an `Error` that names the rule whose pattern cannot be compiled. */
export function compileRules(
  tiers: readonly RuleTier[],
  phaseRules: readonly PhaseRule[],
  turns: { readonly recompute: FrameTest; readonly engine: FrameTest },
): CompiledRules {
  const compiled = tiers.map((tier) => tier.rules.map((rule) => compileNamed(rule, tier.name)));
  const phases = phaseRules.map(({ phase, at }) => ({ phase, at: compilePatterns(at) }));
  const byFrame = new WeakMap<NamedFrame, FrameMatches>();
  const byName = new Map<string, FrameMatches>();
  const match = (frame: NamedFrame): FrameMatches => {
    const rank = phases.findIndex(({ at }) => at(frame));
    return {
      tiers: compiled.map((rules) => rules.filter(({ at }) => at(frame))),
      phaseRank: rank < 0 ? Number.POSITIVE_INFINITY : rank,
      phase: phases[rank]?.phase ?? 'unknown',
      recompute: turns.recompute(frame),
      engine: turns.engine(frame),
    };
  };
  return {
    tierCount: tiers.length,
    matchesOf(frame) {
      let found = byFrame.get(frame);
      if (found !== undefined) return found;
      // Frames that differ by their lines alone match the same.
      const key = `${frame.name}\n${frame.path}`;
      found = byName.get(key);
      if (found === undefined) {
        if (byName.size >= FRAMES_KEPT) byName.clear();
        found = match(frame);
        byName.set(key, found);
      }
      byFrame.set(frame, found);
      return found;
    },
  };
}

function compileNamed(rule: AttributionRule, tier: RuleTier['name']): CompiledRule {
  try {
    return compileRule(rule, tier);
  } catch (error) {
    throw new Error(`rule ${rule.id}: ${(error as Error).message}`);
  }
}

function compileRule(rule: AttributionRule, tier: RuleTier['name']): CompiledRule {
  const optional = (patterns: AttributionRule['within']): FrameTest | undefined =>
    patterns === undefined ? undefined : remembered(compilePatterns(patterns));
  return {
    rule,
    tier,
    at: compilePatterns(rule.at),
    within: optional(rule.within),
    through: optional(rule.through),
    without: optional(rule.without),
  };
}
