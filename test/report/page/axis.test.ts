import { describe, expect, it } from 'vitest';
import { roundStep } from '../../../src/report/axis-labels.js';
import { AXIS_KINDS, axisOf, missingAxis } from '../../../src/report/page/axis.js';
import { axisTicks, byteTicks, stepTicks, timeText } from '../../../src/report/page/ticks.js';
import { syntheticDevice } from './synthetic-device.js';

const made = syntheticDevice({ seed: 7, layers: 6, steps: 4, limitBytes: 20 * 1024 ** 3, expandable: false });
const { page } = made;
// Half of the entries in no time at all, then a long wait: what real clocks do.
const columns = {
  ...made.columns,
  levels: made.columns.levels.map((level) => ({
    ...level,
    startUs: level.startUs.map((us, i) => (i < level.columns / 2 ? 0 : us + 3_600_000_000)),
  })),
};
const view = { device: 0, cursor: 0, stack: null };

describe.each(AXIS_KINDS)('axis of %s', (axis) => {
  it('maps entries to places and back, and only grows', () => {
    for (const [from, to] of [
      [0, page.lastSeq + 1],
      [page.lastSeq * 0.4, page.lastSeq * 0.6],
      [10, 18],
    ] as const) {
      const { xOf, seqOf } = axisOf(page, columns, { ...view, axis, from, to });
      expect(xOf(from)).toBeCloseTo(0, 9);
      expect(xOf(to)).toBeCloseTo(1, 9);
      let before = Number.NEGATIVE_INFINITY;
      for (let seq = from; seq <= to; seq += Math.max(0.5, (to - from) / 997)) {
        const x = xOf(seq);
        expect(x).toBeGreaterThan(before);
        expect(Math.abs(seqOf(x) - seq)).toBeLessThan(0.01);
        before = x;
      }
    }
  });
});

describe('axis', () => {
  it('has time and steps only where the trace has them, else the reason', () => {
    expect(AXIS_KINDS.map((kind) => missingAxis(page, kind))).toEqual([null, null, null]);
    const bare = { ...page, firstTimeUs: null, noTimes: 'missing', steps: [] } as const;
    expect(AXIS_KINDS.map((kind) => missingAxis(bare, kind))).toEqual([
      ...[null, 'not every entry has a time', 'no entry marks the begin of a step'],
    ]);
    expect(missingAxis({ ...bare, noTimes: 'unordered' }, 'time')).toContain('go back');
    expect(missingAxis({ ...bare, isDump: true }, 'time')).toBe('no trace was recorded');
    // A link to an axis that the trace has not shows entries.
    expect(axisOf(bare, columns, { ...view, axis: 'time', from: 0, to: 100 }).xOf(50)).toBe(0.5);
  });

  it('names steps in the middle, by entry and by time', () => {
    for (const kind of ['entry', 'time'] as const) {
      const all = { ...view, axis: kind, from: page.firstSeq, to: page.lastSeq + 1 };
      const axis = axisOf(page, columns, all);
      const ticks = stepTicks(page, axis, all, 100);
      expect(ticks.map(({ text }) => text)).toEqual(page.steps.map(({ name }) => name));
      ticks.forEach(({ at }, i) => {
        const { first, last } = page.steps[i]!;
        expect(axis.xOf(at)).toBeCloseTo((axis.xOf(first) + axis.xOf(last + 1)) / 2, 6);
      });
      expect(stepTicks(page, axis, all, 2).length).toBeLessThanOrEqual(2);
      const { first, last } = page.steps[1]!;
      const [only, ...others] = stepTicks(page, axis, { from: last - 9, to: last + 1 }, 9);
      expect(others).toEqual([]);
      expect(only!.at).toBeGreaterThan(first);
      expect(only!.at).toBeGreaterThan(last - 10);
    }
  });

  it('gives each step the same width', () => {
    const { xOf } = axisOf(page, columns, { ...view, axis: 'step', from: 0, to: page.lastSeq + 1 });
    const widths = page.steps.map(({ first, last }) => xOf(last + 1) - xOf(first));
    for (const width of widths) expect(width).toBeCloseTo(widths[0]!, 9);
  });
});

describe('ticks', () => {
  it('are round and no more than asked for', () => {
    expect(roundStep(100, 5)).toBe(20);
    expect(roundStep(0.3, 3)).toBeCloseTo(0.1);
    expect(byteTicks(0, 80 * 1024 ** 3, 5).map(({ text }) => text)).toEqual([
      ...['0', '20 GiB', '40 GiB', '60 GiB', '80 GiB'],
    ]);
    expect(byteTicks(-1024, 1024, 2, true).map(({ text }) => text)).toEqual(['-1 KiB', '0', '+1 KiB']);
    const ticks = axisTicks(page, columns, 'entry', { from: 100.5, to: 160 }, 6);
    expect(ticks.map(({ at }) => at)).toEqual([110, 120, 130, 140, 150]);
  });

  it('differ from each other and fit the space left of a plot, whatever is visible', () => {
    for (const low of [0, 1, 79 * 1024 ** 3 + 4_096, 1e9, 5 * 1024 ** 4])
      for (const span of [1_000, 65_536, 1e6, 1e9, 80 * 1024 ** 3, 1024 ** 5])
        for (const isSigned of [false, true]) {
          const ticks = byteTicks(isSigned ? -low - span : low, low + span, 9, isSigned);
          const texts = ticks.map(({ text }) => text);
          expect(new Set(texts).size, texts.join()).toBe(texts.length);
          expect(Math.max(...texts.map(({ length }) => length)), texts.join()).toBeLessThanOrEqual(11);
          expect(ticks.length).toBeGreaterThan(1);
          expect(ticks.length).toBeLessThanOrEqual(11);
        }
    expect(byteTicks(79 * 1024 ** 3, 79 * 1024 ** 3 + 65_536, 4).map(({ text }) => text)).toEqual([
      ...['79 GiB', '+20 KiB', '+40 KiB'],
    ]);
  });

  it('write times in the unit of the axis, to the precision of their distance', () => {
    const textsOf = (us: number): string[] => {
      const timed = {
        ...columns,
        levels: made.columns.levels.map((level) => ({
          ...level,
          startUs: level.startUs.map((_, i) => (i * us) / (level.columns - 1)),
        })),
      };
      return axisTicks(page, timed, 'time', { from: 0, to: page.lastSeq + 1 }, 4).map(({ text }) => text);
    };
    expect(textsOf(3 * 3_600e6)).toEqual(['0', '1 h', '2 h', '3 h']);
    expect(textsOf(150e6)).toEqual(['0', '1 min', '2 min']);
    expect(textsOf(9e6)).toEqual(['0', '2.5 s', '5 s', '7.5 s']);
    expect(textsOf(1_500)).toEqual(['0', '0.5 ms', '1 ms', '1.5 ms']);
    expect(['1,699.2', '90,000,000', '7', '160,000,000'].map((us) => timeText(Number(us.replaceAll(',', ''))))).toEqual(
      [...['1.699 ms', '90 s', '7 µs', '2.667 min']],
    );
  });
});
