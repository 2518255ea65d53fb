/** The parts add up to the total, exactly, whatever the figures and wherever they come from. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import { formatOomSize } from '../../../samples/generate/write/oom-message.js';
import { type Accounting, account as accountOf } from '../../../src/derive/verdict/accounting.js';
import type { OomFacts as ReadFacts } from '../../../src/derive/verdict/facts.js';
import { judgeTexts } from '../../../src/findings/verdict/judge-texts.js';
import { insertLines } from '../../../src/ingest/write/insert-lines.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { SEED } from '../../support/level.js';
import { exact, freeSpaceOf, messageFacts, printed, tracedFacts } from './facts.js';
import type { OomFacts } from './hand-facts.js';
import { readOf } from './hand-rows.js';
import { judging } from './judging.js';

const { scratch } = judging();

const account = (facts: OomFacts): Accounting => accountOf(readOf(facts));

const sumOf = (sizes: readonly number[]): number => sizes.reduce((all, bytes) => all + bytes, 0);
const sum = (accounting: Accounting): number => accounting.parts.reduce((total, part) => total + part.bytes, 0);
const part = (accounting: Accounting, name: string): number | undefined =>
  accounting.parts.find((item) => item.part === name)?.bytes;

/** A device as it is, before anything is rounded for print. */
type Device = typeof device extends fc.Arbitrary<infer Value> ? Value : never;

const size = (max: number): fc.Arbitrary<number> =>
  fc.oneof(fc.nat(1024), fc.integer({ min: 0, max: MIB * 4 }), fc.integer({ min: 0, max }));

/** `context`: of this process, outside PyTorch; `rest`: of the driver and of no process. */
const device = fc
  .record({
    ...{ free: size(4 * GIB), context: size(2 * GIB), allocated: size(80 * GIB), cached: size(20 * GIB) },
    privateFree: fc.oneof(fc.constant(0), size(4 * GIB)),
    others: fc.array(size(30 * GIB), { maxLength: 3 }),
    rest: fc.oneof(fc.constant(0), fc.nat(20 * MIB), size(GIB)),
    request: fc.integer({ min: 1, max: 20 * GIB }),
  })
  .map((parts) => {
    const { request: _, others, ...sizes } = parts;
    return { ...parts, total: sumOf([...Object.values(sizes), ...others]) };
  });

/** The wordings of torch, by version. Since 2.4 "allocated" contains the free blocks of private pools. */
const WORDINGS: Readonly<Record<string, (d: Device) => string>> = {
  '2.5': (d) => {
    const reserved = d.allocated + d.cached + d.privateFree;
    const pools =
      d.privateFree > 0 ? `with ${formatOomSize(d.privateFree)} allocated in private pools (e.g., CUDA Graphs), ` : '';
    const others = d.others
      .map((bytes, i) => `Process ${4000 + i} has ${formatOomSize(bytes)} memory in use. `)
      .join('');
    return (
      `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${formatOomSize(d.request)}. GPU 0 has a total capacity of ` +
      `${formatOomSize(d.total)} of which ${formatOomSize(d.free)} is free. ${others}Including non-PyTorch memory, this process has ` +
      `${formatOomSize(reserved + d.context)} memory in use. Of the allocated memory ${formatOomSize(d.allocated + d.privateFree)} is ` +
      `allocated by PyTorch, ${pools}and ${formatOomSize(d.cached)} is reserved by PyTorch but unallocated. If reserved but unallocated ` +
      'memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.'
    );
  },
  '2.1': (d) =>
    `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate ${formatOomSize(d.request)}. GPU 0 has a total capacty of ` +
    `${formatOomSize(d.total)} of which ${formatOomSize(d.free)} is free. Of the allocated memory ${formatOomSize(d.allocated)} is ` +
    `allocated by PyTorch, and ${formatOomSize(d.cached + d.privateFree)} is reserved by PyTorch but unallocated.`,
  '1.10': (d) =>
    `RuntimeError: CUDA out of memory. Tried to allocate ${formatOomSize(d.request)} (GPU 0; ${formatOomSize(d.total)} total capacity; ` +
    `${formatOomSize(d.allocated)} already allocated; ${formatOomSize(d.free)} free; ` +
    `${formatOomSize(d.allocated + d.cached + d.privateFree)} reserved in total by PyTorch)`,
};

