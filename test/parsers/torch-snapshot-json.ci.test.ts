/** Snapshots in JSON: the rows of the pickle they were converted from, however they are spelled, or one error. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseSnapshot, torchSnapshot } from '../../parsers/torch-snapshot/index.js';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { PyFloat, PyTuple, type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import type { MbfError } from '../../src/model/errors.js';
import type { ByteSource } from '../../src/model/parser.js';
import { scratchDirectory } from '../store/scratch.js';
import { hasPython, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { bytesSource, collectDecoded, type Decoded, decode } from '../support/decode.js';
import { generatePickles } from '../support/generate-pickles.js';
import { runs, SEED, sampled } from '../support/level.js';
import { python } from '../support/python-truth.js';
import { entry, frame, segment, snapshot, trace } from '../support/small-snapshot.js';
import { type Pick, spellJson } from '../support/spell-json.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { refusal } from './refusal.js';

const TABLES = ['segments', 'blocks', 'events', 'annotations', 'ooms', 'extras', 'stacks'] as const;

/** Equal in everything but the encoding; a failure shows the first row that differs. */
function expectSame(json: Decoded, pickle: Decoded, what: string): void {
  for (const table of TABLES) {
    const [got, expected] = [sorted(table, json[table]), sorted(table, pickle[table])];
    const at = got.findIndex((line, i) => line !== expected[i]);
    if (at >= 0) expect(`${what} ${table} ${at}: ${got[at]}`).toBe(`${what} ${table} ${at}: ${expected[at]}`);
    expect(got.length, `${what}: rows of ${table}`).toBe(expected.length);
  }
  expect(json.summary.protocol).toBeNull();
  const comparable = ({ summary }: Decoded) => ({
    form: summary.form,
    settings: Object.fromEntries(summary.settings),
    traceLengths: summary.traceLengths,
    features: [...summary.features].sort(),
  });
  expect(comparable(json), what).toEqual(comparable(pickle));
  // A frame that many stacks share is one object in a pickle and many in JSON, so its unknown keys are counted
  // differently.
  const notesOf = ({ notes }: Decoded): string[] =>
    notes
      .filter(({ text }) => !text.startsWith('frame key'))
      .map(({ kind, text, count }) => `${kind} ${text} ${count ?? 1}`)
      .sort();
  expect(notesOf(json), what).toEqual(notesOf(pickle));
}

/** Extras of one entry come in the order of its keys; stacks in that of the segments, which may follow the traces. */
function sorted(table: string, lines: readonly string[]): readonly string[] {
  return table === 'extras' ? [...lines].sort() : lines;
}

const decodeWith = (source: ByteSource, windowBytes?: number): Promise<Decoded> =>
  collectDecoded((sink, context) => parseSnapshot(source, sink, context, { windowBytes }));
const decodeText = (text: string | Buffer, windowBytes?: number, chunkBytes?: number): Promise<Decoded> =>
  decodeWith(bytesSource(Buffer.from(text), chunkBytes), windowBytes);

const NEVER: Pick = () => 0;
const seededPick = (seed: number): Pick => {
  const random = createRandom(seed);
  return (below) => Math.floor(random() * below);
};

/**
 * Usage: CONVERT (in.pickle out.json indent)…; tuples become lists. `dumps`, because `dump` does not use the encoder in
 * C.
 */
const CONVERT = `
import json, pickle, sys
class Restricted(pickle.Unpickler):
    def find_class(self, module, name): raise pickle.UnpicklingError('refused')
for n in range(1, len(sys.argv), 3):
    with open(sys.argv[n], 'rb') as f: d = Restricted(f).load()
    with open(sys.argv[n + 1], 'w') as f: f.write(json.dumps(d, indent=int(sys.argv[n + 2]) or None, ensure_ascii=sys.argv[n + 2] != '1'))
`;

