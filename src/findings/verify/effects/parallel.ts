/**
 * Parallel sizes: what the run itself announces, what world size and data parallelism followed, and how much of the
 * model a rank holds.
 */

import type { VerifyEvidence } from '../../../model/results/verify.js';
import { formatBytes } from '../../../model/units.js';
import { componentBytes, pairOfPeaks } from '../figures.js';
import type { Side } from '../side.js';
import { type EffectInput, type EffectOf, effect } from './effect.js';
import { ownRecord } from './printed.js';

/** Share of the parameters a rank holds, as TP and PP cut the model evenly. */
function cutOf({ about: { parallel } }: Side): number | null {
  return parallel.tp === null || parallel.pp === null ? null : 1 / (parallel.tp * parallel.pp);
}

export const parallelEffect: EffectOf = ({ change, before, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  const evidence: VerifyEvidence[] = [{ text: record.text, source: record.source }];
  const { dp } = after.about.parallel;
  const was = before.about.parallel.dp;
  const followed =
    after.about.world_size === null
      ? ''
      : `; ${after.about.world_size} GPUs${before.about.world_size === after.about.world_size ? '' : ` instead of ${before.about.world_size ?? '?'}`}${dp === null ? '' : `, DP ${was === dp || was === null ? dp : `${was} → ${dp}`}`}`;
  if (record.is === 'no')
    return effect('inactive', `${record.text}, not ${change.to ?? 'None'}`, record.source, { evidence });
  const isCut = change.key === 'tensor_model_parallel_size' || change.key === 'pipeline_model_parallel_size';
  const cut = isCut ? held(before, after) : null;
  if (cut !== null) evidence.push(cut);
  if (record.is === 'yes') return effect('active', `${record.text}${followed}`, record.source, { evidence });
  if (cut !== null) {
    if (cut.fits === 'after') return effect('active', `${cut.text}${followed}`, cut.source, { evidence });
    if (cut.fits === 'before') return effect('inactive', cut.text, cut.source, { evidence });
  }
  return effect('untested', record.text, record.source, {
    evidence,
    needs: 'the log of rank 0 from its start: the framework prints world size and parallel sizes',
  });
};

function held(before: Side, after: Side): (VerifyEvidence & { readonly fits: 'before' | 'after' | null }) | null {
  const pair = pairOfPeaks(before, after);
  const [x, y] = [cutOf(before), cutOf(after)];
  if (pair === null || x === null || y === null) return null;
  const [a, b] = [componentBytes(pair.before, ['parameter']), componentBytes(pair.after, ['parameter'])];
  if (a === 0 || b === 0) return null;
  const expected = Math.log(y / x);
  const logRatio = Math.log(b / a);
  const fits =
    Math.abs(expected) < 0.1
      ? null
      : Math.abs(logRatio - expected) < Math.abs(expected) / 2
        ? 'after'
        : Math.abs(logRatio) < Math.abs(expected) / 4
          ? 'before'
          : null;
  return {
    text: `parameters of rank ${pair.after.rank ?? '?'} ${formatBytes(a)} → ${formatBytes(b)}`,
    source: `${pair.before.handle} and ${pair.after.handle}`,
    fits,
  };
}
