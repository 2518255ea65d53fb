/** Pickles that demand much, are wrong in one place, or are written as torch never does; and what becomes of each. */
import { KEY_NAMES } from '../../parsers/torch-snapshot/keys.js';
import {
  longGet,
  longPut,
  OP,
  PyFloat,
  PyText,
  type PyValue,
  pickled,
  Raw,
  text,
  u32,
  u64,
} from '../../samples/generate/write/pickle-writer.js';
import { ENUMS } from '../../src/model/columns.js';
import { MIB } from '../../src/model/units.js';
import {
  BASE,
  type Dict,
  entry,
  frame,
  segment,
  snapshot,
  snapshotPickle,
  trace,
  tracePickle,
} from '../support/small-snapshot.js';
import type { Hostile } from './hostile.js';

// ---- parts of pickles, opcode by opcode ----

export const op = (...codes: number[]): Buffer => Buffer.from(codes);
export const word = (letters: string): Buffer => text(Buffer.from(letters));
/** Any value as the opcodes `pickled` gives it, without memo. */
const opcodes = (value: PyValue): Buffer => pickled(value, { memo: false, stop: false }).subarray(2);
/** These bytes in the place of one value. */
export const raw = (...parts: readonly Buffer[]): Raw => new Raw(Buffer.concat(parts));
const many = (count: number, ...parts: Buffer[]): Buffer => {
  const member = Buffer.concat(parts);
  return Buffer.alloc(member.length * count, member);
};
const oneEntry = (more: Dict): Buffer => tracePickle([entry('alloc', 1, more)]);
/** As a setting, as a top-level value, and as the value of an unknown key of an entry, which keeps JSON. */
const setting = (value: PyValue): Buffer => snapshotPickle({ allocator_settings: { odd: value } });
const topLevel = (value: PyValue): Buffer => snapshotPickle({ odd: value });
const extra = (value: PyValue): Buffer => oneEntry({ odd: value });
const inSegments = (more: Dict): Buffer => snapshotPickle({ segments: [segment(more)] });
const block = (more: Dict): Buffer =>
  inSegments({ blocks: [{ address: BASE, size: 2 * MIB, requested_size: 5, state: 'inactive', ...more }] });
/** A row object of its own each: one that is referred to twice is refused. */
const rowsOf = <T extends PyValue>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const bare = (...parts: Buffer[]): Buffer =>
  Buffer.concat([op(OP.PROTO, 4), word('segments'), word('device_traces'), ...parts]);

// ---- bombs: much memory, depth or time from a small file ----

/** A memo slot out of the way of those that the builder writes. */
const SLOT = 60_000;

/**
 * A snapshot of frames whose three numbers (ids of name and file, line), multiplied and xored, have one hash whatever
 * secret is xored in. Ids count a file's strings in their order, after those that the decoder knows, so a file can
 * choose them; the line follows.
 */
function collidingFrames(count: number): Buffer {
  const known = new Set<string>([...KEY_NAMES, ...ENUMS.trace_action, 'device_traces', 'traces']);
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
  const device_traces = [frames.map((one, i) => entry('alloc', i, { frames: [one] }))];
  return pickled({ files, ...snapshot({ device_traces }) });
}

/** Addresses with one product-and-xor hash. */
function collidingAddresses(count: number): bigint[] {
  const inverse = inverseOf(0x9e3779b1);
  return Array.from({ length: count }, (_, high) => {
    const low = Math.imul(Math.imul(high, 0x85ebca6b) ^ 77, inverse) >>> 0;
    return (BigInt(high) << 32n) + BigInt(low);
  });
}

/** Strings whose plain FNV-1a hashes agree in the lowest bits: neighbours in a table without a secret. */
function collidingTexts(count: number): string[] {
  const texts: string[] = [];
  for (let n = 0; texts.length < count; n++) {
    const candidate = n.toString(36).padStart(6, '0');
    let hash = 0x811c9dc5;
    for (let i = 0; i < candidate.length; i++) hash = Math.imul(hash ^ candidate.charCodeAt(i), 0x01000193);
    if ((hash & 0xf) === 7) texts.push(candidate);
  }
  return texts;
}

function inverseOf(odd: number): number {
  let inverse = odd;
  for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}

