/** The verdict on a change, case by case. */
import { describe, expect, it } from 'vitest';
import { creditOf } from '../../../src/findings/verify/credit.js';
import { type VerdictInput, verdictOf } from '../../../src/findings/verify/verdict.js';
import type { AdviceFix } from '../../../src/model/results/advise.js';
import type { EffectOutcome, VerifyChange, VerifyFigure, VerifyRun } from '../../../src/model/results/verify.js';

const NONE: VerifyFigure = { before: null, after: null, delta: null, percent: null, noise: null, of: '' };
const MEASURED = {
  peak_allocated: NONE,
  first_peak_allocated: NONE,
  peak_reserved: NONE,
  cached: NONE,
  step_ms: NONE,
  tflops: NONE,
};
const OOM: VerifyRun = {
  run: 'before',
  ending: 'oom',
  cause: 'capacity',
  detail: null,
  summary: 'full',
  rank: 0,
  stage: 0,
  iteration: 3,
  phase: 'backward',
  first_iteration: 1,
  last_iteration: 3,
  steady_steps: 2,
};
const RAN: VerifyRun = {
  ...OOM,
  run: 'after',
  ending: 'completed',
  cause: null,
  rank: null,
  iteration: null,
  phase: null,
  last_iteration: 20,
  steady_steps: 19,
};

function change(key: string, outcome: EffectOutcome, fix: string | null = null): VerifyChange {
  return {
    key,
    kind: 'setting',
    from: 'a',
    from_known: true,
    to: 'b',
    fix,
    fix_complete: fix !== null,
    non_fix: null,
    group: fix ?? key,
    credited: false,
    effect: { outcome, text: '', source: '', ranks: { active: [], inactive: [] }, evidence: [], needs: null },
  };
}

function verdict(before: VerifyRun, after: VerifyRun, more: Partial<VerdictInput> = {}): string {
  return verdictOf({
    before,
    after,
    changes: [change('micro_batch_size', 'active')],
    measured: MEASURED,
    unfair: [],
    sameRun: false,
    sameLayout: true,
    sameWork: true,
    phases: { before: -1, after: -1 },
    expectedCost: null,
    ...more,
  }).verdict;
}

describe('the verdict', () => {
  it('asks for steady iterations past the place of the failure', () => {
    expect(verdict(OOM, RAN)).toBe('fixed');
    expect(verdict(OOM, { ...RAN, ending: 'stopped' })).toBe('fixed');
    expect(verdict(OOM, { ...RAN, steady_steps: 2 })).toBe('progress');
    expect(verdict(OOM, { ...RAN, last_iteration: 3 })).toBe('undecided');
    expect(verdict({ ...OOM, iteration: null }, { ...RAN, last_iteration: null })).toBe('undecided');
  });

  it('does not put a cure down to what is not in force', () => {
    expect(verdict(OOM, RAN, { changes: [change('micro_batch_size', 'inactive')] })).toBe('not_active');
    expect(verdict(OOM, RAN, { changes: [] })).toBe('undecided');
    expect(verdict(OOM, RAN, { unfair: ['hidden_size 1 → 2'] })).toBe('undecided');
  });

  it('takes an OOM that moved for progress', () => {
    const again: VerifyRun = { ...OOM, run: 'after' };
    expect(verdict(OOM, again)).toBe('no_effect');
    expect(verdict(OOM, { ...again, rank: 3 })).toBe('progress');
    expect(verdict(OOM, { ...again, rank: 3, stage: 0 }, { sameLayout: false })).toBe('no_effect');
    expect(verdict(OOM, { ...again, rank: 3, stage: 1 }, { sameLayout: false })).toBe('progress');
    expect(verdict(OOM, { ...again, iteration: 9 })).toBe('progress');
    expect(verdict(OOM, { ...again, phase: 'optimizer step' })).toBe('progress');
    expect(verdict(OOM, { ...again, iteration: 1 })).toBe('worse');
    const first = { ...OOM, iteration: null };
    expect(verdict(first, { ...first, run: 'after' }, { phases: { before: 1, after: 5 } })).toBe('progress');
    expect(verdict(first, { ...first, run: 'after' }, { phases: { before: 5, after: 1 } })).toBe('worse');
    // What one run does not announce is no progress of the other.
    expect(verdict(first, { ...first, run: 'after' }, { phases: { before: -1, after: 5 } })).toBe('no_effect');
  });

  it('judges runs without a failure by what they need', () => {
    const ok: VerifyRun = { ...RAN, run: 'before' };
    const peak = (delta: number) => ({
      measured: { ...MEASURED, peak_allocated: { ...NONE, before: 100, after: 100 + delta, delta, percent: delta } },
    });
    expect(verdict(ok, RAN, peak(-10))).toBe('progress');
    expect(verdict(ok, RAN, peak(10))).toBe('worse');
    expect(verdict(ok, RAN, peak(1))).toBe('no_effect');
    expect(verdict(ok, { ...OOM, run: 'after' })).toBe('worse');
    expect(verdict(ok, { ...RAN, ending: 'failed' })).toBe('worse');
    expect(verdict(OOM, { ...RAN, ending: 'failed' })).toBe('undecided');
  });
});

describe('credit', () => {
  const fixes = [
    { id: 'enough', closes: true },
    { id: 'too', closes: true },
    { id: 'small', closes: false },
  ] as unknown as AdviceFix[];
  const credited = (...changes: VerifyChange[]): string[] =>
    creditOf(changes, fixes).flatMap((one) => (one.credited ? [one.key] : []));

  it('goes to one change, or to the only one that is enough by itself', () => {
    expect(credited(change('a', 'active'))).toEqual(['a']);
    expect(credited(change('a', 'inactive'))).toEqual([]);
    expect(credited(change('a', 'active'), change('b', 'active', 'enough'))).toEqual(['b']);
    expect(credited(change('a', 'active', 'too'), change('b', 'active', 'enough'))).toEqual([]);
    expect(credited(change('a', 'active'), change('b', 'inactive', 'enough'))).toEqual([]);
    expect(credited(change('a', 'active', 'small'), change('b', 'active'))).toEqual([]);
  });
});
