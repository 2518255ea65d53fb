/**
 * Recompute: frames that only recomputed modules have, in the stacks of the run after; without a snapshot, what
 * activations need.
 */

import { asList } from '../../../derive/settings/values.js';
import type { VerifyEvidence } from '../../../model/results/verify.js';
import { formatBytes } from '../../../model/units.js';
import { flowBytes } from '../figures.js';
import type { RankSnapshot, Side } from '../side.js';
import { type EffectInput, type EffectOf, effect, knownRanks, rankNumber, ranksText } from './effect.js';
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
  const added = now.filter((module) => !was.includes(module));
  const dropped = was.filter((module) => !now.includes(module));
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no')
    return effect('inactive', `${record.text}, not ${change.to ?? 'None'}`, record.source, {
      needs: 'set it where the framework takes it from: the recipe or the command line that runs',
    });
  const withForward = after.snapshots.filter(({ program }) => program.forwardRequests > 0);
  const [more, less] = [[...added], [...dropped]];
  const figures = byFigures(before, after);
  const evidence: VerifyEvidence[] = [
    { text: record.text, source: record.source },
    ...(figures === null ? [] : [figures]),
  ];
  if (withForward.length > 0 && (more.length > 0 || less.length > 0))
    return byFrames(withForward, more, less, evidence);
  if (figures !== null && alone && more.length > 0) {
    if (figures.share <= -CLEAR_CHANGE)
      return effect('active', `${figures.text}: recomputed tensors are not kept any more`, figures.source, {
        evidence,
      });
    if (Math.abs(figures.share) <= NO_CHANGE)
      return effect('inactive', `${figures.text}: nothing more is dropped`, figures.source, {
        evidence,
        needs: 'a memory snapshot of the run after with Python stacks: its frames name what is recomputed',
      });
  }
  return effect('untested', `${record.text}; no stack shows what is recomputed`, record.source, {
    evidence,
    needs:
      'a memory snapshot of the run after with Python stacks: frames of recompute (CheckpointFunction, CheckpointWithoutOutput) would be in it',
  });
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
      lines.push({ text: `recompute of ${module}: ${requests} allocations through ${frame}`, source: handle });
    for (const module of more) (has(module) ? seen : missing).add(module);
    const left = less.filter(has);
    if (more.every(has) && left.length === 0) active.push(rankNumber(rank));
    else {
      inactive.push(rankNumber(rank));
      if (program.recompute.has('other')) unclear = true;
    }
  }
  const source = withForward[0]!.handle;
  const ranks = { active: knownRanks(active), inactive: knownRanks(inactive) };
  const words = more.length > 0 ? more.join(', ') : `no ${less.join(', ')}`;
  if (inactive.length === 0)
    return effect('active', `frames show recompute of ${words}${ofRanks(active)}`, source, { ranks, evidence: lines });
  if (unclear)
    return effect('untested', `frames show recompute, but not of what (requested: ${words})`, source, {
      ranks: { active: [], inactive: [] },
      evidence: lines,
      needs: 'a memory snapshot with whole Python stacks',
    });
  const partly = active.length > 0 || (seen.size > 0 && missing.size > 0);
  const lacking = [...missing].join(', ') || less.join(', ');
  return effect(
    partly ? 'partly' : 'inactive',
    more.length === 0
      ? `frames still show recompute of ${lacking}${ofRanks(inactive)}`
      : `no frame of recompute of ${lacking} among ${withForward.reduce((sum, { program }) => sum + program.forwardRequests, 0)} allocations of forward passes${ofRanks(inactive)}`,
    source,
    {
      ranks,
      evidence: lines,
      needs: 'look for what overrides the setting: the recipe, a model provider, the layer spec',
    },
  );
}

const ofRanks = (ranks: readonly number[]): string => {
  const known = knownRanks(ranks);
  return known.length === 0 ? '' : ` (${ranksText(known)})`;
};

/** Activations and the like at the peak, of the same rank of both. */
export function byFigures(before: Side, after: Side): (VerifyEvidence & { readonly share: number }) | null {
  const pair = flowBytes(before, after);
  if (pair === null || pair.before <= 0) return null;
  const share = (pair.after - pair.before) / pair.before;
  return {
    text: `activations ${formatBytes(pair.before)} → ${formatBytes(pair.after)} (${share < 0 ? '−' : '+'}${(100 * Math.abs(share)).toFixed(1)} %; ${pair.of})`,
    source: pair.source,
    share,
  };
}
