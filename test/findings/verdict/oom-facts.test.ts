/** What is read out of a state, a message, or both. */
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import { DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';
import type { Message } from '../../../src/findings/run/message.js';
import {
  describesSame,
  factsOfMessage,
  factsOfTrace,
  freeSpace,
  type TracedOom,
} from '../../../src/findings/verdict/oom-facts.js';
import { GIB, MIB } from '../../../src/model/units.js';

interface Segment {
  readonly total: number;
  readonly stream?: number;
  readonly small?: boolean;
  readonly pool?: number;
  /** Offset, size and whether it is only pending, in order. */
  readonly blocks?: readonly (readonly [offset: number, bytes: number, pending?: boolean])[];
}

function stateOf(segments: readonly Segment[]): AllocatorState {
  const blocks = segments.flatMap(({ blocks = [] }, segment) => blocks.map((block) => ({ segment, block })));
  const address = (segment: number): number => (segment + 1) * 2 ** 40;
  const firstBlock = new Int32Array(segments.length + 1);
  segments.forEach((segment, i) => {
    firstBlock[i + 1] = firstBlock[i]! + (segment.blocks?.length ?? 0);
  });
  const size = Float64Array.from(blocks, ({ block }) => block[1]);
  return {
    afterSeq: 0,
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, (_, i) => address(i)),
      totalBytes: Float64Array.from(segments, ({ total }) => total),
      stream: Float64Array.from(segments, ({ stream }) => stream ?? 0),
      small: Uint8Array.from(segments, ({ small }) => (small === true ? 1 : 0)),
      pool: Int32Array.from(segments, ({ pool }) => pool ?? 0),
      expandable: new Uint8Array(segments.length),
      inferred: new Uint8Array(segments.length),
      firstBlock,
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, ({ segment, block }) => address(segment) + block[0]),
      sizeBytes: size,
      minBytes: size,
      maxBytes: size,
      requestedBytes: size,
      state: Uint8Array.from(blocks, ({ block }) => (block[2] === true ? 1 : 0)),
      segment: Int32Array.from(blocks, ({ segment }) => segment),
      stackId: new Int32Array(blocks.length).fill(-1),
      stackOrigin: new Uint8Array(blocks.length),
      allocSeq: new Int32Array(blocks.length).fill(-1),
    },
  };
}

function oomOf(segments: readonly Segment[], changes: Partial<TracedOom> = {}): TracedOom {
  return {
    rank: 1,
    device: 0,
    seq: 9,
    requestedBytes: 30 * MIB,
    deviceFreeBytes: 7 * MIB,
    stream: 0,
    site: null,
    source: 'snapshot entry 9',
    state: stateOf(segments),
    settings: DEFAULT_SETTINGS,
    walk: { exact: true, violations: 0, uncertainBlocks: 0, uncertainBytes: 0 },
    freedByWaitBytes: 0,
    freedAfterOom: false,
    ...changes,
  };
}

function messageOf(text: string): Message {
  return { ...incidentsInText(text)[0]!, source: 'train.log line 1' };
}

const SEGMENTS: readonly Segment[] = [
  {
    total: 40 * MIB,
    blocks: [
      [0, 10 * MIB],
      [20 * MIB, 5 * MIB, true],
    ],
  },
  { total: 24 * MIB },
  { total: 20 * MIB, stream: 7, blocks: [[0, MIB]] },
  { total: 2 * MIB, small: true, blocks: [[512, 512]] },
  { total: 60 * MIB, pool: 3, blocks: [[0, 40 * MIB]] },
];

describe('free memory at an OOM', () => {
  it('is sorted by why the request could not have it', () => {
    expect(freeSpace(oomOf(SEGMENTS))).toEqual({
      usable: { bytes: (10 + 15 + 24) * MIB, largestBytes: 24 * MIB, count: 3 },
      otherStream: { bytes: 19 * MIB, largestBytes: 19 * MIB, count: 1 },
      otherClass: { bytes: 2 * MIB - 512, largestBytes: 2 * MIB - 1024, count: 2 },
      privatePool: { bytes: 20 * MIB, largestBytes: 20 * MIB, count: 1 },
      // The wholly free segment is not pinned by anything.
      pinnedSegments: 1,
      pinningBytes: 15 * MIB,
    });
  });

  it('is the small pool for a small request, on any stream if its own is not known', () => {
    const small = freeSpace(oomOf(SEGMENTS, { requestedBytes: 1024 }));
    expect(small.usable).toEqual({ bytes: 2 * MIB - 512, largestBytes: 2 * MIB - 1024, count: 2 });
    const anyStream = freeSpace(oomOf(SEGMENTS, { stream: null }));
    expect(anyStream.otherStream.count).toBe(0);
    expect(anyStream.usable.bytes).toBe((10 + 15 + 24 + 19) * MIB);
  });

  it('and what is live are the reserve, together', () => {
    const facts = factsOfTrace(oomOf(SEGMENTS), undefined, undefined);
    const free = facts.free!;
    const holes = free.usable.bytes + free.otherStream.bytes + free.otherClass.bytes + free.privatePool.bytes;
    expect(facts.allocated!.bytes + facts.pending!.bytes + holes).toBe(facts.reserved!.bytes);
    expect(facts.pending!.bytes).toBe(5 * MIB);
    expect(facts.privatePools!.bytes).toBe(60 * MIB);
    expect(facts.privatePoolFree!.bytes).toBe(20 * MIB);
    expect(facts.segmentBytes).toBe(30 * MIB);
    expect(facts.total).toBeNull();
    expect(factsOfTrace(oomOf(SEGMENTS), undefined, 5 * GIB).total).toMatchObject({
      bytes: 5 * GIB,
      source: '--capacity',
    });
  });
});