if (!hasPython) {
  skipLoudly('JSON conversions by Python', 'python3');
} else {
  describe('what json.dump makes of a pickle', () => {
    const directory = temporaryDirectory();
    let names: string[] = [];
    beforeAll(() => {
      names = generatePickles(directory, 20_261_121);
    });

    it('has the rows of the pickle', async () => {
      expect(names.length).toBeGreaterThan(70);
      // Those that differ in the pickler only give one and the same JSON.
      const expected = names.filter((name) => !/^(?:c|pure|optimized|unshared|batch\d+)-[235]$/.test(name));
      const pathOf = (name: string): string => join(directory, name);
      const jobs = expected.map((name, n) => [`${name}.pickle`, `${name}.json`, name === 'big' ? 0 : n % 3] as const);
      python(
        CONVERT,
        jobs.flatMap(([from, to, indent]) => [pathOf(from), pathOf(to), String(indent)]),
      );
      for (const name of expected) {
        const pickle = pathOf(`${name}.pickle`);
        const bytes = readFileSync(pathOf(`${name}.json`));
        const truth = await decode(bytesSource(readFileSync(pickle)));
        expectSame(await decode(bytesSource(bytes)), truth, name);
        if (bytes.length < 1_000_000) expectSame(await decodeText(bytes, 4096, 997), truth, `${name} in small windows`);
        if (name === 'big') expect(bytes.length).toBeGreaterThan(9 * 1024 * 1024);
      }
    });

    it('is read the same from gzip', async () => {
      const json = join(directory, 'converted.json.gz');
      python(CONVERT.replace("open(sys.argv[n + 1], 'w')", "__import__('gzip').open(sys.argv[n + 1], 'wt')"), [
        join(directory, 'c-4.pickle'),
        json,
        '0',
      ]);
      const opened = await openByteSource(json);
      try {
        expect(opened.compression).toBe('gzip');
        expectSame(
          await decode(opened.source),
          await decode(bytesSource(readFileSync(join(directory, 'c-4.pickle')))),
          'gzip',
        );
      } finally {
        await opened.close();
      }
    });
  });

  describe('the corpus', () => {
    const files = snapshotPickles().filter((name) => truthOf(name).valid !== false);
    if (files.length === 0) skipLoudly('JSON of the corpus', 'the corpus (set MBF_CORPUS)');
    const directory = temporaryDirectory();
    it.each(sampled(files, 10))('%s converted to JSON gives the rows of the pickle', async (name) => {
      const json = join(directory, 'converted.json');
      python(CONVERT, [join(SNAPSHOTS, name), json, '0']);
      const opened = await openByteSource(json);
      const truth = await decode(bytesSource(readFileSync(join(SNAPSHOTS, name))));
      expectSame(await decode(opened.source), truth, name);
      await opened.close();
      expect(statSync(json).size).toBeGreaterThan(0);
    });
  });
}

