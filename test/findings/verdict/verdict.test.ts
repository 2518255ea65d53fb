/** Each cause on facts made for it, the order between causes, and the answers that are no verdict. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budget, type OomFacts } from '../../../src/findings/verdict/facts.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { anyFacts } from './any-facts.js';
import { exact, freeSpaceOf, messageFacts, printed, tracedFacts, traceOf } from './facts.js';
import { CAUSE_ORDER, judging, testOf } from './judging.js';

const { judge } = judging();

/** 60 GiB live of a reserve of 77: the rest is free in pieces of at most 3 GiB. */
const FRAGMENTED: Partial<OomFacts> = {
  reserved: exact(77 * GIB),
  allocated: exact(60 * GIB),
  free: freeSpaceOf({
    usable: { bytes: 17 * GIB, largestBytes: 3 * GIB, count: 9 },
    pinnedSegments: 9,
    pinningBytes: 2 * GIB,
  }),
};

/** Half of the device is somebody else's. */
const PRESSED: Partial<OomFacts> = {
  reserved: exact(38 * GIB),
  allocated: exact(37 * GIB),
  deviceFree: exact(GIB),
  free: freeSpaceOf({ usable: { bytes: GIB, largestBytes: 100 * MIB, count: 2 } }),
};

describe.concurrent('capacity', () => {
  it('holds where live memory and the request exceed reserve and free device memory', async () => {
    const [result, traced] = await judge(tracedFacts(), tracedFacts({ trace: traceOf() }));
    expect(result).toMatchObject({
      cause: 'capacity',
      detail: null,
      ruledOutCauses: ['external_pressure', 'synchronisation', 'graph_pools', 'fragmentation'],
      // Whether the device filled up step by step, one message cannot tell.
      missing: [expect.stringMatching(/^leak: needs/)],
    });
    // An untested rival that goes before it takes the last step of confidence; a trace that shows it gives it back.
    expect(result.holds!.confidence).toBe('medium');
    expect(result.combination.join(' ')).toContain('Not tested: leak.');
    expect(traced.holds!.confidence).toBe('high');
    // 77 live + 4 asked − 79 = 2 GiB.
    expect(result.holds!.summary).toContain('2.00 GiB');
  });

  it('holds from a message alone, with less confidence', async () => {
    const [result] = await judge(messageFacts());
    expect(result).toMatchObject({
      cause: 'capacity',
      missing: [
        expect.stringContaining('synchronisation'),
        expect.stringContaining('graph pools'),
        expect.stringContaining('leak'),
      ],
    });
    expect(result.holds!.confidence).toBe('medium');
  });

  it('holds where the rest of the step does not fit, though the request that failed would', async () => {
    const stepOf = (peak: number, alikeShare: number) =>
      tracedFacts({
        ...FRAGMENTED,
        trace: traceOf({ wholeStep: { outcome: 'fits', peakBytes: peak, limitBytes: 0, alikeShare } }),
      });
    // The process could have 78 GiB, and a projection is sure to 1 %.
    const [beyond, close, fits, unlike] = await judge(
      stepOf(83 * GIB, 1),
      stepOf(78.5 * GIB, 1),
      stepOf(70 * GIB, 1),
      stepOf(83 * GIB, 0.5),
    );
    expect(beyond).toMatchObject({ cause: 'capacity', detail: 'whole_step' });
    expect(beyond.holds).toMatchObject({ confidence: 'high', numbers: { short_bytes: 5 * GIB } });
    expect(beyond.holds!.summary).toContain('peaks at 83.00 GiB live, 5.00 GiB more');
    for (const one of [close, fits, unlike]) expect(one.cause).toBe('fragmentation');
    expect(close.combination.join(' ')).toContain('needs about all that is available to the process');
    expect(fits.combination.join(' ')).not.toContain('needs about all');
  });

  it('is not a limit of the process where what fits what is reserved already is refused', async () => {
    // 10 GiB were free on the device, and refused: the limit is at least the 77 GiB that are reserved.
    const refused = { ...FRAGMENTED, deviceFree: exact(10 * GIB) };
    const [inside, beyond] = await judge(tracedFacts(refused), tracedFacts({ ...refused, allocated: exact(76 * GIB) }));
    expect(inside).toMatchObject({ cause: 'fragmentation', detail: 'split_remainder' });
    expect(beyond).toMatchObject({ cause: 'capacity', detail: 'fraction_limit' });
  });

  it('is not decided by figures whose rounding is larger than the shortfall', async () => {
    const live = 75 * GIB + 4 * MIB;
    const [short, fitting, known] = await judge(
      messageFacts({ allocated: printed(live), reserved: printed(78 * GIB, 0.01 * GIB) }),
      messageFacts({ allocated: printed(75 * GIB), reserved: printed(78 * GIB, 0.01 * GIB) }),
      tracedFacts({
        allocated: exact(live),
        reserved: exact(78 * GIB),
        deviceFree: exact(GIB),
        free: freeSpaceOf(),
      }),
    );
    expect(short.cause).toBeNull();
    expect(short.missing.some((text) => text.startsWith('capacity: needs exact figures'))).toBe(true);
    // Nor the other way round: figures that just fit rule nothing out.
    expect(fitting.cause).toBeNull();
    expect(fitting.ruledOutCauses).not.toContain('capacity');
    // The same figures known exactly decide it: short by 4 MiB (the request counts in full).
    expect(known).toMatchObject({ cause: 'capacity' });
  });

  it('knows a request larger than the device', async () => {
    const facts = tracedFacts({ request: exact(500 * GIB), requestAtLeastBytes: 500 * GIB, segmentBytes: 500 * GIB });
    const message = messageFacts({
      request: printed(500 * GIB),
      requestAtLeastBytes: 500 * GIB - 2 * MIB,
      reserved: null,
      allocated: null,
    });
    for (const result of await judge(facts, message))
      expect(result).toMatchObject({ cause: 'capacity', detail: 'impossible_request' });
  });

  it('knows a request larger than all available to this process, where the total is not known', async () => {
    const facts = tracedFacts({ total: null, request: exact(100 * GIB), requestAtLeastBytes: 100 * GIB });
    const [result] = await judge(facts);
    expect(result).toMatchObject({ cause: 'capacity', detail: 'impossible_request' });
  });

  it('knows the limit of a memory fraction', async () => {
    const facts = messageFacts({
      allowed: printed(40 * GIB),
      reserved: printed(39 * GIB),
      allocated: printed(38 * GIB),
      deviceFree: printed(39 * GIB),
      process: printed(40 * GIB),
    });
    expect(budget(facts)!.bytes).toBe(40 * GIB);
    const [result] = await judge(facts);
    expect(result.holds!.numbers).toMatchObject({ limit_bytes: 40 * GIB });
    expect(result).toMatchObject({ cause: 'capacity', detail: 'fraction_limit' });
  });

  it('takes no fraction for a limit that is not the narrower one', async () => {
    const facts = messageFacts({ allowed: printed(90 * GIB) });
    expect(budget(facts)!.bytes).toBe(79 * GIB);
    const [result] = await judge(facts);
    expect(result.holds!.numbers).toMatchObject({ limit_bytes: 79 * GIB });
    expect(result).toMatchObject({ cause: 'capacity', detail: null });
  });
});

