/** The pieces of what-if questions, on traces small enough to work out by hand. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDriver, settingsFromConf } from '../../../samples/generate/simulate/simulated-driver.js';
import type { Block } from '../../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import { judgeReplay } from '../../../src/allocator/fidelity/fidelity.js';
import { type AllocatorSettings, confText, DEFAULT_SETTINGS, readAllocConf } from '../../../src/allocator/settings.js';
import { DEFAULT_VARIANT } from '../../../src/allocator/variants.js';
import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';
import { cheapestWindows } from '../../../src/allocator/what-if/early-frees.js';
import { runOnce, type WhatIfBase } from '../../../src/allocator/what-if/known-runs.js';
import { OPERATION } from '../../../src/allocator/what-if/operations.js';
import { type Simulation, type SimulationResult, simulate } from '../../../src/allocator/what-if/simulate.js';
import { askWhatIf, leastBudget, outcomeOf } from '../../../src/allocator/what-if/sweep.js';
import { MIB } from '../../../src/model/units.js';
import { type History, history, type Played, play, type Step } from '../history.js';
import { recordPlayed, withoutPools } from '../replay/played-recording.js';

const PAGE = 2 ** 21;

/** What a program did on a device of so many MiB, as a replay sees it: `a=30` allocates MiB, `-a` frees, or `flush`. */
function recorded(deviceMiB: number, acts: string, conf = '', skip = 0): WhatIfBase {
  const trace: TraceEntry<number>[] = [];
  const settings = settingsFromConf(conf);
  const driver = createDriver({ totalBytes: deviceMiB * MIB });
  const allocator = new CachingAllocator<number>({ driver, settings, trace: (entry) => trace.push(entry) });
  const live = new Map<string, Block<number>>();
  for (const act of acts.split(' ')) {
    if (act === 'flush') allocator.flush();
    else if (act.startsWith('-')) allocator.free(live.get(act.slice(1))!);
    else {
      const [name = '', mib] = act.split('=');
      const result = allocator.malloc(Number(mib) * MIB, 0);
      if (result.ok) live.set(name, result.block);
    }
  }
  const past = fc.sample(history, { numRuns: 1, seed: 1 })[0]!;
  const played = { allocator, trace, ooms: [], settings };
  const { recording, dump, walk } = recordPlayed(played, { ...past, release: '2.7', steps: [] }, { skip });
  const { status, alternatives, outcome } = judgeReplay(recording, dump, walk);
  expect(status).toBe('exact');
  return { recording, operations: alternatives.cases[0]!, variant: outcome.variant };
}

function run(base: WhatIfBase, changes: Partial<Simulation> = {}): SimulationResult {
  return simulate(base.recording, base.operations, {
    settings: base.recording.settings,
    variant: DEFAULT_VARIANT,
    budgetBytes: Number.POSITIVE_INFINITY,
    start: 'recorded',
    direction: 'ascending',
    ...changes,
  });
}

/** 30 + 30 MiB live, the first freed: its 30 MiB cannot serve 40, and the device of 80 MiB has 20. */
const FRAGMENTED = 'a=30 b=16 c=30 -a d=20 e=12';

