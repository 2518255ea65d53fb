/** How answers become one verdict: the order, what lowers the confidence, and the captures that are asked for. */

import { describe, expect, it } from 'vitest';
import { withContradiction } from '../../../src/derive/verdict/arrange-verdicts.js';
import { capturesFor, type Judged, readJudged } from '../../../src/derive/verdict/combine.js';
import { BLANK } from '../../../src/derive/verdict/judge-message.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import type { Verdict } from '../../../src/model/verdict.js';
import { CAUSE_DETAILS } from '../../../src/model/vocabulary.js';
import { captureWords, combinationRules, wordVerdict } from '../../../src/report/verdict/word-verdict.js';
import { exact, messageFacts, tracedFacts, traceOf } from './facts.js';
import type { KeepingSite, OomFacts } from './hand-facts.js';
import { writeByHand } from './hand-rows.js';
import { CAUSE_ORDER, judging, type Outcome } from './judging.js';

const { judge, scratch } = judging();

describe.concurrent('the combination', () => {
  it('gives every test with its numbers, in order', async () => {
    const [{ tests }] = await judge(tracedFacts({ trace: traceOf() }));
    expect(tests.map(({ cause }) => cause)).toEqual(CAUSE_ORDER);
    expect(tests.find(({ cause }) => cause === 'capacity')).toMatchObject({
      outcome: 'holds',
      numbers: { live_bytes: 77 * GIB, request_bytes: 4 * GIB, limit_bytes: 79 * GIB, short_bytes: 2 * GIB },
      capture: null,
    });
    for (const { numbers } of tests)
      for (const value of Object.values(numbers)) expect(Number.isFinite(value)).toBe(true);
  });

  it('names one capture for each test that cannot run, with the causes it settles', async () => {
    const [{ tests, captures }] = await judge(messageFacts());
    const untested = tests.filter(({ outcome }) => outcome === 'not_testable');
    expect(untested.map(({ cause }) => cause)).toEqual(['synchronisation', 'graph_pools', 'leak']);
    for (const { cause, capture } of untested)
      expect(captures.find(({ id }) => id === capture)?.settles).toContain(cause);
    expect(captures.find(({ id }) => id === 'snapshot_at_oom')?.settles).toEqual(['synchronisation', 'graph_pools']);
  });

  it('is printed with the rules that applied', async () => {
    const [full, unknown] = await judge(
      tracedFacts({ trace: traceOf() }),
      tracedFacts({ trace: traceOf(), total: null }),
    );
    const rules = combinationRules().map(({ text }) => text);
    for (const text of full.combination) expect(rules).toContain(text);
    expect(unknown.holds?.confidence).toBe('medium');
    expect(unknown.combination.join(' ')).toContain('Not tested: external pressure.');
    expect(new Set(combinationRules().map(({ id }) => id)).size).toBe(combinationRules().length);
  });

  it('is proven where every byte is accounted for, and the message has the device total', async () => {
    // 78 GiB reserved, 1 GiB free, 1 GiB of others, of a device of 80.
    const facts = tracedFacts({ trace: traceOf(), process: exact(79 * GIB) });
    const traced = { facts, kind: 'cuda_oom' as const, text: 'CUDA out of memory.' };
    const [proven, ...others]: readonly Outcome[] = await judge(
      traced,
      facts,
      { ...traced, facts: { ...facts, total: null } },
      { ...traced, facts: { ...facts, walk: { ...facts.walk!, uncertainBytes: 1 } } },
      { ...traced, facts: { ...facts, process: exact(81 * GIB) } },
    );
    expect(proven!.holds).toMatchObject({ cause: 'capacity', confidence: 'proven' });
    expect(proven!.combination.join(' ')).toContain('Proven needs a sure verdict');
    for (const { cause, judged, combination } of others) {
      expect(cause).toBe('capacity');
      expect(['high', 'medium']).toContain(judged.confidence);
      expect(combination.join(' ')).not.toContain('Proven needs');
    }
  });
});

describe('verdicts of one run', () => {
  const verdict = (rank: number, cause: Verdict['cause']): Verdict => ({
    ...{ ...BLANK, rank, device: 0, cause, detail: null, confidence: 'medium' },
    ...{ summary: statement('silent'), evidence: [], steps: [] },
  });
  const kept: KeepingSite = { site: 'a.py:1', bytes: 15 * GIB, blocks: 5, steps: 4, bytesPerStep: 3 * GIB };
  async function judgeTogether(...all: readonly Partial<OomFacts>[]): Promise<Judged[]> {
    await writeByHand(scratch(), [all.map((changes) => ({ facts: tracedFacts(changes) }))]);
    return readJudged(scratch(), 0);
  }

  it('are less sure where another rank shows what they could not test', async () => {
    const judged = await judgeTogether(
      { rank: 3, trace: traceOf({ keeping: [kept] }) },
      { rank: 0 },
      { rank: 1, trace: traceOf() },
    );
    expect(judged).toMatchObject([
      { cause: 'leak', confidence: 'high', contradicted_by: null },
      // One step for the untested rival, one for the other rank.
      { cause: 'capacity', confidence: 'low', untested_rivals: ['leak'], contradicted_by: 0 },
      { cause: 'capacity', confidence: 'high', contradicted_by: null },
    ]);
    const [seen, untested, tested] = [verdict(3, 'leak'), verdict(0, 'capacity'), verdict(1, 'capacity')];
    const contradictions = [null, { rank: 3, cause: 'leak' }, null] as const;
    const [first, second, third] = [seen, untested, tested].map((one, i) =>
      withContradiction(one, { contradiction: contradictions[i]! }),
    );
    expect(first).toBe(seen);
    expect(wordVerdict(second!).combination.join(' ')).toContain('The evidence of rank 3 shows leak');
    expect(third).toBe(tested);
  });

  it('are not held against a verdict that is a guess, or on the same cause', async () => {
    const walk = { exact: false, violations: 4, uncertainBlocks: 0, uncertainBytes: 0 };
    const seen = { rank: 3, trace: traceOf({ keeping: [kept] }), walk };
    const judged = await judgeTogether(seen, { rank: 0 }, { rank: 1 });
    expect(judged).toMatchObject([
      { cause: 'leak', confidence: 'low', contradicted_by: null },
      { cause: 'capacity', confidence: 'medium', contradicted_by: null },
      { cause: 'capacity', confidence: 'medium', contradicted_by: null },
    ]);
  });
});

describe('captures', () => {
  it('have lines for every framework', () => {
    for (const [id, { title, lines }] of Object.entries(captureWords())) {
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

describe.concurrent('host memory', () => {
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
  ])('%s', async (text, detail) => {
    const [{ judged }] = await judge({ facts: messageFacts(), kind: 'host_oom', text });
    // Of a worker the sender of the signal is unknown.
    const confidence = detail === 'dataloader' ? 'low' : 'high';
    expect(judged).toMatchObject({ cause: 'host_oom', detail, basis: 'kind', confidence, tests: [] });
    if (detail !== null) expect(CAUSE_DETAILS[detail as keyof typeof CAUSE_DETAILS]).toBe('host_oom');
  });
});
