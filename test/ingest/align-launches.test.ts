import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alignLaunches, type MetricsSpan } from '../../src/ingest/align-launches.js';

const HOUR = 3_600_000_000;
const span = (sourceId: number, from: number, to: number): MetricsSpan => ({
  sourceId,
  firstUs: from * HOUR,
  lastUs: to * HOUR,
});
const attemptsOf = (spans: readonly MetricsSpan[], trained: readonly number[], newest = trained.at(-1) ?? 1) => {
  const { attempts, shift } = alignLaunches(spans, trained, newest);
  return { attempts: Object.fromEntries(attempts), shift };
};

describe('metrics beside logs', () => {
  it('of the only launch are the only launch', () => {
    expect(attemptsOf([span(7, 0, 1)], [1])).toEqual({ attempts: { 7: 1 }, shift: 0 });
  });

  it('of several launches go with the launches that trained, newest with newest', () => {
    // The second of four launches died before its first iteration and left no metrics.
    expect(attemptsOf([span(1, 0, 1), span(2, 5, 6), span(3, 8, 9)], [1, 3, 4])).toEqual({
      attempts: { 1: 1, 2: 3, 3: 4 },
      shift: 0,
    });
  });

  it('that overlap in time are of one launch', () => {
    expect(attemptsOf([span(1, 0, 4), span(2, 1, 3), span(3, 5, 6)], [1, 2])).toEqual({
      attempts: { 1: 1, 2: 1, 3: 2 },
      shift: 0,
    });
  });

  it('of launches whose logs are gone come before, and move the others up', () => {
    expect(attemptsOf([span(1, 0, 1), span(2, 2, 3), span(3, 4, 5)], [1])).toEqual({
      attempts: { 1: 1, 2: 2, 3: 3 },
      shift: 2,
    });
  });

  it('without a log that trained go with the newest launch', () => {
    expect(attemptsOf([span(1, 0, 1)], [], 3)).toEqual({ attempts: { 1: 3 }, shift: 0 });
    expect(attemptsOf([span(1, 0, 1), span(2, 2, 3)], [], 1)).toEqual({ attempts: { 1: 1, 2: 2 }, shift: 1 });
  });

  it('without times go with the newest, and none at all move nothing', () => {
    const untimed: MetricsSpan = { sourceId: 9, firstUs: null, lastUs: null };
    expect(attemptsOf([span(1, 0, 1), untimed], [1, 2])).toEqual({ attempts: { 1: 2, 9: 2 }, shift: 0 });
    expect(attemptsOf([untimed], [1])).toEqual({ attempts: { 9: 1 }, shift: 0 });
    expect(attemptsOf([], [1, 2])).toEqual({ attempts: {}, shift: 0 });
  });

  it('never get a launch below the first, keep their order, and move the others only as far as needed', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 8 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }),
        fc.integer({ min: 0, max: 3 }),
        (starts, launches, beyond) => {
          const trained = launches.sort((a, b) => a - b);
          const newest = (trained.at(-1) ?? 1) + beyond;
          const spans = starts.map((start, index) => span(index, start * 2, start * 2 + 1));
          const { attempts, shift } = alignLaunches(spans, trained, newest);
          const inOrder = [...spans]
            .sort((a, b) => a.firstUs! - b.firstUs!)
            .map(({ sourceId }) => attempts.get(sourceId)!);
          expect(inOrder.every((attempt, i) => attempt >= 1 && (i === 0 || attempt > inOrder[i - 1]!))).toBe(true);
          expect(inOrder.at(-1)).toBe((trained.at(-1) ?? newest) + shift);
          if (shift > 0) expect(inOrder[0]).toBe(1);
        },
      ),
    );
  });
});