describe.concurrent('fragmentation', () => {
  it('holds where the bytes are there but not in one piece', async () => {
    const [result] = await judge(tracedFacts(FRAGMENTED));
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'split_remainder' });
    expect(result.ruledOutCauses).toContain('capacity');
    expect(result.holds!.confidence).toBe('high');
    expect(result.holds!.next.join(' ')).toContain('expandable_segments:True');
    expect(result.evidence.some(({ text }) => text.includes('9 segments'))).toBe(true);
  });

  it('never recommends what is on already', async () => {
    const allocator = {
      expandableSegments: true,
      maxSplitBytes: Number.POSITIVE_INFINITY,
      source: { path: 'snapshot' },
    };
    const [result] = await judge(tracedFacts({ ...FRAGMENTED, allocator }));
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'page_pinning' });
    expect(result.holds!.next.join(' ')).not.toMatch(/expandable_segments:True/);
  });

  it('names the largest reason why free memory could not be used', async () => {
    const hole = (bytes: number) => ({ bytes, largestBytes: bytes, count: 1 });
    const factsOf = (free: Parameters<typeof freeSpaceOf>[0]) =>
      tracedFacts({ ...FRAGMENTED, free: freeSpaceOf(free) });
    const results = await judge(
      factsOf({ usable: hole(GIB), otherStream: hole(16 * GIB) }),
      factsOf({ usable: hole(GIB), otherClass: hole(16 * GIB) }),
      factsOf({ usable: { bytes: 9 * GIB, largestBytes: GIB, count: 9 }, otherStream: hole(8 * GIB) }),
    );
    expect(results.map(({ detail }) => detail)).toEqual(['other_stream', 'small_large_pool', 'split_remainder']);
  });

  it('holds from a message alone, without saying which kind', async () => {
    const [result] = await judge(
      messageFacts({ reserved: printed(77 * GIB, 0.01 * GIB), allocated: printed(60 * GIB) }),
    );
    expect(result).toMatchObject({ cause: 'fragmentation', detail: null });
    expect(result.holds!.confidence).toBe('medium');
    expect(result.holds!.next[1]).toContain('on already');
  });

  it('is the oversize rule where a block would fit but max_split_size_mb keeps it', async () => {
    const free = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 6 * GIB, count: 3 } });
    const allocator = { expandableSegments: false, maxSplitBytes: 128 * MIB, source: { path: 'snapshot' } };
    const [kept, unexplained] = await judge(
      tracedFacts({ ...FRAGMENTED, free, allocator }),
      tracedFacts({ ...FRAGMENTED, free }),
    );
    expect(kept).toMatchObject({ cause: 'fragmentation', detail: 'oversize_rule' });
    // Without that setting nothing explains why the block was not used: no verdict, rather than a made-up one.
    expect(unexplained.cause).toBeNull();
    expect(unexplained.judged).toMatchObject({ cause: 'undecided', basis: 'none' });
    expect(unexplained.ruledOutCauses).toContain('fragmentation');
  });

  it('is the oversize rule where slack inside oversize blocks is what is missing', async () => {
    const allocator = { expandableSegments: false, maxSplitBytes: 128 * MIB, source: { path: 'snapshot' } };
    const [result, little] = await judge(
      tracedFacts({ allocator, oversizeSlack: exact(3 * GIB) }),
      tracedFacts({ allocator, oversizeSlack: exact(GIB) }),
    );
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'oversize_rule' });
    expect(result.ruledOutCauses).toContain('capacity');
    expect(little.cause).toBe('capacity');
  });

  it('is less sure where the walk back is', async () => {
    const walk = { exact: false, violations: 4, uncertainBlocks: 0, uncertainBytes: 0 };
    const vague = { exact: true, violations: 0, uncertainBlocks: 3, uncertainBytes: 5 * GIB };
    const [contradicted, uncertain] = await judge(
      tracedFacts({ ...FRAGMENTED, walk }),
      tracedFacts({ ...FRAGMENTED, walk: vague }),
    );
    expect(testOf(contradicted, 'fragmentation').confidence).toBe('medium');
    // Whatever the test says, a verdict on a state that is not exact is a guess.
    expect(contradicted.holds!.confidence).toBe('low');
    expect(uncertain.holds!.confidence).toBe('medium');
  });

  it('is not claimed from a message whose device had room for the request', async () => {
    const facts = messageFacts({
      reserved: printed(40 * GIB),
      allocated: printed(38 * GIB),
      deviceFree: printed(39 * GIB),
    });
    const [result] = await judge(facts);
    expect(result.cause).toBeNull();
  });
});

