/** How answers become one verdict: the order, what lowers the confidence, and the captures that are asked for. */

import { describe, expect, it } from 'vitest';
import { BLANK } from '../../../src/findings/verdict/blank-verdict.js';
import { CAPTURE_IDS, CAPTURES, capturesFor } from '../../../src/findings/verdict/captures.js';
import { verdictOfKind } from '../../../src/findings/verdict/causes/from-kind.js';
import { EvidenceLog } from '../../../src/findings/verdict/facts.js';
import { CAUSE_TESTS, COMBINATION_RULES, judge } from '../../../src/findings/verdict/index.js';
import { relateVerdicts } from '../../../src/findings/verdict/relate.js';
import type { Verdict } from '../../../src/model/results/common.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { CAUSE_DETAILS } from '../../../src/model/vocabulary.js';
import { exact, freeSpaceOf, messageFacts, tracedFacts, traceOf } from './facts.js';

describe('the combination', () => {
  it('gives every test with its numbers, in order', () => {
    const { tests } = judge(tracedFacts({ trace: traceOf() }), new EvidenceLog());
    expect(tests.map(({ cause }) => cause)).toEqual(CAUSE_TESTS.map(({ cause }) => cause));
    expect(tests.find(({ cause }) => cause === 'capacity')).toMatchObject({
      outcome: 'holds',
      numbers: { live_bytes: 77 * GIB, request_bytes: 4 * GIB, limit_bytes: 79 * GIB, short_bytes: 2 * GIB },
      capture: null,
    });
    for (const { numbers } of tests)
      for (const value of Object.values(numbers)) expect(Number.isFinite(value)).toBe(true);
  });

  it('names one capture for each test that cannot run, with the causes it settles', () => {
    const { tests, captures } = judge(messageFacts(), new EvidenceLog());
    const untested = tests.filter(({ outcome }) => outcome === 'not_testable');
    expect(untested.map(({ cause }) => cause)).toEqual(['synchronisation', 'graph_pools', 'leak']);
    for (const { cause, capture } of untested)
      expect(captures.find(({ id }) => id === capture)?.settles).toContain(cause);
    expect(captures.find(({ id }) => id === 'snapshot_at_oom')?.settles).toEqual(['synchronisation', 'graph_pools']);
  });

  it('is printed with the rules that applied', () => {
    const full = judge(tracedFacts({ trace: traceOf() }), new EvidenceLog());
    const rules = COMBINATION_RULES.map(({ text }) => text);
    for (const text of full.combination) expect(rules).toContain(text);
    const unknown = judge(tracedFacts({ trace: traceOf(), total: null }), new EvidenceLog());
    expect(unknown.holds?.confidence).toBe('medium');
    expect(unknown.combination.join(' ')).toContain('Not tested: external pressure.');
    expect(new Set(COMBINATION_RULES.map(({ id }) => id)).size).toBe(COMBINATION_RULES.length);
  });

  it('is less sure of pieces that add up to hardly more than the request', () => {
    const near = tracedFacts({
      allocated: exact(75 * GIB - 100 * MIB),
      free: freeSpaceOf({ usable: { bytes: 3 * GIB, largestBytes: GIB, count: 9 } }),
    });
    const judgement = judge(near, new EvidenceLog());
    expect(judgement.holds).toMatchObject({ cause: 'fragmentation', confidence: 'medium' });
    expect(judgement.combination.join(' ')).toContain('as good as full');
    const clear = judge({ ...near, allocated: exact(70 * GIB) }, new EvidenceLog());
    expect(clear.holds).toMatchObject({ cause: 'fragmentation', confidence: 'high' });
  });

  it('is less sure of pieces where a memory fraction kept the device from serving the request', () => {
    const facts = tracedFacts({
      reserved: exact(39 * GIB),
      allocated: exact(30 * GIB),
      deviceFree: exact(38 * GIB),
      free: freeSpaceOf({ usable: { bytes: 9 * GIB, largestBytes: GIB, count: 30 } }),
      allowed: exact(40 * GIB),
    });
    const judgement = judge(facts, new EvidenceLog());
    expect(judgement.holds).toMatchObject({ cause: 'fragmentation', confidence: 'medium' });
    expect(judgement.combination.join(' ')).toContain('without that limit the request is served');
  });

  it('blames pools that hold nearly all that is free, even where the small rest just so adds up', () => {
    const pools = tracedFacts({
      allocated: exact(50 * GIB),
      privatePoolFree: exact(24 * GIB),
      free: freeSpaceOf({ usable: { bytes: 4 * GIB, largestBytes: GIB, count: 9 } }),
    });
    const judgement = judge(pools, new EvidenceLog());
    expect(judgement.holds).toMatchObject({ cause: 'graph_pools', confidence: 'medium' });
    const evenly = { ...pools, allocated: exact(40 * GIB), privatePoolFree: exact(14 * GIB) };
    expect(judge(evenly, new EvidenceLog()).holds?.cause).toBe('fragmentation');
  });
});

