/**
 * Divisions of `roundup_power2_divisions` in a recording whose file lacks its settings: of what the model itself did
 * with random lists, as torch 2.1 rounds. The truth is among what is left open.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDriver } from '../../../samples/generate/simulate/simulated-driver.js';
import type { Block } from '../../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import { type Fidelity, judgeReplay } from '../../../src/allocator/fidelity/fidelity.js';
import { divisionInterval } from '../../../src/allocator/rounding.js';
import {
  type AllocatorSettings,
  confText,
  DEFAULT_SETTINGS,
  POSSIBLE_DIVISIONS,
  readAllocConf,
} from '../../../src/allocator/settings.js';
import type { WhatIfBase } from '../../../src/allocator/what-if/known-runs.js';
import { askWhatIf, type BoundedResult } from '../../../src/allocator/what-if/sweep.js';
import { MIB } from '../../../src/model/units.js';
import { runs } from '../../support/level.js';
import { history } from '../history.js';
import { recordPlayed } from './played-recording.js';

/** Bytes to allocate, or the number of a live block to free. */
type Act = { readonly bytes: number } | { readonly free: number };

const FROM_2_1 = { ...DEFAULT_SETTINGS, keepsSizeAtOne: true };

interface Recorded {
  readonly fidelity: Fidelity;
  readonly settings: AllocatorSettings;
  readonly requests: readonly number[];
}

/** What the model does with `conf` in torch 2.1, judged without its settings; `skip`: first entries that are lost. */
function recorded(acts: readonly Act[], conf: string, skip = 0): Recorded {
  const { settings, problems } = readAllocConf(conf, FROM_2_1);
  expect(problems).toEqual([]);
  const trace: TraceEntry<number>[] = [];
  const driver = createDriver({ totalBytes: 2 ** 38 });
  const allocator = new CachingAllocator<number>({ driver, settings, trace: (entry) => trace.push(entry) });
  const live: Block<number>[] = [];
  const requests: number[] = [];
  for (const act of acts) {
    if ('free' in act) {
      const [block] = live.splice(act.free % Math.max(1, live.length), 1);
      if (block !== undefined) allocator.free(block);
      continue;
    }
    const result = allocator.malloc(act.bytes, 0);
    requests.push(act.bytes);
    if (result.ok) live.push(result.block);
  }
  const past = fc.sample(history, { numRuns: 1, seed: 1 })[0]!;
  const played = { allocator, trace, ooms: [], settings: DEFAULT_SETTINGS };
  const { recording, dump, walk } = recordPlayed(played, { ...past, release: '2.7', steps: [] }, { skip });
  const stripped = { ...recording, settings: DEFAULT_SETTINGS, namesSettings: false, namesPools: false };
  return { fidelity: judgeReplay(stripped, dump, walk), settings, requests };
}

const size = fc
  .tuple(fc.double({ min: 9, max: 29, noNaN: true }), fc.constantFrom(1, 512, 4096, 2 ** 18))
  .map(([log, unit]) => Math.max(1, Math.round(2 ** log / unit)) * unit);
const acts = fc.array(size, { minLength: 4, maxLength: 24 }).chain((sizes) =>
  fc.array(
    fc.oneof<fc.Arbitrary<Act>[]>(
      fc.constantFrom(...sizes).map((bytes) => ({ bytes })),
      fc.nat().map((free) => ({ free })),
    ),
    { minLength: 60, maxLength: 200 },
  ),
);
const value = fc.constantFrom(1, 2, 4, 8, 16, 32);
const list = fc
  .tuple(fc.subarray([1, 2, 4, 8, 16, 32, 64, 128, 256, 512], { minLength: 1 }), fc.array(value, { minLength: 11 }))
  .map(([keys, values]) => [...keys.map((key, i) => `${key}:${values[i]}`), `>:${values[10]}`].join(','));
const conf = fc
  .record({ list, isExpandable: fc.boolean() })
  .map((one) => `${one.isExpandable ? 'expandable_segments:True,' : ''}roundup_power2_divisions:[${one.list}]`);

const askedOf = ({ fidelity: { recording, alternatives, outcome } }: Recorded): WhatIfBase => ({
  recording,
  operations: alternatives.cases[0]!,
  variant: outcome.variant,
  lost: alternatives.lost,
});