describe.concurrent('external pressure', () => {
  it('comes before capacity: what others leave looks full', async () => {
    const [result] = await judge(tracedFacts(PRESSED));
    expect(result).toMatchObject({ cause: 'external_pressure' });
    expect(result.ruledOutCauses).not.toContain('capacity');
  });

  it('comes before fragmentation', async () => {
    const facts = tracedFacts({
      ...PRESSED,
      allocated: exact(30 * GIB),
      free: freeSpaceOf({ usable: { bytes: 8 * GIB, largestBytes: GIB, count: 20 } }),
    });
    const [result] = await judge(facts);
    expect(result.cause).toBe('external_pressure');
  });

  it('distinguishes other processes from memory of this process outside PyTorch', async () => {
    const [others, own, unknown] = await judge(
      tracedFacts({ ...PRESSED, process: printed(39 * GIB), otherProcesses: [printed(39 * GIB)] }),
      tracedFacts({ ...PRESSED, process: printed(78 * GIB) }),
      tracedFacts(PRESSED),
    );
    expect(others).toMatchObject({ cause: 'external_pressure', detail: 'other_process' });
    expect(own).toMatchObject({ cause: 'external_pressure', detail: 'non_torch' });
    expect(unknown).toMatchObject({ cause: 'external_pressure', detail: null });
    expect(unknown.holds!.confidence).toBe('medium');
  });

  it('sees the others where NVML lists only this process', async () => {
    const [result] = await judge(tracedFacts({ ...PRESSED, process: printed(39 * GIB) }));
    expect(result).toMatchObject({ cause: 'external_pressure', detail: 'other_process' });
  });

  it('is not to blame where the request would not fit an empty device either', async () => {
    const [result] = await judge(tracedFacts({ ...PRESSED, request: exact(60 * GIB), requestAtLeastBytes: 60 * GIB }));
    expect(result).toMatchObject({ cause: 'capacity' });
    expect(result.ruledOutCauses).toContain('external_pressure');
  });

  it('allows for the CUDA context and NCCL of an ordinary process', async () => {
    const [result, smaller] = await judge(
      tracedFacts({ reserved: exact(75 * GIB), allocated: exact(74.5 * GIB), deviceFree: exact(GIB) }),
      tracedFacts({
        total: printed(24 * GIB),
        reserved: exact(22 * GIB),
        allocated: exact(21 * GIB),
        deviceFree: exact(GIB),
      }),
    );
    const ordinary = (outcome: typeof result) => testOf(outcome, 'external_pressure').numbers['ordinary_outside_bytes'];
    expect([ordinary(result), ordinary(smaller)]).toEqual([4 * GIB, 2 * GIB]);
    expect(result).toMatchObject({ cause: 'capacity' });
  });

  it('cannot be tested without the device total', async () => {
    const [result] = await judge(tracedFacts({ total: null }));
    expect(result.cause).toBe('capacity');
    expect(result.missing).toEqual([
      expect.stringMatching(/^external pressure: .*device total/),
      expect.stringMatching(/^leak: needs/),
    ]);
  });
});

