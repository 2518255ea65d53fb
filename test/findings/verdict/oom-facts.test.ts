/** What is read out of a state, a message, or both. */
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import type { Message } from '../../../src/findings/run/message.js';
import { describesSame, factsOfMessage, factsOfTrace } from '../../../src/findings/verdict/oom-facts.js';
import type { TracedOom } from '../../../src/findings/verdict/traced-ooms.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { freeSpaceOf } from './facts.js';

/** 121 MiB reserved, 60 of them by a private pool with 20 MiB free. */
function oomOf(changes: Partial<TracedOom> = {}): TracedOom {
  return {
    rank: 1,
    device: 0,
    seq: 9,
    requestedBytes: 30 * MIB,
    segmentBytes: 30 * MIB,
    deviceFreeBytes: 7 * MIB,
    site: null,
    source: { path: 'snapshot', entry: 9 },
    reservedBytes: 121 * MIB,
    allocatedBytes: 48 * MIB,
    pendingBytes: 5 * MIB,
    privateBytes: 60 * MIB,
    oversizeSlackBytes: 0,
    roundingWasteBytes: null,
    freedByWaitBytes: 0,
    free: freeSpaceOf({ privatePool: { bytes: 20 * MIB, largestBytes: 20 * MIB, count: 1 } }),
    expandableSegments: false,
    maxSplitBytes: Number.POSITIVE_INFINITY,
    walk: { exact: true, violations: 0, uncertainBlocks: 0, uncertainBytes: 0 },
    freedAfterOom: false,
    ...changes,
  };
}

function messageOf(text: string): Message {
  return { ...incidentsInText(text)[0]!, place: { path: 'train.log', line: 1 } };
}

const TEXT =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 7.00 MiB is ' +
  'free. Process 99 has 8.00 GiB memory in use. Including non-PyTorch memory, this process has 71.00 GiB memory in use. Of the allocated ' +
  'memory 70.00 GiB is allocated by PyTorch, with 2.00 GiB allocated in private pools (e.g., CUDA Graphs), and 512.00 MiB is reserved by ' +
  'PyTorch but unallocated.';

describe('an OOM entry', () => {
  it('has exact figures, and the total that the user gives', () => {
    const facts = factsOfTrace(oomOf(), undefined, undefined);
    expect(facts.reserved).toEqual({ bytes: 121 * MIB, precisionBytes: 0, source: { path: 'snapshot', entry: 9 } });
    expect(facts.privatePoolFree!.bytes).toBe(20 * MIB);
    expect(facts.roundingWaste).toBeNull();
    expect(facts.total).toBeNull();
    expect(factsOfTrace(oomOf(), undefined, 5 * GIB).total).toMatchObject({
      bytes: 5 * GIB,
      source: { option: '--capacity' },
    });
  });
});

describe('a message', () => {
  it('counts the free blocks of private pools as allocated, which they are not', () => {
    const facts = factsOfMessage(messageOf(TEXT), undefined);
    expect(facts.allocated!.bytes).toBe(68 * GIB);
    expect(facts.privatePoolFree!.bytes).toBe(2 * GIB);
    expect(facts.reserved!.bytes).toBe(70 * GIB + 512 * MIB);
    expect(facts.process!.bytes).toBe(71 * GIB);
    expect(facts.otherProcesses.map(({ bytes }) => bytes)).toEqual([8 * GIB]);
    expect(facts.deviceFree).toMatchObject({ bytes: 7 * MIB, source: { path: 'train.log', line: 1 } });
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
  const oom = oomOf();
  const with_ = (changes: Partial<Message>): Message => ({ ...messageOf(TEXT), ...changes });

  it('are the same where the printed segment is that of the traced request', () => {
    expect(describesSame(oom, with_({}))).toBe(true);
    expect(describesSame(oomOf({ segmentBytes: 28 * MIB }), with_({}))).toBe(false);
  });

  it('are not the same of another rank or device, or without a size', () => {
    expect(describesSame(oom, with_({ rank: 1 }))).toBe(true);
    expect(describesSame(oom, with_({ rank: 2 }))).toBe(false);
    expect(describesSame(oomOf({ rank: null }), with_({ rank: 2 }))).toBe(true);
    expect(describesSame(oom, with_({ device: 1 }))).toBe(false);
    expect(describesSame(oom, with_({ bytes: {} }))).toBe(false);
  });

  it('joined keep the exact figures and take the rest from the message', () => {
    const facts = factsOfTrace(oom, with_({}), undefined);
    expect(facts.deviceFree).toEqual({ bytes: 7 * MIB, precisionBytes: 0, source: { path: 'snapshot', entry: 9 } });
    expect(facts.reserved!.precisionBytes).toBe(0);
    expect(facts.process!.bytes).toBe(71 * GIB);
    expect(facts.total!.source).toEqual({ path: 'train.log', line: 1 });
    expect(factsOfTrace(oomOf({ deviceFreeBytes: null }), with_({}), undefined).deviceFree!.source).toEqual({
      path: 'train.log',
      line: 1,
    });
  });
});
