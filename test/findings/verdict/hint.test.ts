/** PyTorch's own advice, held against figures and configuration. */
import { describe, expect, it } from 'vitest';
import { stepsOf } from '../../../src/derive/verdict/describe-answers.js';
import { allowedSteps, judgeHint as findHint } from '../../../src/derive/verdict/hint.js';
import type { HintResult } from '../../../src/model/results/common.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import { stepText } from '../../../src/report/verdict/step-words.js';
import { wordHint } from '../../../src/report/verdict/word-verdict.js';
import { exact, messageFacts, tracedFacts } from './facts.js';
import type { OomFacts } from './hand-facts.js';
import { readOf } from './hand-rows.js';

type Question = Parameters<typeof findHint>;

function judgeHint(
  facts: OomFacts,
  ...question: Question extends [unknown, ...infer More] ? More : never
): HintResult | null {
  const hint = findHint(readOf(facts), ...question);
  return hint === null ? null : wordHint(hint);
}

const AWAY = {
  expandableSegments: false,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  source: { path: 'snapshot', entry: 7 },
};

describe('the hint', () => {
  it('does not apply where it was followed already', () => {
    const facts = tracedFacts({ allocator: { ...AWAY, expandableSegments: true } });
    for (const cause of ['capacity', 'fragmentation', 'external_pressure'] as const)
      expect(judgeHint(facts, { cause }, null)).toMatchObject({
        verdict: 'already_on',
        source: 'snapshot entry 7',
      });
  });

  it('cannot explain a full device: the figures say how little is unallocated', () => {
    // 1 GiB of 78 reserved is not in use; 77 + 4 exceed 79.
    expect(judgeHint(tracedFacts(), { cause: 'capacity' }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('1.00 GiB reserved but unallocated (1.3 %) cannot serve the request'),
    });
    expect(judgeHint(messageFacts(), { cause: 'capacity' }, null)).toMatchObject({ verdict: 'cannot_explain' });
    expect(judgeHint(tracedFacts({ privatePoolFree: exact(GIB) }), { cause: 'graph_pools' }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('private pools'),
    });
  });

  it('is right where memory is fragmented, unknown where nothing tells of the setting, forbidden where the run says so', () => {
    const facts = tracedFacts({ allocated: exact(60 * GIB) });
    expect(judgeHint(facts, { cause: 'fragmentation' }, null)?.verdict).toBe('applies');
    expect(judgeHint({ ...facts, allocator: null }, { cause: 'fragmentation' }, null)?.verdict).toBe('unknown');
    // Before torch 2.2 the message has another one.
    const advice = 'try setting max_split_size_mb';
    const old = judgeHint({ ...facts, allocator: null }, { cause: 'fragmentation' }, null, advice);
    expect(old?.text).toContain('max_split_size_mb');
    expect(old?.text).not.toContain('expandable_segments:True');
    expect(judgeHint(facts, { cause: 'fragmentation', rules: [statement('refuted_by_replay')] }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('replayed with it, the run fails too'),
    });
    const constraint = { text: 'NCCL user buffers forbid it', source: 'run.yaml line 3' };
    expect(judgeHint(facts, { cause: 'fragmentation' }, constraint)).toMatchObject({
      verdict: 'forbidden',
      source: 'run.yaml line 3',
    });
  });

  it('is not judged where no caching allocator ran out or nothing is decided', () => {
    expect(judgeHint(tracedFacts(), { cause: 'host_oom' }, null)).toBeNull();
    expect(judgeHint(tracedFacts({ allocated: exact(60 * GIB) }), { cause: 'undecided' }, null)).toBeNull();
    expect(judgeHint(messageFacts({ request: null }), { cause: 'fragmentation' }, null)).toBeNull();
  });
});

describe('advice', () => {
  const constraint = { text: 'NCCL user buffers forbid it: drop one of the two', source: 'run.yaml line 3' };
  const cure = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';

  it('never names what the configuration forbids, whichever verdict gives it', () => {
    // As a replay of a capacity OOM gives it, and as a fragmentation verdict gives it next to other advice.
    const given = stepsOf([
      'expandable_first',
      { kind: 'raise_max_split', names: { or: 'expandable_segments' } },
      'resume',
    ]);
    expect(allowedSteps(given, constraint)).toMatchObject([
      { kind: 'expandable_first', status: 'forbidden', because: constraint },
      { kind: 'raise_max_split', status: 'open', names: {} },
      { kind: 'resume', status: 'open', because: null },
    ]);
    expect(allowedSteps(given, constraint).map(stepText)).toEqual([
      'expandable_segments:True would help, but NCCL user buffers forbid it: drop one of the two (run.yaml line 3)',
      'raise or drop max_split_size_mb',
      'resume from the last checkpoint',
    ]);
    expect(allowedSteps(given, null).map(stepText)).toEqual([
      `${cure} on every rank costs no throughput: try it first`,
      'raise or drop max_split_size_mb; expandable_segments:True makes it unnecessary',
      'resume from the last checkpoint',
    ]);
  });
});