describe('verdicts of one run', () => {
  const verdict = (rank: number, cause: Verdict['cause'], tests: Verdict['tests']): Verdict => ({
    rank,
    device: 0,
    cause,
    detail: null,
    confidence: 'medium',
    summary: '',
    evidence: [],
    ruled_out: [],
    missing: [],
    ...BLANK,
    tests,
    next: [],
    request: null,
  });
  const test = (cause: Verdict['cause'], outcome: 'holds' | 'fails' | 'not_testable') => ({
    cause,
    outcome,
    text: '',
    numbers: {},
    capture: null,
  });

  it('are less sure where another rank shows what they could not test', () => {
    const seen = verdict(3, 'leak', [test('leak', 'holds')]);
    const untested = verdict(0, 'capacity', [test('leak', 'not_testable'), test('capacity', 'holds')]);
    const tested = verdict(1, 'capacity', [test('leak', 'fails'), test('capacity', 'holds')]);
    const [first, second, third] = relateVerdicts([seen, untested, tested]);
    expect(first).toBe(seen);
    expect(second).toMatchObject({ cause: 'capacity', confidence: 'low' });
    expect(second!.combination.join(' ')).toContain('rank 3');
    expect(third).toBe(tested);
  });
});

describe('captures', () => {
  it('have lines for every framework', () => {
    for (const id of CAPTURE_IDS) {
      const { title, lines } = CAPTURES[id];
      expect(title).not.toBe('');
      for (const [framework, text] of Object.entries(lines))
        expect(text.length, `${id} ${framework}`).toBeGreaterThan(0);
      expect(Object.keys(lines).sort()).toEqual(['megatron_bridge', 'megatron_lm', 'nemo', 'pytorch']);
    }
  });

  it('come once each', () => {
    const expected = [
      { cause: 'leak', capture: 'snapshot_at_oom' },
      { cause: 'graph_pools', capture: 'snapshot_at_oom' },
    ] as const;
    expect(capturesFor(expected)).toMatchObject([{ id: 'snapshot_at_oom', settles: ['leak', 'graph_pools'] }]);
  });
});

describe('host memory', () => {
  it.each([
    [
      'slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.',
      'cgroup',
    ],
    ['Memory cgroup out of memory: Killed process 8123 (python3) total-vm:81234000kB', 'cgroup'],
    ['slurmstepd: error: StepId=77.0 exceeded memory limit (53687 > 51200), being killed', 'cgroup'],
    ['TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.', 'cgroup'],
    ['RuntimeError: DataLoader worker (pid 811) is killed by signal: Killed.', 'dataloader'],
    ['kernel: Out of memory: Killed process (python3), UID 1001', null],
    ["RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes.", null],
  ])('%s', (text, detail) => {
    expect(verdictOfKind('host_oom', text)).toMatchObject({ cause: 'host_oom', detail });
    if (detail !== null) expect(CAUSE_DETAILS[detail as keyof typeof CAUSE_DETAILS]).toBe('host_oom');
  });
});
