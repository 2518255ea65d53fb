/** What the checks of single kinds share. */

import { textsOf, wordTable } from '../../../knowledge/words.js';
import type { VerifyEffect, VerifyEvidence } from '../../../model/results/verify.js';
import type { FoundChange, Place } from '../changes.js';
import type { Side } from '../side.js';
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

const needsOf = (code: string, figures: object): string | null =>
  code in wordTable('verify', 'needs') ? textsOf('verify', 'needs')(code, figures) : null;

export const evidenceOf = (code: string, figures: object, source: string): VerifyEvidence => ({
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
  source: string,
  { ranks = { active: [], inactive: [] }, evidence = [] }: Parts = {},
): VerifyEffect {
  const needs = outcome === 'active' ? null : needsOf(code, figures);
  return { outcome, text: textOf(code, figures), source, ranks, evidence, needs };
}

export function placeText({ origin, file, line }: Place): string {
  return file === '' ? origin : line > 0 ? `${origin}: ${file} line ${line}` : `${origin}: ${file}`;
}

/** `rank 3`, `ranks 0, 1, 2`; of many the first. */
export function ranksText(ranks: readonly number[]): string {
  const sorted = [...ranks].sort((a, b) => a - b);
  const shown =
    sorted.length > 8 ? `${sorted.slice(0, 8).join(', ')} and ${sorted.length - 8} more` : sorted.join(', ');
  return `${sorted.length === 1 ? 'rank' : 'ranks'} ${shown}`;
}

/** The same of the known ones; null without any. */
export function knownText(ranks: readonly number[]): string | null {
  const known = knownRanks(ranks);
  return known.length === 0 ? null : ranksText(known);
}

/** In force on all that have a record, on none of them, or on some. */
export function outcomeOn(active: readonly number[], inactive: readonly number[]) {
  const outcome = inactive.length === 0 ? 'active' : active.length === 0 ? 'inactive' : 'partly';
  return { outcome, ranks: { active: knownRanks(active), inactive: knownRanks(inactive) } } as const;
}

/** A rank's recorded state, or an unknown rank's: −1. */
export const rankNumber = (rank: number | null): number => rank ?? -1;
export const knownRanks = (ranks: readonly number[]): number[] => ranks.filter((rank) => rank >= 0);
