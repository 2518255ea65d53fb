import { describe, expect, it } from 'vitest';
import type { OutsideDevice, OutsidePoint, OutsideResult } from '../../src/model/results/outside.js';
import { documentText } from '../../src/report/render/text.js';
import { outsideDocument } from '../../src/report/run/outside-document.js';

const GIB = 1024 ** 3;
const at = (second: number): number => Date.UTC(2026, 10, 20, 10, 0, second) * 1000;

const point = (second: number, outsideGib: number): OutsidePoint => ({
  ...{ time_us: at(second), clock: 'utc', iteration: second, kind: 'memory line', file: 'train.log', line: second },
  ...{ used_bytes: (40 + outsideGib) * GIB, total_bytes: null, reserved_bytes: 40 * GIB, process_bytes: null },
  ...{ others_bytes: null, outside_bytes: outsideGib * GIB, apart_us: 400_000 },
});

/** A device that is watched from 09:00 to 09:01 of a clock an hour behind UTC. */
function device(rank: number, outsideGib: readonly number[]): OutsideDevice {
  const points = outsideGib.map((gib, i) => point(i + 1, gib));
  const [first, last] = [outsideGib[0]!, outsideGib.at(-1)];
  const hourBefore = (second: number): number => at(second) - 3_600_000_000;
  return {
    ...{ host: null, device: rank, gpu: null, rank, joined_by: 'one node, ranks on its devices in order' },
    ...{ total_bytes: 80 * GIB, peak_reserved_bytes: 40 * GIB, missed_bytes: null },
    monitor: {
      ...{ file: 'gpu.csv', format: 'nvidia-smi.csv', clock: 'printed', samples: 60, interval_us: 1_000_000 },
      ...{ first_us: hourBefore(0), last_us: hourBefore(59), first_bytes: 0, last_bytes: GIB },
      ...{ max_bytes: (50 + rank) * GIB, max_us: hourBefore(30), max_line: 31 },
    },
    outside:
      last === undefined
        ? null
        : {
            ...{ first_bytes: first * GIB, last_bytes: last * GIB, median_bytes: first * GIB },
            ...{ min_bytes: Math.min(...outsideGib) * GIB, max_bytes: Math.max(...outsideGib) * GIB },
            ...{ growth_bytes: (last - first) * GIB, growth_us: 2_000_000, growth_r2: 0.99 },
          },
    ...{ moments: points.length, points, processes: [] },
  };
}

const result = (devices: readonly OutsideDevice[]): OutsideResult => ({
  schema: 'mbforensics/outside@1',
  run: 'run',
  clock: { shift_us: 3_600_000_000, is_needed: true, origin: 'printed clocks are UTC−01:00' },
  devices,
  limits: [],
});
const lines = (devices: readonly OutsideDevice[], limit = 8): string[] =>
  documentText(outsideDocument(result(devices), { limit })).split('\n');

describe('the screen of outside', () => {
  it('puts all times on one clock, and keeps to its width', () => {
    const screen = lines([device(0, [2, 3, 4])]);
    // Sentences are wrapped anywhere.
    const words = screen.join(' ').replaceAll(/\s+/g, ' ');
    expect(words).toContain('2026-11-20 10:00:00 to 2026-11-20 10:00:59 UTC');
    expect(words).toContain(' 2026-11-20 UTC time step ');
    expect(screen.filter((line) => /^10:00:0[123] /.test(line))).toHaveLength(3);
    expect(words).toContain('it grows by 2.00 GiB in 2.00 s');
    for (const line of screen) expect(line.length, line).toBeLessThanOrEqual(100);
  });

  it('shows a node as a table, and the device that changed most', () => {
    const screen = lines([device(0, [2, 2]), device(1, [2, 9]), device(2, [3, 2])]);
    expect(screen.slice(2, 5).map((line) => line.trim().split(/ {2,}/).slice(-2))).toEqual([
      ['2.00 GiB', '2.00 GiB'],
      ['2.00 GiB', '9.00 GiB'],
      ['3.00 GiB', '2.00 GiB'],
    ]);
    expect(screen.filter((line) => /^rank \d/.test(line))).toEqual(['rank 1 · device 1 · 80.00 GiB in all']);
    expect(screen.join('\n')).toContain('its memory outside PyTorch changed most');
    expect(
      lines([device(0, [2]), device(1, [2]), device(2, [2])], 0).filter((line) => /^rank \d/.test(line)),
    ).toHaveLength(3);
  });

  it('shows the fullest where PyTorch memory is unknown', () => {
    const screen = lines([device(0, []), device(1, []), device(2, [])]);
    expect(screen.filter((line) => /^rank \d/.test(line))).toEqual(['rank 2 · device 2 · 80.00 GiB in all']);
    expect(screen.join('\n')).toContain('it was the fullest');
  });
});
