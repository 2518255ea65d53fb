/** What a replayed counterfactual does to a verdict: prove it, doubt it, change its advice, or nothing. */
import { describe, expect, it } from 'vitest';
import { applyCounterfactual } from '../../../src/derive/verdict/apply-counterfactual.js';
import { stepsOf } from '../../../src/derive/verdict/describe-answers.js';
import { BLANK } from '../../../src/derive/verdict/judge-message.js';
import type { VerdictResult } from '../../../src/model/results/common.js';
import type { WhatIfSetting } from '../../../src/model/results/replay.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import type { Counterfactual, Verdict } from '../../../src/model/verdict.js';
import { stepText } from '../../../src/report/verdict/step-words.js';
import { wordVerdict } from '../../../src/report/verdict/word-verdict.js';
import { exact, freeSpaceOf, tracedFacts, traceOf } from './facts.js';
import type { OomFacts } from './hand-facts.js';
import { judging } from './judging.js';

const { judge } = judging();

const [CURE, SECOND] = stepsOf(['expandable_segments', 'same_stream']).map(stepText);

function verdict(changes: Partial<Verdict>): Verdict {
  return {
    ...{ ...BLANK, rank: 0, device: 0, cause: 'fragmentation', detail: null, confidence: 'high' },
    summary: statement('silent'),
    evidence: [{ id: 'E1', ...statement('dumped_later'), place: { path: 'a', entry: 9 } }],
    steps: stepsOf(['expandable_segments', 'same_stream']),
    ...changes,
  };
}

function row(changes: Partial<WhatIfSetting>): WhatIfSetting {
  return {
    ...{ setting: 'expandable_segments:True', capacity_bytes: 75 * GIB, outcome: 'fits', bound: 'exact' },
    ...{ peak_reserved_bytes: 62 * GIB, peak_reserved_least_bytes: 62 * GIB, peak_reserved_most_bytes: 62 * GIB },
    ...{ peak_active_bytes: 60 * GIB, headroom_bytes: 13 * GIB, unused_at_peak_bytes: 2 * GIB, driver_calls: 100 },
    ...{ retries: 0, short_bytes: null, oom_seq: null, robust: true, note: null },
    ...changes,
  };
}

function found(other: readonly WhatIfSetting[], changes: Partial<Counterfactual['replay']> = {}): Counterfactual {
  return {
    replay: {
      ...{ status: 'exact', reason: '', address_matches: 500, address_total: 500, repeats_oom: true },
      ...{ layout_short_bytes: GIB, least_capacity_bytes: 76 * GIB },
      ...changes,
    },
    rows: [row({ setting: 'recorded', outcome: 'same_oom', short_bytes: GIB, oom_seq: 9 }), ...other],
  };
}

const apply = (verdict: Verdict, counter: Counterfactual): VerdictResult =>
  wordVerdict(applyCounterfactual(verdict, counter, { path: 'a', entry: 9 }));
const fails = row({ outcome: 'earlier_oom', short_bytes: GIB, oom_seq: 4 });

describe('fragmentation', () => {
  it('keeps the cure, with what the replay reached with it', () => {
    const changed = apply(verdict({}), found([row({})]));
    expect(changed.next[0]).toBe(`${CURE}; replayed: peak reserved 62.00 GiB, headroom 13.00 GiB`);
    expect(changed.evidence.map(({ id, about }) => `${id} ${about}`)).toEqual([
      'E1 undefined',
      'E2 replay',
      'E3 replay',
    ]);
    expect(changed.what_if).toHaveLength(2);
  });

  it('loses the advice that the replay refutes', () => {
    const changed = apply(verdict({}), found([fails]));
    expect(changed.next.join(' ')).not.toContain(CURE);
    expect(changed.next[0]).toContain('it fails earlier, 1.00 GiB short');
  });

  it('keeps its advice, unproven, where the bounds differ', () => {
    const bounds = [row({ bound: 'optimistic', robust: false }), { ...fails, bound: 'pessimistic' as const }];
    const changed = apply(verdict({}), found(bounds));
    expect(changed.next).toEqual([CURE, SECOND]);
    expect(changed.evidence.at(-1)!.text).toContain('depends on the start');
  });
});

describe('capacity', () => {
  const full = verdict({ cause: 'capacity', steps: stepsOf(['lower_live']) });

  it('is doubted where another setting serves every request', () => {
    const changed = apply(full, found([row({})]));
    expect(changed.combination.at(-1)).toContain('one step less sure');
    expect(changed.next[0]).toContain('replayed with it, this OOM does not occur');
  });

  it('stands where no layout makes room', () => {
    const changed = apply(full, found([fails]));
    expect(changed.next).toEqual(wordVerdict(full).next);
    expect(changed.combination.at(-1)).toContain('no layout would have made room');
  });
});

it('draws nothing from a replay that is refused or does not repeat the OOM', () => {
  const refused = apply(verdict({}), { ...found([], { status: 'refused', repeats_oom: false }), rows: [] });
  expect(refused).toMatchObject({ next: [CURE, SECOND], what_if: [] });
  const elsewhere = apply(verdict({}), found([fails], { repeats_oom: false }));
  expect(elsewhere.next[0]).toBe(CURE);
  expect(elsewhere.combination.at(-1)).toContain('does not repeat the OOM');
});

describe.concurrent('the confidence', () => {
  const IN_PIECES = tracedFacts({
    reserved: exact(77 * GIB),
    allocated: exact(60 * GIB),
    free: freeSpaceOf({ usable: { bytes: 17 * GIB, largestBytes: 3 * GIB, count: 9 } }),
  });
  // Untested: external pressure.
  const UNSURE = { ...IN_PIECES, total: null };
  const FULL = tracedFacts({ trace: traceOf() });
  const OFF = { setting: 'expandable_segments:False' };

  it.each<[string, OomFacts, Counterfactual, string]>([
    ['is proven where the replay is exact and serves every request', IN_PIECES, found([row({})]), 'proven'],
    ['needs an exact replay', IN_PIECES, found([row({})], { status: 'approximate' }), 'high'],
    ['is no surer than its own evidence', UNSURE, found([row({})]), 'medium'],
    ['stands where the setting is refuted', IN_PIECES, found([fails]), 'high'],
    ['stands where the bounds differ', IN_PIECES, found([row({ robust: false }), fails]), 'high'],
    ['stands where a margin is all that serves it', IN_PIECES, found([row({ robust: false })]), 'high'],
    ['stands where expandable segments were on', IN_PIECES, found([row(OFF)]), 'high'],
    ['stands where nothing else was replayed', IN_PIECES, found([]), 'high'],
    ['of a full device falls where another layout serves every request', FULL, found([row({})]), 'medium'],
    ['of a full device stands where no layout does', FULL, found([fails]), 'high'],
    ['of a full device stands where only the settings were replayed off', FULL, found([row(OFF)]), 'high'],
    ['needs a replay that repeats the OOM', IN_PIECES, found([row({})], { repeats_oom: false }), 'high'],
    ['ignores a replay that is refused', FULL, found([row({})], { status: 'refused' }), 'high'],
  ])('%s', async (_, facts, counterfactual, expected) => {
    const [{ judged }] = await judge({ facts, counterfactual });
    expect(judged.confidence).toBe(expected);
    expect(judged.replay_status).toBe(counterfactual.replay.status);
  });
});
