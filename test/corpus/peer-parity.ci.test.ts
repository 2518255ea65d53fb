/**
 * What the peers print for the snapshots of the corpus, against `peak --grouping bridge` and `peak --grouping mosaic`
 * of the real command line. Every figure a peer prints is compared, except those that are not about memory: file names,
 * its own prose, and settings.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { BridgeFigures, MosaicFigures, PeerSource } from '../../src/model/results/peak.js';
import { buildCli, type Cli } from '../support/cli.js';
import { CORPUS, SNAPSHOTS, skipLoudly } from '../support/corpus.js';
import { sampled } from '../support/level.js';

interface BridgeParse {
  readonly segments: Record<
    'count' | 'total_size' | 'allocated_size' | 'active_size' | 'awaiting_free_size' | 'inactive_size',
    number
  >;
  readonly baseline: Record<
    'baseline_at_start' | 'segments_active' | 'pre_existing_freed' | 'profiling_still_live',
    number
  > | null;
  readonly profiler_steps: Record<string, { readonly start_us: number; readonly end_us: number | null }>;
  readonly device_traces: {
    readonly device: number | null;
    readonly event_count: number;
    readonly actions: Record<string, number>;
  };
  readonly top_sources: readonly {
    readonly source: string;
    readonly throughput_bytes: number;
    readonly alloc_count: number;
  }[];
}

interface BridgeCompare {
  readonly file_a: string;
  readonly file_b: string;
  readonly matching_steps: readonly number[];
  readonly full_trace: Record<string, number> | null;
  readonly drill_down: {
    readonly sources: readonly { readonly source: string; readonly peak_a: number; readonly peak_b: number }[];
  } | null;
  readonly [key: string]: unknown;
}

interface MosaicPeak {
  readonly dynamic_memory_peak: number;
  readonly static_memory: number;
  readonly stacks_at_peak: number;
}

function outputs(peer: string, ending: string): string[] {
  const directory = join(CORPUS, 'peers', peer);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith(ending))
    .sort();
}

const read = <T>(peer: string, name: string): T =>
  JSON.parse(readFileSync(join(CORPUS, 'peers', peer, name), 'utf8')) as T;

const parses = outputs('bridge', '.parse.json');
const compares = outputs('bridge', '.json').filter((name) => name.startsWith('compare__'));
const peaks = outputs('mosaic', '.peak.json');

describe('figures of the peers', () => {
  if (parses.length + compares.length + peaks.length === 0) {
    skipLoudly('peer parity', 'the outputs of the peers in the corpus (set MBF_CORPUS)');
    return;
  }
  let cli: Cli;
  let directory = '';
  const answers = new Map<string, PeakResult['snapshots'][number]>();

  beforeAll(() => {
    cli = buildCli();
    directory = mkdtempSync(join(tmpdir(), 'mbf-peers-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const ask = (snapshot: string, grouping: 'bridge' | 'mosaic'): PeakResult['snapshots'][number] => {
    const key = `${grouping} ${snapshot}`;
    let answer = answers.get(key);
    if (answer === undefined) {
      const args = ['peak', join(SNAPSHOTS, snapshot), '--grouping', grouping, '--json'];
      const { snapshots } = cli.expect(0, args, { env: { XDG_CACHE_HOME: directory } }).json<PeakResult>();
      expect(snapshots).toHaveLength(1);
      answer = snapshots[0]!;
      answers.set(key, answer);
    }
    return answer;
  };
  const bridge = (snapshot: string): BridgeFigures => ask(snapshot, 'bridge').bridge!;

  it.each(sampled(parses, 2))('Bridge, segments as their headers say, all devices: %s', (name) => {
    const theirs = read<BridgeParse>('bridge', name).segments;
    expect(bridge(name.replace('.parse.json', '')).segments).toEqual({
      count: theirs.count,
      total_bytes: theirs.total_size,
      allocated_bytes: theirs.allocated_size,
      active_bytes: theirs.active_size,
      awaiting_free_bytes: theirs.awaiting_free_size,
      inactive_bytes: theirs.inactive_size,
    });
  });

  it.each(sampled(parses, 2))(
    'Bridge, baseline = active actual bytes - requested bytes still live + requested bytes of unmatched frees: %s',
    (name) => {
      const theirs = read<BridgeParse>('bridge', name).baseline;
      expect(bridge(name.replace('.parse.json', '')).baseline).toEqual(
        theirs === null
          ? null
          : {
              baseline_at_start_bytes: theirs.baseline_at_start,
              segments_active_bytes: theirs.segments_active,
              pre_existing_freed_bytes: theirs.pre_existing_freed,
              profiling_still_live_bytes: theirs.profiling_still_live,
            },
      );
    },
  );

  it.each(sampled(parses, 2))(
    'Bridge, sources by requested bytes allocated over the trace of the first device: %s',
    (name) => {
      const theirs = read<BridgeParse>('bridge', name);
      const ours = bridge(name.replace('.parse.json', ''));
      expect(ours.device).toBe(theirs.device_traces.device);
      expect(ours.events).toBe(theirs.device_traces.event_count);
      expect(ours.full_trace?.alloc_count ?? 0).toBe(theirs.device_traces.actions['alloc'] ?? 0);
      expect(ours.full_trace?.free_count ?? 0).toBe(theirs.device_traces.actions['free_completed'] ?? 0);
      // They print fifteen.
      expect(ours.throughput.slice(0, 15)).toEqual(
        theirs.top_sources.map(({ source, throughput_bytes, alloc_count }) => ({
          source,
          bytes: throughput_bytes,
          count: alloc_count,
        })),
      );
      const sum = (pick: (source: PeerSource) => number): number =>
        ours.throughput.reduce((total, source) => total + pick(source), 0);
      expect(sum(({ bytes }) => bytes)).toBe(ours.full_trace?.throughput_bytes ?? 0);
      expect(sum(({ count }) => count)).toBe(ours.full_trace?.alloc_count ?? 0);
      expect(ours.steps.map(({ step, start_us, end_us }) => [String(step), start_us, end_us])).toEqual(
        Object.entries(theirs.profiler_steps).map(([step, { start_us, end_us }]) => [step, start_us, end_us]),
      );
    },
  );

  it.each(compares)(
    'Bridge, peak of requested bytes from zero at the first entry, frees of older memory subtracted: %s',
    (name) => {
      const theirs = read<BridgeCompare>('bridge', name);
      // No file of the corpus has ProfilerStep marks, so the comparison is of whole traces.
      expect(theirs.matching_steps).toEqual([]);
      for (const side of ['a', 'b'] as const) {
        const ours = bridge(String(theirs[`file_${side}`]).split('/').at(-1)!);
        expect(ours.baseline?.baseline_at_start_bytes).toBe(theirs[`baseline_${side}`]);
        const segments = theirs[`segments_${side}`] as Record<string, number>;
        expect(ours.segments).toEqual({
          count: segments['count'],
          total_bytes: segments['total'],
          allocated_bytes: segments['allocated'],
          active_bytes: segments['active'],
          awaiting_free_bytes: segments['awaiting_free'],
          inactive_bytes: segments['inactive'],
        });
        const full = theirs.full_trace!;
        expect(ours.full_trace).toMatchObject({
          peak_delta_bytes: full[`peak_${side}`],
          absolute_peak_bytes: full[`abs_peak_${side}`],
          alloc_count: full[`allocs_${side}`],
          throughput_bytes: full[`throughput_${side}`],
          unmatched_frees: full[`unmatched_${side}`],
        });
        const ofTheirs = theirs.drill_down!.sources.map((source) => [source.source, source[`peak_${side}`]] as const);
        expect(new Map(ours.full_trace!.sources_at_peak.map(({ source, bytes }) => [source, bytes]))).toEqual(
          new Map(ofTheirs.filter(([, bytes]) => bytes > 0)),
        );
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
