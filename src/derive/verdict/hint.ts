/**
 * PyTorch ends OOM messages with the same advice, `expandable_segments:True` (from 1.10 to 2.1 `max_split_size_mb`),
 * whatever figures it printed; torch 2.14 leaves it out where expandable segments are on. Here the advice is checked
 * against those figures and the run's configuration.
 */
import { statement } from '../../model/statement.js';
import type { Hint, HintKind, Step, StepKind, Verdict } from '../../model/verdict.js';
import type { Cause } from '../../model/vocabulary.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import type { OomFacts } from './facts.js';

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
  if (cause === 'host_oom' || cause === 'not_oom' || facts.request_bytes === null) return null;
  const { place, reserved_bytes, live_bytes, short_bytes } = facts;
  const settings = facts.allocatorPlace;
  const hint = (kind: HintKind, place: Hint['place'], figures = {}): Hint => ({ ...statement(kind, figures), place });
  if (facts.is_expandable === true) return hint('already_on', settings ?? place);
  if (cause === 'graph_pools') return hint('pools', place);
  if (short_bytes !== null && reserved_bytes !== null && live_bytes !== null && cause !== 'fragmentation') {
    if (short_bytes <= 0) return null;
    const numbers = { idle_bytes: Math.max(0, reserved_bytes - live_bytes), reserved_bytes };
    return hint('too_little_idle', place, { numbers });
  }
  if (cause !== 'fragmentation') return null;
  if (rules.some(({ kind }) => kind === 'refuted_by_replay')) return hint('refuted', settings ?? place);
  if (text !== null && /max_split_size_mb/.test(text) && !/expandable_segments/.test(text))
    return hint('split_limit', place);
  if (constraint !== null) return hint('forbidden', constraint.source, { names: { constraint: constraint.text } });
  return settings === null ? hint('unknown', place) : hint('applies', settings);
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
