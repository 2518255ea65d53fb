/**
 * Which rules a stack matches, in the order in which they would win, and in which phase of training it is. Once per
 * distinct stack.
 */
import type { Phase } from '../../model/log-rows.js';
import type { Component } from '../../model/vocabulary.js';
import type { AroundTest, CompiledRule, CompiledRules, FrameMatches } from './compile-rules.js';
import type { AttributionRule, BlockConditions, Lifetime, PoolKind } from './rule.js';

/** A rule that matches a stack, if its conditions on the block hold. */
export interface Candidate {
  readonly rule: AttributionRule;
  readonly tier: CompiledRule['tier'];
  /** Index of the frame it matches at, 0 = innermost. */
  readonly frame: number;
}

export interface StackClass {
  /**
   * In order of precedence. The last one that can be reached is unconditional; those behind it are kept for
   * `explain-stack`.
   */
  readonly candidates: readonly Candidate[];
  readonly phase: Phase;
  /** Frame that determines the phase; −1 if there is none. */
  readonly phaseFrame: number;
  /**
   * Frame of a checkpoint that runs its forward again, with no call of the autograd engine further in; −1 outside of
   * one.
   */
  readonly recomputeFrame: number;
}

/** What is known of a block besides its stack; undefined = not known. */
export interface BlockFacts {
  readonly pool?: PoolKind | undefined;
  readonly lifetime?: Lifetime | undefined;
  /** Requested. */
  readonly bytes?: number | undefined;
}

/** What the frames match, innermost first. `all` goes on behind the first rule without conditions. */
export function classifyStack(rules: CompiledRules, matches: readonly FrameMatches[], all = false): StackClass {
  const candidates: Candidate[] = [];
  for (let tier = 0; tier < rules.tierCount; tier += 1) {
    const settled = addTier(candidates, matches, tier, all);
    if (settled && !all) break;
  }
  let phase: Phase = 'unknown';
  let phaseFrame = -1;
  let best = Number.POSITIVE_INFINITY;
  let recomputeFrame = -1;
  let engine = false;
  for (let i = 0; i < matches.length; i += 1) {
    const match = matches[i]!;
    if (match.phaseRank < best) {
      best = match.phaseRank;
      phase = match.phase;
      phaseFrame = i;
    }
    if (match.recompute && recomputeFrame < 0 && !engine) recomputeFrame = i;
    engine ||= match.engine;
  }
  if (phaseFrame < 0) {
    // Known from rules only: the step of a user-written optimizer.
    const withPhase = candidates.find(({ rule }) => rule.phase !== undefined);
    if (withPhase !== undefined)
      return { candidates, phase: withPhase.rule.phase!, phaseFrame: withPhase.frame, recomputeFrame };
  }
  return { candidates, phase, phaseFrame, recomputeFrame };
}

/**
 * Adds the rules of a tier by frame, then by order; true once one is unconditional, which ends the search unless `all`.
 */
function addTier(candidates: Candidate[], matches: readonly FrameMatches[], tier: number, all: boolean): boolean {
  const seen = new Set<CompiledRule>();
  let settled = false;
  for (let i = 0; i < matches.length; i += 1) {
    for (const compiled of matches[i]!.tiers[tier]!) {
      if (seen.has(compiled) || !fitsAround(compiled, matches, i)) continue;
      seen.add(compiled);
      candidates.push({ rule: compiled.rule, tier: compiled.tier, frame: i });
      settled ||= compiled.rule.when === undefined;
      if (settled && !all) return true;
    }
  }
  return settled;
}

function fitsAround({ within, through, without }: CompiledRule, matches: readonly FrameMatches[], at: number): boolean {
  if (within !== undefined && !someFits(matches, within, at + 1, matches.length)) return false;
  if (through !== undefined && !someFits(matches, through, 0, at)) return false;
  return without === undefined || !someFits(matches, without, 0, matches.length);
}

function someFits(matches: readonly FrameMatches[], around: AroundTest, from: number, to: number): boolean {
  for (let i = from; i < to; i += 1) if (matches[i]!.fits(around)) return true;
  return false;
}

/** What a stack shows of a block. */
export interface Label {
  readonly component: Component;
  readonly sub_component: string;
  readonly phase: Phase;
  readonly rule: AttributionRule;
  readonly candidate: Candidate;
}

/** Of these, what a checkpoint's second forward pass allocates lives only as long as the layer's backward. */
const RECOMPUTED: ReadonlySet<Component> = new Set<Component>([
  'activation',
  'logits_loss',
  'moe_dispatch',
  'temporary',
]);

/** The first candidate whose conditions hold; undefined without any. */
export function labelOf(stack: StackClass, facts: BlockFacts): Label | undefined {
  for (const candidate of stack.candidates) {
    const { rule } = candidate;
    if (rule.when !== undefined && unmetCondition(rule.when, facts) !== undefined) continue;
    const again = stack.recomputeFrame >= candidate.frame && RECOMPUTED.has(rule.component);
    return {
      component: again ? 'recompute' : rule.component,
      sub_component: rule.sub_component,
      phase: rule.phase ?? stack.phase,
      rule,
      candidate,
    };
  }
  return undefined;
}

/** The first condition that does not hold, in words; undefined if all do. */
export function unmetCondition(when: BlockConditions, facts: BlockFacts): string | undefined {
  const { pool, lifetime, bytes, min_bytes: min, max_bytes: max } = when;
  if (pool !== undefined && facts.pool !== pool) return `pool is ${facts.pool ?? 'not known'}, not ${pool}`;
  if (lifetime !== undefined && facts.lifetime !== lifetime)
    return `lifetime is ${facts.lifetime ?? 'not known'}, not ${lifetime}`;
  if (bytes === undefined && min === undefined && max === undefined) return undefined;
  if (facts.bytes === undefined) return 'size is not known';
  if (bytes !== undefined && !bytes.includes(facts.bytes))
    return `${facts.bytes} bytes is not among ${bytes.join(', ')}`;
  if (min !== undefined && facts.bytes < min) return `${facts.bytes} bytes is less than ${min}`;
  if (max !== undefined && facts.bytes > max) return `${facts.bytes} bytes is more than ${max}`;
  return undefined;
}
