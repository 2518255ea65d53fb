/**
 * Small files that demand much memory, depth or time. Each ends in one clear error, or in an ingest that reports its
 * omissions.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { KEY_NAMES } from '../../parsers/torch-snapshot/keys.js';
import { longGet, longPut, OP, type PyValue, pickled, u32, u64 } from '../../samples/generate/write/pickle-writer.js';
import { MIB } from '../../src/model/units.js';
import { TRACE_ACTIONS } from '../../src/model/vocabulary.js';
import {
  type Dict,
  entry,
  frame,
  segment,
  snapshot,
  snapshotPickle,
  trace,
  tracePickle,
} from '../support/small-snapshot.js';
import { type Bench, expectSound, openBench } from './harness.js';
import { op, opcodes, raw, word } from './opcodes.js';

const many = (count: number, ...parts: Buffer[]): Buffer => {
  const member = Buffer.concat(parts);
  return Buffer.alloc(member.length * count, member);
};
/** As a setting, as a top-level value, and as the value of an unknown key of an entry, which keeps JSON. */
const setting = (value: PyValue): Buffer => snapshotPickle({ allocator_settings: { odd: value } });
const topLevel = (value: PyValue): Buffer => snapshotPickle({ odd: value });
const extra = (value: PyValue): Buffer => tracePickle([entry('alloc', 1, { odd: value })]);
/** A row object of its own each: one that is referred to twice is refused. */
const rowsOf = (count: number, make: (i: number) => PyValue): PyValue[] =>
  Array.from({ length: count }, (_, i) => make(i));
const bare = (...parts: Buffer[]): Buffer =>
  Buffer.concat([op(OP.PROTO, 4), word('segments'), word('device_traces'), ...parts]);
/** A memo slot out of the way of those that the builder writes. */
const SLOT = 60_000;

/**
 * A snapshot of frames whose three numbers (ids of name and file, line), multiplied and xored, have one hash whatever
 * secret is xored in. Ids count a file's strings in their order, after those that the decoder knows, so a file can
 * choose them; the line follows.
 */
function collidingFrames(count: number): Buffer {
  const known = new Set<string>([...KEY_NAMES, ...TRACE_ACTIONS, 'device_traces', 'traces']);
  known.delete('other');
  const firstId = known.size + 1; // `files` is the file's own first string
  const inverse = inverseOf(0xc2b2ae35);
  const frames: PyValue[] = [];
  const files: string[] = [];
  for (let i = 0; frames.length < count; i++) {
    files.push(`file${i}`);
    const line = Math.imul(Math.imul(firstId + i, 0x85ebca6b) ^ 0x1234567, inverse) >>> 0;
    if (line <= 0x7fffffff) frames.push(frame('f', `file${i}`, line));
  }
  return pickled({
    files,
    ...snapshot({ device_traces: [frames.map((one, i) => entry('alloc', i, { frames: [one] }))] }),
  });
}

/** Addresses with one product-and-xor hash. */
function collidingAddresses(count: number): bigint[] {
  const inverse = inverseOf(0x9e3779b1);
  return Array.from({ length: count }, (_, high) => {
    const low = Math.imul(Math.imul(high, 0x85ebca6b) ^ 77, inverse) >>> 0;
    return (BigInt(high) << 32n) + BigInt(low);
  });
}

/**
 * Strings whose plain FNV-1a hashes agree in the lowest bits, where a table without a secret would put them side by
 * side.
 */
function collidingTexts(count: number): string[] {
  const problems: string[] = [];
  for (let n = 0; problems.length < count; n++) {
    const candidate = n.toString(36).padStart(6, '0');
    let hash = 0x811c9dc5;
    for (let i = 0; i < candidate.length; i++) hash = Math.imul(hash ^ candidate.charCodeAt(i), 0x01000193);
    if ((hash & 0xf) === 7) problems.push(candidate);
  }
  return problems;
}

function inverseOf(odd: number): number {
  let inverse = odd;
  for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}

