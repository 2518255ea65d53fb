/**
 * Properties of the ledger (`oom_part`) over generated messages: parts add up and none is negative, the first step does
 * not jump where only memory outside PyTorch grows, and more live memory never turns a full device into fragmentation.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import { judgeMessage } from '../../../src/derive/verdict/judge-message.js';
import { judgeTexts } from '../../../src/findings/verdict/judge-texts.js';
import { insertLines } from '../../../src/ingest/write/insert-lines.js';
import { sumOf } from '../../../src/model/lists.js';
import { GIB, KIB, MIB } from '../../../src/model/units.js';
import type { Verdict } from '../../../src/model/verdict.js';
import { openScratch } from '../../../src/store/open-store.js';
import { runs, SEED } from '../../support/level.js';

/** Of a device when a request failed, in bytes. */
interface Device {
  readonly total: number;
  readonly live: number;
  readonly cached: number;
  readonly request: number;
  /** Outside PyTorch, of this process. */
  readonly outside: number;
  readonly others: readonly number[];
  readonly allowed: number | null;
}

/** As torch's `format_size` prints it. */
function printed(bytes: number): string {
  if (bytes <= KIB) return `${bytes} bytes`;
  if (bytes <= MIB) return `${(bytes / KIB).toFixed(2)} KiB`;
  return bytes <= GIB ? `${(bytes / MIB).toFixed(2)} MiB` : `${(bytes / GIB).toFixed(2)} GiB`;
}

const freeOf = ({ total, live, cached, outside, others }: Device): number =>
  total - live - cached - outside - sumOf(others);

function messageOf(device: Device): string {
  const { total, live, cached, request, outside, others, allowed } = device;
  const processes = others.map((bytes, i) => `Process ${4000 + i} has ${printed(bytes)} memory in use. `).join('');
  return (
    `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${printed(request)}. GPU 0 has a total capacity of ` +
    `${printed(total)} of which ${printed(freeOf(device))} is free. ${processes}Including non-PyTorch memory, this ` +
    `process has ${printed(live + cached + outside)} memory in use. ${allowed === null ? '' : `${printed(allowed)} allowed; `}` +
    `Of the allocated memory ${printed(live)} is allocated by PyTorch, and ${printed(cached)} is reserved by PyTorch but ` +
    'unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
  );
}