describe('simulate', () => {
  const base = recorded(80, FRAGMENTED);

  it('repeats the record with its settings and its device', () => {
    const again = run(base, { budgetBytes: 80 * MIB });
    const inMib = { requestedBytes: 12, reservedBytes: 76, activeBytes: 66, shortBytes: 8 };
    expect(again.oom).toMatchObject(Object.fromEntries(Object.entries(inMib).map(([name, mib]) => [name, mib * MIB])));
    expect(outcomeOf(base, again)).toBe('same_oom');
    expect(again.retries).toBe(1);
  });

  it('serves the request of an OOM without a limit, gives it back, and says what it took', () => {
    const reserves: number[] = [];
    const free = run(base, { after: (_, bytes) => reserves.push(bytes) });
    expect(free).toMatchObject({ oom: null, peakReservedBytes: 88 * MIB, peakActiveBytes: 78 * MIB });
    const atOom = base.operations.kind.lastIndexOf(OPERATION.oom);
    expect(reserves[atOom]).toBe(88 * MIB);
    expect(reserves.at(-1)).toBe(88 * MIB);
  });

  it('leaves out or scales allocations', () => {
    const without = (wanted: number) =>
      run(base, { budgetBytes: 80 * MIB, edits: { bytesOf: (id, bytes) => (id === wanted ? 0 : bytes) } });
    expect(without(1).oom).toBeNull();
    expect(without(1).peakActiveBytes).toBe((30 + 20 + 12) * MIB);
    expect(without(0).driverCalls).toBeLessThan(run(base).driverCalls + 1);
    const half = run(base, { edits: { bytesOf: (_, bytes) => bytes / 2 } });
    // Segments of 16 MiB are not split for 15; then 10 in the place of the first, and the failed request as it was.
    expect(half.peakActiveBytes).toBe((8 + 16 + 10 + 12) * MIB);
  });

  it('frees blocks just before the OOM, and only then', () => {
    const early = run(base, { budgetBytes: 80 * MIB, edits: { freedBeforeOom: new Set([3]) } });
    expect(early.oom).toBeNull();
    expect(early.peakActiveBytes).toBe(76 * MIB);
  });

  it('fails before the first entry where what is live at the start exceeds the budget, and gives back what is only cached', () => {
    // Recorded from behind the first three segments on, each a driver entry and an allocation.
    const late = recorded(120, 'a=30 b=16 c=30 d=12', '', 6);
    expect(run(late, { budgetBytes: 50 * MIB }).oom).toMatchObject({ seq: -1, shortBytes: (76 - 50) * MIB });
    expect(run(late, { budgetBytes: 110 * MIB }).oom).toBeNull();
    const cached = recorded(120, 'a=30 b=16 c=30 -a d=12', '', 8);
    const kept = run(cached, { budgetBytes: 70 * MIB });
    expect(kept.oom).toBeNull();
    expect(kept.peakReservedBytes).toBeLessThanOrEqual(76 * MIB);
    expect(run(cached, { budgetBytes: 40 * MIB }).oom).toMatchObject({ seq: -1, shortBytes: (46 - 40) * MIB });
  });

  it('shows the reserve after every operation', () => {
    const seen: number[] = [];
    run(base, { after: (_, bytes) => seen.push(bytes / MIB) });
    expect(seen).toEqual([30, 46, 76, 76, 76, 88]);
  });
});

describe('askWhatIf', () => {
  const base = recorded(80, FRAGMENTED);
  const ask = (conf: string, deviceMiB: number) => {
    const { bounds, robust } = askWhatIf(base, {
      settings: readAllocConf(conf, base.recording.settings).settings,
      budgetBytes: deviceMiB * MIB,
    });
    return [...bounds.map(({ bound, outcome }) => `${bound} ${outcome}`), robust];
  };

  it('tells fits, same, earlier and later', () => {
    expect(ask('', 88)).toEqual(['exact fits', true]);
    expect(ask('', 80)).toEqual(['exact same_oom', true]);
    expect(ask('', 60)).toEqual(['exact earlier_oom', true]);
    // Four pages of 20 MiB hold 76; the tail of 4 is too small, and so is the hole of 10: a fifth page.
    expect(ask('expandable_segments:True', 80)).toEqual(['exact same_oom', true]);
    expect(ask('expandable_segments:True', 100)).toEqual(['exact fits', true]);
  });

  it('says later where the recorded OOM is avoided and something after it is not', () => {
    // At the end 30 + 16 + 40 are live, behind the OOM; only what reuses the hole of the third block well gets there.
    const later = recorded(90, 'a=30 b=30 c=20 d=12 -b -c flush e=56');
    const outcomes = [70, 80, 90, 92].map(
      (mib) => askWhatIf(later, { settings: settingsFromConf(''), budgetBytes: mib * MIB }).bounds[0]!.outcome,
    );
    expect(outcomes).toEqual(['earlier_oom', 'same_oom', 'same_oom', 'fits']);
    const grown = { bytesOf: (id: number, bytes: number) => (id === 3 ? bytes + 10 * MIB : bytes) };
    const { bounds } = askWhatIf(later, { settings: settingsFromConf(''), budgetBytes: 92 * MIB, edits: grown });
    expect(bounds[0]!.outcome).toBe('later_oom');
  });

  it('answers as each single simulation does, also where one is used for several questions', () => {
    const settings = [
      ...['', 'garbage_collection_threshold:0.5', 'max_split_size_mb:128', 'max_split_size_mb:20'],
      'roundup_power2_divisions:4',
    ];
    for (const past of fc.sample(history, { numRuns: 150, seed: 3 })) {
      const plain = { ...withoutPools(past), release: '2.7' as const, memoryFraction: undefined };
      const played = play(plain, () => {}, { isRoomy: true });
      const { recording, dump, walk } = recordPlayed(played, plain);
      const { alternatives, outcome } = judgeReplay(recording, dump, walk);
      const known = { recording, operations: alternatives.cases[0]!, variant: outcome.variant };
      for (const conf of settings) {
        for (const budgetBytes of [64 * MIB, 512 * MIB, Number.POSITIVE_INFINITY]) {
          const way = { start: 'recorded', direction: 'ascending' } as const;
          const asked = { settings: readAllocConf(conf, recording.settings).settings, budgetBytes, ...way };
          const single = simulate(recording, known.operations, { ...asked, variant: outcome.variant });
          expect(runOnce(known, asked)).toEqual(single);
        }
      }
    }
  });
});

