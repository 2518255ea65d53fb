/** Static drawings keep what matters: spikes of long series, and the exact peak of a trace. */
import { describe, expect, it } from 'vitest';
import { courseOf, OPEN_SEQ } from '../../../src/model/picture/levels.js';
import type { PageLevel } from '../../../src/model/picture/page-data.js';
import { extremes, lineChart, niceAxis } from '../../../src/report/html/line-chart.js';
import { pointChart } from '../../../src/report/html/point-chart.js';
import { stackedSvg } from '../../../src/report/html/stacked-svg.js';
import { GIB, report } from './report-fixture.js';
import { byClass, byName, readHtml, textOf } from './sound-html.js';

describe('extremes', () => {
  it('keep the least and the greatest value of a long series, in order', () => {
    const values = Array.from({ length: 100_000 }, (_, i) => (i % 7 === 0 ? null : 100 + Math.sin(i)));
    values[61_234] = 9_999;
    values[777] = -5;
    const chosen = extremes(values);
    expect(chosen.length).toBeLessThanOrEqual(600);
    expect(chosen).toEqual(expect.arrayContaining([61_234, 777]));
    expect(chosen).toEqual(chosen.toSorted((a, b) => a - b));
    expect(new Set(chosen).size).toBe(chosen.length);
  });

  it('keep gaps', () => {
    const values = Array.from({ length: 5_000 }, (_, i) => (i < 2_500 ? 1 : null));
    const missing = extremes(values).filter((i) => values[i] === null);
    expect(missing.length).toBeGreaterThan(100);
  });
});

describe('niceAxis', () => {
  it('has round ticks around all values', () => {
    for (const [least, most] of [
      [0, 79.11 * GIB],
      [2344.1, 2377.5],
      [-3, 4],
      [5, 5],
      [0, 0],
    ] as const) {
      const { base, top, ticks } = niceAxis(least, most);
      expect(base).toBeLessThanOrEqual(least);
      expect(top).toBeGreaterThanOrEqual(most);
      expect(top).toBeGreaterThan(base);
      expect(ticks.length).toBeLessThanOrEqual(7);
    }
  });
});

/** Labels of the vertical axis, none wider than what is left of the plot, and no two alike. */
function labelsOf(svg: string): string[] {
  const node = readHtml(svg);
  const ticks = byClass(node, 'tick').filter(({ attributes }) => attributes.get('text-anchor') === 'end');
  // Digits are 7.4 pixels wide at most; those of the horizontal axis are below.
  const grid = byClass(node, 'grid').map(({ attributes }) => /M(\d+) ([\d.-]+)/.exec(attributes.get('d')!)!);
  const labels = ticks.slice(0, grid.length);
  for (const label of labels) {
    expect(Number(label.attributes.get('x')) - 7.2 * textOf(label).length, textOf(label)).toBeGreaterThanOrEqual(0);
    expect(Number(label.attributes.get('x'))).toBeLessThan(Number(grid[0]![1]));
  }
  const texts = labels.map(textOf);
  expect(new Set(texts).size, texts.join()).toBe(texts.length);
  expect(svg).not.toMatch(/NaN|Infinity/);
  return texts;
}

describe('vertical axes', () => {
  const line = (kind: 'bytes' | 'ms' | 'number', values: readonly number[]): string[] => {
    const chart = { title: 't', xName: 'iteration', x: values.map((_, i) => i), note: '', kind };
    return labelsOf(lineChart({ ...chart, series: [{ name: 's', values }] })!);
  };

  it('have a unit that fits the numbers', () => {
    expect(line('ms', [0, 157_000, 163_000])).toEqual(['0', '0.8 min', '1.6 min', '2.4 min', '3.2 min']);
    expect(line('ms', [1_066.6, 1_066.6])).toEqual(['1.05 s', '1.08 s']);
    expect(line('ms', [900, 950])).toEqual(['900 ms', '915 ms', '930 ms', '945 ms', '960 ms']);
    expect(line('ms', [0, 0.1]).at(-1)).toBe('100 µs');
    expect(line('ms', [0, 3 * 3_600_000]).at(-1)).toBe('3.2 h');
    expect(line('bytes', [0, 79.11 * GIB]).at(-1)).toBe('80 GiB');
    expect(line('bytes', [0, 3 * 1024 * GIB]).at(-1)).toBe('3.2 TiB');
    expect(line('number', [11.9, 0])).toEqual(['0', '3', '6', '9', '12']);
    expect(line('number', [0, 250_000])).toEqual(['0', '80,000', '160,000', '240,000', '320,000']);
  });

  it('show the smallest, the greatest, negative and nearly equal numbers', () => {
    expect(line('number', [0, 4e-9])).toEqual(['0', '1e-9', '2e-9', '3e-9', '4e-9']);
    expect(line('number', [0, 1e9]).at(-1)).toBe('1e9');
    expect(line('number', [-4e9, 0])[0]).toBe('-4e9');
    expect(line('number', [1e-9, 1e9]).length).toBeGreaterThan(2);
    for (const kind of ['bytes', 'ms', 'number'] as const)
      for (const values of [
        [0, 0],
        [5, 5],
        [1e-9, 2e-9],
        [-3, 4],
        [123_456_789, 123_456_790],
        [1e12, 1e12 + 8],
        [999_999, 1e6],
      ])
        expect(line(kind, values).length).toBeGreaterThan(1);
  });

  it('leave space for labels of points, and for their names', () => {
    const name = 'run-with-a-name';
    const points = Array.from(
      { length: 40 },
      (_, i) =>
        ({
          name,
          value: 160_000 + i,
          low: null,
          high: null,
          kind: 'point',
          isBound: false,
          mark: null,
          text: '',
        }) as const,
    );
    const svg = pointChart({ title: 't', points, format: (value) => `${value} TFLOP/s/GPU`, unit: 1, legend: [] })!;
    labelsOf(svg);
    const names = byClass(readHtml(svg), 'tick')
      .filter((one) => textOf(one) === name)
      .map(({ attributes }) => Number(attributes.get('x')));
    expect(Math.min(...names)).toBeGreaterThanOrEqual((7.2 * name.length) / 2);
    expect(Math.max(...names)).toBeLessThanOrEqual(1_080 - (7.2 * name.length) / 2);
    for (const [i, x] of names.entries()) if (i > 0) expect(x - names[i - 1]!).toBeGreaterThan(7.2 * name.length);
  });
});