const cyclicList = raw(op(OP.EMPTY_LIST), longPut(SLOT), op(OP.NONE, OP.APPEND), longGet(SLOT), op(OP.APPEND));
const cyclicDict = raw(
  ...[op(OP.EMPTY_DICT), longPut(SLOT), word('a'), op(OP.NONE, OP.SETITEM)],
  ...[word('self'), longGet(SLOT), op(OP.SETITEM)],
);
const asKey = ({ bytes }: Raw): Raw => raw(op(OP.EMPTY_DICT), bytes, op(OP.NONE, OP.SETITEM));
const deepTuple = raw(op(OP.NONE), many(1_000_000, op(OP.TUPLE1)));
const deepDict = raw(many(100_000, op(OP.EMPTY_DICT), word('k')), op(OP.NONE), many(100_000, op(OP.SETITEM)));
/** 2^60 leaves in 120 bytes. */
const laughs = raw(op(OP.NONE, OP.NONE, OP.TUPLE2), many(60, op(OP.DUP, OP.TUPLE2)));
const laughingDicts = raw(
  ...[op(OP.EMPTY_DICT), longPut(SLOT), word('x'), op(OP.NONE, OP.SETITEM)],
  ...Array.from({ length: 60 }, (_, i) => [
    ...[op(OP.POP, OP.EMPTY_DICT), longPut(SLOT + i + 1), op(OP.MARK)],
    ...[word('a'), longGet(SLOT + i), word('b'), longGet(SLOT + i), op(OP.SETITEMS)],
  ]).flat(),
);
const pairs = (): Raw =>
  raw(Buffer.concat(Array.from({ length: 200_000 }, (_, i) => Buffer.concat([op(OP.BININT), u32(i), PAIRED]))));
const PAIRED = op(OP.BININT1, 1, OP.TUPLE2, OP.POP);
const growing = (): Raw => raw(op(OP.EMPTY_LIST), many(65_000, opcodes(frame('f')), op(OP.APPEND)));
const bytesOf = (count: number): Buffer => Buffer.alloc(count, 65);
const numbered = (count: number): Dict => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

const TOO_MUCH: Readonly<Record<string, () => Buffer>> = {
  'a memo index of 2^32 - 1': () => setting(raw(op(OP.NONE), longPut(0xffffffff))),
  'a memo index of 2^28': () => setting(raw(op(OP.NONE), longPut(1 << 28))),
  'a string of 2^32 - 1 bytes': () => setting(raw(op(OP.BINUNICODE), u32(0xffffffff))),
  'a string of 2^31 bytes': () => setting(raw(op(OP.BINUNICODE), u32(0x80000000))),
  'a string of 2^63 bytes': () => setting(raw(op(OP.BINUNICODE8), u64(2n ** 63n))),
  'a string of 2^64 - 1 bytes': () => setting(raw(op(OP.BINUNICODE8), u64(2n ** 64n - 1n))),
  'a string of 17 MiB': () => setting('x'.repeat(17 * MIB)),
  'strings of 60 MiB': () => setting(rowsOf(60, (i) => `${i}`.padEnd(MIB, 'x'))),
  'an integer of 2^31 - 1 bytes': () => setting(raw(op(OP.LONG4), u32(0x7fffffff))),
  'an integer of a negative length': () => setting(raw(op(OP.LONG4), u32(0xffffffff))),
  'integers of 1 KiB': () => setting(raw(many(50_000, op(OP.LONG4), u32(1024), bytesOf(1024)))),
  'an integer of 255 bytes': () => setting(raw(op(OP.LONG1, 255), bytesOf(255))),
  marks: () => bare(many(5_000_000, op(OP.MARK))),
  'millions of None': () => bare(many(20_000_000, op(OP.NONE))),
  'millions of empty dicts': () => bare(many(20_000_000, op(OP.EMPTY_DICT))),
  'millions of small objects': () => bare(many(5_000_000, op(OP.NONE, OP.TUPLE1, OP.POP))),
  'millions of memoised integers': () => bare(op(OP.BININT1, 1), many(5_000_000, op(OP.BINPUT, 9))),
  'pairs of integers': () => setting(pairs()),
  'a stack that grows frame by frame': () => oneEntry({ frames: growing() }),
  '2,000 devices': () => snapshotPickle({ device_traces: [...Array(2000).fill([]), trace(2)] }),
};