/**
 * Half of the last printed digit of every figure that enters the sum; whole bytes are exact, but parts are rounded to
 * bytes.
 */
const halfDigit = (bytes: number): number =>
  bytes <= 1024 ? 0.5 : 0.005 * (bytes <= MIB ? 1024 : bytes <= GIB ? MIB : GIB) + 0.5;

async function factsOf(texts: readonly string[]): Promise<ReadFacts[]> {
  const rows = texts.flatMap((text) => incidentsInText(text));
  expect(rows.length).toBe(texts.length);
  await insertLines(scratch(), rows, 'a text');
  return (await judgeTexts(scratch(), rows, 'a text')).map(({ failure }) => failure.facts);
}

describe('a message alone', () => {
  for (const [version, wording] of Object.entries(WORDINGS)) {
    it(`of torch ${version} adds up to the printed total`, async () => {
      const devices = fc.sample(device, { numRuns: 200, seed: SEED });
      const facts = await factsOf(devices.map(wording));
      for (const [i, d] of devices.entries()) {
        const accounting = accountOf(facts[i]!);
        // NVML's sentence about this process can be left out, but total and free are always printed.
        expect(accounting.total).not.toBeNull();
        expect(sum(accounting)).toBe(accounting.total!.bytes);
        expect(accounting.parts.every(({ bytes }) => Number.isInteger(bytes) && bytes !== 0)).toBe(true);
        expect(new Set(accounting.parts.map((item) => item.part)).size).toBe(accounting.parts.length);
        const reserved = d.allocated + d.cached + d.privateFree;
        const terms =
          version === '2.5'
            ? [d.total, d.free, reserved + d.context, ...d.others]
            : [d.total, d.free, ...(version === '2.1' ? [d.allocated, d.cached + d.privateFree] : [reserved])];
        // Figures are whole bytes.
        const precision = terms.reduce((total, bytes) => total + halfDigit(bytes) + 0.5, 0);
        expect(Math.abs(part(accounting, 'rounding_of_message') ?? 0)).toBeLessThanOrEqual(precision);
        // What is there physically never looks like a contradiction, nor is it lost in the rounding.
        expect(part(accounting, 'contradiction_in_message')).toBeUndefined();
        const unexplained = version === '2.5' ? d.rest : d.rest + d.context + d.others.reduce((a, b) => a + b, 0);
        const named = part(accounting, version === '2.5' ? 'other_processes_or_driver' : 'outside_pytorch') ?? 0;
        expect(Math.abs(named + (part(accounting, 'rounding_of_message') ?? 0) - unexplained)).toBeLessThanOrEqual(
          precision,
        );
        expect(Math.abs((part(accounting, 'allocated') ?? 0) - d.allocated)).toBeLessThanOrEqual(
          halfDigit(d.allocated) + halfDigit(d.allocated + d.privateFree) + halfDigit(d.privateFree),
        );
      }
    });
  }

  it('without the device total or what PyTorch holds adds up to nothing', () => {
    const process = printed(60 * GIB);
    for (const changes of [
      { deviceFree: null },
      { reserved: null, process: null },
      { reserved: null, process, total: null },
    ])
      expect(account(messageFacts(changes))).toEqual({ total: null, parts: [], from: null });
  });

  it('that names a process but not what PyTorch holds has that process as a part', () => {
    const accounting = account(messageFacts({ reserved: null, allocated: null, process: printed(60 * GIB) }));
    expect(part(accounting, 'this_process')).toBe(60 * GIB);
    expect(sum(accounting)).toBe(80 * GIB);
  });

  it('that contradicts itself says so instead of hiding it in the rounding', () => {
    const accounting = account(messageFacts({ total: printed(40 * GIB) }));
    expect(part(accounting, 'contradiction_in_message')).toBe(-39 * GIB);
    expect(sum(accounting)).toBe(40 * GIB);
  });
});