describe.concurrent('synchronisation', () => {
  const PENDING: Partial<OomFacts> = { allocated: exact(72 * GIB), pending: exact(5 * GIB) };

  it('holds where freed memory waited for another stream, and comes before capacity', async () => {
    const [result] = await judge(tracedFacts(PENDING));
    expect(result).toMatchObject({ cause: 'synchronisation' });
    expect(result.ruledOutCauses).not.toContain('capacity');
  });

  it('fails where the pending bytes do not decide it', async () => {
    const [full, fragmented] = await judge(
      tracedFacts({ allocated: exact(76.5 * GIB), pending: exact(0.5 * GIB) }),
      tracedFacts({ ...FRAGMENTED, pending: exact(GIB), allocated: exact(59 * GIB) }),
    );
    expect([full.cause, fragmented.cause]).toEqual(['capacity', 'fragmentation']);
  });

  it('holds where a block that fits came free in the last wait, which torch does not search after', async () => {
    const free = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 6 * GIB, count: 3 } });
    const small = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 3 * GIB, count: 9 } });
    const [result, tooSmall, nothing] = await judge(
      tracedFacts({ ...FRAGMENTED, free, freedByWait: exact(5 * GIB) }),
      tracedFacts({ ...FRAGMENTED, free: small, freedByWait: exact(5 * GIB) }),
      tracedFacts({ ...FRAGMENTED, free }),
    );
    expect(result).toMatchObject({ cause: 'synchronisation' });
    expect(result.evidence[0]!.text).toMatch(/^5\.00 GiB came free only while .* a block of 6\.00 GiB/);
    // Too small, or nothing waited for: something else.
    expect([tooSmall.cause, nothing.cause]).toEqual(['fragmentation', null]);
  });

  it('comes after external pressure', async () => {
    const [result] = await judge(tracedFacts({ ...PRESSED, allocated: exact(32 * GIB), pending: exact(5 * GIB) }));
    expect(result.cause).toBe('external_pressure');
  });
});

