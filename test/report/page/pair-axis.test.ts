import { describe, expect, it } from 'vitest';
import type { PageDevice } from '../../../src/model/picture/page-data.js';
import { pairAxis } from '../../../src/report/page/stack/pair-axis.js';
import { syntheticDevice } from './synthetic-device.js';

const { page } = syntheticDevice({ seed: 1, layers: 2, steps: 1, limitBytes: 9 * 1024 ** 3, expandable: false });

function device(firstSeq: number, lastSeq: number, steps: [string, number, number][]): PageDevice {
  return { ...page, firstSeq, lastSeq, steps: steps.map(([name, first, last]) => ({ name, first, last })) };
}

const a = device(0, 999, [
  ['1', 100, 199],
  ['2', 200, 399],
  ['3', 400, 599],
]);
const b = device(50, 1400, [
  ['2', 300, 349],
  ['2 (2)', 350, 399],
  ['3', 600, 1199],
]);

describe('pairAxis', () => {
  it('puts steps of the same name at the same place, whatever their entries', () => {
    const axis = pairAxis(a, b);
    expect(axis.by).toBe('step');
    expect(axis.starts).toHaveLength(2);
    for (const [i, [seqA, seqB]] of [
      [200, 300],
      [400, 600],
    ].entries()) {
      expect(axis.seqOf(0, axis.starts[i]!)).toBeCloseTo(seqA!, 6);
      expect(axis.seqOf(1, axis.starts[i]!)).toBeCloseTo(seqB!, 6);
      expect(axis.placeOf(0, seqA!)).toBeCloseTo(axis.starts[i]!, 6);
    }
    expect(axis.nameAt(axis.starts[1]! + 0.5)).toBe('step 3');
    expect([axis.seqOf(0, 0), axis.seqOf(1, 0)]).toEqual([0, 50]);
    expect([axis.seqOf(0, axis.end), axis.seqOf(1, axis.end)]).toEqual([1000, 1401]);
  });

  it('never goes back', () => {
    const axis = pairAxis(a, b);
    for (const of of [0, 1] as const) {
      let before = Number.NEGATIVE_INFINITY;
      for (let place = 0; place <= axis.end; place += axis.end / 500) {
        expect(axis.seqOf(of, place)).toBeGreaterThanOrEqual(before);
        before = axis.seqOf(of, place);
      }
    }
  });

  it('counts entries where no step has a name in both', () => {
    const axis = pairAxis(a, device(50, 1400, [['7', 60, 90]]));
    expect(axis.by).toBe('entry');
    expect([axis.seqOf(0, 10), axis.seqOf(1, 10), axis.end]).toEqual([10, 60, 1351]);
  });
});
