/**
 * Parallel sizes: what the run itself announces, what world size and data parallelism followed, and how much of the
 * model a rank holds.
 */

import { componentBytes, pairOfPeaks } from '../figures.js';
import type { Side } from '../side.js';
import type { VerifyEvidence } from '../unworded.js';
import { textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect, evidenceOf } from './effect.js';
import { ownRecord } from './printed.js';

/** Share of the parameters a rank holds, as TP and PP cut the model evenly. */
function cutOf({ about: { parallel } }: Side): number | null {
  return parallel.tp === null || parallel.pp === null ? null : 1 / (parallel.tp * parallel.pp);
}

export const parallelEffect: EffectOf = ({ change, before, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  const evidence: VerifyEvidence[] = [{ text: record.text, source: record.source }];
  const [dp, was] = [after.about.parallel.dp, before.about.parallel.dp];
  const [world, worldBefore] = [after.about.world_size, before.about.world_size];
  const figures = {
    ...{ ...record.figures, world, was: world === worldBefore ? null : (worldBefore ?? '?'), dp },
    dp_before: was === dp ? null : was,
  };
  if (record.is === 'no') return effect('inactive', 'differs', figures, record.source, { evidence });
  const isCut = change.key === 'tensor_model_parallel_size' || change.key === 'pipeline_model_parallel_size';
  const cut = isCut ? held(before, after) : null;
  if (cut !== null) evidence.push(cut);
  if (record.is === 'yes') return effect('active', 'followed', figures, record.source, { evidence });
  if (cut?.fits === 'after') {
    return effect('active', 'followed', { ...figures, record: cut.text }, cut.source, { evidence });
  }
  if (cut?.fits === 'before') return effect('inactive', 'shown', cut, cut.source, { evidence });
  return effect('untested', 'sizes_unknown', record.figures, record.source, { evidence });
};

function held(before: Side, after: Side) {
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
  const figures = { rank: pair.after.rank, a_bytes: a, b_bytes: b };
  return {
    ...evidenceOf('held', figures, textOf('both', { before: pair.before.handle, after: pair.after.handle })),
    fits,
  };
}