const cyclicList = raw(op(OP.EMPTY_LIST), longPut(SLOT), op(OP.NONE, OP.APPEND), longGet(SLOT), op(OP.APPEND));
const cyclicDict = raw(
  op(OP.EMPTY_DICT),
  longPut(SLOT),
  word('a'),
  op(OP.NONE, OP.SETITEM),
  word('self'),
  longGet(SLOT),
  op(OP.SETITEM),
);
const deepTuple = raw(op(OP.NONE), many(1_000_000, op(OP.TUPLE1)));
const deepDict = raw(many(100_000, op(OP.EMPTY_DICT), word('k')), op(OP.NONE), many(100_000, op(OP.SETITEM)));
/** 2^60 leaves in 120 bytes. */
const laughs = raw(op(OP.NONE, OP.NONE, OP.TUPLE2), many(60, op(OP.DUP, OP.TUPLE2)));
const laughingDicts = raw(
  op(OP.EMPTY_DICT),
  longPut(SLOT),
  word('x'),
  op(OP.NONE, OP.SETITEM),
  ...Array.from({ length: 60 }, (_, i) =>
    Buffer.concat([
      op(OP.POP, OP.EMPTY_DICT),
      longPut(SLOT + i + 1),
      op(OP.MARK),
      word('a'),
      longGet(SLOT + i),
      word('b'),
      longGet(SLOT + i),
      op(OP.SETITEMS),
    ]),
  ),
);

const REFUSED: readonly (readonly [what: string, code: string, make: () => Buffer])[] = [
  ['a memo index of 2^32 - 1', 'MBF2105', () => setting(raw(op(OP.NONE), longPut(0xffffffff)))],
  ['a memo index of 2^28', 'MBF2105', () => setting(raw(op(OP.NONE), longPut(1 << 28)))],
  ['a string of 2^32 - 1 bytes', 'MBF2105', () => setting(raw(op(OP.BINUNICODE), u32(0xffffffff)))],
  ['a string of 2^31 bytes', 'MBF2105', () => setting(raw(op(OP.BINUNICODE), u32(0x80000000)))],
  ['a string of 2^63 bytes', 'MBF2105', () => setting(raw(op(OP.BINUNICODE8), u64(2n ** 63n)))],
  ['a string of 2^64 - 1 bytes', 'MBF2105', () => setting(raw(op(OP.BINUNICODE8), u64(2n ** 64n - 1n)))],
  ['a string of 17 MiB', 'MBF2105', () => setting('x'.repeat(17 * MIB))],
  ['strings of 60 MiB', 'MBF2105', () => setting(Array.from({ length: 60 }, (_, i) => `${i}`.padEnd(MIB, 'x')))],
  ['a string longer than the file', 'MBF2101', () => setting(raw(op(OP.BINUNICODE), u32(1_000_000)))],
  ['an integer of 2^31 - 1 bytes', 'MBF2105', () => setting(raw(op(OP.LONG4), u32(0x7fffffff)))],
  ['an integer of a negative length', 'MBF2105', () => setting(raw(op(OP.LONG4), u32(0xffffffff)))],
  ['integers of 1 KiB', 'MBF2105', () => setting(raw(many(50_000, op(OP.LONG4), u32(1024), Buffer.alloc(1024, 65))))],
  ['an integer of 255 bytes', 'MBF2105', () => setting(raw(op(OP.LONG1, 255), Buffer.alloc(255, 65)))],
  ['marks', 'MBF2105', () => bare(many(5_000_000, op(OP.MARK)))],
  ['millions of None', 'MBF2105', () => bare(many(20_000_000, op(OP.NONE)))],
  ['millions of empty dicts', 'MBF2105', () => bare(many(20_000_000, op(OP.EMPTY_DICT)))],
  ['millions of small objects', 'MBF2105', () => bare(many(5_000_000, op(OP.NONE, OP.TUPLE1, OP.POP)))],
  ['millions of memoised integers', 'MBF2105', () => bare(op(OP.BININT1, 1), many(5_000_000, op(OP.BINPUT, 9)))],
  [
    'pairs of integers',
    'MBF2105',
    () =>
      setting(
        raw(
          Buffer.concat(
            Array.from({ length: 200_000 }, (_, i) =>
              Buffer.concat([op(OP.BININT), u32(i), op(OP.BININT1, 1, OP.TUPLE2, OP.POP)]),
            ),
          ),
        ),
      ),
  ],
  [
    'a stack that grows frame by frame',
    'MBF2105',
    () => {
      const frames = raw(op(OP.EMPTY_LIST), many(65_000, opcodes(frame('f')), op(OP.APPEND)));
      return tracePickle([entry('alloc', 1, { frames })]);
    },
  ],
  ['2,000 devices', 'MBF2105', () => snapshotPickle({ device_traces: [...Array(2000).fill([]), trace(2)] })],
];

