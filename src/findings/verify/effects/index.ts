/** The check of each kind of change. */
import type { ChangeKind } from '../../../model/results/verify.js';
import type { VerifyEffect } from '../unworded.js';
import { allocatorEffect } from './allocator.js';
import { type EffectInput, type EffectOf, effect, evidenceOf, placeOf } from './effect.js';
import { environmentEffect } from './environment.js';
import { graphsEffect } from './graphs.js';
import { activationOffloadEffect } from './offload.js';
import { parallelEffect } from './parallel.js';
import { printedEffect } from './printed.js';
import { recomputeEffect } from './recompute.js';
import { gradientEffect, optimizerEffect } from './state.js';

const CHECKS: Readonly<Record<ChangeKind, EffectOf>> = {
  allocator: allocatorEffect,
  environment: environmentEffect,
  recompute: recomputeEffect,
  optimizer: optimizerEffect,
  gradients: gradientEffect,
  parallel: parallelEffect,
  activation_offload: activationOffloadEffect,
  graphs: graphsEffect,
  setting: printedEffect,
};

export function effectOf(input: EffectInput): VerifyEffect {
  const { overruled, to } = input.change;
  if (overruled === null) return CHECKS[input.change.kind](input);
  // Requested, but a stronger source has another value: no further check is needed.
  const [requestedBy, by] = [placeOf(overruled.asked), placeOf(overruled.by)];
  const figures = { requested_by: requestedBy, to, value: overruled.value };
  return effect('inactive', 'overruled', figures, by, {
    evidence: [evidenceOf('requested', figures, requestedBy), evidenceOf('has_value', figures, by)],
  });
}
