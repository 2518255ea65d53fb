/** Random histories of the toy allocator. */
import fc from 'fast-check';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import { MIB } from '../../src/model/units.js';
import { ToyAllocator } from './toy-allocator.js';

const size = fc.oneof(
  fc.integer({ min: 1, max: MIB }),
  fc.integer({ min: MIB + 1, max: 10 * MIB }),
  fc.integer({ min: 10 * MIB, max: 60 * MIB }),
  // Just below a segment size, so that remainders of up to and above 1 MiB stay.
  fc
    .tuple(fc.integer({ min: 6, max: 20 }), fc.integer({ min: -3, max: 2 * MIB + 600 }))
    .map(([k, d]) => k * 2 * MIB - d),
  fc.integer({ min: 3, max: 30 }).map((k) => (k * MIB) / 2),
);
const step = fc.record({
  kind: fc.constantFrom('malloc', 'malloc', 'malloc', 'free', 'free', 'free', 'defer', 'complete', 'flush'),
  size,
  pick: fc.nat(),
});
export const steps = fc.array(step, { minLength: 1, maxLength: 120, size: 'max' });
// Sizes that fill each other's holes up to a remainder: blocks whose true size shows only when a neighbour is met.
// All is freed in the end, so that the peak lies in the middle and rests on such sizes.
const tight = fc
  .tuple(
    fc.array(
      fc.record({
        kind: fc.constantFrom('malloc', 'malloc', 'malloc', 'free', 'free'),
        size: fc.integer({ min: 6, max: 20 }).map((k) => (k * MIB) / 4),
        pick: fc.nat().map((k) => 7 * k + 1),
      }),
      { minLength: 40, maxLength: 120, size: 'max' },
    ),
    fc.array(fc.record({ kind: fc.constant('free'), size: fc.constant(1), pick: fc.nat() }), {
      minLength: 60,
      maxLength: 60,
    }),
  )
  .map(([first, frees]) => [...first, ...frees]);

export const EXPANDABLE: AllocatorSettings = { ...DEFAULT_SETTINGS, expandableSegments: true };
export const MAX_SPLIT: AllocatorSettings = { ...DEFAULT_SETTINGS, maxSplitBytes: 24 * MIB };
const POWERS: AllocatorSettings = { ...DEFAULT_SETTINGS, roundupPower2Divisions: new Array<number>(16).fill(4) };

export const SETTINGS_AND_STEPS = [
  ['default', DEFAULT_SETTINGS, steps],
  ['tight holes', DEFAULT_SETTINGS, tight],
  ['expandable_segments', EXPANDABLE, steps],
  ['max_split_size', MAX_SPLIT, steps],
  ['roundup_power2_divisions', POWERS, steps],
] as const;

export function play(settings: AllocatorSettings, list: readonly { kind: string; size: number; pick: number }[]) {
  const toy = new ToyAllocator(settings);
  for (const { kind, size: bytes, pick } of list) {
    const live = toy.live();
    const pending = toy.pending();
    if (kind === 'malloc') toy.malloc(bytes, pick % 7 === 0 ? 1 : 0, pick % 3 === 0 ? 2 * MIB : 0);
    else if (kind === 'flush' && pick % 3 === 0) toy.flush();
    else if ((kind === 'free' || kind === 'defer') && live.length > 0) {
      toy.free(live[pick % live.length]!, kind === 'defer');
    } else if (kind === 'complete' && pending.length > 0) toy.complete(pending[pick % pending.length]!);
  }
  return toy;
}
