/**
 * Files that no torch writes but Python reads, and files that are wrong in one place: read cleanly with notes, or
 * refused with the reason.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  longGet,
  longPut,
  OP,
  PyFloat,
  PyText,
  PyTuple,
  type PyValue,
  pickled,
  type Raw,
} from '../../samples/generate/write/pickle-writer.js';
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
import { type Bench, expectSound, openBench } from './harness.js';
import { op, opcodes, raw } from './opcodes.js';

let bench: Bench;
beforeEach(async (context) => {
  // Making a store takes longer than what most of these do with it; the tests of refusals leave nothing in it.
  if (bench !== undefined && context.task.suite?.name === REFUSALS) return;
  await bench?.close();
  bench = await openBench();
});
afterAll(() => bench.close());

const REFUSALS = 'wrong in one place';
const oneEntry = (more: Dict): Buffer => tracePickle([entry('alloc', 1, more)]);
const inSegments = (more: Dict): Buffer => snapshotPickle({ segments: [segment(more)] });
const block = (more: Dict): Buffer =>
  inSegments({ blocks: [{ address: BASE, size: 2 * MIB, requested_size: 5, state: 'inactive', ...more }] });
const reversed = (value: PyValue): PyValue => {
  if (Array.isArray(value)) return (value as readonly PyValue[]).map(reversed);
  if (value === null || typeof value !== 'object' || value instanceof PyTuple) return value;
  return new Map(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reversed(part as PyValue)]),
  );
};

async function ingested(bytes: Buffer, name = 'odd.pickle') {
  const { source } = await bench.take(name, bytes);
  expect(source.status, source.error?.text).toBe('ingested');
  await expectSound(bench.store);
  return { notes: source.notes.map(({ kind }) => kind), source };
}

const rows = (sql: string) => bench.store.select(sql);
const counted = async (table: string): Promise<number> =>
  Number((await rows(`SELECT count(*) AS n FROM ${table}`))[0]?.['n']);

describe('other ways to write the same snapshot', () => {
  const value = snapshot({ device_traces: [trace(2500), [], trace(1), trace(7)] });
  it.each([
    ['protocol 2', pickled(value, { protocol: 2 })],
    ['protocol 3', pickled(value, { protocol: 3 })],
    ['protocol 4 without a memo', pickled(value, { memo: false })],
    ['protocol 5', pickled(value, { protocol: 5 })],
    ['all keys in the reverse order', pickled(reversed(value))],
    ['gzip', gzipSync(pickled(value))],
  ])('%s reads as the same rows', async (_, bytes) => {
    await ingested(pickled(value), 'a.pickle');
    await ingested(bytes, 'b.pickle');
    for (const table of ['event', 'segment', 'block', 'snapshot_device', 'snapshot_setting']) {
      const [columns] = await rows(
        `SELECT string_agg(column_name, ', ') AS names FROM duckdb_columns() WHERE table_name = '${table}' AND column_name <> 'snapshot_id'`,
      );
      const different = await rows(
        `(SELECT ${columns?.['names']} FROM ${table} WHERE snapshot_id = 1 EXCEPT ALL SELECT ${columns?.['names']} FROM ${table} WHERE snapshot_id = 2)`,
      );
      expect(different, table).toEqual([]);
      expect(
        await rows(
          `SELECT snapshot_id, count(*) AS n FROM ${table} GROUP BY 1 HAVING n <> (SELECT count(*) / 2 FROM ${table})`,
        ),
      ).toEqual([]);
    }
    expect(await counted('event')).toBe(2 * 2508);
  });

  it('segments and traces in batches of one: APPEND, not APPENDS', async () => {
    const { notes } = await ingested(tracePickle([entry('alloc', 1)]));
    expect(notes).toEqual(['ring_probably_truncated']);
    expect(await counted('event')).toBe(1);
  });

  it.each([
    ['before', [[], [], trace(5)], [2]],
    ['after', [trace(5), [], []], [0]],
    ['around', [[], trace(5), [], trace(1), []], [1, 3]],
    ['none but', [[], [], []], []],
    ['one empty', [[]], []],
    ['no', [], []],
  ] as [string, PyValue[], number[]][])('empty traces %s the full ones', async (_, device_traces, devices) => {
    await ingested(snapshotPickle({ device_traces }));
    expect((await rows('SELECT DISTINCT device FROM event ORDER BY 1')).map((row) => row['device'])).toEqual(devices);
  });

  it('a bare list of segments, one and none', async () => {
    await ingested(pickled([segment()]));
    await ingested(pickled([segment(), segment({ address: 0x7f10_0000_0000, blocks: [] })]));
    expect(await counted('segment')).toBe(3);
    const none = await bench.take('none.pickle', pickled({ segments: [], device_traces: [] }));
    expect(none.source.status).toBe('ingested');
  });
});

describe('values at the edge', () => {
  it('keys named __proto__, constructor and toString are keys', async () => {
    const polluting = new Map<string, PyValue>([
      ['__proto__', new Map<string, PyValue>([['polluted', true]])],
      ['constructor', new Map<string, PyValue>([['prototype', 'x']])],
      ['toString', 'y'],
    ]);
    const document = new Map<string, PyValue>([
      ...Object.entries(snapshot()),
      ...polluting,
      ['allocator_settings', polluting],
    ]);
    const first = new Map<string, PyValue>([...Object.entries(entry('alloc', 1)), ...polluting]);
    document.set('device_traces', [[first]]);
    const { notes } = await ingested(pickled(document));
    expect(notes.filter((kind) => kind === 'unknown_key').length).toBe(6);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(await rows("SELECT value FROM snapshot_setting WHERE key = '__proto__.polluted'")).toEqual([
      { value: 'True' },
    ]);
    expect(await rows("SELECT value_json AS v FROM event_extra WHERE key = '__proto__'")).toEqual([
      { v: '{"polluted":true}' },
    ]);
  });

  it('lone surrogates, NULs and the empty string', async () => {
    const surrogate = new PyText(Buffer.of(0x61, 0xed, 0xa0, 0x80, 0x62));
    await ingested(
      oneEntry({
        frames: [
          { name: surrogate, filename: 'a\0b', line: 1 },
          { name: '', filename: '', line: 0 },
        ],
        user_metadata: 'm\0n',
      }),
    );
    expect(await rows('SELECT name, filename FROM frame WHERE line < 2 ORDER BY frame_id')).toEqual([
      { name: 'a\ufffd\ufffd\ufffdb', filename: 'a\0b' },
      { name: '', filename: '' },
    ]);
    expect(await rows('SELECT text FROM text_value WHERE text_id IN (SELECT user_metadata_id FROM event)')).toEqual([
      { text: 'm\0n' },
    ]);
  });

  it('a NUL cannot make two frames or two stacks one', async () => {
    const left = [frame('a\0b', 'c', 1)];
    const right = [frame('a', 'b\0c', 1)];
    await ingested(tracePickle([entry('alloc', 1, { frames: left }), entry('alloc', 2, { frames: right })]));
    expect(await rows('SELECT count(*) AS n FROM frame WHERE line = 1')).toEqual([{ n: 2 }]);
    expect(await rows('SELECT count(DISTINCT stack_id) AS n FROM event')).toEqual([{ n: 2 }]);
  });

  it.each([2n ** 64n - 1n, 2n ** 63n, 2n ** 70n, -1, 2 ** 31])('line %s is unknown', async (line) => {
    await ingested(oneEntry({ frames: [frame('f', 'g', line)] }));
    expect(await rows("SELECT line FROM frame WHERE name = 'f'")).toEqual([{ line: 0 }]);
  });

  it.each([
    [2n ** 64n - 1n, '18446744073709551615'],
    [2n ** 53n + 1n, '9007199254740993'],
    [0, '0'],
    [-1, '18446744073709551615'],
  ])('addr %s is kept', async (addr, kept) => {
    await ingested(oneEntry({ addr }));
    expect(await rows('SELECT addr::VARCHAR AS addr FROM event')).toEqual([{ addr: kept }]);
  });

  it('an annotation of a device that cannot be has none', async () => {
    const annotation = (device: PyValue): Dict => ({ stage: 'START', name: 'step', device, time_us: 1 });
    await ingested(snapshotPickle({ external_annotations: [3, -1, 2 ** 32 + 1, 1e9, 2n ** 70n].map(annotation) }));
    expect((await rows('SELECT device FROM annotation ORDER BY ordinal')).map((row) => row['device'])).toEqual([
      3,
      null,
      null,
      null,
      null,
    ]);
  });

  it('an integral float is an integer', async () => {
    await ingested(oneEntry({ size: new PyFloat(4096) }));
    expect(await rows('SELECT size_bytes AS n FROM event')).toEqual([{ n: 4096 }]);
  });

  it.each(['[oops', '[', '[1', 'true', '[true]', '{'])('trace_alloc_overflowed as the string %s', async (value) => {
    const { notes } = await ingested(snapshotPickle({ allocator_settings: { trace_alloc_overflowed: value } }));
    expect(notes.includes('ring_truncated')).toBe(value === 'true' || value === '[true]');
  });

  it('settings that are not a dict are kept as one', async () => {
    await ingested(snapshotPickle({ allocator_settings: ['a', 1, null] }));
    expect(await rows('SELECT key, value FROM snapshot_setting')).toEqual([
      { key: 'allocator_settings', value: '["a",1,null]' },
    ]);
  });

  it('unknown keys and actions are kept and noted', async () => {
    const more = { future_key: { a: [1, new PyFloat(1.5), 2n ** 80n, null] }, other: 'text' };
    const { source } = await ingested(
      snapshotPickle({
        device_traces: [[entry('teleport', 1, more), entry('alloc', 2, { future_key: 7 })]],
        future: 5,
      }),
    );
    expect(await rows('SELECT seq, key, value_json AS v FROM event_extra ORDER BY seq, key')).toEqual([
      { seq: 0, key: 'action', v: '"teleport"' },
      { seq: 0, key: 'future_key', v: '{"a":[1,1.5,1208925819614629174706176,null]}' },
      { seq: 0, key: 'other', v: '"text"' },
      { seq: 1, key: 'future_key', v: '7' },
    ]);
    const noteTexts = source.notes
      .filter(({ kind }) => kind === 'unknown_key')
      .map(({ text: line, count }) => `${line} ×${count}`);
    expect(noteTexts).toContain('trace entry key or value not known: future_key ×2');
    expect(noteTexts).toContain('top-level key not known, kept with the settings: future ×1');
    expect(await rows('SELECT action FROM event ORDER BY seq')).toEqual([{ action: 'other' }, { action: 'alloc' }]);
  });

  it('trailing bytes are noted', async () => {
    const { source } = await ingested(Buffer.concat([snapshotPickle(), Buffer.from('garbage')]));
    expect(source.notes.find(({ kind }) => kind === 'trailing_bytes')?.text).toMatch(/^7 bytes/);
  });

  it('a gzip file with garbage behind it is read or refused, never both', async () => {
    const bytes = Buffer.concat([gzipSync(snapshotPickle()), Buffer.from('garbage')]);
    const { source } = await bench.take('a.pickle.gz', bytes);
    expect(['ingested', 'failed']).toContain(source.status);
  });
});

describe(REFUSALS, () => {
  const sharedEntry = raw(
    op(OP.EMPTY_LIST, OP.MARK),
    opcodes(entry('alloc', 1)),
    longPut(60_000),
    longGet(60_000),
    op(OP.APPENDS),
  );
  const sharedTrace = trace(3);
  const { address: _, ...homeless } = segment();
  const listThen = (...codes: number[]): Raw => raw(op(OP.EMPTY_LIST, OP.MARK), opcodes(trace(2)), op(...codes));
  type Fact = readonly [what: string, fact: RegExp];

  /** A value of an entry, a block or a segment that cannot be: MBF2107. */
  const badEntries: readonly (readonly [...Fact, Dict])[] = [
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
  const badSegments: readonly (readonly [...Fact, Dict])[] = [
    ['device 10^9', /segment.device is 1000000000/, { device: 1e9 }],
    ['device -2', /segment.device is -2/, { device: -2 }],
    ['a negative segment', /segment.total_size is negative/, { total_size: -5 }],
    ['blocks that are no list', /blocks is a string/, { blocks: 'none' }],
    ['blocks that are numbers', /blocks is an object/, { blocks: [1, 2] }],
    [
      'a segment whose blocks went elsewhere',
      /lists 0 blocks, but 2 were read/,
      { odd: segment()['blocks']!, blocks: [] },
    ],
  ];
  /** Keys of a snapshot. */
  const badSnapshots: readonly (readonly [what: string, code: string, fact: RegExp, Dict])[] = [
    ['a segment without an address', 'MBF2107', /a segment without an address/, { segments: [homeless] }],
    ['a segment of the host', 'MBF2106', /holds 0 segments, its list 1/, { segments: [{ ...segment(), device: -1 }] }],
    ['segments that are no list', 'MBF2106', /`segments` is not a list/, { segments: 5 }],
    ['segments that hold numbers', 'MBF2106', /`segments` is not a list/, { segments: [5] }],
    ['traces that are no list', 'MBF2106', /`device_traces` is not a list/, { device_traces: 'none' }],
    ['traces of numbers', 'MBF2106', /not a list of trace entries/, { device_traces: [[1, 2]] }],
    ['traces in a dict', 'MBF2106', /`device_traces` is not a list/, { device_traces: { 0: trace(3) } }],
    ['a list that mixes entries and numbers', 'MBF2107', /a list mixes/, { device_traces: [[...trace(2), 5]] }],
    ['one entry object twice', 'MBF2107', /one row object is referred to twice/, { device_traces: [sharedEntry] }],
    [
      'one trace for two devices',
      'MBF2107',
      /one row object is referred to twice/,
      { device_traces: [sharedTrace, sharedTrace] },
    ],
    [
      'a trace doubled by DUP',
      'MBF2107',
      /one row object is referred to twice/,
      { device_traces: listThen(OP.DUP, OP.APPENDS) },
    ],
    ['entries that are popped', 'MBF2106', /trace entries per device/, { device_traces: listThen(OP.POP, OP.APPENDS) }],
    [
      'segments that are popped',
      'MBF2106',
      /holds 1 segments, its list 0/,
      { segments: raw(opcodes([segment()]), op(OP.POP, OP.EMPTY_LIST)) },
    ],
    [
      'items set on an entry',
      'MBF2104',
      /not an open dict/,
      { device_traces: [[raw(opcodes(entry('alloc', 1)), opcodes('k'), op(OP.NONE, OP.SETITEM))]] },
    ],
  ];
  /** Opcodes in the place of a value of an entry. */
  const badOpcodes: readonly (readonly [what: string, code: string, fact: RegExp, Buffer])[] = [
    ['a memo slot never written', 'MBF2104', /memo slot 70000, which was never written/, longGet(70_000)],
    [
      'a memo slot jumped over',
      'MBF2104',
      /memo slot 500, which was never written/,
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
  const badRoots: readonly (readonly [what: string, code: string, fact: RegExp, PyValue])[] = [
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
  const ofProtocol = (protocol: number): Buffer =>
    Buffer.concat([op(OP.PROTO, protocol), snapshotPickle().subarray(2)]);
  const cases: readonly (readonly [what: string, code: string, fact: RegExp, Buffer])[] = [
    ...badEntries.map(([what, fact, more]) => [what, 'MBF2107', fact, oneEntry(more)] as const),
    ...badSegments.map(([what, fact, more]) => [what, 'MBF2107', fact, inSegments(more)] as const),
    ['a block in no known state', 'MBF2107', /block.state is "melted"/, block({ state: 'melted' })],
    ['a negative block', 'MBF2107', /block.size is negative/, block({ size: -512 })],
    ...badSnapshots.map(([what, code, fact, more]) => [what, code, fact, snapshotPickle(more)] as const),
    ...badOpcodes.map(([what, code, fact, bytes]) => [what, code, fact, oneEntry({ odd: raw(bytes) })] as const),
    ...badRoots.map(([what, code, fact, root]) => [what, code, fact, pickled(root)] as const),
    ['protocol 1', 'MBF2103', /pickle protocol 1/, ofProtocol(1)],
    ['protocol 6', 'MBF2103', /pickle protocol 6/, ofProtocol(6)],
  ];

  it.each(cases)('%s: %s %s', async (_, code, fact, bytes) => {
    const { source } = await bench.take('wrong.pickle', bytes);
    expect(source.error?.code, source.error?.text ?? source.status).toBe(code);
    expect(source.error?.text).toMatch(fact);
    await expectSound(bench.store);
  });
});