const INGESTED: readonly (readonly [what: string, note: string | undefined, make: () => Buffer])[] = [
  ['a list that holds itself, as a setting', undefined, () => setting(cyclicList)],
  ['a list that holds itself, as a value', 'unknown_key', () => extra(cyclicList)],
  ['a dict that holds itself, at the top', 'settings_dropped', () => topLevel(cyclicDict)],
  ['a dict that holds itself, as a value', 'unknown_key', () => extra(cyclicDict)],
  ['a tuple a million levels deep, as a setting', undefined, () => setting(deepTuple)],
  ['a tuple a million levels deep, as a value', 'unknown_key', () => extra(deepTuple)],
  [
    'a tuple a million levels deep, as a key',
    'unknown_key',
    () => extra(raw(op(OP.EMPTY_DICT), deepTuple.bytes, op(OP.NONE, OP.SETITEM))),
  ],
  ['a dict 100,000 levels deep', 'settings_dropped', () => setting(deepDict)],
  ['2^60 leaves, as a setting', undefined, () => setting(laughs)],
  ['2^60 leaves, as a value', 'unknown_key', () => extra(laughs)],
  [
    '2^60 leaves, as a key',
    'unknown_key',
    () => topLevel(raw(op(OP.EMPTY_DICT), laughs.bytes, op(OP.NONE, OP.SETITEM))),
  ],
  ['2^60 settings', 'settings_dropped', () => setting(laughingDicts)],
  ['2^60 values', 'unknown_key', () => extra(laughingDicts)],
  [
    '200,000 unknown top-level keys',
    'settings_dropped',
    () => snapshotPickle(Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, i]))),
  ],
  ['a key of 1 MB and a value of 10 MB', 'unknown_key', () => snapshotPickle({ ['k'.repeat(1e6)]: 'v'.repeat(1e7) })],
  [
    '5,000 entries with one unknown value of 4 MiB',
    'extras_dropped',
    () => {
      const value = 'y'.repeat(4 * MIB);
      return tracePickle(rowsOf(5000, (i) => entry('alloc', i, { odd: value })));
    },
  ],
  [
    '120,000 unknown values',
    'extras_dropped',
    () => tracePickle(rowsOf(120_000, (i) => entry('alloc', i, { odd: i }))),
  ],
  [
    'a million empty traces',
    undefined,
    () =>
      snapshotPickle({
        device_traces: raw(op(OP.EMPTY_LIST, OP.MARK), many(1_000_000, op(OP.EMPTY_LIST)), op(OP.APPENDS)),
      }),
  ],
  ['100,000 frames chosen to collide', undefined, () => collidingFrames(100_000)],
  [
    '200,000 addresses chosen to collide',
    undefined,
    () => tracePickle(collidingAddresses(200_000).map((addr) => entry('alloc', 0, { addr }))),
  ],
  [
    '200,000 strings chosen to collide',
    undefined,
    () => tracePickle(collidingTexts(200_000).map((user_metadata, i) => entry('alloc', i, { user_metadata }))),
  ],
  ['100 MB of None and POP', 'unknown_key', () => topLevel(raw(many(50_000_000, op(OP.NONE, OP.POP)), op(OP.NONE)))],
];

let bench: Bench | undefined;
beforeEach(async (context) => {
  // A refused file leaves nothing in the store that another could not meet.
  if (bench !== undefined && /: MBF|were refused/.test(context.task.name)) return;
  await bench?.close();
  bench = await openBench();
});
afterAll(async () => {
  await bench?.close();
});

