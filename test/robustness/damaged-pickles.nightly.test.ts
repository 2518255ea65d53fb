/** Cuts and changes of many seeds, of hand-made and of real pickles. */
import { describe, it } from 'vitest';
import { skipLoudly } from '../support/corpus.js';
import { cutPlaces, expectCuts, expectMutants, HAND_MADE } from './damaged-pickles.js';
import { corpusPickles } from './harness.js';

const SEEDS = Array.from({ length: 8 }, (_, i) => 1000 + i);

it.each(SEEDS)('100 changed hand-made pickles, seed %i', (seed) => expectMutants(100, seed, HAND_MADE));

describe('real pickles', () => {
  const pickles = corpusPickles().map(({ bytes }) => bytes);
  if (pickles.length === 0) return skipLoudly('real pickles to damage', 'the corpus (set MBF_CORPUS)');
  const small = pickles.filter(({ length }) => length < 400_000);

  it.each(SEEDS)('cut at 25 places, seed %i', (seed) => {
    // Mostly small ones, for time; every tenth cut is of the largest.
    const cuts = cutPlaces(2 ** 30, 25, seed).map((place, i) => {
      const pool = i % 10 === 0 ? pickles.slice(-5) : pickles.slice(0, Math.ceil(pickles.length * 0.6));
      const bytes = pool[place % pool.length]!;
      return bytes.subarray(0, 2 + (place % (bytes.length - 2)));
    });
    return expectCuts(cuts);
  });

  it.each(SEEDS)('100 times changed, seed %i', (seed) => expectMutants(100, seed, small));
  it('20 times changed, of any size', () => expectMutants(20, 7, pickles));
});
