import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEED } from '../support/level.js';
import { RevisableMaximum } from './walk/revisable-maximum.js';

describe('RevisableMaximum', () => {
  it('keeps a peak that only a later revision makes the highest', () => {
    const maximum = new RevisableMaximum();
    maximum.record(100, 9);
    const term = maximum.open();
    maximum.record(95, 8);
    expect(maximum.result()).toEqual({ total: 100, seq: 9 });
    maximum.revise(term, 10);
    expect(maximum.result()).toEqual({ total: 105, seq: 8 });
    maximum.close(term);
    maximum.record(105, 7);
    expect(maximum.result()).toEqual({ total: 105, seq: 7 });
  });

  it('agrees with a list that is corrected in place', () => {
    const step = fc.record({
      kind: fc.integer({ min: 0, max: 3 }),
      pick: fc.nat(),
      amount: fc.integer({ min: -9, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 400, size: 'max' }), (steps) => {
        const maximum = new RevisableMaximum();
        const totals: { total: number; seq: number }[] = [];
        const open: { id: number; from: number }[] = [];
        let now = 0;
        let seq = 10_000;
        for (const { kind, pick, amount } of steps) {
          const at = open.length === 0 ? 0 : pick % open.length;
          const term = open[at];
          if (kind === 0) {
            now += amount;
            totals.push({ total: now, seq });
            maximum.record(now, seq);
            seq -= 1;
          } else if (kind === 1) {
            open.push({ id: maximum.open(), from: totals.length });
          } else if (kind === 2 && term !== undefined) {
            for (let i = term.from; i < totals.length; i += 1) totals[i]!.total += amount;
            now += amount;
            maximum.revise(term.id, amount);
          } else if (kind === 3 && term !== undefined) {
            maximum.close(term.id);
            open.splice(at, 1);
          }
          const best = totals.reduce((a, b) => (b.total >= a.total ? b : a), {
            total: Number.NEGATIVE_INFINITY,
            seq: -1,
          });
          expect(maximum.result()).toEqual(best);
        }
      }),
      { numRuns: 300, seed: SEED },
    );
  });
});