const CUT_SHORT: readonly (readonly [what: string, note: string | undefined, make: () => Buffer])[] = [
  ['a list that holds itself, as a setting', undefined, () => setting(cyclicList)],
  ['a list that holds itself, as a value', 'unknown_key', () => extra(cyclicList)],
  ['a dict that holds itself, at the top', 'settings_dropped', () => topLevel(cyclicDict)],
  ['a dict that holds itself, as a value', 'unknown_key', () => extra(cyclicDict)],
  ['a tuple a million levels deep, as a setting', undefined, () => setting(deepTuple)],
  ['a tuple a million levels deep, as a value', 'unknown_key', () => extra(deepTuple)],
  ['a tuple a million levels deep, as a key', 'unknown_key', () => extra(asKey(deepTuple))],
  ['a dict 100,000 levels deep', 'settings_dropped', () => setting(deepDict)],
  ['2^60 leaves, as a setting', undefined, () => setting(laughs)],
  ['2^60 leaves, as a value', 'unknown_key', () => extra(laughs)],
  ['2^60 leaves, as a key', 'unknown_key', () => topLevel(asKey(laughs))],
  ['2^60 settings', 'settings_dropped', () => setting(laughingDicts)],
  ['2^60 values', 'unknown_key', () => extra(laughingDicts)],
  ['200,000 unknown top-level keys', 'settings_dropped', () => snapshotPickle(numbered(200_000))],
  ['a key of 1 MB and a value of 10 MB', 'unknown_key', () => snapshotPickle({ ['k'.repeat(1e6)]: 'v'.repeat(1e7) })],
  ['5,000 entries with one unknown value of 4 MiB', 'extras_dropped', () => odd(5000, () => LONG)],
  ['120,000 unknown values', 'extras_dropped', () => odd(120_000, (i) => i)],
  ['a million empty traces', undefined, () => snapshotPickle({ device_traces: emptyTraces() })],
  ['100,000 frames chosen to collide', undefined, () => collidingFrames(100_000)],
  ['200,000 addresses chosen to collide', undefined, () => entries(collidingAddresses(200_000).map(atAddress))],
  ['200,000 strings chosen to collide', undefined, () => entries(collidingTexts(200_000).map(withMetadata))],
  ['100 MB of None and POP', 'unknown_key', () => topLevel(raw(many(50_000_000, op(OP.NONE, OP.POP)), op(OP.NONE)))],
];
const LONG = 'y'.repeat(4 * MIB);
const entries = (list: readonly Dict[]): Buffer => tracePickle(list.map((more, i) => entry('alloc', i, more)));
const odd = (count: number, value: (i: number) => PyValue): Buffer =>
  entries(rowsOf(count, (i) => ({ odd: value(i) })));
const atAddress = (addr: bigint): Dict => ({ addr });
const withMetadata = (user_metadata: string): Dict => ({ user_metadata });
const emptyTraces = (): Raw => raw(op(OP.EMPTY_LIST, OP.MARK), many(1_000_000, op(OP.EMPTY_LIST)), op(OP.APPENDS));

const HUGE = Number.MAX_SAFE_INTEGER;
const hugeEntries = (...actions: readonly string[]): Dict => ({
  device_traces: [rowsOf(4000, (i) => entry(actions[i % actions.length]!, i, { size: HUGE }))],
});
const hugeBlocks = (state: string): Dict => ({
  segments: [segment({ blocks: rowsOf(3, () => ({ size: HUGE, state })) })],
});
/** Sizes that no 64-bit sum holds: refused, not an inexact number. */
const SUMS: Readonly<Record<string, Dict>> = {
  requested: hugeEntries('alloc'),
  freed: hugeEntries('free_completed'),
  'freed before the trace and requested in turn': hugeEntries('alloc', 'free_completed'),
  'reserved by the trace': hugeEntries('segment_alloc'),
  reserved: { segments: [segment({ total_size: HUGE }), segment({ total_size: HUGE })] },
  'of blocks': hugeBlocks('inactive'),
  allocated: hugeBlocks('active_allocated'),
};

