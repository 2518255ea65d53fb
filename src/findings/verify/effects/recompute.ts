/**
 * Recompute: frames that only recomputed modules have, in the stacks of the run after; without a snapshot, what
 * activations need.
 */

import { asList } from '../../../derive/settings/values.js';
import { sumOf } from '../../../model/lists.js';
import { flowBytes } from '../figures.js';
import type { RankSnapshot, Side } from '../side.js';
import type { VerifyEvidence } from '../unworded.js';
import { type EffectInput, type EffectOf, effect, evidenceOf, knownText, outcomeOn, rankNumber } from './effect.js';
import { ownRecord } from './printed.js';

/** Less than this share of a change of activations is the allocator's rounding. */
const NO_CHANGE = 0.01;
const CLEAR_CHANGE = 0.05;

/** Modules whose recompute a side asks for: `full`, or names; empty for none. */
function asked(side: Side, meant: ReadonlyMap<string, string | null>): readonly string[] {
  const value = (key: string): string | null => (meant.has(key) ? meant.get(key)! : side.view.setting(key).value);
  const granularity = value('recompute_granularity')?.toLowerCase() ?? null;
  if (granularity === 'full') return ['full'];
  if (granularity !== 'selective') return [];
  return asList(value('recompute_modules')) ?? ['core_attn'];
}

export const recomputeEffect: EffectOf = ({ change, family, alone, before, after }: EffectInput) => {
  const was = asked(before, new Map());
  const now = asked(after, new Map(family.map(({ key, to }) => [key, to])));
  const more = now.filter((module) => !was.includes(module));
  const less = was.filter((module) => !now.includes(module));
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no') return effect('inactive', 'recompute_differs', record.figures, record.source);
  const withForward = after.snapshots.filter(({ program }) => program.forwardRequests > 0);
  const figures = byFigures(before, after);
  const evidence: VerifyEvidence[] = [
    { text: record.text, source: record.source },
    ...(figures === null ? [] : [figures]),
  ];
  if (withForward.length > 0 && (more.length > 0 || less.length > 0))
    return byFrames(withForward, more, less, evidence);
  if (figures !== null && alone && more.length > 0) {
    if (figures.share <= -CLEAR_CHANGE) return effect('active', 'flow_fell', figures, figures.source, { evidence });
    if (Math.abs(figures.share) <= NO_CHANGE)
      return effect('inactive', 'flow_same', figures, figures.source, { evidence });
  }
  return effect('untested', 'recompute_unknown', record.figures, record.source, { evidence });
};

function byFrames(
  withForward: readonly RankSnapshot[],
  more: readonly string[],
  less: readonly string[],
  evidence: readonly VerifyEvidence[],
): ReturnType<EffectOf> {
  const active: number[] = [];
  const inactive: number[] = [];
  const lines: VerifyEvidence[] = [...evidence];
  const missing = new Set<string>();
  const seen = new Set<string>();
  let unclear = false;
  for (const { rank, program, handle } of withForward) {
    const has = (module: string): boolean => program.recompute.has(module);
    for (const [module, { requests, frame }] of program.recompute)
      lines.push(evidenceOf('recompute_frame', { module, requests, frame }, handle));
    for (const module of more) (has(module) ? seen : missing).add(module);
    const left = less.filter(has);
    if (more.every(has) && left.length === 0) active.push(rankNumber(rank));
    else {
      inactive.push(rankNumber(rank));
      if (program.recompute.has('other')) unclear = true;
    }
  }
  const source = withForward[0]!.handle;
  const { outcome, ranks } = outcomeOn(active, inactive);
  const figures = {
    ...{ more: more.length > 0 ? more.join(', ') : null, less: less.join(', ') },
    lacking: [...missing].join(', ') || less.join(', '),
    where: knownText(outcome === 'active' ? active : inactive),
    requests: sumOf(withForward.map(({ program }) => program.forwardRequests)),
  };
  if (outcome === 'active') return effect(outcome, 'recompute_seen', figures, source, { ranks, evidence: lines });
  if (unclear) return effect('untested', 'recompute_unclear', figures, source, { evidence: lines });
  const isPartly = active.length > 0 || (seen.size > 0 && missing.size > 0);
  return effect(isPartly ? 'partly' : 'inactive', 'recompute_lacking', figures, source, { ranks, evidence: lines });
}

/** Activations and the like at the peak, of the same rank of both. */
export function byFigures(before: Side, after: Side) {
  const pair = flowBytes(before, after);
  if (pair === null || pair.before <= 0) return null;
  const share = (pair.after - pair.before) / pair.before;
  const percent = 100 * Math.abs(share);
  const figures = { a_bytes: pair.before, b_bytes: pair.after, fell: share < 0, percent, of: pair.of };
  return { ...evidenceOf('flow', figures, pair.source), share };
}