describe.concurrent('graph pools', () => {
  const POOLS: Partial<OomFacts> = {
    allocated: exact(70 * GIB),
    privatePools: exact(12 * GIB),
    privatePoolFree: exact(8 * GIB),
    free: freeSpaceOf({ privatePool: { bytes: 8 * GIB, largestBytes: 8 * GIB, count: 1 } }),
  };

  it('hold where their free memory would have been enough, and come before capacity', async () => {
    const [result] = await judge(tracedFacts(POOLS));
    expect(result).toMatchObject({ cause: 'graph_pools' });
    expect(result.holds!.confidence).toBe('high');
  });

  it('hold from a message that prints them, with less confidence', async () => {
    const [result] = await judge(messageFacts({ allocated: printed(70 * GIB), privatePoolFree: printed(8 * GIB) }));
    expect(result).toMatchObject({ cause: 'graph_pools' });
    expect(result.holds!.confidence).toBe('medium');
  });

  it('fail where they are full, or do not decide it', async () => {
    const [full, little] = await judge(
      tracedFacts({ ...POOLS, allocated: exact(77 * GIB), privatePoolFree: exact(0) }),
      tracedFacts({ ...POOLS, allocated: exact(76.5 * GIB), privatePoolFree: exact(0.5 * GIB) }),
    );
    expect(full.ruledOutCauses).toContain('graph_pools');
    expect(little).toMatchObject({ cause: 'capacity' });
  });
});

describe.concurrent('no verdict', () => {
  it('is the answer to a line without figures, with what would settle it', async () => {
    const facts = messageFacts({
      request: null,
      requestAtLeastBytes: 0,
      segmentBytes: null,
      reserved: null,
      allocated: null,
      deviceFree: null,
      total: null,
    });
    const [result] = await judge(facts);
    expect(result.cause).toBeNull();
    expect(result.judged).toMatchObject({ cause: 'undecided', confidence: 'low', basis: 'none' });
    expect(result.ruled_out).toEqual([]);
    expect(result.missing.length).toBe(CAUSE_ORDER.length);
    expect(result.missing.every((text) => text.includes('needs'))).toBe(true);
  });

  it('never comes with numbers that are not numbers', async () => {
    // One question for all of them: DuckDB takes longer to plan it than to run it.
    const batch = fc.array(anyFacts, { minLength: 500, maxLength: 500, size: 'max' });
    await fc.assert(
      fc.asyncProperty(batch, async (all) => {
        for (const [i, result] of (await judge(...all)).entries()) {
          const texts = [
            result.holds?.summary ?? '',
            ...result.missing,
            ...result.ruled_out.map(({ why }) => why),
            ...result.evidence.map(({ text }) => text),
          ];
          for (const text of texts) expect(text, JSON.stringify(all[i])).not.toMatch(/NaN|undefined|null|Infinity/);
        }
      }),
      // A counterexample is one of many facts, and is printed with its text.
      { numRuns: 1, endOnFailure: true },
    );
  });
});
