/**
 * A cause is built by trying: plans are drawn until one makes the cause true by arithmetic. The seed decides the order,
 * nothing else.
 */
import type { GeneratedRun } from '../run.js';
import { createRandom, deriveSeed, type Random } from '../simulate/random.js';
import { UnfitPlan } from '../simulate/simulate-attempt.js';

/** So many that a cause which does not find one is broken. */
const TRIES = 1000;

/** Throws if no draw gives a run, which is a mistake in the cause. */
export function search(
  name: string,
  seed: number,
  build: (random: Random, draw: number) => GeneratedRun | undefined,
): GeneratedRun {
  for (let draw = 0; draw < TRIES; draw += 1) {
    const drawSeed = deriveSeed(name, seed, draw);
    try {
      const run = build(createRandom(drawSeed), drawSeed);
      if (run !== undefined) return run;
    } catch (error) {
      if (!(error instanceof UnfitPlan)) throw error;
    }
  }
  throw new Error(`${name}: no plan drawn from seed ${seed} makes this cause`);
}
