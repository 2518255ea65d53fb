/** The check of each kind of change. */
import type { ChangeKind, VerifyEffect } from '../../../model/results/verify.js';
import { allocatorEffect } from './allocator.js';
import { type EffectInput, type EffectOf, effect, placeText } from './effect.js';
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
  const { overruled } = input.change;
  // Requested, but a stronger source has another value: no further check is needed.
  if (overruled !== null)
    return effect(
      'inactive',
      `${placeText(overruled.asked)} requests ${input.change.to ?? 'None'}; ${overruled.value ?? 'None'} is in force`,
      placeText(overruled.by),
      {
        evidence: [
          { text: `requested: ${input.change.to ?? 'None'}`, source: placeText(overruled.asked) },
          { text: `in force: ${overruled.value ?? 'None'}`, source: placeText(overruled.by) },
        ],
        needs: 'set it where the framework takes it from last',
      },
    );
  return CHECKS[input.change.kind](input);
}
