/** What the checks of single kinds share. */
import type { VerifyEffect, VerifyEvidence } from '../../../model/results/verify.js';
import type { FoundChange, Place } from '../changes.js';
import type { Side } from '../side.js';

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

interface Parts {
  readonly ranks?: VerifyEffect['ranks'];
  readonly evidence?: readonly VerifyEvidence[];
  readonly needs?: string;
}

export function effect(
  outcome: VerifyEffect['outcome'],
  text: string,
  source: string,
  { ranks = { active: [], inactive: [] }, evidence = [], needs }: Parts = {},
): VerifyEffect {
  return { outcome, text, source, ranks, evidence, needs: needs ?? null };
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

/** A rank's recorded state, or an unknown rank's: −1. */
export const rankNumber = (rank: number | null): number => rank ?? -1;
export const knownRanks = (ranks: readonly number[]): number[] => ranks.filter((rank) => rank >= 0);
