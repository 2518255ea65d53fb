/** Static drawings keep what matters: spikes of long series, and the exact peak of a trace. */
import { describe, expect, it } from 'vitest';
import { buildLevels, OPEN_SEQ } from '../../../src/model/picture/levels.js';
import type { PageLevel } from '../../../src/model/picture/page-data.js';
import { extremes, niceAxis } from '../../../src/report/html/line-chart.js';
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
  const [built] = buildLevels(blocks, segments, 3, [{ from: 0, to: 9_999, columns: 2_048 }], {
    firstSeq: 0,
    lastSeq: 9_999,
  });
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
