/**
 * The recordings of the corpus, replayed: every address, every call to the driver, the final state; whole and without
 * any of their first entries.
 */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finalDifference } from '../../src/allocator/fidelity/compare-final-state.js';
import { type Fidelity, judgeReplay } from '../../src/allocator/fidelity/fidelity.js';
import { verifyingReplay } from '../../src/allocator/replay/verifying-replay.js';
import type { AllocatorSettings } from '../../src/allocator/settings.js';
import { OOM } from '../../src/allocator/trace-action-codes.js';
import type { AllocatorState } from '../../src/allocator/walk/allocator-state.js';
import type { WhatIfBase } from '../../src/allocator/what-if/known-runs.js';
import { OPERATION } from '../../src/allocator/what-if/operations.js';
import { type SimulationResult, simulate } from '../../src/allocator/what-if/simulate.js';
import { askWhatIf, leastBudget } from '../../src/allocator/what-if/sweep.js';
import type { ReplayResult } from '../../src/model/results/replay.js';
import { type CorpusReplay, corpusReplays, withoutHead } from '../allocator/replay/corpus-replays.js';
import { buildCli } from '../support/cli.js';
import { convertedSnapshots, hasPython, SNAPSHOTS, snapshotPickles, truthOf } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, THE_CORPUS } from './corpus-suite.js';

const PAGE = 2 ** 21;

/** Cuts of each recording; a night's run may ask for more. */
const CUTS = Number(process.env['MBF_REPLAY_CUTS'] ?? 10);

const hasCorpus = snapshotPickles().length > 0;

corpusSuite('recordings of the corpus, replayed', hasPython && hasCorpus, tests, hasPython ? THE_CORPUS : 'python3');

