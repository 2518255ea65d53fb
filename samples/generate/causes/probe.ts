/**
 * A few ranks of a plan on their real devices, before the whole run is simulated: most draws are given up here,
 * cheaply.
 */
import type { SimulatedRank } from '../run.js';
import { type AttemptOptions, simulateAttempt } from '../simulate/simulate-attempt.js';

export function probe(options: AttemptOptions, ranks: readonly number[]): readonly SimulatedRank[] {
  return simulateAttempt({ ...options, ranks, records: () => false }).ranks;
}
