/** `profile` on files as torch.profiler writes them, as processes. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ProfilerMemoryResult } from '../../src/model/results/profiler.js';
import { GIB, MIB } from '../../src/model/units.js';
import { asker, expectFits } from '../support/ask.js';

const { mbf, text, json, refuse, put: write } = asker();

const T0 = 1_700_000_000_000_000_000n;
const [PARAMETER, OPTIMIZER, ACTIVATION, GRADIENT, UNKNOWN] = [0, 1, 4, 5, 7] as const;

/**
 * 40 steps at intervals of a millisecond: activations come and go, each step a little of them stays; the 25th needs 2
 * GiB of gradients for 1 µs.
 */
function steps(): string[] {
  const events: [bigint | number, number, number, number][] = [
    [-1, 1, 2 * GIB, PARAMETER],
    [-1, 1, 4 * GIB, OPTIMIZER],
  ];
  for (let step = 0; step < 40; step += 1) {
    const at = T0 + BigInt(step) * 1_000_000n;
    events.push([at, 2, GIB, ACTIVATION], [at + 100n, 2, MIB, UNKNOWN]);
    if (step === 25) events.push([at + 200_000n, 2, 2 * GIB, GRADIENT], [at + 201_000n, 4, -2 * GIB, GRADIENT]);
    events.push([at + 500_000n, 3, -GIB, ACTIVATION], [at + 500_000n, 3, GIB, GRADIENT]);
    events.push([at + 600_000n, 4, -GIB, GRADIENT]);
  }
  return events.map((event) => `[${event.join(', ')}]`);
}

const put = (name: string, content: string) => write(name, name.endsWith('.gz') ? gzipSync(content) : content);
const profile = (...args: string[]) => json<ProfilerMemoryResult>('log', 'profile', ...args);

describe('profile', () => {
  it('finds the peak, what it is made of, and what each category did', () => {
    put('run/rank3.raw.json.gz', `[${steps().join(', ')}]`);
    const result = profile('run');
    expect(result).toMatchObject({ schema: 'mbforensics/profiler-memory@1', run: 'run' });
    const [timeline] = result.timelines;
    expect(result.timelines).toHaveLength(1);
    expect(timeline).toMatchObject({ rank: 3, form: 'events', entries: steps().length, span_us: 39_600 });
    expect(timeline!.preexisting).toMatchObject({ total_bytes: 6 * GIB, time_us: null });
    const peak = timeline!.peak!;
    expect(peak.total_bytes).toBe(9 * GIB + 26 * MIB);
    expect(peak.since_start_us).toBe(25_200);
    expect(peak.categories).toMatchObject({ optimizer_state: 4 * GIB, gradient: 2 * GIB, activation: GIB });
    expect(Object.values(peak.categories).reduce((sum, bytes) => sum + bytes, 0)).toBe(peak.total_bytes);
    const unknown = timeline!.categories.find(({ category }) => category === 'unknown')!;
    expect(unknown).toMatchObject({ end_bytes: 40 * MIB, max_bytes: 40 * MIB, at_peak_bytes: 26 * MIB, min_bytes: 0 });
    expect(timeline!.categories.map(({ category }) => category).slice(0, 2)).toEqual(['optimizer_state', 'parameter']);
  });

  it('shows every stretch by its largest total, however few there are', () => {
    for (const points of [1, 7, 40, 0]) {
      const { timelines } = profile('run', '--points', String(points));
      const [timeline] = timelines;
      if (points > 0) expect(timeline!.points).toHaveLength(points);
      expect(Math.max(...timeline!.points.map((point) => point.total_bytes))).toBe(timeline!.peak!.total_bytes);
      for (let i = 1; i < timeline!.points.length; i += 1) {
        expect(timeline!.points[i]!.time_us!).toBeGreaterThan(timeline!.points[i - 1]!.time_us!);
      }
    }
  });

  it('prints it', () => {
    const stdout = text('log', 'profile', 'run', '--points', '4');
    expect(stdout).toContain('rank3.raw.json.gz · rank 3 · 204 events over 39.60 ms');
    expect(stdout).toContain('peak 9.03 GiB after 25.20 ms; 6.00 GiB existed before the profiler started');
    expect(stdout).toMatch(/optimizer state\s+4\.00 GiB\s+44\.3 %\s+4\.00 GiB\s+before\s+4\.00 GiB/);
    expectFits(stdout);
  });

  it('reads sums too, and reports where the bookkeeping went below zero', () => {
    const file = put(
      'sums/memory_timeline_rank_0.json',
      JSON.stringify([
        [1_700_000_000_000_000, 1_700_000_000_000_500],
        [
          [0, GIB, 0, 0, 0, 0, 0, 0, 0],
          [0, GIB, 0, 0, 0, 0, -MIB, 0, 2 * MIB],
        ],
      ]),
    );
    const { timelines } = profile(file);
    expect(timelines).toMatchObject([
      { form: 'sums', rank: 0, entries: 2, span_us: 500, preexisting: null, peak: { total_bytes: GIB + MIB } },
    ]);
    expect(text('log', 'profile', file)).toContain('gradient falls to -1.00 MiB');
  });

  it('reports an empty timeline', () => {
    const file = put('empty/rank1.raw.json.gz', '[]');
    expect(profile(file).timelines).toMatchObject([{ form: null, entries: 0, peak: null, points: [], categories: [] }]);
    expect(text('log', 'profile', file)).toContain('no entry');
  });

  it('refuses the page, a damaged file, and a run without a timeline', () => {
    const page = put('page.html', '<html><head><title>GPU Memory Timeline HTML</title></head><body></body></html>');
    expect(refuse(4, 'log', 'profile', page)).toMatch(/MBF2404[\s\S]*raw\.json\.gz/);
    const cut = put('cut/rank0.raw.json', `[${steps().join(', ')}`);
    expect(refuse(4, 'log', 'profile', cut)).toContain('MBF2401');
    const log = put('log/train.log', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n');
    expect(refuse(2, 'log', 'profile', log)).toMatch(/MBF1002[\s\S]*export_memory_timeline/);
    expect(refuse(2, 'log', 'profile', 'run', '--points', '-1')).toContain('MBF1001');
  });

  it('is forgotten with its source', () => {
    put('again/rank3.raw.json', `[${steps().join(', ')}]`);
    const store = ['--db', 'again.duckdb'];
    const rows = () => text('sql', 'SELECT count(*) AS n FROM profiler_memory', ...store, '--format', 'csv');
    mbf('ingest', 'again', ...store);
    expect(rows()).toBe('n\n204\n');
    put('again/rank3.raw.json', `[${steps().slice(0, 5).join(', ')}]`);
    mbf('ingest', 'again', ...store);
    expect(rows()).toBe('n\n5\n');
  });
});
