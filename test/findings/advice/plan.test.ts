/** The cheapest changes that are enough: by what they cost together, and never two that exclude each other. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, type PlanQuestion, planOf } from '../../../src/findings/advice/plan.js';
import { GIB } from '../../../src/model/units.js';
import { worded } from '../../../src/report/words/worded.js';
import { SEED } from '../../support/level.js';

function candidate(id: string, gib: number, cost: number | null, more: Partial<Candidate> = {}): Candidate {
  return {
    id,
    family: id,
    order: 10,
    change: { settings: { [id]: 'True' }, env: {} },
    saving_bytes: gib * GIB,
    closes: false,
    cost_percent: cost,
    numerics: false,
    needsGpus: false,
    isAnswer: false,
    ...more,
  };
}

function ask(needGib: number | null, candidates: readonly Candidate[], more: Partial<PlanQuestion> = {}) {
  const plan = planOf({
    needBytes: needGib === null ? null : needGib * GIB,
    candidates,
    estimate: () => null,
    closes: (_, saving) => needGib !== null && saving >= needGib * GIB,
    allows: () => true,
    ...more,
  });
  return worded(plan);
}

describe('a plan', () => {
  it('is the one change that is enough and costs least', () => {
    const plan = ask(5, [
      candidate('dear', 20, 28, { closes: true }),
      candidate('cheap', 6, 6, { closes: true }),
      candidate('small', 2, 0),
    ]);
    expect(plan).toMatchObject({ fixes: ['cheap'], closes: true, cost_percent: 6, text: 'one change is enough' });
  });

  it('is several where one is not enough, or where they are cheaper than the one that is', () => {
    const small = [candidate('a', 3, 0), candidate('b', 4, 0)];
    expect(ask(6, small)?.fixes).toEqual(['a', 'b']);
    expect(ask(6, [...small, candidate('dear', 20, 28, { closes: true })])?.fixes).toEqual(['a', 'b']);
    // Two more things to change are not worth less than one percent.
    expect(ask(6, [...small, candidate('one', 20, 1, { closes: true })])?.fixes).toEqual(['one']);
  });

  it('adds costs as shares of what is left', () => {
    expect(ask(6, [candidate('a', 3, 20), candidate('b', 4, 20)])?.cost_percent).toBe(36);
    expect(ask(6, [candidate('a', 3, 20), candidate('b', 4, null)])?.cost_percent).toBeNull();
    // A change that may be enough is tried before a plan that costs so much.
    expect(ask(6, [candidate('a', 3, 50), candidate('b', 4, 50)])).toBeNull();
  });

  it('never takes two of one family, nor two values of one key', () => {
    const fractions = [candidate('half', 4, 10, { family: 'offload' }), candidate('all', 5, 20, { family: 'offload' })];
    expect(ask(8, fractions)).toBeNull();
    const change = (value: string) => ({ settings: { pp: value }, env: {} });
    expect(
      ask(8, [candidate('a', 5, 1, { change: change('8') }), candidate('b', 5, 1, { change: change('16') })]),
    ).toBeNull();
  });

  it('asks the rules and the estimator about the joint change', () => {
    const pair = [candidate('a', 5, 1), candidate('b', 5, 1), candidate('c', 5, 3)];
    const plan = ask(9, pair, { allows: ({ settings }) => !('a' in settings && 'b' in settings) });
    expect(plan?.fixes).toEqual(['a', 'c']);
    // Together they save less than one by one: what the one drops, the other need not.
    expect(ask(9, pair.slice(0, 2), { estimate: () => 6 * GIB })).toBeNull();
  });

  it('needs more GPUs only where nothing else is enough', () => {
    const more = candidate('pp-16-more-gpus', 30, null, { closes: true, needsGpus: true });
    expect(ask(9, [more, candidate('dear', 10, 76, { closes: true })])?.fixes).toEqual(['dear']);
    expect(ask(9, [more, candidate('small', 1, 0)])?.fixes).toEqual(['pp-16-more-gpus']);
  });

  it('is none where nothing is known to be enough', () => {
    expect(ask(9, [])).toBeNull();
    expect(ask(null, [candidate('a', 30, 0, { closes: null })])).toBeNull();
    expect(ask(9, [candidate('a', 3, 0), candidate('b', 3, 0)])).toBeNull();
  });

  it('covers the need whenever it says so', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ gib: fc.integer({ min: 0, max: 20 }), cost: fc.option(fc.integer({ min: 0, max: 12 })) }),
          { maxLength: 8 },
        ),
        fc.integer({ min: 1, max: 40 }),
        (sizes, need) => {
          const candidates = sizes.map(({ gib, cost }, i) => candidate(`f${i}`, gib, cost, { closes: gib >= need }));
          const plan = ask(need, candidates);
          const chosen = candidates.filter(({ id }) => plan?.fixes.includes(id));
          const best = sizes.map(({ gib }) => gib).sort((a, b) => b - a);
          // Three at most: if the largest three are not enough, none are.
          expect(plan === null).toBe(best.slice(0, 3).reduce((sum, gib) => sum + gib, 0) < need);
          if (plan === null) return;
          expect(chosen.reduce((sum, one) => sum + (one.saving_bytes ?? 0), 0)).toBeGreaterThanOrEqual(need * GIB);
          expect(Object.keys(plan.change.settings).sort()).toEqual(chosen.map(({ id }) => id).sort());
        },
      ),
      { seed: SEED },
    );
  });
});