describe('the interval of a peak where frees wait for other streams', () => {
  const OTHER_STREAM = 7;

  /** Every other free waits for another stream, until that has finished some time later. */
  function waiting(past: History): History {
    const steps = past.steps.flatMap((step, i): Step[] => {
      if (step.kind === 'malloc') return [{ ...step, stream: 0 }];
      if (step.kind === 'finish_stream') return [{ ...step, stream: OTHER_STREAM }];
      if (step.kind !== 'free') return [];
      return i % 2 === 0 ? [step] : [{ kind: 'record_stream', pick: step.pick, stream: OTHER_STREAM }, step];
    });
    return { ...past, conf: '', release: '2.13', memoryFraction: undefined, direction: 'ascending', steps };
  }

  /** Up to the first request that fails. */
  function served(past: History): { readonly past: History; readonly played: Played } {
    const full = play(past, () => {}, { isRoomy: true });
    const failed = full.trace.find(({ action }) => action === 'oom')?.timeUs;
    if (failed === undefined || failed === null) return { past, played: full };
    const cut = { ...past, steps: past.steps.slice(0, failed + 1) };
    return { past: cut, played: play(cut, () => {}, { isRoomy: true }) };
  }

  it('has in it what the allocator itself reserves on other devices and with other settings', () => {
    let [open, narrow, outside] = [0, 0, 0];
    for (const sample of fc.sample(history, { numRuns: 300, seed: 5 })) {
      const free = served({ ...waiting(sample), budgetMiB: 2 ** 20 });
      const most = free.played.allocator.statistics.reservedBytes.peak / MIB;
      const deviceMiB = (share: number): number => Math.ceil((share * most) / 2) * 2;
      for (const part of [0.8, 1.2]) {
        const { past, played } = served({ ...free.past, budgetMiB: deviceMiB(part) });
        const { recording, dump, walk } = recordPlayed(played, past);
        const { status, alternatives, outcome } = judgeReplay(recording, dump, walk);
        if (status !== 'exact') continue;
        const { cases, lost } = alternatives;
        const bases = cases.map((operations) => ({ recording, operations, variant: outcome.variant }));
        const base: WhatIfBase = { ...bases[0]!, others: bases.slice(1), lost };
        for (const conf of ['', 'max_split_size_mb:20', 'roundup_power2_divisions:4'])
          for (const share of [0.7, 0.9, 1.5]) {
            const settings = settingsFromConf(conf);
            const budgetMiB = deviceMiB(share);
            const [bound] = askWhatIf(base, { settings, budgetBytes: budgetMiB * MIB }).bounds;
            const least = bound!.leastPeakReservedBytes;
            const span = bound!.mostPeakReservedBytes - least;
            const truth = served({ ...past, conf, budgetMiB }).played.allocator.statistics.reservedBytes.peak;
            const isInside = truth >= least && truth <= least + span;
            if (!isInside) outside += 1;
            if (lost.pendingBytes > 0) open += 1;
            if (lost.pendingBytes > 0 && span <= 0.02 * truth) narrow += 1;
          }
      }
    }
    expect(outside).toBe(0);
    expect(open).toBeGreaterThan(500);
    expect(narrow / open).toBeGreaterThan(0.25);
  });
});

describe('leastBudget', () => {
  it('is the least to the page', () => {
    for (const conf of ['', 'expandable_segments:True']) {
      const base = recorded(80, FRAGMENTED);
      const settings = settingsFromConf(conf);
      const peak = run(base, { settings }).peakReservedBytes;
      const least = leastBudget(base, settings, 'recorded', 0, peak)!;
      // From wherever the search begins below it.
      for (const from of [least - PAGE, least - 2 * PAGE, least / 2])
        expect(leastBudget(base, settings, 'recorded', from, peak)).toBe(least);
      expect(run(base, { settings, budgetBytes: least }).oom).toBeNull();
      expect(run(base, { settings, budgetBytes: least - PAGE }).oom).not.toBeNull();
    }
  });

  it('is null where not even the most is enough', () => {
    const base = recorded(80, FRAGMENTED);
    expect(leastBudget(base, base.recording.settings, 'recorded', 0, 40 * MIB)).toBeNull();
  });
});

