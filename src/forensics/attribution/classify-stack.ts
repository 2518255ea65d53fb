/** Which rules a stack matches, in the order in which they would win, and in which phase of training it is. Once per distinct stack. */
import type { Phase } from '../../model/log-rows.js';
import type { Component } from '../../model/vocabulary.js';
import type { CompiledRule, CompiledRules } from './compile-rules.js';
import type { FrameTest, NamedFrame } from './frame-pattern.js';
import type { AttributionRule, BlockConditions, Lifetime, PoolKind } from './rule.js';

/** A rule that matches a stack, if its conditions on the block hold. */
export interface Candidate {
  readonly rule: AttributionRule;
  readonly tier: CompiledRule['tier'];
  /** Index of the frame it matches at, 0 = innermost. */
  readonly frame: number;
}

export interface StackClass {
  /** In order of precedence. The last one that can be reached has no conditions; those behind it are kept for `explain-stack`. */
  readonly candidates: readonly Candidate[];
  readonly phase: Phase;
  /** Frame that tells the phase; −1 where none does. */
  readonly phaseFrame: number;
  /** Frame of a checkpoint that runs its forward again; −1 outside of one. */
  readonly recomputeFrame: number;
}

/** What is known of a block beside its stack; undefined = not known. */
export interface BlockFacts {
  readonly pool?: PoolKind | undefined;
  readonly lifetime?: Lifetime | undefined;
  /** Requested. */
  readonly bytes?: number | undefined;
}

/** Frames innermost first. `all` goes on behind the first rule without conditions. */
export function classifyStack(rules: CompiledRules, frames: readonly NamedFrame[], all = false): StackClass {
  const candidates: Candidate[] = [];
  let settled = false;
  for (const tier of rules.tiers) {
    const matches: Candidate[] = [];
    for (const compiled of tier) {
      const frame = matchFrame(compiled, frames);
      if (frame >= 0) matches.push({ rule: compiled.rule, tier: compiled.tier, frame });
    }
    // Stable: rules that match at the same frame stay in the order of the list.
    matches.sort((a, b) => a.frame - b.frame);
    candidates.push(...matches);
    settled ||= matches.some(({ rule }) => rule.when === undefined);
    if (settled && !all) break;
  }
  const { phase, frame } = phaseOf(rules, frames);
  return { candidates, phase, phaseFrame: frame, recomputeFrame: frames.findIndex(rules.recompute) };
}

function matchFrame(compiled: CompiledRule, frames: readonly NamedFrame[]): number {
  const { at, within, through, without } = compiled;
  for (let i = 0; i < frames.length; i += 1) {
    if (!at(frames[i]!)) continue;
    if (within !== undefined && !someFrom(frames, within, i + 1, frames.length)) continue;
    if (through !== undefined && !someFrom(frames, through, 0, i)) continue;
    if (without !== undefined && frames.some(without)) return -1;
    return i;
  }
  return -1;
}

function someFrom(frames: readonly NamedFrame[], test: FrameTest, from: number, to: number): boolean {
  for (let i = from; i < to; i += 1) if (test(frames[i]!)) return true;
  return false;
}

function phaseOf(rules: CompiledRules, frames: readonly NamedFrame[]): { phase: Phase; frame: number } {
  for (const { rule, at } of rules.phases) {
    const frame = frames.findIndex(at);
    if (frame >= 0) return { phase: rule.phase, frame };
  }
  return { phase: 'unknown', frame: -1 };
}

/** What a stack says of a block. */
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

/** The first candidate whose conditions hold; undefined where no rule says anything. */
export function labelOf(stack: StackClass, facts: BlockFacts): Label | undefined {
  for (const candidate of stack.candidates) {
    const { rule } = candidate;
    if (rule.when !== undefined && unmetCondition(rule.when, facts) !== undefined) continue;
    const again = stack.recomputeFrame >= 0 && RECOMPUTED.has(rule.component);
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
  if (bytes !== undefined && !bytes.includes(facts.bytes)) return `${facts.bytes} bytes is none of ${bytes.join(', ')}`;
  if (min !== undefined && facts.bytes < min) return `${facts.bytes} bytes is less than ${min}`;
  if (max !== undefined && facts.bytes > max) return `${facts.bytes} bytes is more than ${max}`;
  return undefined;
}