/** Blocks of 1 GiB of three components; for one entry there is one of 50 GiB more. */
function level(spike: number): PageLevel {
  const count = 3;
  const blocks = {
    count,
    from: Int32Array.from([-1, 10, spike]),
    to: Int32Array.from([OPEN_SEQ, OPEN_SEQ, spike + 1]),
    pending: Int32Array.from([OPEN_SEQ, OPEN_SEQ, OPEN_SEQ]),
    bytes: Float64Array.from([GIB, GIB, 50 * GIB]),
    component: Uint8Array.from([0, 1, 2]),
    isPrivate: new Uint8Array(count),
  };
  const segments = {
    count: 1,
    from: Int32Array.from([-1]),
    to: Int32Array.from([OPEN_SEQ]),
    bytes: Float64Array.from([60 * GIB]),
    isPrivate: new Uint8Array(1),
  };
  const course = courseOf(blocks, segments, 3, { firstSeq: 0, lastSeq: 9_999 });
  const [built] = course([{ from: 0, to: 9_999, columns: 2_048 }]);
  return { ...built!, name: 'whole trace', startUs: new Float64Array(0) };
}

describe('stackedSvg', () => {
  const base = report();
  const page = { ...base.devices[0]!.page, firstSeq: 0, lastSeq: 9_999 };
  const result = { ...base, devices: [{ ...base.devices[0]!, page }] };

  it('keeps a peak of one entry, and its exact bytes', () => {
    for (const spike of [1, 4_321, 9_998]) {
      const svg = readHtml(stackedSvg(result, level(spike)));
      const [top] = byClass(svg, 'c2')
        .map(({ attributes }) => attributes.get('d'))
        .filter((d) => d !== undefined);
      const heights = [...top!.matchAll(/(?:V|M\d+ )(-?[\d.]+)/g)].map(([, y]) => Number(y));
      const ticks = byClass(svg, 'grid').map(({ attributes }) =>
        Number(/M\d+ ([\d.]+)/.exec(attributes.get('d')!)![1]),
      );
      const labels = byName(svg, 'text').map(textOf);
      // 0 GiB is the lowest line of the grid, 80 GiB the highest.
      const yOf = (bytes: number): number => ticks[0]! - ((ticks[0]! - ticks.at(-1)!) * bytes) / (80 * GIB);
      expect(labels).toContain('80 GiB');
      expect(Math.min(...heights)).toBeCloseTo(yOf((spike < 10 ? 51 : 52) * GIB), 0);
      expect(labels).toContain(spike < 10 ? '51.00 GiB' : '52.00 GiB');
    }
  });

  it('names the first and the last entry within the plot', () => {
    const texts = byName(readHtml(stackedSvg(result, level(5))), 'text');
    const anchors = texts.map((one) => [textOf(one), one.attributes.get('text-anchor')]);
    expect(anchors).toEqual(
      expect.arrayContaining([
        ['entry 0', 'start'],
        ['9,999', 'end'],
      ]),
    );
  });

  it('is a picture of ours that contains no script and loads nothing', () => {
    const svg = stackedSvg(result, level(5));
    expect(svg).toMatch(/^<svg [^>]*data-generator="mbforensics\/0\.1\.0"/);
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
    expect(svg).not.toMatch(/<script|href=|url\((?!#)|@import|NaN/);
    expect(textOf(byName(readHtml(svg), 'title')[0]!)).toBe('OOM: capacity, confirmed by replay');
    expect(svg.length).toBeLessThan(60_000);
  });
});