describe('bombs', () => {
  it.each(REFUSED)('%s: %s', async (_, code, make) => {
    const { source } = await bench!.take('bomb.pickle', make());
    expect(source.error?.code, source.error?.text ?? source.status).toBe(code);
    expect(source.error?.offset).toBeGreaterThan(0);
  });

  it('that were refused leave a sound store', async () => {
    await expectSound(bench!.store);
  });

  it.each(INGESTED)('%s is read, cut where it has to be (%s)', async (_, note, make) => {
    const { source } = await bench!.take('bomb.pickle', make());
    expect(source.status, source.error?.text).toBe('ingested');
    if (note !== undefined) expect(source.notes.map(({ kind }) => kind)).toContain(note);
    for (const { text: line } of source.notes) expect(line.length).toBeLessThan(400);
    const [longest] = await bench!.store.select(
      'SELECT max(length(value)) AS n FROM (SELECT value FROM snapshot_setting UNION ALL SELECT value_json FROM event_extra)',
    );
    expect(Number(longest?.['n'] ?? 0)).toBeLessThan(20_000);
    const invalid = await bench!.store.select('SELECT value_json AS v FROM event_extra LIMIT 10');
    for (const row of invalid) expect(() => JSON.parse(String(row['v']))).not.toThrow();
    await expectSound(bench!.store);
  });

  it.each([
    ['zeros', 'MBF2006', Buffer.alloc(256 * MIB)],
    ['None and POP without end', 'MBF2101', bare(many(100_000_000, op(OP.NONE, OP.POP)))],
    ['1.1 GiB of zeros in one string', 'MBF2105', bare(op(OP.BINUNICODE), u32(0x7fffffff), Buffer.alloc(1100 * MIB))],
  ])('a gzip bomb of %s: %s', async (_, code, content) => {
    const bytes = gzipSync(content, { level: 1 });
    expect(bytes.length).toBeLessThan(6 * MIB);
    const { source } = await bench!.take('bomb.pickle.gz', bytes);
    expect(source.error?.code, source.error?.text).toBe(code);
  });
});

describe('sizes that no 64-bit sum holds', () => {
  const huge = Number.MAX_SAFE_INTEGER;
  const blocks = (state: string): Dict => segment({ blocks: rowsOf(3, () => ({ size: huge, state })) });
  it.each<[string, Dict]>([
    ['requested', { device_traces: [rowsOf(4000, (i) => entry('alloc', i, { size: huge }))] }],
    ['freed', { device_traces: [rowsOf(4000, (i) => entry('free_completed', i, { size: huge }))] }],
    [
      'freed before the trace and requested in turn',
      {
        device_traces: [rowsOf(4000, (i) => entry(i % 2 === 0 ? 'alloc' : 'free_completed', i, { size: huge }))],
      },
    ],
    ['reserved by the trace', { device_traces: [rowsOf(4000, (i) => entry('segment_alloc', i, { size: huge }))] }],
    ['reserved', { segments: [segment({ total_size: huge }), segment({ total_size: huge })] }],
    ['of blocks', { segments: [blocks('inactive')] }],
    ['allocated', { segments: [blocks('active_allocated')] }],
  ])('%s: MBF2107, not an inexact number', async (_, more) => {
    const { source } = await bench!.take('huge.pickle', snapshotPickle(more));
    expect(source.error?.code, source.error?.text).toBe('MBF2107');
    expect(source.error?.text).toMatch(/add up to more than 2\^53 bytes/);
  });

  it('one size of 2^53 - 1 is kept exactly', async () => {
    const { source } = await bench!.take('one.pickle', tracePickle([entry('alloc', 1, { size: huge })]));
    expect(source.status).toBe('ingested');
    expect(
      await bench!.store.select(
        'SELECT size_bytes::VARCHAR AS n, requested_delta_bytes::VARCHAR AS d FROM event JOIN snapshot_device USING (snapshot_id)',
      ),
    ).toEqual([{ n: String(huge), d: String(huge) }]);
  });
});