const TEXT =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 7.00 MiB is ' +
  'free. Process 99 has 8.00 GiB memory in use. Including non-PyTorch memory, this process has 71.00 GiB memory in use. Of the allocated ' +
  'memory 70.00 GiB is allocated by PyTorch, with 2.00 GiB allocated in private pools (e.g., CUDA Graphs), and 512.00 MiB is reserved by ' +
  'PyTorch but unallocated.';

describe('a message', () => {
  it('counts the free blocks of private pools as allocated, which they are not', () => {
    const facts = factsOfMessage(messageOf(TEXT), undefined);
    expect(facts.allocated!.bytes).toBe(68 * GIB);
    expect(facts.privatePoolFree!.bytes).toBe(2 * GIB);
    expect(facts.reserved!.bytes).toBe(70 * GIB + 512 * MIB);
    expect(facts.process!.bytes).toBe(71 * GIB);
    expect(facts.otherProcesses.map(({ bytes }) => bytes)).toEqual([8 * GIB]);
    expect(facts.deviceFree).toMatchObject({ bytes: 7 * MIB, source: 'train.log line 1' });
    expect(facts.deviceFree!.precisionBytes).toBeCloseTo(0.005 * MIB, 0);
  });

  it('prints the segment, so that the request may have been smaller', () => {
    const atLeast = (size: string): number =>
      factsOfMessage(messageOf(TEXT.replace('30.00 MiB', size)), undefined).requestAtLeastBytes;
    expect(atLeast('2.00 MiB')).toBe(512);
    expect(atLeast('20.00 MiB')).toBe(MIB + 512);
    // From 10 MiB on the segment is the request, rounded up to 2 MiB; the print adds half a digit.
    expect(atLeast('30.00 MiB')).toBeGreaterThanOrEqual(28 * MIB - 0.005 * MIB);
    expect(atLeast('30.00 MiB')).toBeLessThanOrEqual(28 * MIB + 512);
    expect(atLeast('1.50 GiB')).toBeGreaterThanOrEqual(1.495 * GIB - 2 * MIB);
    expect(atLeast('1.50 GiB')).toBeLessThanOrEqual(1.5 * GIB - 2 * MIB + 512);
  });

  it('gives the total known by the user only where it prints none', () => {
    const without = messageOf('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB.');
    expect(factsOfMessage(without, 80 * GIB).total!.bytes).toBe(80 * GIB);
    expect(factsOfMessage(messageOf(TEXT), 80 * GIB).total!.bytes).not.toBe(80 * GIB);
  });
});

describe('a message and an OOM entry', () => {
  const oom = oomOf(SEGMENTS);
  const with_ = (changes: Partial<Message>): Message => ({ ...messageOf(TEXT), ...changes });

  it('are the same where the printed segment is that of the traced request', () => {
    expect(describesSame(oom, with_({}))).toBe(true);
    expect(describesSame(oomOf(SEGMENTS, { requestedBytes: 29 * MIB }), with_({}))).toBe(true);
    expect(describesSame(oomOf(SEGMENTS, { requestedBytes: 27 * MIB }), with_({}))).toBe(false);
  });

  it('are not the same of another rank or device, or without a size', () => {
    expect(describesSame(oom, with_({ rank: 1 }))).toBe(true);
    expect(describesSame(oom, with_({ rank: 2 }))).toBe(false);
    expect(describesSame(oomOf(SEGMENTS, { rank: null }), with_({ rank: 2 }))).toBe(true);
    expect(describesSame(oom, with_({ device: 1 }))).toBe(false);
    expect(describesSame(oom, with_({ bytes: {} }))).toBe(false);
  });

  it('joined keep the exact figures and take the rest from the message', () => {
    const facts = factsOfTrace(oom, with_({}), undefined);
    expect(facts.deviceFree).toEqual({ bytes: 7 * MIB, precisionBytes: 0, source: 'snapshot entry 9' });
    expect(facts.reserved!.precisionBytes).toBe(0);
    expect(facts.process!.bytes).toBe(71 * GIB);
    expect(facts.total!.source).toBe('train.log line 1');
    expect(factsOfTrace(oomOf(SEGMENTS, { deviceFreeBytes: null }), with_({}), undefined).deviceFree!.source).toBe(
      'train.log line 1',
    );
  });
});
