/** The screen of `history`: width, signs, and the words for what was found. */
import { describe, expect, it } from 'vitest';
import { describeTrend } from '../../src/findings/history/read-trend.js';
import type { RunFigure } from '../../src/findings/history/run-figures.js';
import type { HistoryMetricName } from '../../src/model/results/history.js';
import { historyText } from '../../src/report/compare/history-text.js';
import { worded } from '../../src/report/words/worded.js';

const GIB = 1024 ** 3;
const figure = (i: number, value: number | null, rest: Partial<RunFigure> = {}): RunFigure => ({
  run: `night-${i}`,
  label: null,
  commit: i.toString(16).padStart(40, 'a'),
  ending: 'ok',
  value,
  missing: value === null ? 'nothing printed' : null,
  approximate: false,
  isLowerBound: false,
  source: 'log',
  lastIteration: null,
  ...rest,
});
const died = { ending: 'oom', isLowerBound: true } as const;
const draw = (
  runs: readonly RunFigure[],
  look: { width?: number; ascii?: boolean; points?: number } = {},
  metric: HistoryMetricName = 'peak_allocated_bytes',
): string =>
  historyText(worded(describeTrend(runs, { metric, by: 'run' })), { width: 100, ascii: false, points: 5, ...look });
const plot = (text: string): string[] => text.split('\n').filter((line) => /[┤│└]/.test(line));

describe('historyText', () => {
  it('keeps to the width, however many points there are', () => {
    for (const count of [1, 2, 5, 31, 92, 93, 1000]) {
      for (const width of [40, 80, 100]) {
        const runs = Array.from({ length: count }, (_, i) => figure(i, (i < count / 2 ? 55 : 60) * GIB));
        const lines = plot(draw(runs, { width }));
        expect(lines.length).toBe(13);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      }
    }
  });

  it('puts each sign below its bar', () => {
    const runs = Array.from({ length: 9 }, (_, i) => figure(i, (i < 4 ? 55 : 60) * GIB, i === 6 ? died : {}));
    const text = draw(runs);
    const bars = plot(text).at(-2)!;
    const column = (title: string, sign: string): number =>
      text
        .split('\n')
        .find((line) => line.startsWith(title))!
        .indexOf(sign);
    expect(bars[column('change', '▲')]).toBe('█');
    expect(bars[column('  died', '×')]).toBe('▒');
    expect(column('change', '▲')).toBe(8 + 4 * 6 + 3);
    expect(text).toContain('▲ at aaaaaaa (run night-4): 55.00 GiB → 60.00 GiB, +5.00 GiB (+9.1 %), no noise seen\n');
  });

  it('keeps the extremes of points that share a column', () => {
    const runs = Array.from({ length: 1000 }, (_, i) => figure(i, i === 500 ? 200 : 100));
    expect(plot(draw(runs, {}, 'step_ms')).filter((line) => line.includes('▓')).length).toBeGreaterThan(3);
  });

  it('does not scale the bars by runs that failed early', () => {
    const runs = Array.from({ length: 12 }, (_, i) => figure(i, (i < 6 ? 55 : 60) * GIB));
    runs[3] = figure(3, GIB, died);
    const labels = plot(draw(runs)).map((line) => Number.parseFloat(line));
    expect(labels.filter(Number.isFinite).every((label) => label >= 50)).toBe(true);
    expect(plot(draw(runs)).at(-2)).toContain('▒');
  });

  it('shows drifts, the last point and what was left out', () => {
    const drift = Array.from({ length: 40 }, (_, i) => figure(i, (50 + i / 4 + 0.2 * Math.sin(i * i)) * GIB));
    expect(draw(drift)).toMatch(
      /between night-0 and night-39 it drifts, without a step: \d\d\.\d\d GiB → \d\d\.\d\d GiB/,
    );
    const last = [...Array.from({ length: 6 }, (_, i) => figure(i, 55 * GIB)), figure(6, 60 * GIB), figure(7, null)];
    expect(draw(last)).toMatch(/the last point, night-6, differs: 55\.00 GiB → 60\.00 GiB, \+5\.00 GiB \(\+9\.1 %\)/);
    expect(draw(last)).toContain('left out: 1 run (night-7): nothing printed');
    expect(draw(Array.from({ length: 8 }, (_, i) => figure(i, 7)))).toContain('no change of 1 % or more beyond noise');
  });

  it('is ASCII where it has to be', () => {
    const runs = Array.from({ length: 20 }, (_, i) =>
      figure(i, (i < 9 ? 55 : 60) * GIB + i * 1e6, i === 3 ? died : { approximate: i > 15 }),
    );
    const text = draw(runs, { ascii: true });
    expect(text).toMatch(/^[\n\u0020-\u007e]*$/);
    expect(text).toMatch(/\^ at aaaaaaa \(run night-9\): 55\.\d+ GiB -> 60/);
  });

  it.each(['step_ms', 'tflops_per_gpu', 'loss', 'ooms', 'alloc_retries'] as const)(
    'writes %s in its unit',
    (metric) => {
      const runs = Array.from({ length: 10 }, (_, i) => figure(i, i < 5 ? 0 : 3.25));
      const text = draw(runs, {}, metric);
      expect(text).toMatch(
        { step_ms: /3\.25 ms/, tflops_per_gpu: /3\.\d TFLOP/, loss: /3\.25/, ooms: /3\.25/, alloc_retries: /3\.25/ }[
          metric
        ],
      );
      expect(text).not.toMatch(/NaN|Infinity|undefined/);
    },
  );
});
