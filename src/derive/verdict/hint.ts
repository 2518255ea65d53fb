/**
 * PyTorch ends OOM messages with the same advice, `expandable_segments:True` (from 1.10 to 2.1 `max_split_size_mb`),
 * whatever figures it printed; torch 2.14 leaves it out where expandable segments are on. Here the advice is checked
 * against those figures and the run's configuration.
 */
import { statement } from '../../model/statement.js';
import type { Hint, HintKind, Step, StepKind, Verdict } from '../../model/verdict.js';
import type { Cause } from '../../model/vocabulary.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import { active, budget, type OomFacts } from './facts.js';

/** Whether the text of a message has the advice: of one that lacks it, it would be a quotation of nothing. */
export function quotesHint(text: string): boolean {
  return /try\s*setting|avoid\s*fragmentation|See\s*documentation\s*for\s*Memory\s*Management/i.test(text);
}

/** Null where no caching allocator ran out, or there is too little evidence to judge its advice. */
export function judgeHint(
  facts: OomFacts,
  { cause, rules = [] }: { readonly cause: Cause; readonly rules?: Verdict['rules'] },
  constraint: ExpandableConstraint | null,
  /** The message; null of a snapshot. */
  text: string | null = null,
): Hint | null {
  if (cause === 'host_oom' || cause === 'not_oom' || facts.request === null) return null;
  const { allocator, reserved, request } = facts;
  const hint = (kind: HintKind, place: Hint['place'], figures = {}): Hint => ({ ...statement(kind, figures), place });
  if (allocator?.expandableSegments === true) return hint('already_on', allocator.source);
  const live = active(facts);
  const limit = budget(facts);
  if (cause === 'graph_pools') return hint('pools', (facts.privatePoolFree ?? request).source);
  if (reserved !== null && live !== null && limit !== null && cause !== 'fragmentation') {
    if (live.bytes + facts.requestAtLeastBytes <= limit.bytes) return null;
    const numbers = { idle_bytes: Math.max(0, reserved.bytes - live.bytes), reserved_bytes: reserved.bytes };
    return hint('too_little_idle', reserved.source, { numbers });
  }
  if (cause !== 'fragmentation') return null;
  if (rules.some(({ kind }) => kind === 'refuted_by_replay')) return hint('refuted', (allocator ?? request).source);
  if (text !== null && /max_split_size_mb/.test(text) && !/expandable_segments/.test(text))
    return hint('split_limit', (reserved ?? request).source);
  if (constraint !== null) return hint('forbidden', constraint.source, { names: { constraint: constraint.text } });
  return allocator === null ? hint('unknown', (reserved ?? request).source) : hint('applies', allocator.source);
}

/** Steps that are the setting itself: a replay may prove or refute it, and a configuration may forbid it. */
const EXPANDABLE: ReadonlySet<StepKind> = new Set<StepKind>([
  'expandable_segments',
  'expandable_first',
  'expandable_replayed',
]);

export const isExpandable = ({ kind }: Step): boolean => EXPANDABLE.has(kind);

/** The steps with what the configuration forbids marked in them, whichever verdict gave them. */
export function allowedSteps(steps: readonly Step[], constraint: ExpandableConstraint | null): readonly Step[] {
  if (constraint === null) return steps;
  const open = constraint.isUnknownOption ? steps.filter(({ kind }) => kind !== 'check_expandable') : steps;
  return open.map((step): Step => {
    const { text, source } = constraint;
    if (isExpandable(step)) return { ...step, status: 'forbidden', because: { text, source } };
    const { or: _, ...names } = step.names;
    return { ...step, names };
  });
}
