/** Rules compiled once: what is left per stack is to run their frame tests. */
import type { Phase } from '../../model/log-rows.js';
import { compilePatterns, type FrameTest, type NamedFrame, namedFrame } from './frame-pattern.js';
import { PatternIndex } from './pattern-index.js';
import type { AttributionRule, PhaseRule, RuleTier } from './rule.js';

export interface CompiledRule {
  readonly rule: AttributionRule;
  readonly tier: RuleTier['name'];
  readonly at: FrameTest;
  readonly within: AroundTest | undefined;
  readonly through: AroundTest | undefined;
  readonly without: AroundTest | undefined;
}

/** Asked of the frames around the one that matches. Its answers are kept with the frames, under its number. */
export interface AroundTest {
  readonly number: number;
  readonly test: FrameTest;
}

/** What one frame alone matches. */
export interface FrameMatches {
  /** Per tier, in order of the list. */
  readonly tiers: readonly (readonly CompiledRule[])[];
  /** Place of {@link phase} in the order of precedence; Infinity for a frame without a phase. */
  readonly phaseRank: number;
  readonly phase: Phase;
  /** Below this frame a forward pass runs for the second time, up to the next call of the engine. */
  readonly recompute: boolean;
  /** The autograd engine is called. */
  readonly engine: boolean;
  /** Whether the frame fits an {@link AroundTest}, by the test's number; asked once. */
  fits(around: AroundTest): boolean;
}

export interface CompiledRules {
  readonly tierCount: number;
  /** Kept by name and file: frames that differ by their lines alone match the same. */
  matchesOf(name: string, filename: string): FrameMatches;
}

/** Frames remembered; a store of many runs must not fill the memory. */
const FRAMES_KEPT = 100_000;

/** Throws an `Error` that names the rule whose pattern cannot be compiled. */
export function compileRules(
  tiers: readonly RuleTier[],
  phaseRules: readonly PhaseRule[],
  turns: { readonly recompute: FrameTest; readonly engine: FrameTest },
): CompiledRules {
  let arounds = 0;
  const numbered = (test: FrameTest): AroundTest => ({ number: arounds++, test });
  const compiled = tiers.flatMap(({ name, rules }, tier) =>
    rules.map((rule) => ({ tier, compiled: compileNamed(rule, name, numbered) })),
  );
  const index = new PatternIndex();
  compiled.forEach(({ compiled: { rule } }, i) => {
    index.add(i, rule.at);
  });
  const phases = phaseRules.map(({ phase, at }) => ({ phase, at: compilePatterns(at) }));
  const phaseIndex = new PatternIndex();
  phaseRules.forEach(({ at }, i) => {
    phaseIndex.add(i, at);
  });
  const byName = new Map<string, FrameMatches>();
  const match = (frame: NamedFrame): FrameMatches => {
    const rank = phaseIndex.candidates(frame).find((i) => phases[i]!.at(frame));
    const found: CompiledRule[][] = tiers.map(() => []);
    for (const i of index.candidates(frame)) {
      const { tier, compiled: rule } = compiled[i]!;
      if (rule.at(frame)) found[tier]!.push(rule);
    }
    return {
      tiers: found,
      phaseRank: rank ?? Number.POSITIVE_INFINITY,
      phase: rank === undefined ? 'unknown' : phases[rank]!.phase,
      recompute: turns.recompute(frame),
      engine: turns.engine(frame),
      fits: rememberedFits(frame, arounds),
    };
  };
  return {
    tierCount: tiers.length,
    matchesOf(name, filename) {
      const key = `${name}\n${filename}`;
      let found = byName.get(key);
      if (found === undefined) {
        if (byName.size >= FRAMES_KEPT) byName.clear();
        found = match(namedFrame(name, filename));
        byName.set(key, found);
      }
      return found;
    },
  };
}

const UNASKED = 0;
const FITS = 1;
const FAILS = 2;

function rememberedFits(frame: NamedFrame, count: number): FrameMatches['fits'] {
  const known = new Uint8Array(count);
  return ({ number, test }) => {
    if (known[number] === UNASKED) known[number] = test(frame) ? FITS : FAILS;
    return known[number] === FITS;
  };
}

type Numbered = (test: FrameTest) => AroundTest;

function compileNamed(rule: AttributionRule, tier: RuleTier['name'], numbered: Numbered): CompiledRule {
  try {
    return compileRule(rule, tier, numbered);
  } catch (error) {
    throw new Error(`rule ${rule.id}: ${(error as Error).message}`);
  }
}

function compileRule(rule: AttributionRule, tier: RuleTier['name'], numbered: Numbered): CompiledRule {
  const optional = (patterns: AttributionRule['within']): AroundTest | undefined =>
    patterns === undefined ? undefined : numbered(compilePatterns(patterns));
  return {
    rule,
    tier,
    at: compilePatterns(rule.at),
    within: optional(rule.within),
    through: optional(rule.through),
    without: optional(rule.without),
  };
}
