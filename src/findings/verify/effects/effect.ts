/** What the checks of single kinds share. */

import { sentencesOf, type Text } from '../../../model/statement.js';
import type { FoundChange, Place } from '../changes.js';
import type { Side } from '../side.js';
import type { VerifyEffect, VerifyEvidence } from '../unworded.js';
import { textOf } from '../values.js';

export interface EffectInput {
  readonly change: FoundChange;
  /** All changes of the same decision, this one among them. */
  readonly family: readonly FoundChange[];
  /** Whether another decision was taken at the same time: then figures alone prove nothing of this one. */
  readonly alone: boolean;
  readonly before: Side;
  readonly after: Side;
}

export type EffectOf = (input: EffectInput) => VerifyEffect;

/** Codes of what something else would settle. */
const UNSETTLED: ReadonlySet<string> = new Set([
  ...['not_in_force', 'only_meant', 'meant', 'variable_not_set', 'overruled', 'not_printed', 'recompute_differs'],
  ...['state_differs', 'graphs_unknown', 'offload_unknown', 'flow_same', 'recompute_unknown', 'recompute_unclear'],
  ...['recompute_lacking', 'sizes_unknown', 'state_unknown', 'state_alike', 'state_unseen', 'state_measured'],
  'resident',
]);
const needsOf = (code: string, figures: object): Text | null =>
  UNSETTLED.has(code) ? sentencesOf('verify', 'needs')(code, figures) : null;

export const evidenceOf = (code: string, figures: object, source: Text): VerifyEvidence => ({
  text: textOf(code, figures),
  source,
});

interface Parts {
  readonly ranks?: VerifyEffect['ranks'];
  readonly evidence?: readonly VerifyEvidence[];
}

/** Text and what would settle it, which is needed unless it is in force, by one code. */
export function effect(
  outcome: VerifyEffect['outcome'],
  code: string,
  figures: object,
  source: Text,
  { ranks = { active: [], inactive: [] }, evidence = [] }: Parts = {},
): VerifyEffect {
  const needs = outcome === 'active' ? null : needsOf(code, figures);
  return { outcome, text: textOf(code, figures), source, ranks, evidence, needs };
}

export const placeOf = ({ origin, file, line }: Place): Text =>
  file === '' ? origin : textOf('origin', { origin, file, line });

/** `rank 3`, `ranks 0, 1, 2`; of many the first; null without a known one. */
export function knownText(ranks: readonly number[]): Text | null {
  const known = knownRanks(ranks).sort((a, b) => a - b);
  if (known.length === 0) return null;
  return textOf('ranks', {
    ranks: known.slice(0, 8),
    count: known.length,
    more: Math.max(0, known.length - 8) || null,
  });
}

/** In force on all that have a record, on none of them, or on some. */
export function outcomeOn(active: readonly number[], inactive: readonly number[]) {
  const outcome = inactive.length === 0 ? 'active' : active.length === 0 ? 'inactive' : 'partly';
  return { outcome, ranks: { active: knownRanks(active), inactive: knownRanks(inactive) } } as const;
}

/** A rank's recorded state, or an unknown rank's: −1. */
export const rankNumber = (rank: number | null): number => rank ?? -1;
export const knownRanks = (ranks: readonly number[]): number[] => ranks.filter((rank) => rank >= 0);