describe('spellings', () => {
  const value = snapshot({ device_traces: [trace(40), [], trace(3)] });

  it('all mean the same', async () => {
    const expected = await decode(bytesSource(pickled(value)));
    expectSame(await decodeText(spellJson(value, NEVER)), expected, 'plain');
    expectSame(await decodeText(`\ufeff${spellJson(value, NEVER)}`), expected, 'with a byte order mark');
    expectSame(await decodeText(JSON.stringify(JSON.parse(spellJson(value, NEVER)), null, 4)), expected, 'indented');
  });

  it('random snapshots in random spellings, through windows and chunks of any size, have the rows of their pickle', async () => {
    await fc.assert(
      fc.asyncProperty(
        SNAPSHOT,
        fc.integer(),
        fc.integer({ min: 64, max: 3000 }),
        fc.integer({ min: 1, max: 500 }),
        async (random, seed, windowBytes, chunkBytes) => {
          const expected = await decode(bytesSource(pickled(random)));
          const text = spellJson(random, seed % 5 === 0 ? NEVER : seededPick(seed));
          const got = await decodeText(text, windowBytes, chunkBytes);
          // Ids of stacks follow the order of reading, and keys came in another one.
          expectSame(renumbered(got), renumbered(expected), text.slice(0, 200));
        },
      ),
      { numRuns: 150, seed: SEED },
    );
  });

  it('a window that ends at every byte changes nothing', async () => {
    const small = snapshot({
      device_traces: [
        [
          entry('alloc', 1, { user_metadata: 'm\u00fc"\\\u{1f600}' }),
          entry('oom', 2, { device_free: 7 }),
          entry('alloc', 3),
        ],
      ],
      ratio: new PyFloat(0.5),
      odd: [
        new PyFloat(Number.NaN),
        new PyFloat(Number.POSITIVE_INFINITY),
        new PyFloat(Number.NEGATIVE_INFINITY),
        null,
        true,
      ],
    });
    const text = Buffer.from(spellJson(small, seededPick(7)));
    const expected = await decode(bytesSource(text));
    const lines = (decoded: Decoded): string => JSON.stringify(TABLES.map((table) => decoded[table]));
    const expectedLines = lines(expected);
    // Nightly every byte; with each change others.
    const step = runs(5, 1);
    for (let first = 1 + (SEED % step); first < text.length; first += step) {
      let at = 0;
      const source: ByteSource = {
        sizeBytes: undefined,
        read(target, start) {
          const count = Math.min(at === 0 ? first : text.length, target.length - start, text.length - at);
          target.set(text.subarray(at, at + count), start);
          at += count;
          return Promise.resolve(count);
        },
      };
      expect(lines(await decodeWith(source, 512)), `cut at ${first}`).toBe(expectedLines);
    }
    for (let windowBytes = 16; windowBytes < 700; windowBytes += 13) {
      expect(lines(await decodeText(text, windowBytes)), `window of ${windowBytes}`).toBe(expectedLines);
    }
  });

  it('integers keep all of their 64 bits', async () => {
    const wide = [2n ** 53n, 2n ** 53n + 1n, 2n ** 60n + 12345n, 2n ** 63n + 512n, 2n ** 64n - 512n];
    const entries = wide.flatMap((addr, i) => [
      `{"action":"alloc","addr":${addr},"size":${i},"stream":-${addr / 4n},"time_us":${2n ** 55n + BigInt(i)}}`,
      `{"action":"alloc","addr":"${addr}","size":"${i}","stream":"-${addr / 4n}","time_us":"${2n ** 55n + BigInt(i)}.0"}`,
      `{"action":"alloc","addr":"0x${addr.toString(16)}","size":${i}.0,"stream":-${addr / 4n}.0,"time_us":${2n ** 55n + BigInt(i)}.00}`,
    ]);
    const { events } = await decodeText(`{"segments":[],"device_traces":[[${entries.join()}]]}`);
    expect(events.map((line) => (JSON.parse(line) as unknown[]).slice(3, 7))).toEqual(
      wide.flatMap((addr, i) =>
        Array.from({ length: 3 }, () => [String(addr), String(i), String(-(addr / 4n)), String(2n ** 55n + BigInt(i))]),
      ),
    );
    expect(
      await refusal(decodeText('{"segments":[],"device_traces":[[{"action":"alloc","size":9007199254740993}]]}')),
    ).toMatchObject({
      code: 'MBF2107',
      message: 'size is beyond 2^53 (9007199254740993)',
    });
  });

  it('a null is a key that is missing, except where the key is unknown', async () => {
    const nulls = snapshot({
      device_traces: [[entry('alloc', 1, { color: null })]],
    });
    const text = spellJson(nulls, NEVER).replace(
      '"compile_context":"N/A"',
      '"compile_context":null,"pool_id":null,"user_metadata":null',
    );
    const { events, extras } = await decodeText(text);
    expect(JSON.parse(events[0]!).slice(7, 10)).toEqual([null, null, null]);
    expect(extras).toEqual(['[0,0,"color",null]']);
  });

  it('the legacy key, the bare list and histories are read', async () => {
    const frames = JSON.stringify([frame('f')]);
    const old = `[{"address":4096,"total_size":1024,"allocated_size":512,"active_size":512,"segment_type":"small","blocks":[
      {"size":512,"state":"active_allocated","history":[{"addr":4096,"real_size":"77","frames":${frames}},{"addr":4096,"real_size":3}]},
      {"size":512,"state":"inactive"}]}]`;
    const bare = await decodeText(old);
    expect(bare.summary.form).toBe('list');
    expect(bare.blocks.map((line) => JSON.parse(line))).toEqual([
      [0, 0, '4096', '512', '77', 'active_allocated', 0],
      [0, 0, '4608', '512', null, 'inactive', null],
    ]);
    const wrapped = await decodeText(`{"traces":[[{"action":"odd","size":1}]],"segments":${old}}`);
    expect(wrapped.summary).toMatchObject({ form: 'dict', traceLengths: [1] });
    expect(wrapped.blocks).toEqual(bare.blocks);
    expect(wrapped.extras).toEqual(['[0,0,"action","odd"]']);
  });

  it('a pool id of text or floats is a pool id', async () => {
    const pools = ['[0,0]', '["1","300"]', '[2.0,-1]'].map((pool) => `{"action":"alloc","size":1,"pool_id":${pool}}`);
    const { events } = await decodeText(`{"segments":[],"device_traces":[[${pools.join()}]]}`);
    expect(events.map((line) => (JSON.parse(line) as unknown[])[7])).toEqual([
      [0, 0],
      [1, 300],
      [2, -1],
    ]);
  });

  it('lone surrogates become what the pickle has for them', async () => {
    const { events } = await decodeText(
      '{"segments":[],"device_traces":[[{"action":"alloc","size":1,"user_metadata":"a\\ud800b\\udc00\\ud83d\\ude00"}]]}',
    );
    expect((JSON.parse(events[0]!) as unknown[])[9]).toBe('a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd\u{1f600}');
  });

  it('frames with other keys are counted once a spelling, and their stacks are found', async () => {
    const odd = (more: string): string => `[{"name":"a","filename":"b","line":1,"fx_node_op":"call","${more}":"x"}]`;
    const of = (frames: string): string => `{"action":"alloc","size":1,"frames":${frames}}`;
    const nested = '[{"name":"a","filename":"b","line":"1","deep":{"x":[1]}}]';
    const { stacks, notes, events } = await decodeText(
      `{"segments":[],"device_traces":[[${[odd('mine'), odd('mine'), odd('other'), nested, '[]'].map(of).join()}]]}`,
    );
    expect(stacks).toEqual(['[["a","b",1]]', '[]']);
    expect(events.map((line) => (JSON.parse(line) as unknown[]).at(-1))).toEqual([0, 0, 0, 0, 1]);
    expect(notes.map(({ text, count }) => `${text} ×${count}`)).toEqual([
      'frame key not known: mine ×1',
      'frame key not known: other ×1',
      'frame key not known: deep ×1',
    ]);
  });

  it('a snapshot inside one key or a list is read, two are refused', async () => {
    const plain = spellJson(value, NEVER);
    const expected = await decodeText(plain);
    const nested = await decodeText(`{"rank": 3, "snapshot": ${plain}}`);
    expect(nested.events).toEqual(expected.events);
    expect(nested.summary.settings.get('rank')).toBe('3');
    expect(nested.notes.map(({ text }) => text)).toContain('the snapshot is nested in the key snapshot');
    expect((await decodeText(`[${plain}]`)).events).toEqual(expected.events);
    expect(await refusal(decodeText(`{"0": ${plain}, "1": ${plain}}`))).toMatchObject({
      code: 'MBF2106',
      message: expect.stringContaining('it holds 2 snapshots'),
    });
  });
});

