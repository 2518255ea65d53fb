/**
 * What the peers print for the snapshots of the corpus, against `peak --grouping bridge` and `peak --grouping mosaic`
 * of the real command line. Every figure a peer prints is compared, except those that are not about memory: file names,
 * its own prose, and settings.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { BridgeFigures, MosaicFigures } from '../../src/model/results/peak.js';
import { buildCli } from '../support/cli.js';
import { CORPUS, SNAPSHOTS } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn, sum } from './corpus-suite.js';

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

interface BridgeParse {
  readonly segments: Numbers<
    'count' | 'total_size' | 'allocated_size' | 'active_size' | 'awaiting_free_size' | 'inactive_size'
  >;
  readonly baseline: Numbers<
    'baseline_at_start' | 'segments_active' | 'pre_existing_freed' | 'profiling_still_live'
  > | null;
  readonly profiler_steps: Record<string, Readonly<{ start_us: number; end_us: number | null }>>;
  readonly device_traces: Readonly<{ device: number | null; event_count: number; actions: Record<string, number> }>;
  readonly top_sources: readonly Readonly<{ source: string; throughput_bytes: number; alloc_count: number }>[];
}

interface BridgeCompare {
  readonly file_a: string;
  readonly file_b: string;
  readonly matching_steps: readonly number[];
  readonly full_trace: Record<string, number> | null;
  readonly drill_down: {
    readonly sources: readonly Readonly<{ source: string; peak_a: number; peak_b: number }>[];
  } | null;
  readonly [key: string]: unknown;
}

type MosaicPeak = Numbers<'dynamic_memory_peak' | 'static_memory' | 'stacks_at_peak'>;

const outputs = (peer: string, ending: string): string[] =>
  namesIn('peers', peer).filter((name) => name.endsWith(ending));

const read = <T>(peer: string, name: string): T =>
  JSON.parse(readFileSync(join(CORPUS, 'peers', peer, name), 'utf8')) as T;

const parses = outputs('bridge', '.parse.json');
const compares = outputs('bridge', '.json').filter((name) => name.startsWith('compare__'));
const peaks = outputs('mosaic', '.peak.json');

corpusSuite('figures of the peers', [...parses, ...compares, ...peaks], () => {
  const directory = temporaryDirectory();
  const answers = new Map<string, PeakResult['snapshots'][number]>();

  const ask = (snapshot: string, grouping: 'bridge' | 'mosaic'): PeakResult['snapshots'][number] => {
    const key = `${grouping} ${snapshot}`;
    let answer = answers.get(key);
    if (answer === undefined) {
      const args = ['peak', join(SNAPSHOTS, snapshot), '--grouping', grouping, '--json=full'];
      const { snapshots } = buildCli()
        .expect(0, args, { env: { XDG_CACHE_HOME: directory } })
        .json<PeakResult>();
      expect(snapshots).toHaveLength(1);
      answer = snapshots[0]!;
      answers.set(key, answer);
    }
    return answer;
  };
  const bridge = (snapshot: string): BridgeFigures => ask(snapshot, 'bridge').bridge!;

  const bytesOf = (theirs: Readonly<Record<string, number>>, suffix = '_size') => ({
    count: theirs['count'],
    ...Object.fromEntries(
      ['total', 'allocated', 'active', 'awaiting_free', 'inactive'].map((of) => [`${of}_bytes`, theirs[of + suffix]]),
    ),
  });

  describe.each(parses)('Bridge: %s', (name) => {
    const theirs = read<BridgeParse>('bridge', name);
    const ours = (): BridgeFigures => bridge(name.replace('.parse.json', ''));

    it('segments as their headers say, all devices', () => {
      expect(ours().segments).toEqual(bytesOf(theirs.segments));
    });

    it('baseline = active actual bytes - requested bytes still live + requested bytes of unmatched frees', () => {
      const baseline = Object.entries(theirs.baseline ?? {}).map(([key, bytes]) => [`${key}_bytes`, bytes]);
      expect(ours().baseline).toEqual(theirs.baseline === null ? null : Object.fromEntries(baseline));
    });

    it('sources by requested bytes allocated over the trace of the first device', () => {
      const { device, events, full_trace: full, throughput, steps } = ours();
      expect(device).toBe(theirs.device_traces.device);
      expect(events).toBe(theirs.device_traces.event_count);
      expect(full?.alloc_count ?? 0).toBe(theirs.device_traces.actions['alloc'] ?? 0);
      expect(full?.free_count ?? 0).toBe(theirs.device_traces.actions['free_completed'] ?? 0);
      // They print fifteen.
      const printed = theirs.top_sources.map((one) => [one.source, one.throughput_bytes, one.alloc_count]);
      expect(throughput.slice(0, 15).map(({ source, bytes, count }) => [source, bytes, count])).toEqual(printed);
      expect(sum(throughput.map(({ bytes }) => bytes))).toBe(full?.throughput_bytes ?? 0);
      expect(sum(throughput.map(({ count }) => count))).toBe(full?.alloc_count ?? 0);
      const marked = Object.entries(theirs.profiler_steps).map(([step, { start_us, end_us }]) => [
        step,
        start_us,
        end_us,
      ]);
      expect(steps.map(({ step, start_us, end_us }) => [String(step), start_us, end_us])).toEqual(marked);
    });
  });

  it.each(compares)(
    'Bridge, peak of requested bytes from zero at the first entry, frees of older memory subtracted: %s',
    (name) => {
      const theirs = read<BridgeCompare>('bridge', name);
      // No file of the corpus has ProfilerStep marks, so the comparison is of whole traces.
      expect(theirs.matching_steps).toEqual([]);
      for (const side of ['a', 'b'] as const) {
        const ours = bridge(String(theirs[`file_${side}`]).split('/').at(-1)!);
        expect(ours.baseline?.baseline_at_start_bytes).toBe(theirs[`baseline_${side}`]);
        expect(ours.segments).toEqual(bytesOf(theirs[`segments_${side}`] as Record<string, number>, ''));
        const full = theirs.full_trace!;
        expect(ours.full_trace).toMatchObject({
          peak_delta_bytes: full[`peak_${side}`],
          absolute_peak_bytes: full[`abs_peak_${side}`],
          alloc_count: full[`allocs_${side}`],
          throughput_bytes: full[`throughput_${side}`],
          unmatched_frees: full[`unmatched_${side}`],
        });
        const ofTheirs = theirs.drill_down!.sources.map((source) => [source.source, source[`peak_${side}`]] as const);
        const atPeak = new Map(ours.full_trace!.sources_at_peak.map(({ source, bytes }) => [source, bytes]));
        expect(atPeak).toEqual(new Map(ofTheirs.filter(([, bytes]) => bytes > 0)));
      }
    },
  );

  it.each(peaks)(
    'mosaic, peak of requested bytes from zero, frees of older memory ignored, and static memory: %s',
    (name) => {
      const theirs = read<MosaicPeak>('mosaic', name);
      const ours: MosaicFigures = ask(name.replace('.peak.json', ''), 'mosaic').mosaic!;
      expect(ours).toMatchObject({
        dynamic_peak_bytes: theirs.dynamic_memory_peak,
        static_bytes: theirs.static_memory,
        stacks_at_peak: theirs.stacks_at_peak,
      });
    },
  );

  it.each([...new Set(peaks.map((name) => name.replace('.peak.json', '')))])(
    "the two peaks of %s are equal where the trace frees nothing older, mosaic's is the higher elsewhere",
    (snapshot) => {
      const full = bridge(snapshot).full_trace!;
      const mosaic = ask(snapshot, 'mosaic').mosaic!;
      if (full.unmatched_frees === 0) expect(mosaic.dynamic_peak_bytes).toBe(full.peak_delta_bytes);
      else expect(mosaic.dynamic_peak_bytes).toBeGreaterThanOrEqual(full.peak_delta_bytes);
    },
  );

  it('compares figures that are not all alike', () => {
    const baselines = parses.map((name) => read<BridgeParse>('bridge', name).baseline?.pre_existing_freed ?? null);
    expect(new Set(baselines).size).toBeGreaterThan(2);
  });
});
