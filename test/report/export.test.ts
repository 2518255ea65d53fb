/**
 * The encoders of `export`, over live sets that no program would have: whatever the frames are called, no byte is lost
 * and every reader can read.
 */
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Profile } from 'pprof-format';
import { describe, expect, it } from 'vitest';
import type { LiveFrame, LiveSample, LiveStacks } from '../../src/model/results/export.js';
import { foldedFrame, foldedStacks } from '../../src/report/store/export/folded.js';
import { pprof } from '../../src/report/store/export/pprof.js';
import { speedscope } from '../../src/report/store/export/speedscope.js';
import { speedscopeFaults } from '../support/speedscope-schema.js';

const STATES = ['active_allocated', 'active_pending_free', 'inactive'] as const;

/** Names with what breaks line formats in them. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom(';', '\n', '\r', ' ', '1', '.', '\t', '\u2028', '"', '\\', '\u0000', 'é', '😀'),
    maxLength: 12,
  }),
);
const frame: fc.Arbitrary<LiveFrame> = fc
  .record({ name: text, filename: text, line: fc.integer({ min: 0, max: 2 ** 31 - 1 }) })
  .map((parts) => ({ ...parts, text: `${parts.name} ${parts.filename}:${parts.line}` }));

const live: fc.Arbitrary<LiveStacks> = fc
  .record({
    frames: fc.array(frame, { minLength: 1, maxLength: 8 }),
    shapes: fc.array(fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 }),
    devices: fc.array(
      fc.array(
        fc.record({
          stack: fc.nat(),
          state: fc.constantFrom(...STATES),
          stream: fc.option(fc.integer({ min: -(2 ** 40), max: 2 ** 48 })),
          pool: fc.option(fc.tuple(fc.nat(3), fc.nat(3))),
          segmentType: fc.constantFrom('small' as const, 'large' as const),
          segment: fc.option(fc.integer({ min: 0, max: 2 ** 48 })),
          bytes: fc.integer({ min: 0, max: 2 ** 40 }),
          blocks: fc.integer({ min: 1, max: 2 ** 20 }),
        }),
        { maxLength: 8 },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    timeUs: fc.option(fc.integer({ min: 0, max: 2 ** 52 })),
  })
  .map(({ frames, shapes, devices, timeUs }) => ({
    path: 'snapshot.pickle',
    handle: 'run/0/snapshot#1',
    rank: 0,
    frames,
    stacks: shapes.map((shape) => shape.map((row) => row % frames.length)),
    devices: devices.map((samples, device) => ({
      device,
      moment: 'peak',
      seq: 7,
      timeUs,
      basis: 'actual' as const,
      activeBytes: samples.reduce((sum, sample) => sum + (sample.state === 'inactive' ? 0 : sample.bytes), 0),
      reservedBytes: samples.reduce((sum, sample) => sum + sample.bytes, 0),
      samples: samples.map((sample): LiveSample => ({ ...sample, stack: sample.stack % shapes.length })),
    })),
    missing: [],
  }));

const bytesOf = (set: LiveStacks): number => set.devices.reduce((sum, device) => sum + device.reservedBytes, 0);
const depthOf = (line: string): number => line.split(';').length;

describe('folded stacks', () => {
  it('are lines of frames and a weight that add up', () => {
    fc.assert(
      fc.property(live, fc.boolean(), (set, states) => {
        const { lines, sumBytes } = foldedStacks(set, { states });
        expect(sumBytes).toBe(bytesOf(set));
        const seen = new Set<string>();
        let sum = 0;
        for (const line of lines) {
          // What flamegraph.pl takes a line for: no second number before the last one, or it is a line of a difference.
          const [, stack, weight] = /^(.*)\s(\d+)\n$/su.exec(line)!;
          expect(stack).not.toMatch(/\s\d+(?:\.\d*)?$/);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be gone
          expect(stack).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
          expect(seen.has(stack!)).toBe(false);
          seen.add(stack!);
          sum += Number(weight);
        }
        expect(sum).toBe(bytesOf(set));
      }),
    );
  });

  it('have as many frames as their stacks', () => {
    fc.assert(
      fc.property(live, (set) => {
        const [first] = set.devices;
        const firstDevice = { ...set, devices: [first!] };
        const depths = new Set(foldedStacks(firstDevice, { states: false }).lines.map(depthOf));
        for (const sample of first!.samples)
          if (sample.bytes > 0) expect(depths).toContain(set.stacks[sample.stack]!.length);
      }),
    );
  });

  it('are read back to the frames they were made of, where those are plain', () => {
    expect(foldedFrame('forward core/layers.py:12')).toBe('forward core/layers.py:12');
    expect(foldedFrame('a;b\nc')).toBe('a\\x3bb\\x0ac');
    expect(foldedFrame('operator() 12')).toBe('operator()_12');
    expect(foldedFrame('x'.repeat(100_000))).toHaveLength(100_000);
  });
});

describe('speedscope', () => {
  it('keeps its schema, and every profile adds up', () => {
    fc.assert(
      fc.property(live, (set) => {
        const file = JSON.parse(JSON.stringify(speedscope(set, 'mbforensics'))) as unknown;
        expect(speedscopeFaults(file)).toEqual([]);
        const { profiles } = speedscope(set, 'mbforensics');
        const wholeDevice = profiles.filter((profile) => !/, pool /.test(profile.name));
        expect(wholeDevice.reduce((sum, profile) => sum + profile.endValue, 0)).toBe(bytesOf(set));
        const parts = profiles.filter((profile) => /, pool /.test(profile.name));
        for (const device of wholeDevice) {
          const ownPools = parts.filter((part) => part.name.startsWith(`${device.name.split(':')[0]}, pool`));
          if (ownPools.length > 0) expect(ownPools.reduce((sum, part) => sum + part.endValue, 0)).toBe(device.endValue);
        }
      }),
    );
  });

  it('is checked by something that finds faults', () => {
    const good = speedscope(fc.sample(live, { seed: 1, numRuns: 1 })[0]!, 'x');
    const broken: readonly unknown[] = [
      null,
      { ...good, $schema: 'https://example.com' },
      { ...good, shared: {} },
      { ...good, shared: { frames: [{ file: 'a' }] } },
      { ...good, profiles: [{ ...good.profiles[0], unit: 'byte' }] },
      { ...good, profiles: [{ ...good.profiles[0], type: 'folded' }] },
      { ...good, profiles: [{ ...good.profiles[0], samples: [[999]], weights: [1] }] },
      { ...good, profiles: [{ ...good.profiles[0], samples: [[0]], weights: [] }] },
      { ...good, profiles: [{ ...good.profiles[0], samples: [['0']], weights: [1] }] },
      { ...good, activeProfileIndex: 99 },
    ];
    for (const file of broken) expect(speedscopeFaults(file)).not.toEqual([]);
  });
});

describe('pprof', () => {
  it('is a profile whose tables fit together and whose samples are the live set', () => {
    fc.assert(
      fc.property(live, (set) => {
        const profile = Profile.decode(gunzipSync(pprof(set, 'mbforensics')));
        const strings = profile.stringTable.strings;
        expect(strings[0]).toBe('');
        const word = (index: number | bigint): string => strings[Number(index)]!;
        expect(profile.sampleType.map(({ type, unit }) => [word(type), word(unit)])).toEqual([
          ['inuse_objects', 'count'],
          ['inuse_space', 'bytes'],
        ]);
        expect(word(profile.defaultSampleType)).toBe('inuse_space');
        const names = new Map(profile.function.map((entry) => [Number(entry.id), entry]));
        const places = new Map(profile.location.map((location) => [Number(location.id), location]));
        expect(names.has(0) || places.has(0)).toBe(false);
        const samples = set.devices.flatMap((device) => device.samples.map((sample) => ({ device, sample })));
        expect(profile.sample).toHaveLength(samples.length);
        samples.forEach(({ device, sample }, row) => {
          const written = profile.sample[row]!;
          expect(written.value.map(Number)).toEqual([sample.blocks, sample.bytes]);
          const labels = new Map(written.label.map((label) => [word(label.key), word(label.str)]));
          expect(labels.get('device')).toBe(String(device.device));
          expect(labels.get('state')).toBe(sample.state);
          expect(labels.get('stream')).toBe(sample.stream === null ? 'unknown' : String(sample.stream));
          const frames = written.locationId.map((id) => {
            const [line] = places.get(Number(id))!.line;
            const fn = names.get(Number(line!.functionId))!;
            return { name: word(fn.name), filename: word(fn.filename), line: Number(line!.line) };
          });
          const meant = set.stacks[sample.stack]!.map((at) => set.frames[at]!).reverse();
          // UTF-8 cannot encode half of a surrogate pair.
          const wire = (value: string): string => Buffer.from(value).toString();
          expect(frames).toEqual(
            meant.map(({ name, filename, line }) => ({
              name: wire(name || '(unnamed)'),
              filename: wire(filename),
              line,
            })),
          );
        });
        expect(BigInt(profile.timeNanos)).toBe(BigInt(set.devices[0]!.timeUs ?? 0) * 1000n);
      }),
    );
  });

  it('is the same file every time', () => {
    const [set] = fc.sample(live, { seed: 2, numRuns: 1 });
    expect(pprof(set!, 'x')).toEqual(pprof(set!, 'x'));
  });
});