describe('the ledger', () => {
  let scratch: Awaited<ReturnType<typeof openScratch>>;
  beforeAll(async () => {
    scratch = await openScratch();
  });
  afterAll(() => scratch.close());

  async function judge(devices: readonly Device[]): Promise<Verdict[]> {
    const rows = devices.map((device) => ({ ...incidentsInText(messageOf(device))[0]!, frame: null }));
    await insertLines(scratch, rows, 'text');
    return (await judgeTexts(scratch, rows, 'text')).map(({ failure, judged }) => judgeMessage(failure, judged));
  }

  /** Shares of a device that add up: what is left is free, and less than the request. */
  const devices: fc.Arbitrary<Device> = fc
    .record({
      total: fc.constantFrom(8, 24, 40, 80, 141, 192).map((size) => Math.round(0.99 * size * GIB)),
      weights: fc.tuple(fc.double({ min: 0, max: 30, noNaN: true }), fc.double({ min: 0, max: 10, noNaN: true })),
      outside: fc.double({ min: 0.2, max: 12, noNaN: true }),
      others: fc.array(fc.double({ min: 0.2, max: 20, noNaN: true }), { maxLength: 4 }),
      request: fc.integer({ min: 1, max: 4000 }),
      freeShare: fc.double({ min: 0, max: 0.99, noNaN: true }),
    })
    .map(({ total, weights: [live, cached], outside, others, request, freeShare }) => {
      const asked = request * 2 * MIB;
      const free = Math.round(freeShare * Math.min(asked, total / 20));
      const sum = live + 10 + cached + outside + sumOf(others);
      const scale = (total - free) / sum;
      const bytes = (weight: number): number => Math.floor(weight * scale);
      return {
        ...{ total, live: bytes(live + 10), cached: bytes(cached), request: asked, allowed: null },
        ...{ outside: bytes(outside), others: others.map(bytes) },
      };
    });

  /** Some thousand messages are one question: DuckDB takes longer to plan it than to run it. */
  const sample = (count: number): Device[] => fc.sample(devices, { numRuns: count, seed: SEED });

  it('adds up to the device, with no negative part but the rounding', async () => {
    for (let i = 0; i < runs(1, 7); i += 1) {
      const batch = fc.sample(devices, { numRuns: 3000, seed: SEED + i });
      for (const [i, { accounting, accounting_total: total }] of (await judge(batch)).entries()) {
        const text = messageOf(batch[i]!);
        expect(sumOf(accounting.map(({ bytes }) => bytes)), text).toBe(total!.bytes);
        for (const { part, bytes } of accounting)
          if (part !== 'rounding_of_message' && bytes < 0) expect([part, bytes], text).toEqual([part, 0]);
      }
    }
  });

  const firstStep = ({ steps }: Verdict): string => steps[0]?.kind ?? '';

  it('names expandable segments first while memory outside PyTorch grows, where the pieces are several times the request', async () => {
    const total = Math.round(79.11 * GIB);
    const series = [1, 1.5, 2, 3].flatMap((gib) =>
      [3, 4, 6].flatMap((factor) =>
        Array.from({ length: 121 }, (_, i): Device => {
          const [request, cached, outside] = [gib * GIB, factor * gib * GIB, (i / 10) * GIB];
          const live = total - cached - outside - Math.round(request / 8);
          return { total, cached, request, outside, others: [], allowed: null, live };
        }),
      ),
    );
    for (const [i, verdict] of (await judge(series)).entries())
      expect(firstStep(verdict), messageOf(series[i]!)).toBe('expandable_segments');
  });

  it('never turns a full device into fragmentation when more is live', async () => {
    const SHARES = 20;
    const first = sample(runs(100, 500));
    const series = first.flatMap((device) =>
      Array.from({ length: SHARES }, (_, i): Device => {
        const more = Math.floor((device.cached * i) / SHARES);
        return { ...device, live: device.live + more, cached: device.cached - more };
      }),
    );
    const causes = (await judge(series)).map(({ cause }) => cause);
    for (let i = 0; i < first.length; i += 1) {
      const of = causes.slice(SHARES * i, SHARES * (i + 1));
      const full = of.indexOf('capacity');
      if (full >= 0) expect(of.slice(full), messageOf(first[i]!)).not.toContain('fragmentation');
    }
  });

  it('decides by a limit that is printed, and shows what it keeps', async () => {
    const device: Device = {
      ...{ total: 80 * GIB, live: 30 * GIB, cached: 2 * GIB, request: 4 * GIB, outside: GIB, others: [] },
      allowed: 33 * GIB,
    };
    const [verdict] = await judge([device]);
    expect(verdict).toMatchObject({ cause: 'capacity', detail: 'fraction_limit' });
    expect(firstStep(verdict!)).toBe('raise_fraction');
    expect(verdict!.accounting.find(({ part }) => part === 'above_limit')?.bytes).toBe(46 * GIB);
  });

  it('leaves out what the rest of a message contradicts, and names it', async () => {
    const device: Device = {
      ...{
        total: 80 * GIB,
        live: 48 * GIB,
        cached: 3 * GIB,
        request: 3 * GIB,
        outside: 26 * GIB,
        others: [],
      },
      allowed: null,
    };
    const text = messageOf({ ...device, others: [] }).replace(/this process has \S+ GiB/, 'this process has 0 bytes');
    const foreign = messageOf({ ...device, others: [] }).replace(
      'Including',
      'Process 7 has 300.00 GiB memory in use. Including',
    );
    const rows = [text, foreign].map((one) => ({ ...incidentsInText(one)[0]!, frame: null }));
    await insertLines(scratch, rows, 'text');
    for (const { failure, judged } of await judgeTexts(scratch, rows, 'text')) {
      const { accounting, evidence } = judgeMessage(failure, judged);
      for (const { bytes } of accounting) expect(bytes).toBeGreaterThan(-GIB / 10);
      expect(evidence.some(({ kind }) => kind === 'impossible_figures')).toBe(true);
    }
  });

  it('finds ranks that did not choose their own device', async () => {
    const device: Device = {
      ...{ total: 80 * GIB, live: 74 * GIB, cached: GIB / 2, request: 2 * GIB, outside: GIB, allowed: null },
      others: Array.from({ length: 7 }, () => 0.55 * GIB),
    };
    const [verdict] = await judge([device]);
    expect(verdict).toMatchObject({ cause: 'external_pressure', detail: 'sibling_ranks' });
    expect(firstStep(verdict!)).toBe('set_device');
  });

  it('names the checks, in order, where the device had what was requested', async () => {
    const device: Device = {
      ...{ total: 192 * GIB, live: MIB, cached: 2 * MIB, request: 200 * MIB, outside: GIB, others: [], allowed: null },
    };
    const [verdict] = await judge([device]);
    expect(verdict).toMatchObject({ cause: 'undecided', detail: 'refused_though_free' });
    expect(verdict!.steps.map(({ kind }) => kind)).toEqual([
      'check_fraction',
      'check_visibility',
      'check_host_limit',
      'check_driver',
    ]);
  });
});
