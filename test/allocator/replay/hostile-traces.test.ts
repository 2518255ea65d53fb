/** Traces that no allocator wrote: every one ends soon, without an exception, and none is called exact. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settingsFromConf } from '../../../samples/generate/simulate/simulated-driver.js';
import { type Fidelity, judgeReplay } from '../../../src/allocator/fidelity/fidelity.js';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { simulate } from '../../../src/allocator/what-if/simulate.js';
import { ENUMS } from '../../../src/model/columns.js';
import { MIB } from '../../../src/model/units.js';
import { runs } from '../../support/level.js';
import { finalState, walkEvents } from '../../support/snapshot-rows.js';
import { prepare } from './played-recording.js';

type Entry = readonly [action: (typeof ENUMS.trace_action)[number], address: number, bytes: number, stream?: number];

function judge(entries: readonly Entry[], settings: AllocatorSettings = DEFAULT_SETTINGS): Fidelity {
  const nothing = finalState({ segments: [], blocks: [] });
  const events = walkEvents(
    entries.map(([action, address, bytes, stream = 0]) => ({ action, address, bytes, stream })),
  );
  const { recording, dump, walk } = prepare(nothing, events, settings, (pool) => [pool, 0]);
  const fidelity = judgeReplay(recording, dump, walk);
  // Nobody asks this of a refused recording, but nothing may throw either.
  for (const start of ['recorded', 'packed'] as const) {
    simulate(recording, fidelity.alternatives.cases[0]!, {
      settings,
      variant: fidelity.outcome.variant,
      budgetBytes: 64 * MIB,
      start,
      direction: 'ascending',
    });
  }
  return fidelity;
}

const COUNT = runs(20_000, 100_000);
const BASE = 2 ** 45;
const many = (entry: (i: number) => Entry | readonly Entry[]): Entry[] =>
  Array.from({ length: COUNT }, (_, i) => entry(i)).flatMap((made) =>
    typeof made[0] === 'string' ? [made as Entry] : (made as readonly Entry[]),
  );

const TRACES: Readonly<Record<string, () => readonly Entry[]>> = {
  'frees of nothing': () => many((i) => ['free_completed', BASE + 512 * i, 512]),
  'requests of frees of nothing': () => many((i) => ['free_requested', BASE + 512 * i, 512]),
  'allocations at one address': () => many(() => ['alloc', BASE, 512]),
  'allocations nowhere': () => many((i) => ['alloc', BASE + 512 * i, 512]),
  'segments without requests': () => many((i) => ['segment_alloc', BASE + 2 * MIB * i, 2 * MIB]),
  'one segment again and again': () => many(() => ['segment_alloc', BASE, 2 * MIB]),
  'pages without requests': () => many((i) => ['segment_map', BASE + 20 * MIB * i, 20 * MIB]),
  'segments and pages in turn': () =>
    many((i) => [i % 2 === 0 ? 'segment_alloc' : 'segment_map', BASE + 20 * MIB * i, 20 * MIB]),
  'pages of as many streams': () => many((i) => ['segment_map', BASE + 20 * MIB * i, 20 * MIB, i]),
  'memory given back that was never had': () => many((i) => ['segment_free', BASE + 2 * MIB * i, 2 * MIB]),
  'pages mapped and unmapped': () =>
    many((i) => [i % 2 === 0 ? 'segment_map' : 'segment_unmap', BASE + 20 * MIB * (i - (i % 2)), 20 * MIB]),
  'nothing but OOMs': () => many(() => ['oom', 0, 4 * MIB]),
  'a segment for every allocation, all misplaced': () =>
    many((i): Entry[] => [
      ['segment_alloc', BASE + 2 * MIB * i, 2 * MIB],
      ['alloc', BASE + 2 * MIB * i + MIB, 512],
    ]),
  'a good start, then frees out of order': () =>
    many((i): Entry[] => [
      ['segment_alloc', BASE + 2 * MIB * i, 2 * MIB],
      ['alloc', BASE + 2 * MIB * i, MIB],
      ['free_completed', BASE + 2 * MIB * (COUNT - i), MIB],
    ]),
};

describe('traces that no allocator wrote', () => {
  it.each(Object.entries(TRACES))('%s', (_, make) => {
    for (const conf of ['', 'expandable_segments:True']) {
      const entries = make();
      const { status, reason } = judge(entries, settingsFromConf(conf));
      expect({ status, reason: reason !== '' }).toEqual({ status: 'refused', reason: true });
    }
  });

  it('random entries', () => {
    const entry = fc.tuple(
      fc.constantFrom(...ENUMS.trace_action),
      fc.oneof(
        fc.integer({ min: 0, max: 40 }).map((pages) => BASE + pages * MIB),
        fc.double({ noNaN: false }),
      ),
      fc.oneof(fc.constantFrom(0, 1, 512, MIB, 2 * MIB, 20 * MIB), fc.double({ noNaN: false })),
      fc.constantFrom(0, 0, 7, Number.NaN),
    );
    const conf = fc.constantFrom('', 'expandable_segments:True', 'max_split_size_mb:64', 'roundup_power2_divisions:4');
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), conf, (entries, text) => {
        const { outcome } = judge(entries, settingsFromConf(text));
        expect(outcome.addressMatches).toBeLessThanOrEqual(outcome.allocs);
      }),
      { numRuns: runs(100, 1500), seed: 20_261_121 },
    );
  });
});
