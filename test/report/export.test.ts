/**
 * The encoders of `export`, over live sets that no program would have: whatever the frames are called, no byte is lost
 * and every reader can read.
 */
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Profile } from 'pprof-format';
import { describe, expect, it } from 'vitest';
import type { LiveFrame, LiveSample, LiveStacks } from '../../src/model/results/export.js';
import { FLAME_SCRIPT } from '../../src/report/store/export/flame-script.js';
import { flameSvg } from '../../src/report/store/export/flame-svg.js';
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
    operators: shapes.map((_, i) => (i % 2 === 0 ? `at::${i}` : null)),
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
    expect(foldedFrame('a;b\nc')).toBe('a\\x3bb\\u{a}c');
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
          expect(labels.get('operator') ?? null).toBe(set.operators[sample.stack]);
          expect(labels.get('stream')).toBe(sample.stream === null ? 'unknown' : String(sample.stream));
          const frames = written.locationId.map((id) => {
            const [line] = places.get(Number(id))!.line;
            const fn = names.get(Number(line!.functionId))!;
            return {
              name: word(fn.systemName),
              text: word(fn.name),
              filename: word(fn.filename),
              line: Number(line!.line),
            };
          });
          const meant = set.stacks[sample.stack]!.map((at) => set.frames[at]!).reverse();
          // UTF-8 cannot encode half of a surrogate pair.
          const wire = (value: string): string => Buffer.from(value).toString();
          expect(frames).toEqual(
            meant.map(({ name, filename, line, ...own }) => ({
              name: wire(name),
              text: wire(`${name === '' ? '(unnamed)' : ''}${own.text}`),
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

/** What draws text the wrong way round, ends a tag or is not a character, in addition to the signs above. */
const hostileText = fc.oneof(
  text,
  fc.constantFrom(
    '<script>alert(1)</script>',
    `"'><img src=x onerror=y>`,
    ']]>',
    '&amp;&#x0;',
    '\u202Etxt.exe\u2066',
    '\ud800half',
    'other half\udc00',
    '\ufffe\uffff',
    'x'.repeat(100_000),
    '__proto__',
    '漢字'.repeat(40),
  ),
);

interface SvgCell {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly bytes: number;
  readonly title: string;
  readonly label: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot hold them
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]|\p{Cs}/u;
const REORDERS = /[\u202a-\u202e\u2066-\u2069]/u;

/** The cells of a picture whose XML has only our elements, and only characters of XML. */
function cellsOf(svg: string): SvgCell[] {
  expect(svg).not.toMatch(NO_XML);
  expect(svg).not.toMatch(REORDERS);
  const [before, script, after] = svg.split(/<script>\/\/<!\[CDATA\[|\/\/\]\]><\/script>/);
  expect(after).toBe('\n</svg>\n');
  expect(script).not.toMatch(/\]\]>|innerHTML|eval|fetch|XMLHttp|import/);
  const open: string[] = [];
  for (const [, raw = '', tag = ''] of `${before!}${after!}`.matchAll(/([^<]*)(<[^<>]*>|$)/g)) {
    expect(raw.replaceAll(/&(?:amp|lt|gt|quot|apos);/g, '')).not.toMatch(/[&<>]/);
    if (tag === '') continue;
    const parts = /^<(\/?)(svg|title|style|rect|text)((?: [\w-]+="[^"<>]*")*)(\/?)>$/.exec(tag);
    expect(parts, tag).not.toBeNull();
    expect(parts![3]).not.toMatch(/href|\bon\w+=|url\(/);
    if (parts![1] === '/') expect(open.pop()).toBe(parts![2]);
    else if (parts![4] === '') open.push(parts![2]!);
  }
  expect(open).toEqual([]);
  const cells =
    /<svg class="f" x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="17" data-bytes="(\d+)"><title>([^<]*)<\/title><rect [^<>]*\/><text [^<>]*>([^<]*)<\/text><\/svg>/g;
  return [...svg.matchAll(cells)].map(([, x, y, width, bytes, title, label]) => ({
    x: Number(x),
    y: Number(y),
    width: Number(width),
    bytes: Number(bytes),
    title: title!,
    label: label!,
  }));
}

const activeOf = ({ devices }: LiveStacks): number =>
  devices.flatMap(({ samples }) => samples).reduce((sum, one) => sum + (one.state === 'inactive' ? 0 : one.bytes), 0);

describe('the picture of live memory', () => {
  const hostile = fc.tuple(live, fc.array(hostileText, { minLength: 8, maxLength: 8 })).map(([one, names]) => ({
    ...one,
    path: names[0]!,
    handle: names[1]!,
    frames: one.frames.map((each, i) => ({ ...each, text: names[i % names.length]!, filename: names[(i + 3) % 8]! })),
  }));

  it('is XML with nothing in it but our elements, whatever the frames are called', () => {
    fc.assert(
      fc.property(hostile, (one) => {
        const svg = flameSvg(one, 'mbforensics <0>').lines.join('');
        cellsOf(svg);
        expect(svg).not.toContain('<script>alert');
        expect(svg.length).toBeLessThan(400_000);
      }),
    );
  });

  it('has widths in proportion to bytes, children inside their parents, and adds up', () => {
    fc.assert(
      fc.property(live, (one) => {
        const { lines, sumBytes } = flameSvg(one, 'x');
        expect(sumBytes).toBe(activeOf(one));
        const cells = cellsOf(lines.join(''));
        expect(cells.length > 0).toBe(sumBytes > 0);
        if (sumBytes === 0) return;
        expect(cells[0]).toMatchObject({ x: 10, width: 1180, bytes: sumBytes });
        const least = Math.ceil(sumBytes / 2360);
        for (const cell of cells) {
          expect(Math.abs(cell.width - (1180 * cell.bytes) / sumBytes)).toBeLessThan(0.001);
          expect(cell.bytes).toBeGreaterThanOrEqual(least);
          if (cell.y === cells[0]!.y) continue;
          const above = cells.filter(
            ({ x, y, width }) => y === cell.y - 18 && x <= cell.x + 0.002 && x + width >= cell.x + cell.width - 0.002,
          );
          expect(above).toHaveLength(1);
        }
        for (const y of new Set(cells.map((cell) => cell.y))) {
          const row = cells.filter((cell) => cell.y === y).sort((a, b) => a.x - b.x);
          for (const [i, cell] of row.entries())
            if (i > 0) expect(cell.x).toBeGreaterThanOrEqual(row[i - 1]!.x + row[i - 1]!.width - 0.002);
          expect(row.reduce((sum, cell) => sum + cell.bytes, 0)).toBeLessThanOrEqual(sumBytes);
        }
      }),
    );
  });

  it('folds what is too narrow, with its sum, and what is too deep', () => {
    const frames = Array.from({ length: 5_000 }, (_, i) => ({
      name: `f${i}`,
      filename: 'a.py',
      line: i,
      text: `f${i}`,
    }));
    const sample = {
      state: 'active_allocated',
      stream: 0,
      pool: null,
      segmentType: 'small',
      segment: null,
      blocks: 1,
    } as const;
    const picture = (stacks: readonly (readonly number[])[]): string[] => {
      const samples = stacks.map((_, stack) => ({ ...sample, stack, bytes: stack === 0 ? 10_000 : 1 }));
      const device = {
        device: 0,
        moment: 'oom',
        seq: 1,
        timeUs: null,
        basis: 'actual',
        reservedBytes: 0,
        samples,
      } as const;
      const activeBytes = samples.reduce((sum, { bytes }) => sum + bytes, 0);
      return [
        ...flameSvg(
          {
            path: 'p',
            handle: 'h',
            rank: null,
            frames,
            stacks,
            operators: [],
            devices: [{ ...device, activeBytes }],
            missing: [1],
          },
          'x',
        ).lines,
      ];
    };
    const narrow = picture(frames.map((_, i) => [i])).join('');
    const cells = cellsOf(narrow);
    expect(cells.map(({ title }) => title.split('\n')[0])).toEqual(['all live memory', '4,999 frames, folded', 'f0']);
    expect(cells[1]!.bytes + cells[2]!.bytes).toBe(cells[0]!.bytes);
    expect(narrow).toMatch(/Folded: 4,999 frames below 7 B, 4\.88 KiB in all/);
    expect(narrow).toContain('Without this moment: device 1.');
    const deep = picture([frames.map((_, i) => i)]).join('');
    expect(cellsOf(deep).length).toBeLessThan(1_600);
    expect(deep).toContain('3,500 frames, folded');
  });

  it('is the same picture every time, in a colour by package', () => {
    const frames = ['site-packages/torch/a.py', 'site-packages/torch/b.py', 'megatron/core/c.py'].map(
      (filename, line) => ({
        name: 'f',
        filename: `/x/${filename}`,
        line,
        text: `f ${filename}`,
      }),
    );
    const samples = frames.map((_, stack) => ({
      stack,
      state: 'active_allocated' as const,
      stream: null,
      pool: null,
      segmentType: 'small' as const,
      segment: null,
      bytes: 512,
      blocks: 1,
    }));
    const device = { device: 0, moment: 'dump', seq: null, timeUs: null, basis: 'approximate' as const };
    const devices = [{ ...device, activeBytes: 1536, reservedBytes: 2048, samples }];
    const three = {
      path: 'p',
      handle: 'h',
      rank: 3,
      frames,
      stacks: [[0], [1], [2]],
      operators: [],
      devices,
      missing: [],
    };
    const svg = flameSvg(three, 'x').lines.join('');
    expect(flameSvg(structuredClone(three), 'x').lines.join('')).toBe(svg);
    const hues = [...svg.matchAll(/hsl\((\d+),/g)].map(([, hue]) => hue);
    expect(hues[0]).toBe(hues[1]);
    expect(hues[2]).not.toBe(hues[0]);
    expect(svg).toContain('Approximate:');
  });

  it('zooms, searches and shows details by its script', () => {
    const names = ['wide', 'narrow one', 'inside'];
    const frames = names.map((name) => ({ name, filename: 'a.py', line: 1, text: name }));
    const sample = {
      state: 'active_allocated',
      stream: 0,
      pool: null,
      segmentType: 'small',
      segment: null,
      blocks: 1,
    } as const;
    const samples = [
      { ...sample, stack: 0, bytes: 900 },
      { ...sample, stack: 1, bytes: 100 },
    ];
    const device = {
      device: 0,
      moment: 'oom',
      seq: 1,
      timeUs: null,
      basis: 'actual',
      reservedBytes: 0,
      samples,
    } as const;
    const svg = flameSvg(
      {
        path: 'p',
        handle: 'h',
        rank: 0,
        frames,
        stacks: [[0], [1, 2]],
        operators: [],
        devices: [{ ...device, activeBytes: 1000 }],
        missing: [],
      },
      'x',
    ).lines.join('');
    const page = pageOf(cellsOf(svg));
    runInNewContext(FLAME_SCRIPT, page.globals);
    expect(page.picture.attributes.get('class')).toBe('live');
    const cell = (name: string): Fake => page.cells.find((one) => one.parts['title']!.textContent.startsWith(name))!;
    cell('inside').send('mouseover');
    expect(page.byId['detail']!.textContent).toBe('inside · 100 B · 10.00 % · 1 block');
    cell('inside').send('click');
    expect(cell('wide').attributes.get('display')).toBe('none');
    for (const name of ['inside', 'narrow one', 'all live memory'])
      expect(Number(cell(name).attributes.get('width'))).toBeCloseTo(1180);
    page.byId['reset']!.send('click');
    expect(Number(cell('wide').attributes.get('width'))).toBeCloseTo(1062);
    page.byId['search']!.send('click');
    expect(page.byId['detail']!.textContent).toMatch(/^1 cells? matche?s?, 0\.00 GiB$/);
    expect(cell('narrow').parts['rect']!.attributes.get('fill')).toBe('#e0f');
  });
});

interface Fake {
  readonly attributes: Map<string, string>;
  readonly parts: Record<string, Fake>;
  textContent: string;
  send(event: string): void;
}

/** As much of a document as the script of a picture uses. */
function pageOf(cells: readonly SvgCell[]) {
  const fake = (
    attributes: Readonly<Record<string, string | number>>,
    textContent = '',
    parts: Record<string, Fake> = {},
  ) => {
    const values = new Map(Object.entries(attributes).map(([key, value]) => [key, String(value)]));
    const listeners = new Map<string, () => void>();
    return {
      attributes: values,
      parts,
      textContent,
      send: (event: string) => listeners.get(event)!(),
      getAttribute: (key: string) => values.get(key) ?? null,
      setAttribute: (key: string, value: string) => values.set(key, value),
      getElementsByTagName: (tag: string) => [parts[tag]],
      addEventListener: (event: string, listener: () => void) => listeners.set(event, listener),
    };
  };
  const drawn = cells.map(({ x, y, width, bytes, title, label }) =>
    fake({ x, y, width, 'data-bytes': bytes }, '', {
      title: fake({}, title),
      rect: fake({ fill: '#fff' }),
      text: fake({}, label),
    }),
  );
  const byId: Record<string, Fake> = { detail: fake({}, 'hint'), reset: fake({}), search: fake({}) };
  const picture = { ...fake({}), getElementsByClassName: () => drawn };
  const document = { currentScript: { parentNode: picture }, getElementById: (id: string) => byId[id] };
  return { cells: drawn as Fake[], byId, picture, globals: { document, window: { prompt: () => 'NARROW' } } };
}