/** Stacks by content: of two readings that met them in another order. */
function renumbered(decoded: Decoded): Decoded {
  const lines = (table: readonly string[]): string[] =>
    table.map((line) => {
      const row = JSON.parse(line) as unknown[];
      const stack = row.at(-1);
      return JSON.stringify([...row.slice(0, -1), typeof stack === 'number' ? decoded.stacks[stack] : null]);
    });
  return {
    ...decoded,
    segments: lines(decoded.segments),
    blocks: lines(decoded.blocks),
    events: lines(decoded.events),
    stacks: [...decoded.stacks].sort(),
  };
}

const TEXT = fc.oneof(
  fc.constantFrom('N/A', '', 'a"b\\c', 'm\u00fc\u4e2d', '\u{1f600}', '\n\t\u0001', '0x10', '12'),
  fc.string({ maxLength: 12 }),
);
const ODD_FRAMES = [frame('f'), frame('g', 'b"}\u00e9.py', 0), frame('operator()', '{lambda()#1}', 7)];
const OTHER_FRAMES = [frame('', '??', 2 ** 31 - 1), { ...frame('h'), fx_node_op: 'call' }];
const FRAMES = fc.array(fc.constantFrom(...ODD_FRAMES, ...OTHER_FRAMES), { maxLength: 5 });
const WIDE = fc.oneof(
  fc.integer({ min: 0, max: 1000 }),
  fc.constantFrom(0x7f00_0000_0000, 2 ** 53 - 1),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
);
const SIGNED = fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }));
const SIZE = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 31, 2 ** 53 - 1));
const POOL = fc.tuple(fc.nat(300), fc.nat(3)).map(([a, b]) => new PyTuple(a, b));
const LOOSE: fc.Arbitrary<PyValue> = fc.oneof(
  fc.integer(),
  TEXT,
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(new PyFloat(0.25), new PyFloat(-3), [1, [2, { k: 'v' }]], { a: { b: [] } }, 2n ** 70n),
);
type Part = fc.Arbitrary<PyValue>;
const words = (text: string): Part => fc.constantFrom(...text.split(' '));
/** The keys of a text, with values of one kind. */
const of = (values: Part, keys: string): Record<string, Part> =>
  Object.fromEntries(keys.split(' ').map((key) => [key, values]));
