/** The chart, on outputs small enough to be worked out by hand, and on rules that every chart keeps. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GIB, MIB } from '../../src/model/units.js';
import { type ChartColumn, type ChartSpec, chart, GUTTER } from '../../src/report/chart.js';

const column = (allocated: number, reserved: number, more: Partial<ChartColumn> = {}): ChartColumn => ({
  allocatedMinBytes: allocated,
  allocatedMaxBytes: allocated,
  activeMaxBytes: allocated,
  reservedMaxBytes: reserved,
  ...more,
});

const draw = (columns: readonly ChartColumn[], more: Partial<ChartSpec> = {}): string[] =>
  chart({ columns, width: GUTTER + columns.length, height: 4, ascii: false, lanes: [], scales: [], ...more });

describe('chart', () => {
  it('draws areas to scale, edges in eighths', () => {
    // The top is 8 GiB, so a row of four is 2 GiB and an eighth of it 256 MiB.
    const rising = [0, 0.25, 1, 2, 3.75, 8].map((gib) => column(gib * GIB, 8 * GIB));
    expect(draw(rising)).toEqual([
      '   GiB',
      '     8 ┤░░░░░█',
      '       │░░░░░█',
      '     4 ┤░░░░▇█',
      '       │░▁▄███',
      '     0 └──────',
    ]);
  });

  it('distinguishes always allocated, partly allocated, pending and inactive memory', () => {
    const columns = [
      column(8 * GIB, 8 * GIB, { allocatedMinBytes: 4 * GIB }),
      column(2 * GIB, 8 * GIB, { activeMaxBytes: 6 * GIB }),
    ];
    expect(draw(columns)).toEqual(['   GiB', '     8 ┤▓░', '       │▓▒', '     4 ┤█▒', '       │██', '     0 └──']);
    expect(draw(columns, { ascii: true })).toEqual([
      '   GiB',
      '     8 ++.',
      '       |+o',
      '     4 +#o',
      '       |##',
      '     0 +--',
    ]);
  });

  it('keeps a spike of one slice in thousands, and a dip', () => {
    const flat = Array.from({ length: 5000 }, () => column(GIB, 4 * GIB));
    const spike = flat.with(2500, column(4 * GIB, 4 * GIB)).with(4999, column(0, 4 * GIB));
    const lines = draw(spike, { width: GUTTER + 10 });
    expect(lines[1]).toBe('     4 ┤░░░░░▓░░░░');
    // The dip leaves the last column allocated for part of it only; its edge fills the row, so the shade shows.
    expect(lines[4]).toBe('       │█████████▓');
  });

  it('stretches a single slice, and draws nothing at all as nothing', () => {
    expect(draw([column(0, 0)], { width: GUTTER + 5, height: 2 })).toEqual([
      '     B',
      '     1 ┤',
      '       │',
      '     0 └─────',
    ]);
    expect(draw([column(3 * MIB, 3 * MIB)], { width: GUTTER + 5, height: 2 })).toEqual([
      '   MiB',
      '     3 ┤█████',
      '       │█████',
      '     0 └─────',
    ]);
  });

  it('shows a sliver of memory as a sliver, not as none', () => {
    const lines = draw([column(512, 80 * GIB), column(0, 80 * GIB), column(0, 512)]);
    expect(lines[4]).toBe('       │▁░░');
  });

  it('scales up where a contradictory trace has more active than reserved', () => {
    const lines = draw([column(8 * GIB, GIB)]);
    expect(lines.slice(1, 5).map((line) => line.at(-1))).toEqual(['█', '█', '█', '█']);
  });

  it('places marks and labels, the first of two in one place', () => {
    const lines = draw(
      Array.from({ length: 20 }, () => column(GIB, GIB)),
      {
        height: 1,
        lanes: [
          {
            title: 'marks',
            marks: [
              { at: 0, sign: 'A' },
              { at: 0.04, sign: 'B' },
              { at: 0.5, sign: 'C' },
              { at: 1, sign: 'D' },
            ],
          },
        ],
        scales: [
          {
            title: 'entry',
            labels: [
              { at: 0, text: '0' },
              { at: 0.5, text: '1,000' },
              { at: 0.6, text: 'no room' },
              { at: 1, text: '2,000' },
            ],
          },
        ],
      },
    );
    expect(lines.at(-2)).toBe(' marks  A         C        D');
    expect(lines.at(-1)).toBe(' entry  0       1,000  2,000');
  });

  it('keeps to its width and height, and to ASCII where asked', () => {
    const bytes = fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 2 ** 40 }),
      fc.double({ min: 1, max: 2 ** 52, noNaN: true }),
    );
    const columns = fc.array(
      fc.tuple(bytes, bytes, bytes, bytes).map((values) => {
        const [a, b, c, d] = values.sort((x, y) => x - y) as [number, number, number, number];
        return { allocatedMinBytes: a, allocatedMaxBytes: b, activeMaxBytes: c, reservedMaxBytes: d };
      }),
      { minLength: 1, maxLength: 300 },
    );
    fc.assert(
      fc.property(
        columns,
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (data, plot, height, ascii) => {
          const lines = draw(data, { width: GUTTER + plot, height, ascii });
          expect(lines).toHaveLength(height + 2);
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(GUTTER + plot);
          if (ascii) expect(lines.join('')).toMatch(/^[ -~]*$/);
          expect(draw(data, { width: GUTTER + plot, height, ascii })).toEqual(lines);
          // No step of the scale is more than a third above the last, so the tallest column reaches the upper half.
          const most = Math.max(...data.map((item) => item.reservedMaxBytes));
          const upper = lines.slice(1, 1 + Math.ceil(height / 2));
          if (height >= 4) expect(upper.some((line) => line.slice(GUTTER) !== '')).toBe(most > 0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
