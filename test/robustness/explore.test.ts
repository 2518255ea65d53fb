import { describe, it, expect, afterAll } from 'vitest';
import { openBench, expectSound } from './harness.js';
import { OP, Raw, pickled, Tuple, Float, TextBytes, longPut, longGet, u32, u64, text } from './pickle-builder.js';
import { snapshotPickle, snapshot, trace, segment, entry, frame, STACK } from './snapshots.js';

const R = (...n: number[]) => new Raw(n);
const rep = (b: Buffer, n: number) => Buffer.alloc(b.length * n, b);
const head = Buffer.from([OP.PROTO, 4]);
const cat = (...b: (Buffer|number[])[]) => Buffer.concat(b.map((x) => Buffer.from(x as number[])));
const cases: Record<string, () => Buffer> = {
  plain: () => snapshotPickle(),
  cyclicSetting: () => snapshotPickle({ allocator_settings: new Raw(cat([OP.EMPTY_LIST], longPut(60000), [OP.BININT1, 1, OP.APPEND], longGet(60000), [OP.APPEND])) }),
  cyclicTop: () => snapshotPickle({ extra: new Raw(cat([OP.EMPTY_DICT], longPut(60000), text(Buffer.from('a')), [OP.NONE, OP.SETITEM], text(Buffer.from('b')), longGet(60000), [OP.SETITEM])) }),
  deepTuple: () => snapshotPickle({ allocator_settings: new Raw(cat([OP.NONE], rep(Buffer.from([OP.TUPLE1]), 1_000_000))) }),
  deepDict: () => snapshotPickle({ allocator_settings: new Raw(cat(rep(cat([OP.EMPTY_DICT], text(Buffer.from('k'))), 100_000), [OP.NONE], rep(Buffer.from([OP.SETITEM]), 100_000))) }),
  laughs: () => { let b = cat([OP.NONE, OP.NONE, OP.TUPLE2]); for (let i = 0; i < 60; i++) b = cat(b, [OP.DUP, OP.TUPLE2]); return snapshotPickle({ allocator_settings: new Raw(b), other: 1 }); },
  laughsDict: () => { const l: number[][] = []; let b = cat([OP.EMPTY_DICT], longPut(60000)); b = cat(b, text(Buffer.from('x')), [OP.NONE, OP.SETITEM]); for (let i = 1; i < 60; i++) b = cat(b, [OP.POP, OP.EMPTY_DICT], longPut(60000 + i), [OP.MARK], text(Buffer.from('a')), longGet(60000 + i - 1), text(Buffer.from('b')), longGet(60000 + i - 1), [OP.SETITEMS]); return snapshotPickle({ allocator_settings: new Raw(b) }); },
  sumOverflowEvents: () => snapshotPickle({ device_traces: [trace(5).map((e) => ({ ...e, action: 'alloc', size: 2 ** 53 - 1 }))] }),
  sumOverflowSegments: () => snapshotPickle({ segments: [segment({ total_size: 2 ** 53 - 1 }), segment({ total_size: 2 ** 53 - 1 })] }),
  manyOverflow: () => snapshotPickle({ device_traces: [Array.from({ length: 3000 }, (_, i) => entry('alloc', i, { size: 2 ** 53 - 1 }))] }),
  overflowSettingsBad: () => snapshotPickle({ allocator_settings: { trace_alloc_overflowed: '[oops' } }),
  bigMetadata: () => snapshotPickle({ device_traces: [[entry('alloc', 1, { user_metadata: 'x'.repeat(60 * 1024 * 1024) })]] }),
  manyBigMetadata: () => snapshotPickle({ device_traces: [Array.from({ length: 400 }, (_, i) => entry('alloc', i, { user_metadata: `${i}`.padEnd(1024 * 1024, 'x') }))] }),
  extraBomb: () => { const big = 'y'.repeat(4 * 1024 * 1024); return snapshotPickle({ device_traces: [Array.from({ length: 5000 }, (_, i) => entry('alloc', i, { odd: big }))] }); },
  stackAppendBomb: () => snapshotPickle({ device_traces: [[entry('alloc', 1, { frames: new Raw(cat([OP.EMPTY_LIST], rep(cat(pickled(frame('f'), { memo: false, stop: false }).subarray(2), [OP.APPEND]), 65_000))) })]] }),
  frameFlood: () => {
    const inv = (() => { let x = 0xc2b2ae35; for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(0xc2b2ae35, x)); return x; })();
    const frames: any[] = []; const names = 120_000; let id = 0;
    for (let i = 0; frames.length < 60_000 && i < names; i++) { const l = Math.imul(Math.imul(60 + i, 0x85ebca6b) ^ 0x1234567, inv) >>> 0; if (l <= 0x7fffffff) frames.push(frame('n', `f${i}`, l)); else frames.push(frame('n', `f${i}`, 1)); }
    return snapshotPickle({ device_traces: [frames.map((f, i) => entry('alloc', i, { frames: [f] }))] });
  },
  addrFlood: () => {
    const K1 = 0x9e3779b1; let inv = K1; for (let i = 0; i < 5; i++) inv = Math.imul(inv, 2 - Math.imul(K1, inv));
    return snapshotPickle({ device_traces: [Array.from({ length: 200_000 }, (_, i) => { const low = Math.imul(Math.imul(i, 0x85ebca6b) ^ 77, inv) >>> 0; return entry('alloc', 0, { addr: BigInt(i) * 2n ** 32n + BigInt(low) }); })] });
  },
  pools: () => snapshotPickle({ x: new Raw(cat(rep(Buffer.alloc(0), 0), ...Array.from({ length: 300_000 }, (_, i) => cat([OP.BININT], u32(i), [OP.BININT1, 1, OP.TUPLE2, OP.POP])), [OP.NONE])) }),
  longs: () => snapshotPickle({ x: new Raw(cat(rep(cat([OP.LONG4], u32(1024), Buffer.alloc(1024, 0x41), [OP.POP]), 50_000), [OP.NONE])) }),
  memoNumbers: () => snapshotPickle({ x: new Raw(cat([OP.BININT1, 1], rep(Buffer.from([OP.BINPUT, 9]), 20_000_000))) }),
  memoiseSpam: () => snapshotPickle({ x: new Raw(cat([OP.NONE], rep(Buffer.from([OP.MEMOIZE]), 100_000_000))) }),
  nopop: () => snapshotPickle({ x: new Raw(cat(rep(Buffer.from([OP.NONE, OP.POP]), 100_000_000), [OP.NONE])) }),
  nones: () => cat(head, text(Buffer.from('segments')), text(Buffer.from('device_traces')), rep(Buffer.from([OP.NONE]), 50_000_000)),
  marks: () => cat(head, text(Buffer.from('segments')), text(Buffer.from('device_traces')), rep(Buffer.from([OP.MARK]), 5_000_000)),
  emptyTraces: () => snapshotPickle({ device_traces: new Raw(cat([OP.EMPTY_LIST, OP.MARK], rep(Buffer.from([OP.EMPTY_LIST]), 1_000_000), [OP.APPENDS])) }),
  emptyTracesMismatch: () => snapshotPickle({ device_traces: new Raw(cat(pickled([trace(1)], { memo: false, stop: false }).subarray(2), [OP.POP, OP.EMPTY_LIST, OP.MARK], rep(Buffer.from([OP.EMPTY_LIST]), 100_000), [OP.APPENDS])) }),
  unknownTop: () => snapshotPickle(Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, i]))),
  bigKey: () => snapshotPickle({ device_traces: [Array.from({ length: 5 }, (_, i) => entry('alloc', i, { ['k'.repeat(1_000_000)]: 1 }))] }),
  bigUnknownTop: () => snapshotPickle({ ['k'.repeat(1_000_000)]: 'v'.repeat(10_000_000) }),
  strings200k: () => snapshotPickle({ device_traces: [Array.from({ length: 200_000 }, (_, i) => entry('alloc', i, { user_metadata: `m${i}` }))] }),
  negSize: () => snapshotPickle({ device_traces: [[entry('alloc', 1, { size: -1 })]] }),
  annDevice: () => snapshotPickle({ external_annotations: [{ stage: 'START', name: 'x', device: 2 ** 40 + 5, time_us: 3 }] }),
  nulFrames: () => snapshotPickle({ device_traces: [[entry('alloc', 1, { frames: [frame('a\0b', 'c')] }), entry('alloc', 2, { frames: [frame('a', 'b\0c')] })]] }),
  sur: () => snapshotPickle({ device_traces: [[entry('alloc', 1, { frames: [{ name: new TextBytes([0xed, 0xa0, 0x80]), filename: 'x', line: 1 }], user_metadata: 'a\0b' })]] }),
  gap: () => snapshotPickle({ x: new Raw(cat([OP.NONE], longPut(1000), [OP.POP], longGet(500))) }),
};
describe('explore', () => {
  for (const [name, make] of Object.entries(cases)) {
    if (process.env['ONLY'] && !name.match(process.env['ONLY'])) continue;
    it(name, async () => {
      const bench = await openBench();
      try {
        const bytes = make();
        const m0 = process.memoryUsage().rss;
        const o = await bench.take('snapshot.pickle', bytes);
        console.log(name, bytes.length, Math.round(o.ms), 'ms rss+', Math.round((process.memoryUsage().rss - m0) / 1e6), o.source.status, o.source.error?.code, o.source.error?.text.slice(0, 200), JSON.stringify(o.source.notes.slice(0, 3)).slice(0, 300));
        await expectSound(bench.store);
      } finally { await bench.close(); }
    });
  }
});