describe('cheapestWindows', () => {
  /** One segment of 10 MiB: live blocks at these places (MiB). */
  const state = (blocks: readonly (readonly [at: number, mib: number])[], small = 0): AllocatorState => ({
    afterSeq: null,
    segments: {
      count: 1,
      address: Float64Array.of(2 ** 40),
      totalBytes: Float64Array.of(10 * MIB),
      stream: Float64Array.of(0),
      small: Uint8Array.of(small),
      pool: Int32Array.of(0),
      expandable: Uint8Array.of(0),
      inferred: Uint8Array.of(0),
      firstBlock: Int32Array.of(0, blocks.length),
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, ([at]) => 2 ** 40 + at * MIB),
      sizeBytes: Float64Array.from(blocks, ([, mib]) => mib * MIB),
    } as unknown as AllocatorState['blocks'],
  });
  const windows = (blocks: readonly (readonly [number, number])[], mib: number, small = 0) =>
    cheapestWindows(state(blocks, small), { roundedBytes: mib * MIB, stream: 0, pool: 0 }, 3).map(
      ({ rows, bytes, opensBytes }) => [[...rows], bytes / MIB, opensBytes / MIB],
    );

  it('takes the fewest bytes between free memory', () => {
    // free [0,2), live [2,3), free [3,6), live [6,9), free [9,10)
    const blocks: [number, number][] = Object.entries({ 2: 1, 6: 3 }).map(([at, mib]) => [Number(at), mib]);
    const text = (mib: number) => windows(blocks, mib).map(([rows, ...bytes]) => `${rows}: ${bytes.join(' of ')}`);
    expect([6, 7, 10, 11].map(text)).toEqual([['0: 1 of 6', '1: 3 of 7'], ['1: 3 of 7'], ['0,1: 4 of 10'], []]);
  });

  it('looks in the size class of the request only', () => {
    expect(windows([[2, 1]], 9, 1)).toEqual([]);
  });

  it('agrees with trying all windows', () => {
    const layout = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 2 })), { maxLength: 5 });
    fc.assert(
      fc.property(layout, fc.integer({ min: 2, max: 10 }), (parts, wanted) => {
        let at = 0;
        const blocks = parts.flatMap(([gap, mib]) => {
          const from = at + gap;
          at = from + mib;
          return at <= 10 ? [[from, mib] as const] : [];
        });
        const ends = [0, ...blocks.map(([from, mib]) => from + mib)];
        // A request that fails found no hole.
        fc.pre(ends.every((end, i) => (blocks[i]?.[0] ?? 10) - end < wanted));
        let least = Number.POSITIVE_INFINITY;
        for (let i = 0; i < blocks.length; i += 1) {
          for (let j = i; j < blocks.length; j += 1) {
            const from = i === 0 ? 0 : blocks[i - 1]![0] + blocks[i - 1]![1];
            const to = j + 1 < blocks.length ? blocks[j + 1]![0] : 10;
            const bytes = blocks.slice(i, j + 1).reduce((sum, [, mib]) => sum + mib, 0);
            if (to - from >= wanted) least = Math.min(least, bytes);
          }
        }
        expect(windows(blocks, wanted)[0]?.[1] ?? Number.POSITIVE_INFINITY).toBe(least);
      }),
      { numRuns: 500, seed: 5 },
    );
  });
});

describe('confText', () => {
  const settings: fc.Arbitrary<AllocatorSettings> = fc
    .record({
      expandableSegments: fc.boolean(),
      maxSplitBytes: fc.oneof(
        fc.constant(Number.POSITIVE_INFINITY),
        fc.integer({ min: 64, max: 4096 }).map((mib) => mib * MIB),
      ),
      largeSegmentBytes: fc.integer({ min: 11, max: 64 }).map((mib) => mib * MIB),
      nonSplit: fc.option(fc.integer({ min: 20, max: 200 })),
      garbageCollectionThreshold: fc.constantFrom(0, 0.25, 0.8),
      roundupPower2Divisions: fc.oneof(
        fc.constant(DEFAULT_SETTINGS.roundupPower2Divisions),
        fc.array(fc.constantFrom(0, 1, 2, 4, 8), { minLength: 16, maxLength: 16 }),
      ),
    })
    .map(({ nonSplit, ...rest }) => ({
      ...rest,
      maxNonSplitRoundingBytes: nonSplit === null ? rest.largeSegmentBytes : nonSplit * MIB,
    }));

  it('is read back as the same settings, from the defaults and from themselves', () => {
    fc.assert(
      fc.property(settings, (wanted) => {
        const text = confText(wanted);
        const { settings: read, problems } = readAllocConf(text);
        expect(problems).toEqual([]);
        const isDivided = wanted.roundupPower2Divisions.some((division) => division > 1);
        const expected = {
          ...wanted,
          roundupPower2Divisions: isDivided ? wanted.roundupPower2Divisions : DEFAULT_SETTINGS.roundupPower2Divisions,
        };
        expect(read).toEqual(expected);
        expect(readAllocConf('', wanted).settings).toEqual(wanted);
        expect(confText(readAllocConf(text, read).settings)).toBe(text);
      }),
      { numRuns: 500, seed: 11 },
    );
  });
});