export const BOMBS: readonly Hostile[] = [
  ...Object.entries(TOO_MUCH).map(([what, bytes]): Hostile => ({ what, code: 'MBF2105', hasOffset: true, bytes })),
  {
    ...{ what: 'a string longer than the file', code: 'MBF2101', hasOffset: true },
    bytes: () => setting(raw(op(OP.BINUNICODE), u32(1_000_000))),
  },
  ...CUT_SHORT.map(([what, note, bytes]): Hostile => ({ what, bytes, notes: note === undefined ? [] : [note] })),
  { what: 'a gzip bomb of zeros', gzip: true, code: 'MBF2006', bytes: () => Buffer.alloc(256 * MIB) },
  {
    ...{ what: 'a gzip bomb of None and POP without end', gzip: true, code: 'MBF2101' },
    bytes: () => bare(many(100_000_000, op(OP.NONE, OP.POP))),
  },
  {
    ...{ what: 'a gzip bomb of 1.1 GiB of zeros in one string', gzip: true, code: 'MBF2105' },
    bytes: () => bare(op(OP.BINUNICODE), u32(0x7fffffff), Buffer.alloc(1100 * MIB)),
  },
  ...Object.entries(SUMS).map(
    ([what, more]): Hostile => ({
      ...{ what: `sizes without a sum, ${what}`, code: 'MBF2107', fact: /add up to more than 2\^53 bytes/ },
      bytes: () => snapshotPickle(more),
    }),
  ),
  {
    what: 'one size of 2^53 - 1',
    bytes: () => oneEntry({ size: HUGE }),
    rows: {
      'SELECT size_bytes::VARCHAR, requested_delta_bytes::VARCHAR FROM event JOIN snapshot_device USING (snapshot_id)':
        [[String(HUGE), String(HUGE)]],
    },
  },
];

// ---- odd, but legal: what no torch writes and Python reads ----

const EVENTS = 'SELECT count(*) FROM event';
const polluting = new Map<string, PyValue>([
  ['__proto__', new Map<string, PyValue>([['polluted', true]])],
  ['constructor', new Map<string, PyValue>([['prototype', 'x']])],
  ['toString', 'y'],
]);
const dict = (value: Dict, more: Iterable<[string, PyValue]>): Map<string, PyValue> =>
  new Map([...Object.entries(value), ...more]);
const polluted = (): Buffer => {
  const document = dict(snapshot(), [...polluting, ['allocator_settings', polluting]]);
  return pickled(document.set('device_traces', [[dict(entry('alloc', 1), polluting)]]));
};
const surrogate = new PyText(Buffer.of(0x61, 0xed, 0xa0, 0x80, 0x62));
const invisible: Dict = {
  frames: [
    { name: surrogate, filename: 'a\0b', line: 1 },
    { name: '', filename: '', line: 0 },
  ],
  user_metadata: 'm\0n',
};
const annotation = (device: PyValue): Dict => ({ stage: 'START', name: 'step', device, time_us: 1 });
const unknown = { future_key: { a: [1, new PyFloat(1.5), 2n ** 80n, null] }, other: 'text' };