function tests(): void {
  const all = corpusReplays();
  const cache = temporaryDirectory();
  const judged = new Map<CorpusReplay, Fidelity>(
    all.map((one) => [one, judgeReplay(one.prepared.recording, one.prepared.dump, one.prepared.walk)]),
  );
  const sound = all.filter(({ holds }) => holds);

  it('are exact where the walk back holds, and refused with their count where they contradict themselves', () => {
    let exact = 0;
    for (const [{ name, device, prepared, holds }, fidelity] of judged) {
      const { status, reason, outcome, finalDifference: difference } = fidelity;
      const label = `${name} device ${device}`;
      const { allocs, addressMatches, driverEntryMismatches } = outcome;
      expect(allocs, label).toBe(truthOf(name).traces?.[device]?.actions['alloc'] ?? 0);
      if (!holds) {
        expect({ label, status }).toEqual({ label, status: 'refused' });
        expect(reason).not.toBe('');
        continue;
      }
      const found = { label, status, reason, addressMatches, driverEntryMismatches, difference };
      const exactly = { status: 'exact', reason: '', addressMatches: allocs, driverEntryMismatches: 0 };
      expect(found).toEqual({ label, ...exactly, difference: null });
      expect(prepared.walk.uncertainBlocks).toBe(0);
      for (const oom of outcome.ooms) expect(oom.repeated).toBe(true);
      exact += 1;
    }
    expect(exact).toBeGreaterThan(0);
  });

  it('give the same through the command line in their other encodings', () => {
    const known = new Set([...judged.values()].map((fidelity) => figuresOf(fidelity)));
    let compared = 0;
    const env = { XDG_CACHE_HOME: cache };
    for (const name of convertedSnapshots()) {
      const answer = buildCli().run(['whatif', 'replay', join(SNAPSHOTS, name), '--json=full'], { env });
      if (answer.status !== 0) continue;
      for (const one of answer.json<ReplayResult>().snapshots) {
        if (one.address_total < 50 || one.status === 'refused') continue;
        expect(known, `${name} device ${one.device}`).toContain(
          [one.status, one.address_matches, one.address_total, one.segment_events, one.reserved_at_end_bytes].join(),
        );
        compared += 1;
      }
    }
    if (convertedSnapshots().length > 0) expect(compared).toBeGreaterThan(0);
  });

  it('survive the loss of any first entries', () => {
    let cuts = 0;
    for (const one of sound) {
      const { recording, dump } = one.prepared;
      const random = randomOf(recording.events.count);
      for (let i = 0; i < CUTS; i += 1) {
        const skip = Math.floor(random() * recording.events.count);
        const label = `${one.name} device ${one.device} without its first ${skip} entries`;
        const cut = withoutHead(one, skip);
        expect(cut.back.violations, label).toEqual([]);
        const outcome = verifyingReplay(cut.recording, judged.get(one)!.outcome.variant);
        const { mismatches, allocator, driverEntryMismatches, addressMatches, allocs } = outcome;
        const difference = finalDifference(allocator.snapshot(), dump);
        expect({ label, mismatches, difference, driverEntryMismatches, addressMatches }).toEqual({
          ...{ label, mismatches: [], difference: null, driverEntryMismatches: 0, addressMatches: allocs },
        });
        cuts += 1;
        compareStart(cut.start, truthBefore(one, skip), label);
      }
    }
    expect(cuts).toBe(CUTS * sound.length);
  }, 3_600_000);

  it('reach the recorded peak when left alone, with addresses from below and from above', () => {
    for (const one of sound) {
      const { recording, back } = one.prepared;
      // Without a limit, what failed in the record is served.
      if (recording.events.action.includes(OOM)) continue;
      for (const direction of ['ascending', 'descending'] as const) {
        const base = baseOf(judged.get(one)!, one);
        const { peakReservedBytes, oom } = run(base, recording.settings, Number.POSITIVE_INFINITY, direction);
        const label = `${one.name} device ${one.device} ${direction}`;
        expect([label, peakReservedBytes, oom]).toEqual([label, back.peakReserved.bytes, null]);
      }
    }
  });

  it('fail again where they failed, and fit with the layout shortfall but not with the arithmetic one', () => {
    let ooms = 0;
    for (const one of sound) {
      const fidelity = judged.get(one)!;
      const base = baseOf(fidelity, one);
      const row = base.recording.events.action.lastIndexOf(OOM);
      const free = truthOf(one.name).traces?.[one.device]?.oom_entries.at(-1);
      if (row < 0 || free === undefined || one.prepared.start.blocks.count > 0) continue;
      ooms += 1;
      const recorded = fidelity.outcome.ooms.at(-1)!;
      const { settings } = base.recording;
      const budget = free.reserved_at_oom + free.device_free;
      const again = run(base, settings, budget);
      expect(again.oom).toMatchObject({
        seq: recorded.seq,
        requestedBytes: recorded.requestedBytes,
        reservedBytes: free.reserved_at_oom,
        activeBytes: recorded.activeBytes,
      });
      expect(again.retries).toBe(fidelity.outcome.flushes.filter(({ kind }) => kind !== 'explicit').length);
      const arithmetic = Math.max(0, recorded.activeBytes + recorded.requestedBytes - budget);
      expect(run(base, settings, budget + arithmetic).oom?.seq).toBe(recorded.seq);
      const unlimited = run(base, settings, Number.POSITIVE_INFINITY);
      expect(unlimited.oom).toBeNull();
      const least = leastBudget(base, settings, 'recorded', budget, unlimited.peakReservedBytes)!;
      expect(run(base, settings, least).oom).toBeNull();
      expect(run(base, settings, least - PAGE).oom).not.toBeNull();
      expect(least).toBeGreaterThan(budget + arithmetic);
      // The published account of such an OOM.
      if (recorded.requestedBytes === 5_308_694_528)
        expect(least).toBe(Math.floor((budget + 5_211_422_720) / PAGE) * PAGE);
    }
    if (ooms === 0) console.warn('replay of the corpus: no recording that begins empty ends in an OOM');
  });

  it('are bounded once where they begin empty, and from both sides where they begin with live memory', () => {
    for (const one of sound) {
      const base = baseOf(judged.get(one)!, one);
      const { settings, start } = base.recording;
      const other = { ...settings, expandableSegments: !settings.expandableSegments };
      const { bounds } = askWhatIf(base, { settings: other, budgetBytes: Number.POSITIVE_INFINITY });
      if (start.segments.count === 0) {
        expect(bounds.map(({ bound }) => bound)).toEqual(['exact']);
        continue;
      }
      expect(bounds.map(({ bound }) => bound)).toEqual(['optimistic', 'pessimistic']);
      const [optimistic, pessimistic] = bounds as [(typeof bounds)[0], (typeof bounds)[0]];
      expect(optimistic.result.startReservedBytes).toBeLessThanOrEqual(pessimistic.result.startReservedBytes);
      expect(optimistic.result.peakReservedBytes).toBeLessThanOrEqual(pessimistic.result.peakReservedBytes);
      const same = askWhatIf(base, { settings, budgetBytes: Number.POSITIVE_INFINITY });
      expect(same.bounds.map(({ bound }) => bound)).toEqual(['exact']);
    }
  });

  it('give the published peaks with the other kind of segments', () => {
    const published: readonly (readonly [recordedPeak: number, otherPeak: number])[] = [
      [1_390_411_776, 1_375_731_712],
      [61_111_009_280, 55_511_613_440],
      [6_471_811_072, 5_916_065_792],
      [12_660_506_624, 12_538_871_808],
      [25_178_406_912, 24_689_770_496],
      [8_541_700_096, 9_252_634_624],
      [21_883_781_120, 22_445_817_856],
    ];
    const seen = new Map<number, number[]>();
    for (const one of sound) {
      const peak = one.prepared.back.peakReserved.bytes;
      if (!published.some(([recorded]) => recorded === peak)) continue;
      const base = baseOf(judged.get(one)!, one);
      const { settings } = base.recording;
      const other = { ...settings, expandableSegments: !settings.expandableSegments };
      const { bounds } = askWhatIf(base, { settings: other, budgetBytes: Number.POSITIVE_INFINITY });
      seen.set(peak, [...(seen.get(peak) ?? []), bounds[0]!.result.peakReservedBytes]);
    }
    for (const [recorded, other] of published)
      if (seen.has(recorded))
        expect({ recorded, peaks: seen.get(recorded) }).toMatchObject({
          recorded,
          peaks: expect.arrayContaining([other]),
        });
    if (seen.size === 0) console.warn('replay of the corpus: none of the published recordings is there');
  });
}