const record = (parts: Record<string, Part>, required: string): fc.Arbitrary<Record<string, PyValue>> =>
  fc.record(parts, { requiredKeys: required.split(' ') }) as fc.Arbitrary<Record<string, PyValue>>;

const ACTIONS = 'alloc free_requested free_completed segment_alloc segment_map oom workspace_snapshot mystery';
const STATES = 'active_allocated active_pending_free active_awaiting_free inactive';
const ENTRY = record(
  {
    ...{ action: words(ACTIONS), addr: WIDE, frames: FRAMES, pool_id: POOL, color: LOOSE },
    ...of(SIZE, 'size device_free'),
    ...of(SIGNED, 'stream time_us'),
    ...of(TEXT, 'compile_context user_metadata category'),
  },
  'action size',
);
const BLOCK = record(
  {
    ...{ address: fc.integer({ min: 0, max: 2 ** 30 }), size: fc.integer({ min: 1, max: 2 ** 30 }) },
    ...{ requested_size: fc.nat(), state: words(STATES), frames: FRAMES, shade: LOOSE },
  },
  'size state',
);
const SEGMENT = record(
  {
    ...{ device: fc.nat(3), address: WIDE, stream: SIGNED, segment_type: words('small large odd'), frames: FRAMES },
    ...of(SIZE, 'total_size allocated_size active_size requested_size'),
    ...{ segment_pool_id: POOL, is_expandable: fc.boolean(), blocks: fc.array(BLOCK, { maxLength: 4 }), hue: LOOSE },
  },
  'address total_size blocks',
);
const SETTINGS: PyValue = {
  ...{ PYTORCH_CUDA_ALLOC_CONF: '', max_split_size: -1 },
  ...{ trace_alloc_max_entries: 2n ** 63n - 1n, f: new PyFloat(0.5) },
};
const ANNOTATION = record(
  { stage: words('START END x'), name: TEXT, device: fc.nat(3), time_us: fc.nat() },
  'stage name device time_us',
);
const SNAPSHOT = record(
  {
    segments: fc.array(SEGMENT, { maxLength: 3 }),
    device_traces: fc.array(fc.array(ENTRY, { maxLength: 8 }), { maxLength: 3 }),
    allocator_settings: fc.constant(SETTINGS),
    external_annotations: fc.array(ANNOTATION, { maxLength: 2 }),
    build: LOOSE,
  },
  'segments',
);