/** Facts of a trace: any split of a reserve, blocks and holes being multiples of 512. */
const blocks = (max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: Math.floor(max / 512) }).map((n) => n * 512);
const some = fc.oneof(fc.constant(0), blocks(GIB));
const traced: fc.Arbitrary<OomFacts> = fc
  .record({
    ...{ allocated: blocks(80 * GIB), pending: some, usable: blocks(20 * GIB), otherStream: some, otherClass: some },
    ...{ poolLive: some, poolFree: some, free: size(4 * GIB) },
  })
  .map((p) => {
    const free = (bytes: number) => ({ bytes, largestBytes: bytes, count: 1 });
    return tracedFacts({
      total: null,
      reserved: exact(p.allocated + p.pending + p.usable + p.otherStream + p.otherClass + p.poolLive + p.poolFree),
      allocated: exact(p.allocated + p.poolLive),
      pending: exact(p.pending),
      deviceFree: exact(p.free),
      privatePools: exact(p.poolLive + p.poolFree),
      privatePoolFree: exact(p.poolFree),
      free: freeSpaceOf({
        usable: free(p.usable),
        otherStream: free(p.otherStream),
        otherClass: free(p.otherClass),
        privatePool: free(p.poolFree),
      }),
    });
  });

const EXPECTED_TRACED = [
  ...['allocated', 'pending_free', 'private_pools', 'device_free'],
  ...['cached_too_small', 'cached_other_stream', 'cached_other_size_class'],
];

describe('a snapshot alone', () => {
  it('adds up to reserved + device free, without a remainder', () => {
    fc.assert(
      fc.property(traced, (facts) => {
        const accounting = account(facts);
        expect(accounting.total!.bytes).toBe(facts.reserved!.bytes + facts.deviceFree!.bytes);
        expect(accounting.total!.kind).toBe('reserved_and_free');
        expect(sum(accounting)).toBe(accounting.total!.bytes);
        expect(accounting.parts.every(({ bytes }) => bytes > 0)).toBe(true);
        expect(EXPECTED_TRACED).toEqual(expect.arrayContaining(accounting.parts.map((item) => item.part)));
        const pools = facts.privatePools!.bytes - facts.privatePoolFree!.bytes;
        expect(part(accounting, 'allocated') ?? 0).toBe(facts.allocated!.bytes - pools);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('without device_free (torch before 2.0) adds up to nothing', () => {
    expect(account(tracedFacts({ deviceFree: null, total: null }))).toEqual({ total: null, parts: [], from: null });
  });
});

describe('a snapshot joined with its message', () => {
  it('adds up to the printed total; only the rounding of printed figures is left over', () => {
    fc.assert(
      fc.property(traced, size(2 * GIB), fc.array(size(10 * GIB), { maxLength: 2 }), (facts, context, others) => {
        const process = facts.reserved!.bytes + context;
        const total = process + facts.deviceFree!.bytes + others.reduce((a, b) => a + b, 0);
        const round = (bytes: number) => {
          const unit = bytes <= 1024 ? 1 : bytes <= MIB ? 1024 : bytes <= GIB ? MIB : GIB;
          const digits = unit === 1 ? 1 : 100;
          const rounded = Math.round((bytes / unit) * digits) / digits;
          return printed(Math.round(rounded * unit), (0.5 / digits) * unit + 0.5);
        };
        const printedFacts = { total: round(total), process: round(process), otherProcesses: others.map(round) };
        const joined: OomFacts = { ...facts, ...printedFacts };
        const accounting = account(joined);
        expect(sum(accounting)).toBe(joined.total!.bytes);
        const figures = [joined.total!, joined.process!, ...joined.otherProcesses];
        const precision = figures.reduce((sum, figure) => sum + figure.precisionBytes, 0);
        expect(Math.abs(part(accounting, 'rounding_of_message') ?? 0)).toBeLessThanOrEqual(precision);
        expect(part(accounting, 'contradiction_in_message')).toBeUndefined();
        expect(part(accounting, 'other_processes_or_driver')).toBeUndefined();
        // The exact figures stay exact.
        expect(part(accounting, 'device_free') ?? 0).toBe(facts.deviceFree!.bytes);
        expect(part(accounting, 'pending_free') ?? 0).toBe(facts.pending!.bytes);
      }),
      { numRuns: 300, seed: SEED },
    );
  });
});