const mib = (count: number): Act => ({ bytes: count * MIB });

describe('settings that no file has', () => {
  it('are lists of divisions: all is explained, and the truth is among what is left open', () => {
    const seen = { exact: 0, other: 0, decided: 0 };
    const samples = fc.sample(fc.tuple(acts, conf), { numRuns: runs(40, 1000), seed: 20_261_130 });
    for (const [i, [program, text]] of samples.entries()) {
      const skip = i % 4 === 3 ? 20 : 0;
      const { fidelity, settings, requests } = recorded(program, text, skip);
      if (fidelity.status !== 'exact') {
        if (skip === 0) seen.other += 1;
        continue;
      }
      if (skip === 0) seen.exact += 1;
      const { possible } = fidelity.recording.settings.openDivisions!;
      for (const [interval, divisions] of settings.roundupPower2Divisions.entries()) {
        const isPossible = possible[interval]!.includes(divisions);
        expect({ text, skip, interval, divisions, isPossible }).toMatchObject({ isPossible: true });
        const isDecided = possible[interval]!.length < POSSIBLE_DIVISIONS.length;
        if (isDecided) seen.decided += 1;
        const isRequested = requests.some((bytes) => divisionInterval(bytes) === interval);
        expect({ text, interval, isGuess: isDecided && !isRequested }).toMatchObject({ isGuess: false });
      }
    }
    console.info(`lists of divisions: ${JSON.stringify(seen)}`);
    expect(seen.exact / (seen.exact + seen.other)).toBeGreaterThanOrEqual(0.95);
    expect(seen.decided).toBeGreaterThan(seen.exact);
  });

  const without = (text: string): string =>
    `roundup_power2_divisions:[1:?,2:?,4:?,${text},128:?,256:?,512:?,1024:?,2048:?,4096:?,8192:?,16384:?,32768:?]`;

  it.each([
    // Steps of 2 MiB give 10, those of 1 or 4 another size; of 32 MiB 96.
    ['[8:4,16:8,>:2]', [mib(8.5), mib(70)], without('8:4,16:?,32:?,64:2')],
    // Steps of 1 MiB give 10 too.
    ['[8:4,16:8,>:2]', [mib(9.5), mib(70)], without('8:4|8,16:?,32:?,64:2')],
    // Releases before 2.4 do not round at all with 1.
    ['[8:1,16:8,>:2]', [{ bytes: 9 * MIB + 1 }, mib(70)], without('8:1,16:?,32:?,64:2')],
    ['[8:4,>:4]', [mib(8.5), mib(70)], 'roundup_power2_divisions:4'],
    // A power of two is not rounded.
    ['4', [mib(8), mib(64)], ''],
  ])('are written with what they leave open: %s', (text, program, written) => {
    const { fidelity } = recorded(program, `roundup_power2_divisions:${text}`);
    expect([fidelity.status, confText(fidelity.recording.settings)]).toEqual(['exact', written]);
  });

  it('answer what-if questions with an interval, where a size shows no divisions and others would serve it otherwise', () => {
    // The second fits into the segment of the first with and without divisions, and leaves no trace of its size.
    const program = [mib(70), { free: 0 }, mib(60), { free: 0 }];
    for (const [text, peakMiB] of [
      ['', 130],
      ['roundup_power2_divisions:[32:2,>:1]', 134],
    ] as const) {
      const judged = recorded(program, text);
      const { recording, status, alternatives } = judged.fidelity;
      expect([status, confText(recording.settings), alternatives.lost.divisions]).toEqual(['exact', '', true]);
      const settings = { ...recording.settings, maxSplitBytes: 68 * MIB };
      const { bounds } = askWhatIf(askedOf(judged), { settings, budgetBytes: Number.POSITIVE_INFINITY });
      const [{ leastPeakReservedBytes, mostPeakReservedBytes }] = bounds as [BoundedResult];
      expect([leastPeakReservedBytes / MIB, mostPeakReservedBytes / MIB]).toEqual([130, 134]);
      expect(peakMiB * MIB).toBeGreaterThanOrEqual(leastPeakReservedBytes);
    }
  });
});