describe('broken JSON', () => {
  const text = spellJson(snapshot({ device_traces: [trace(6)] }), seededPick(3));

  it('cut anywhere ends in one error that names the end', async () => {
    const bytes = Buffer.from(text.trimEnd());
    // In steps of three, for time: entries repeat, so every kind of place is met.
    for (let length = text.length - text.trimStart().length + 1; length < bytes.length; length += 3) {
      const error = await refusal(decodeWith(bytesSource(bytes.subarray(0, length), 301), 1 + (length % 5) * 100 + 64));
      expect([length, error.code, error.place.offset]).toEqual([length, 'MBF2301', length]);
    }
  });

  const at = (content: string): string => `{"segments":[],"device_traces":[[{"action":"alloc","size":1${content}}]]}`;
  const cases: readonly (readonly [what: string, json: string, code: string, message: RegExp])[] = [
    ['a trailing comma in an object', at(','), 'MBF2302', /^"}" where a key is due/],
    ['a trailing comma in a list', '{"segments":[],}', 'MBF2302', /where a key is due/],
    ['no comma', at(' "addr":1'), 'MBF2302', /^""" where a comma or the end of an object is due/],
    ['no colon', at(',"addr" 1'), 'MBF2302', /^"1" where a colon is due/],
    ['no value', at(',"addr":'), 'MBF2302', /^"}" where a value is due/],
    ['a wrong bracket', '{"segments":[}', 'MBF2302', /^"}" where a value is due/],
    ['two values', '{"segments":[]} {"segments":[]}', 'MBF2302', /^"{" behind the end/],
    ['zeros behind the end', '{"segments":[]}\0\0', 'MBF2302', /^byte 0x00 behind the end/],
    ['a Python repr', "{'segments': []}", 'MBF2302', /^"'" where a key is due/],
    ['Python words', at(',"is_expandable":True'), 'MBF2302', /^"T" where a value is due/],
    ['a word that is none', at(',"x":nul'), 'MBF2302', /^"n" where a value is due/],
    ['a leading zero', at(',"addr":007'), 'MBF2302', /^"007" is not a number/],
    ['a lone minus', at(',"addr":-'), 'MBF2302', /is not a number/],
    ['two points', at(',"addr":1.2.3'), 'MBF2302', /^"1.2.3" is not a number/],
    ['a raw line break in a string', at(',"user_metadata":"a\nb"'), 'MBF2302', /^control character 0x0a/],
    ['an unknown escape', at(',"user_metadata":"a\\x41"'), 'MBF2302', /an escape that JSON does not have/],
    ['a short unicode escape', at(',"user_metadata":"\\u12g4"'), 'MBF2302', /four hexadecimal digits/],
    ['a known key twice', at(',"size":2'), 'MBF2302', /^an object with two values for "size"/],
    ['an unknown key twice', at(',"x":2,"x":3'), 'MBF2302', /two values for "x"/],
    ['a key of the root twice', '{"segments":[],"segments":[]}', 'MBF2302', /two values for "segments"/],
    [
      'a key of a frame twice',
      at(',"frames":[{"name":"a","name":"b","filename":"c","line":1}]'),
      'MBF2302',
      /two values for "name"/,
    ],
    ['a fraction of a byte', at(',"addr":1.5'), 'MBF2107', /^addr is a float/],
    ['words for a number', at(',"addr":"here"'), 'MBF2107', /^addr is a string/],
    ['a number beyond 64 bits', at(',"addr":99999999999999999999'), 'MBF2107', /does not fit 64 bits/],
    ['a number of 500 digits', at(`,"addr":${'9'.repeat(500)}`), 'MBF2105', /more than 400 characters/],
    ['no snapshot', '{"a":1}', 'MBF2106', /no key `segments`/],
    ['only a number', '17', 'MBF2106', /no dict/],
    ['a log', '[{"step":1},{"step":2}]', 'MBF2106', /segments/],
  ];
  it.each(cases)('%s is refused', async (_what, json, code, message) => {
    for (const windowBytes of [64, undefined]) {
      // "17" and words begin like no JSON: forced through the scanner by blanks and a bracket elsewhere.
      const error = await refusal(decodeText(json === '17' ? '[17]' : json, windowBytes));
      expect(error.code, error.message).toBe(code);
      if (json !== '17') expect(error.message).toMatch(message);
      if (code === 'MBF2301' || code === 'MBF2302') expect(error.place.offset).toBeLessThanOrEqual(json.length);
    }
  });

  /** Memory of reading something made to take more than it is worth. */
  async function bounded(source: ByteSource): Promise<{ error: MbfError; bytes: number }> {
    const before = process.memoryUsage().rss;
    const error = await refusal(decodeWith(source));
    return { error, bytes: process.memoryUsage().rss - before };
  }

  /** Endless repetition of `piece` behind `head`, up to `bytes`. */
  function repeated(head: string, piece: string, bytes: number): ByteSource {
    const start = Buffer.from(head);
    const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
    let at = 0;
    return {
      sizeBytes: bytes,
      read(target, to) {
        const from = at < start.length ? start.subarray(at) : block.subarray((at - start.length) % block.length);
        const count = Math.min(from.length, target.length - to, bytes - at);
        target.set(from.subarray(0, count), to);
        at += count;
        return Promise.resolve(count);
      },
    };
  }

  const hostile: readonly (readonly [what: string, source: () => ByteSource, code: string])[] = [
    ['a million levels of lists', () => repeated('{"segments":', '[', 1e6), 'MBF2105'],
    ['a million levels of objects', () => repeated('', '{"a":', 5e6), 'MBF2105'],
    ['a string of 2 GB', () => repeated('{"segments":[],"x":"', 'a', 2e9), 'MBF2105'],
    ['a key of 2 GB', () => repeated('{"', 'a', 2e9), 'MBF2105'],
    ['a string of backslashes', () => repeated('{"x":"', '\\\\', 2e9), 'MBF2105'],
    ['a number of 2 GB', () => repeated('{"x":', '1', 2e9), 'MBF2105'],
    ['objects that are no rows', () => repeated('{"segments":[', '{"a":1},', 2e9), 'MBF2105'],
    ['a list of small numbers', () => repeated('{"x":[', '1,', 2e9), 'MBF2105'],
    ['lists in a list', () => repeated('{"x":[', '[],', 2e9), 'MBF2105'],
    ['blanks without end', () => repeated('{"segments":[', ' ', 3e8), 'MBF2301'],
    [
      'frames without end',
      () => repeated('{"segments":[],"device_traces":[[{"frames":[', '{"name":"a","filename":"b","line":1},', 2e9),
      'MBF2105',
    ],
    [
      'a frame with keys without end',
      () => repeated('{"segments":[],"device_traces":[[{"frames":[{"x":"y"', ',"x":"y"', 2e9),
      'MBF2105',
    ],
  ];
  it.each(hostile)('%s ends within bounds', async (_what, source, code) => {
    const { error, bytes } = await bounded(source());
    expect(error.code, error.message).toBe(code);
    expect(error.place.offset).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(700e6);
  });
});

describe('recognition', () => {
  const sniff = (text: string) =>
    torchSnapshot.sniff({ bytes: Buffer.from(text), name: 'x.json', sizeBytes: text.length });

  it('claims JSON with the keys of a snapshot, in any order', () => {
    for (const text of [
      spellJson(snapshot(), NEVER),
      `\ufeff ${spellJson(snapshot(), seededPick(5))}`,
      '{"device_traces": [[{"action"',
      '[{"address": 1, "total_size": 2, "allocated_size": 2, "blocks": [',
      '{"snapshot": {"segments": [{"total_size": 1, "active_size": 1',
    ]) {
      expect(sniff(text), text.slice(0, 60)).toMatchObject({ score: 1 });
    }
  });

  it('claims no other JSON', () => {
    for (const text of [
      '{"train_batch_size": 4, "zero_optimization": {"stage": 3}}',
      '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "device_traces": 1}], "traceEvents": [',
      '{"segments": [{"start": 0.0, "end": 3.2, "text": "hello"}], "blocks": []}',
      '{"NsightSystems": {}, "data": []}',
      '[1, 2, 3]',
      '{}',
    ]) {
      expect(sniff(text), text).toMatchObject({ score: 0 });
    }
  });

  it('reports what it read', () => {
    expect(sniff('{"segments":[{"total_size":1,"active_size":1').why).toBe(
      'JSON with the keys segments, total_size, active_size',
    );
  });

  it('reads it from gzip as a file', async () => {
    const path = join(scratchDirectory(), 'a.json.gz');
    writeFileSync(path, gzipSync(spellJson(snapshot(), NEVER)));
    const opened = await openByteSource(path);
    expect(torchSnapshot.sniff({ bytes: await opened.head(), name: 'a.json', sizeBytes: 1 }).score).toBe(1);
    expect((await decode(opened.source)).segments.length).toBe(1);
    await opened.close();
  });

  it('knows segments of any shape', async () => {
    expect((await decodeText(spellJson({ segments: [segment()] }, NEVER))).segments.length).toBe(1);
  });
});