export const ODD: readonly Hostile[] = [
  {
    what: 'segments and traces in batches of one: APPEND, not APPENDS',
    ...{ bytes: tracePickle([entry('alloc', 1)]), exactNotes: ['ring_probably_truncated'], rows: { [EVENTS]: [[1]] } },
  },
  ...(
    [
      ['before', [[], [], trace(5)], [2]],
      ['after', [trace(5), [], []], [0]],
      ['around', [[], trace(5), [], trace(1), []], [1, 3]],
      ['none but', [[], [], []], []],
      ['one empty', [[]], []],
      ['no', [], []],
    ] as [string, PyValue[], number[]][]
  ).map(
    ([which, device_traces, devices]): Hostile => ({
      what: `empty traces ${which} the full ones`,
      bytes: snapshotPickle({ device_traces }),
      rows: { 'SELECT DISTINCT device FROM event ORDER BY 1': devices.map((device) => [device]) },
    }),
  ),
  { what: 'a bare list of one segment', bytes: pickled([segment()]), rows: { 'SELECT count(*) FROM segment': [[1]] } },
  {
    what: 'a bare list of two segments',
    bytes: pickled([segment(), segment({ address: 0x7f10_0000_0000, blocks: [] })]),
    rows: { 'SELECT count(*) FROM segment': [[2]] },
  },
  { what: 'no segments and no traces', bytes: pickled({ segments: [], device_traces: [] }) },
  {
    what: 'keys named __proto__, constructor and toString are keys',
    bytes: polluted(),
    kinds: { unknown_key: 6 },
    rows: {
      "SELECT value FROM snapshot_setting WHERE key = '__proto__.polluted'": [['True']],
      "SELECT value_json FROM event_extra WHERE key = '__proto__'": [['{"polluted":true}']],
    },
  },
  {
    what: 'lone surrogates, NULs and the empty string',
    bytes: oneEntry(invisible),
    rows: {
      'SELECT name, filename FROM frame WHERE line < 2 ORDER BY frame_id': [
        ['a\ufffd\ufffd\ufffdb', 'a\0b'],
        ['', ''],
      ],
      'SELECT text FROM text_value WHERE text_id IN (SELECT user_metadata_id FROM event)': [['m\0n']],
    },
  },
  {
    what: 'a NUL cannot make two frames or two stacks one',
    bytes: entries([[frame('a\0b', 'c', 1)], [frame('a', 'b\0c', 1)]].map((frames) => ({ frames }))),
    rows: {
      'SELECT count(*) FROM frame WHERE line = 1': [[2]],
      'SELECT count(DISTINCT stack_id) FROM event': [[2]],
    },
  },
  ...[2n ** 64n - 1n, 2n ** 63n, 2n ** 70n, -1, 2 ** 31].map(
    (line): Hostile => ({
      what: `line ${line} is unknown`,
      bytes: oneEntry({ frames: [frame('f', 'g', line)] }),
      rows: { "SELECT line FROM frame WHERE name = 'f'": [[0]] },
    }),
  ),
  ...(
    [
      [2n ** 64n - 1n, '18446744073709551615'],
      [2n ** 53n + 1n, '9007199254740993'],
      [0, '0'],
      [-1, '18446744073709551615'],
    ] as const
  ).map(
    ([addr, kept]): Hostile => ({
      what: `addr ${addr} is kept`,
      ...{ bytes: oneEntry({ addr }), rows: { 'SELECT addr::VARCHAR FROM event': [[kept]] } },
    }),
  ),
  {
    what: 'an annotation of a device that cannot be has none',
    bytes: snapshotPickle({ external_annotations: [3, -1, 2 ** 32 + 1, 1e9, 2n ** 70n].map(annotation) }),
    rows: { 'SELECT device FROM annotation ORDER BY ordinal': [[3], [null], [null], [null], [null]] },
  },
  {
    what: 'an integral float is an integer',
    ...{ bytes: oneEntry({ size: new PyFloat(4096) }), rows: { 'SELECT size_bytes FROM event': [[4096]] } },
  },
  ...['[oops', '[', '[1', 'true', '[true]', '{'].map(
    (value): Hostile => ({
      what: `trace_alloc_overflowed as the string ${value}`,
      bytes: snapshotPickle({ allocator_settings: { trace_alloc_overflowed: value } }),
      ...(/true/.test(value) ? { notes: ['ring_truncated'] } : { kinds: { ring_truncated: 0 } }),
    }),
  ),
  {
    what: 'settings that are not a dict are kept as one',
    bytes: snapshotPickle({ allocator_settings: ['a', 1, null] }),
    rows: { 'SELECT key, value FROM snapshot_setting': [['allocator_settings', '["a",1,null]']] },
  },
  {
    what: 'unknown keys and actions are kept and noted',
    bytes: snapshotPickle({
      device_traces: [[entry('teleport', 1, unknown), entry('alloc', 2, { future_key: 7 })]],
      future: 5,
    }),
    noteTexts: [
      'trace entry key or value not known: future_key ×2',
      'top-level key not known, kept with the settings: future ×1',
    ],
    rows: {
      'SELECT seq, key, value_json FROM event_extra ORDER BY seq, key': [
        [0, 'action', '"teleport"'],
        [0, 'future_key', '{"a":[1,1.5,1208925819614629174706176,null]}'],
        [0, 'other', '"text"'],
        [1, 'future_key', '7'],
      ],
      'SELECT action FROM event ORDER BY seq': [['other'], ['alloc']],
    },
  },
  {
    what: 'trailing bytes are noted',
    ...{ bytes: Buffer.concat([snapshotPickle(), Buffer.from('garbage')]), noteTexts: [/^7 bytes/] },
  },
];

// ---- wrong in one place ----

const sharedTrace = trace(3);
const sharedEntry = raw(
  ...[op(OP.EMPTY_LIST, OP.MARK), opcodes(entry('alloc', 1))],
  ...[longPut(60_000), longGet(60_000), op(OP.APPENDS)],
);
const { address: _, ...homeless } = segment();
const listThen = (...codes: number[]): Raw => raw(op(OP.EMPTY_LIST, OP.MARK), opcodes(trace(2)), op(...codes));
const popped = raw(opcodes([segment()]), op(OP.POP, OP.EMPTY_LIST));
const setOnEntry = raw(opcodes(entry('alloc', 1)), opcodes('k'), op(OP.NONE, OP.SETITEM));
const twice = /one row object is referred to twice/;