function simulation(
  base: WhatIfBase,
  settings: AllocatorSettings,
  budgetBytes: number,
  direction: 'ascending' | 'descending' = 'ascending',
) {
  return { settings, variant: base.variant, budgetBytes, start: 'recorded' as const, direction };
}

function run(
  base: WhatIfBase,
  settings: AllocatorSettings,
  budgetBytes: number,
  direction: 'ascending' | 'descending' = 'ascending',
): SimulationResult {
  return simulate(base.recording, base.operations, simulation(base, settings, budgetBytes, direction));
}

function baseOf({ alternatives, outcome }: Fidelity, { prepared }: CorpusReplay): WhatIfBase {
  const operations = alternatives.cases[0]!;
  expect(operations.kind.filter((kind) => kind === OPERATION.oom).length).toBe(outcome.ooms.length);
  return { recording: prepared.recording, operations, variant: outcome.variant };
}

function figuresOf({ status, outcome }: Fidelity): string {
  const { addressMatches, allocs, driverEntries, reservedAtEndBytes } = outcome;
  return [status, addressMatches, allocs, driverEntries, reservedAtEndBytes].join();
}

/** Fractions in [0, 1), the same for the same recording. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Live blocks before entry `skip` of the whole recording, by address: what the full replay, which is exact, has there.
 */
function truthBefore({ prepared: { recording } }: CorpusReplay, skip: number): Map<number, number> {
  const head = { ...recording, events: { ...recording.events, count: skip } };
  const { allocator } = verifyingReplay(head, {
    tieBreak: 'address',
    oomPools: 'after_flush',
    redirection: 'oldest',
    poolUseCountsAsCapture: true,
  });
  const sizes = new Map<number, number>();
  for (const segment of allocator.snapshot())
    for (const block of segment.blocks) if (block.state !== 'inactive') sizes.set(block.addr, block.sizeBytes);
  return sizes;
}

function compareStart({ blocks }: AllocatorState, truth: ReadonlyMap<number, number>, label: string): void {
  expect(blocks.count, label).toBe(truth.size);
  for (let row = 0; row < blocks.count; row += 1) {
    const bytes = truth.get(blocks.address[row]!);
    const isUncertain = blocks.maxBytes[row]! > blocks.minBytes[row]!;
    if (bytes === blocks.sizeBytes[row]) continue;
    if (!isUncertain || bytes === undefined || bytes < blocks.minBytes[row]! || bytes > blocks.maxBytes[row]!)
      throw new Error(
        `${label}: the block at ${blocks.address[row]} has ${bytes} bytes, not ${blocks.sizeBytes[row]}, and is not flagged`,
      );
  }
}
