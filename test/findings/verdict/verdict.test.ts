/** Each cause on facts made for it, the order between causes, and the answers that are no verdict. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ordinaryOutsideBytes } from '../../../src/findings/verdict/causes/external-pressure.js';
import { verdictOfKind } from '../../../src/findings/verdict/causes/from-kind.js';
import { budget, EvidenceLog, type OomFacts } from '../../../src/findings/verdict/facts.js';
import { CAUSE_TESTS, type Judgement, judge } from '../../../src/findings/verdict/index.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { CAUSE_DETAILS, type Cause, INCIDENT_KINDS, isOomKind } from '../../../src/model/vocabulary.js';
import { exact, freeSpaceOf, messageFacts, printed, tracedFacts, traceOf } from './facts.js';

interface Outcome extends Judgement {
  readonly cause: Cause | null;
  readonly detail: string | null;
  readonly ruledOutCauses: readonly Cause[];
  readonly evidence: EvidenceLog['entries'];
}

function outcome(facts: OomFacts): Outcome {
  const log = new EvidenceLog();
  const judgement = judge(facts, log);
  const { holds } = judgement;
  // What holds for every answer: a detail belongs to its cause, every test has one outcome, and a verdict has its
  // evidence.
  if (holds !== null) {
    if (holds.detail !== null) expect(CAUSE_DETAILS[holds.detail]).toBe(holds.cause);
    expect(log.entries.length).toBeGreaterThan(0);
    expect(holds.summary).not.toBe('');
    expect(holds.next.length).toBeGreaterThan(0);
    expect(holds.confidence).not.toBe('proven');
  }
  expect(judgement.ruledOut.map((item) => item.cause)).not.toContain(holds?.cause);
  expect(judgement.ran + judgement.missing.length).toBe(CAUSE_TESTS.length);
  return {
    ...judgement,
    cause: holds?.cause ?? null,
    detail: holds?.detail ?? null,
    ruledOutCauses: judgement.ruledOut.map((item) => item.cause),
    evidence: log.entries,
  };
}

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

describe('capacity', () => {
  it('holds where live memory and the request exceed reserve and free device memory', () => {
    expect(outcome(tracedFacts())).toMatchObject({
      cause: 'capacity',
      detail: null,
      ruledOutCauses: ['external_pressure', 'synchronisation', 'graph_pools', 'fragmentation'],
      // Whether the device filled up step by step, one message cannot tell.
      missing: [expect.stringMatching(/^leak: needs/)],
    });
    // An untested rival that goes before it takes the last step of confidence; a trace that shows it gives it back.
    expect(outcome(tracedFacts()).holds!.confidence).toBe('medium');
    expect(outcome(tracedFacts()).combination.join(' ')).toContain('Not tested: leak.');
    expect(outcome(tracedFacts({ trace: traceOf() })).holds!.confidence).toBe('high');
    // 77 live + 4 asked − 79 = 2 GiB.
    expect(outcome(tracedFacts()).holds!.summary).toContain('2.00 GiB');
  });

  it('holds from a message alone, with less confidence', () => {
    const result = outcome(messageFacts());
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

  it('is not decided by figures whose rounding is larger than the shortfall', () => {
    const live = 75 * GIB + 4 * MIB;
    const facts = messageFacts({ allocated: printed(live), reserved: printed(78 * GIB, 0.01 * GIB) });
    expect(outcome(facts).cause).toBeNull();
    expect(outcome(facts).missing.some((text) => text.startsWith('capacity: needs exact figures'))).toBe(true);
    // Nor the other way round: figures that just fit rule nothing out.
    const fitting = outcome(messageFacts({ allocated: printed(75 * GIB), reserved: printed(78 * GIB, 0.01 * GIB) }));
    expect(fitting.cause).toBeNull();
    expect(fitting.ruledOutCauses).not.toContain('capacity');
    // The same figures known exactly decide it: short by 4 MiB (the request counts in full).
    const known = tracedFacts({
      allocated: exact(live),
      reserved: exact(78 * GIB),
      deviceFree: exact(GIB),
      free: freeSpaceOf(),
    });
    expect(outcome(known)).toMatchObject({ cause: 'capacity' });
  });

  it('knows a request larger than the device', () => {
    const facts = tracedFacts({ request: exact(500 * GIB), requestAtLeastBytes: 500 * GIB, segmentBytes: 500 * GIB });
    expect(outcome(facts)).toMatchObject({ cause: 'capacity', detail: 'impossible_request' });
    const message = messageFacts({
      request: printed(500 * GIB),
      requestAtLeastBytes: 500 * GIB - 2 * MIB,
      reserved: null,
      allocated: null,
    });
    expect(outcome(message)).toMatchObject({ cause: 'capacity', detail: 'impossible_request' });
  });

  it('knows a request larger than all this process could have, where the total is not known', () => {
    const facts = tracedFacts({ total: null, request: exact(100 * GIB), requestAtLeastBytes: 100 * GIB });
    expect(outcome(facts)).toMatchObject({ cause: 'capacity', detail: 'impossible_request' });
  });

  it('knows the limit of a memory fraction', () => {
    const facts = messageFacts({
      allowed: printed(40 * GIB),
      reserved: printed(39 * GIB),
      allocated: printed(38 * GIB),
      deviceFree: printed(39 * GIB),
      process: printed(40 * GIB),
    });
    expect(budget(facts)!.bytes).toBe(40 * GIB);
    expect(outcome(facts)).toMatchObject({ cause: 'capacity', detail: 'fraction_limit' });
  });

  it('takes no fraction for a limit that is not the narrower one', () => {
    expect(budget(messageFacts({ allowed: printed(90 * GIB) }))!.bytes).toBe(79 * GIB);
    expect(outcome(messageFacts({ allowed: printed(90 * GIB) }))).toMatchObject({ cause: 'capacity', detail: null });
  });
});

describe('fragmentation', () => {
  it('holds where the bytes are there but not in one piece', () => {
    const result = outcome(tracedFacts(FRAGMENTED));
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'split_remainder' });
    expect(result.ruledOutCauses).toContain('capacity');
    expect(result.holds!.confidence).toBe('high');
    expect(result.holds!.next.join(' ')).toContain('expandable_segments:True');
    expect(result.evidence.some(({ text }) => text.includes('9 segments'))).toBe(true);
  });

  it('never recommends what is on already', () => {
    const allocator = { expandableSegments: true, maxSplitBytes: Number.POSITIVE_INFINITY, source: 'snapshot' };
    const result = outcome(tracedFacts({ ...FRAGMENTED, allocator }));
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'page_pinning' });
    expect(result.holds!.next.join(' ')).not.toMatch(/expandable_segments:True/);
  });

  it('names the largest reason why free memory could not be used', () => {
    const hole = (bytes: number) => ({ bytes, largestBytes: bytes, count: 1 });
    const detail = (free: Parameters<typeof freeSpaceOf>[0]) =>
      outcome(tracedFacts({ ...FRAGMENTED, free: freeSpaceOf(free) })).detail;
    expect(detail({ usable: hole(GIB), otherStream: hole(16 * GIB) })).toBe('other_stream');
    expect(detail({ usable: hole(GIB), otherClass: hole(16 * GIB) })).toBe('small_large_pool');
    expect(detail({ usable: { bytes: 9 * GIB, largestBytes: GIB, count: 9 }, otherStream: hole(8 * GIB) })).toBe(
      'split_remainder',
    );
  });

  it('holds from a message alone, without saying which kind', () => {
    const facts = messageFacts({ reserved: printed(77 * GIB, 0.01 * GIB), allocated: printed(60 * GIB) });
    expect(outcome(facts)).toMatchObject({ cause: 'fragmentation', detail: null });
    expect(outcome(facts).holds!.confidence).toBe('medium');
    expect(outcome(facts).holds!.next[0]).toContain('on already');
  });

  it('is the oversize rule where a block would fit but max_split_size_mb keeps it', () => {
    const free = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 6 * GIB, count: 3 } });
    const allocator = { expandableSegments: false, maxSplitBytes: 128 * MIB, source: 'snapshot' };
    expect(outcome(tracedFacts({ ...FRAGMENTED, free, allocator }))).toMatchObject({
      cause: 'fragmentation',
      detail: 'oversize_rule',
    });
    // Without that setting nothing explains why the block was not used: no verdict, rather than a made-up one.
    const result = outcome(tracedFacts({ ...FRAGMENTED, free }));
    expect(result.cause).toBeNull();
    expect(result.ruledOutCauses).toContain('fragmentation');
  });

  it('is the oversize rule where slack inside oversize blocks is what is missing', () => {
    const allocator = { expandableSegments: false, maxSplitBytes: 128 * MIB, source: 'snapshot' };
    const result = outcome(tracedFacts({ allocator, oversizeSlack: exact(3 * GIB) }));
    expect(result).toMatchObject({ cause: 'fragmentation', detail: 'oversize_rule' });
    expect(result.ruledOutCauses).toContain('capacity');
    expect(outcome(tracedFacts({ allocator, oversizeSlack: exact(GIB) })).cause).toBe('capacity');
  });

  it('is less sure where the walk back is', () => {
    const walk = { exact: false, violations: 4, uncertainBlocks: 0, uncertainBytes: 0 };
    expect(outcome(tracedFacts({ ...FRAGMENTED, walk })).holds!.confidence).toBe('medium');
    const vague = { exact: true, violations: 0, uncertainBlocks: 3, uncertainBytes: 5 * GIB };
    expect(outcome(tracedFacts({ ...FRAGMENTED, walk: vague })).holds!.confidence).toBe('medium');
  });

  it('is not claimed from a message whose device had room for the request', () => {
    const facts = messageFacts({
      reserved: printed(40 * GIB),
      allocated: printed(38 * GIB),
      deviceFree: printed(39 * GIB),
    });
    expect(outcome(facts).cause).toBeNull();
  });
});

describe('external pressure', () => {
  it('comes before capacity: what others leave looks full', () => {
    const result = outcome(tracedFacts(PRESSED));
    expect(result).toMatchObject({ cause: 'external_pressure' });
    expect(result.ruledOutCauses).not.toContain('capacity');
  });

  it('comes before fragmentation', () => {
    const facts = tracedFacts({
      ...PRESSED,
      allocated: exact(30 * GIB),
      free: freeSpaceOf({ usable: { bytes: 8 * GIB, largestBytes: GIB, count: 20 } }),
    });
    expect(outcome(facts).cause).toBe('external_pressure');
  });

  it('distinguishes other processes from memory of this process outside PyTorch', () => {
    const otherBytes = tracedFacts({ ...PRESSED, process: printed(39 * GIB), otherProcesses: [printed(39 * GIB)] });
    expect(outcome(otherBytes)).toMatchObject({ cause: 'external_pressure', detail: 'other_process' });
    const ownValues = tracedFacts({ ...PRESSED, process: printed(78 * GIB) });
    expect(outcome(ownValues)).toMatchObject({ cause: 'external_pressure', detail: 'non_torch' });
    const unknown = tracedFacts(PRESSED);
    expect(outcome(unknown)).toMatchObject({ cause: 'external_pressure', detail: null });
    expect(outcome(unknown).holds!.confidence).toBe('medium');
  });

  it('sees the others where NVML lists only this process', () => {
    const facts = tracedFacts({ ...PRESSED, process: printed(39 * GIB) });
    expect(outcome(facts)).toMatchObject({ cause: 'external_pressure', detail: 'other_process' });
  });

  it('is not to blame where the request would not fit an empty device either', () => {
    const facts = tracedFacts({ ...PRESSED, request: exact(60 * GIB), requestAtLeastBytes: 60 * GIB });
    expect(outcome(facts)).toMatchObject({ cause: 'capacity' });
    expect(outcome(facts).ruledOutCauses).toContain('external_pressure');
  });

  it('allows for the CUDA context and NCCL of an ordinary process', () => {
    expect(ordinaryOutsideBytes(80 * GIB)).toBe(4 * GIB);
    expect(ordinaryOutsideBytes(24 * GIB)).toBe(2 * GIB);
    const facts = tracedFacts({ reserved: exact(75 * GIB), allocated: exact(74.5 * GIB), deviceFree: exact(GIB) });
    expect(outcome(facts)).toMatchObject({ cause: 'capacity' });
  });

  it('cannot be tested without the device total', () => {
    const result = outcome(tracedFacts({ total: null }));
    expect(result.cause).toBe('capacity');
    expect(result.missing).toEqual([
      expect.stringMatching(/^external pressure: .*device total/),
      expect.stringMatching(/^leak: needs/),
    ]);
  });
});

describe('synchronisation', () => {
  const PENDING: Partial<OomFacts> = { allocated: exact(72 * GIB), pending: exact(5 * GIB) };

  it('holds where freed memory waited for another stream, and comes before capacity', () => {
    const result = outcome(tracedFacts(PENDING));
    expect(result).toMatchObject({ cause: 'synchronisation' });
    expect(result.ruledOutCauses).not.toContain('capacity');
  });

  it('fails where the pending bytes do not decide it', () => {
    expect(outcome(tracedFacts({ allocated: exact(76.5 * GIB), pending: exact(0.5 * GIB) }))).toMatchObject({
      cause: 'capacity',
    });
    expect(outcome(tracedFacts({ ...FRAGMENTED, pending: exact(GIB), allocated: exact(59 * GIB) }))).toMatchObject({
      cause: 'fragmentation',
    });
  });

  it('holds where a block that fits came free in the last wait, which torch does not search after', () => {
    const free = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 6 * GIB, count: 3 } });
    const result = outcome(tracedFacts({ ...FRAGMENTED, free, freedByWait: exact(5 * GIB) }));
    expect(result).toMatchObject({ cause: 'synchronisation' });
    expect(result.evidence[0]!.text).toMatch(/^5\.00 GiB came free only while .* a block of 6\.00 GiB/);
    // Too small, or nothing waited for: something else.
    const small = freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 3 * GIB, count: 9 } });
    expect(outcome(tracedFacts({ ...FRAGMENTED, free: small, freedByWait: exact(5 * GIB) })).cause).toBe(
      'fragmentation',
    );
    expect(outcome(tracedFacts({ ...FRAGMENTED, free })).cause).toBeNull();
  });

  it('comes after external pressure', () => {
    expect(outcome(tracedFacts({ ...PRESSED, allocated: exact(32 * GIB), pending: exact(5 * GIB) })).cause).toBe(
      'external_pressure',
    );
  });
});

describe('graph pools', () => {
  const POOLS: Partial<OomFacts> = {
    allocated: exact(70 * GIB),
    privatePools: exact(12 * GIB),
    privatePoolFree: exact(8 * GIB),
    free: freeSpaceOf({ privatePool: { bytes: 8 * GIB, largestBytes: 8 * GIB, count: 1 } }),
  };

  it('hold where their free memory would have been enough, and come before capacity', () => {
    const result = outcome(tracedFacts(POOLS));
    expect(result).toMatchObject({ cause: 'graph_pools' });
    expect(result.holds!.confidence).toBe('high');
  });

  it('hold from a message that prints them, with less confidence', () => {
    const facts = messageFacts({ allocated: printed(70 * GIB), privatePoolFree: printed(8 * GIB) });
    expect(outcome(facts)).toMatchObject({ cause: 'graph_pools' });
    expect(outcome(facts).holds!.confidence).toBe('medium');
  });

  it('fail where they are full, or do not decide it', () => {
    expect(
      outcome(tracedFacts({ ...POOLS, allocated: exact(77 * GIB), privatePoolFree: exact(0) })).ruledOutCauses,
    ).toContain('graph_pools');
    expect(
      outcome(tracedFacts({ ...POOLS, allocated: exact(76.5 * GIB), privatePoolFree: exact(0.5 * GIB) })),
    ).toMatchObject({ cause: 'capacity' });
  });
});

describe('no verdict', () => {
  it('is the answer to a line without figures, with what would settle it', () => {
    const facts = messageFacts({
      request: null,
      requestAtLeastBytes: 0,
      segmentBytes: null,
      reserved: null,
      allocated: null,
      deviceFree: null,
      total: null,
    });
    const result = outcome(facts);
    expect(result.cause).toBeNull();
    expect(result.ruledOut).toEqual([]);
    expect(result.missing.length).toBe(CAUSE_TESTS.length);
    expect(result.missing.every((text) => text.includes('needs'))).toBe(true);
  });

  it('never comes with numbers that are not numbers', () => {
    const figure = fc.option(
      fc
        .tuple(fc.nat(2 ** 31 - 1), fc.constantFrom(0, 0.005 * GIB))
        .map(([n, precision]) => ({ bytes: n * 64, precisionBytes: precision, source: 's' })),
      { nil: null },
    );
    const facts = fc.record({
      request: figure,
      reserved: figure,
      allocated: figure,
      pending: figure,
      deviceFree: figure,
      total: figure,
      process: figure,
      allowed: figure,
      privatePoolFree: figure,
    });
    fc.assert(
      fc.property(facts, fc.boolean(), (changes, hasFree) => {
        const base = hasFree ? tracedFacts() : messageFacts();
        const result = outcome({ ...base, ...changes, requestAtLeastBytes: changes.request?.bytes ?? 0 });
        const texts = [
          result.holds?.summary ?? '',
          ...result.missing,
          ...result.ruledOut.map(({ why }) => why),
          ...result.evidence.map(({ text }) => text),
        ];
        for (const text of texts) expect(text).not.toMatch(/NaN|undefined|null|Infinity/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('verdicts from the kind of a line alone', () => {
  it('exist for every kind that is no device OOM, and say so', () => {
    for (const kind of INCIDENT_KINDS) {
      const verdict = verdictOfKind(kind);
      if (!isOomKind(kind)) expect(verdict?.cause, kind).toBe('not_oom');
      if (verdict?.detail) expect(CAUSE_DETAILS[verdict.detail]).toBe(verdict.cause);
    }
  });

  it('leave lines with figures to their figures', () => {
    for (const kind of ['cuda_oom', 'hip_oom', 'xpu_oom', 'npu_oom', 'cuda_oom_graph_capture'] as const)
      expect(verdictOfKind(kind)).toBeUndefined();
  });

  it('decide nothing from bare driver and library lines', () => {
    for (const kind of ['cuda_oom_driver', 'cublas', 'cudnn', 'nvml_assert_in_oom_path'] as const)
      expect(verdictOfKind(kind)).toMatchObject({ cause: 'undecided', missing: [expect.any(String)] });
  });

  it('are host OOMs for host, shared memory and killed workers', () => {
    expect(verdictOfKind('host_oom')).toMatchObject({ cause: 'host_oom', detail: null });
    expect(verdictOfKind('shm_oom')).toMatchObject({ cause: 'host_oom', detail: 'shm' });
    expect(verdictOfKind('nccl_oom')).toMatchObject({ cause: 'external_pressure', detail: 'nccl' });
    expect(verdictOfKind('kv_cache_budget')).toMatchObject({ cause: 'capacity', detail: 'kv_cache_budget' });
  });
});