/** A value of an entry that cannot be: MBF2107. */
const ENTRIES: readonly (readonly [what: string, fact: RegExp, Dict])[] = [
  ['a negative size', /size is negative/, { size: -1 }],
  ['a fractional size', /size is a float/, { size: new PyFloat(1.5) }],
  ['an infinite size', /size is a float/, { size: new PyFloat(Number.POSITIVE_INFINITY) }],
  ['a size that is no number', /size is a float/, { size: new PyFloat(Number.NaN) }],
  ['a size in words', /size is a string/, { size: '512' }],
  ['no size', /size is a constant/, { size: null }],
  ['a size beyond 2^53', /size is beyond 2\^53 \(9007199254740993\)/, { size: 2n ** 53n + 1n }],
  ['an address beyond 64 bits', /addr does not fit 64 bits/, { addr: 2n ** 64n }],
  ['an address below 64 bits', /addr does not fit 64 bits/, { addr: -(2n ** 63n) - 1n }],
  ['a stream in words', /stream is a string/, { stream: '0' }],
  ['an action that is a number', /action is an integer/, { action: 5 }],
  ['frames that are no list', /frames is a string/, { frames: 'f' }],
  ['frames that hold a number', /a stack holds an integer/, { frames: [frame('f'), 5] }],
  ['frames that begin with a number', /frames is an object/, { frames: [5, frame('f')] }],
  ['frames that hold frames', /frames is an object/, { frames: [[frame('f')]] }],
  ['a frame without a name', /frames is an object/, { frames: [{ filename: 'x', line: 1 }] }],
  ['a frame whose line is a string', /frame.line is a string/, { frames: [frame('f', 'g', '5')] }],
  ['metadata that is a number', /user_metadata is an integer/, { user_metadata: 5 }],
  ['a pool that is a number', /pool_id is an integer/, { pool_id: 5 }],
];
const SEGMENTS: readonly (readonly [what: string, fact: RegExp, Dict])[] = [
  ['device 10^9', /segment.device is 1000000000/, { device: 1e9 }],
  ['device -2', /segment.device is -2/, { device: -2 }],
  ['a negative segment', /segment.total_size is negative/, { total_size: -5 }],
  ['blocks that are no list', /blocks is a string/, { blocks: 'none' }],
  ['blocks that are numbers', /blocks is an object/, { blocks: [1, 2] }],
  ['a segment whose blocks went elsewhere', /lists 0 blocks, but 2/, { odd: segment()['blocks']!, blocks: [] }],
];
type Fact = readonly [what: string, code: string, fact: RegExp];
/** Keys of a snapshot. */
const SNAPSHOTS: readonly (readonly [...Fact, Dict])[] = [
  ['a segment without an address', 'MBF2107', /a segment without an address/, { segments: [homeless] }],
  ['a segment of the host', 'MBF2106', /holds 0 segments, its list 1/, { segments: [{ ...segment(), device: -1 }] }],
  ['segments that are no list', 'MBF2106', /`segments` is not a list/, { segments: 5 }],
  ['segments that hold numbers', 'MBF2106', /`segments` is not a list/, { segments: [5] }],
  ['traces that are no list', 'MBF2106', /`device_traces` is not a list/, { device_traces: 'none' }],
  ['traces of numbers', 'MBF2106', /not a list of trace entries/, { device_traces: [[1, 2]] }],
  ['traces in a dict', 'MBF2106', /`device_traces` is not a list/, { device_traces: { 0: trace(3) } }],
  ['a list that mixes entries and numbers', 'MBF2107', /a list mixes/, { device_traces: [[...trace(2), 5]] }],
  ['one entry object twice', 'MBF2107', twice, { device_traces: [sharedEntry] }],
  ['one trace for two devices', 'MBF2107', twice, { device_traces: [sharedTrace, sharedTrace] }],
  ['a trace doubled by DUP', 'MBF2107', twice, { device_traces: listThen(OP.DUP, OP.APPENDS) }],
  ['entries that are popped', 'MBF2106', /trace entries per device/, { device_traces: listThen(OP.POP, OP.APPENDS) }],
  ['segments that are popped', 'MBF2106', /holds 1 segments, its list 0/, { segments: popped }],
  ['items set on an entry', 'MBF2104', /not an open dict/, { device_traces: [[setOnEntry]] }],
];
const unwritten = (slot: number): RegExp => new RegExp(`memo slot ${slot}, which was never written`);
/** Opcodes in the place of a value of an entry. */
const OPCODES: readonly (readonly [...Fact, Buffer])[] = [
  ['a memo slot never written', 'MBF2104', unwritten(70_000), longGet(70_000)],
  [
    ...(['a memo slot jumped over', 'MBF2104', unwritten(500)] as const),
    Buffer.concat([op(OP.NONE), longPut(1000), op(OP.POP), longGet(500)]),
  ],
  ['a value without a key', 'MBF2104', /a key but no value/, op(OP.EMPTY_DICT, OP.MARK, OP.NONE, OP.SETITEMS)],
  ['a tuple through a mark', 'MBF2104', /stack underflow/, op(OP.NONE, OP.NONE, OP.MARK, OP.TUPLE2)],
  ['an append to a dict', 'MBF2104', /not an open list/, op(OP.EMPTY_DICT, OP.NONE, OP.APPEND)],
  ['items set on a list', 'MBF2104', /not an open dict/, op(OP.EMPTY_LIST, OP.NONE, OP.NONE, OP.SETITEM)],
  ['an opcode that is none', 'MBF2104', /0xff is not a pickle opcode/, op(0xff)],
  ['an opcode of protocol 0', 'MBF2103', /opcode UNICODE is not used/, Buffer.from('Vx\n')],
];
/** A pickle of nothing else. */
const ROOTS: readonly (readonly [...Fact, PyValue])[] = [
  ['no segments', 'MBF2106', /no key `segments`/, { device_traces: [trace(3)] }],
  ['a number', 'MBF2106', /no dict and no list/, 5],
  ['None', 'MBF2106', /no dict and no list/, null],
  ['an empty dict', 'MBF2106', /no key `segments`/, {}],
  ['one segment', 'MBF2106', /a single segment/, segment()],
  ['trace entries for a root', 'MBF2106', /`segments` is not a list/, trace(3)],
  ['a mark that was never set', 'MBF2104', /never opened/, raw(op(OP.EMPTY_DICT, OP.SETITEMS))],
  ['a pop too many', 'MBF2104', /stack underflow/, raw(op(OP.POP))],
  ['an append to nothing', 'MBF2104', /stack underflow/, raw(op(OP.APPEND))],
  ['STOP on an empty stack', 'MBF2104', /STOP with 0 values/, raw(op())],
  ['STOP with two values', 'MBF2104', /STOP with 2 values/, raw(op(OP.NONE, OP.NONE))],
  ['STOP under an open mark', 'MBF2104', /STOP with 1 values/, raw(op(OP.NONE, OP.MARK))],
  ['a memo of nothing', 'MBF2104', /memoises from an empty stack/, raw(op(OP.MEMOIZE))],
  ['TUPLE2 of one value', 'MBF2104', /stack underflow/, raw(op(OP.NONE, OP.TUPLE2))],
];
const ofProtocol = (protocol: number): Buffer => Buffer.concat([op(OP.PROTO, protocol), snapshotPickle().subarray(2)]);

export const WRONG: readonly Hostile[] = (
  [
    ...ENTRIES.map(([what, fact, more]) => [what, 'MBF2107', fact, oneEntry(more)] as const),
    ...SEGMENTS.map(([what, fact, more]) => [what, 'MBF2107', fact, inSegments(more)] as const),
    ['a block in no known state', 'MBF2107', /block.state is "melted"/, block({ state: 'melted' })],
    ['a negative block', 'MBF2107', /block.size is negative/, block({ size: -512 })],
    ...SNAPSHOTS.map(([what, code, fact, more]) => [what, code, fact, snapshotPickle(more)] as const),
    ...OPCODES.map(([what, code, fact, bytes]) => [what, code, fact, extra(raw(bytes))] as const),
    ...ROOTS.map(([what, code, fact, root]) => [what, code, fact, pickled(root)] as const),
    ['protocol 1', 'MBF2103', /pickle protocol 1/, ofProtocol(1)],
    ['protocol 6', 'MBF2103', /pickle protocol 6/, ofProtocol(6)],
  ] as (readonly [...Fact, Buffer])[]
).map(([what, code, fact, bytes]) => ({ what, code, fact, bytes }));
