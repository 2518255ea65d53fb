/** The verdict on a change, case by case. */
import { describe, expect, it } from 'vitest';
import { type VerdictInput, verdictOf } from '../../../src/findings/verify/verdict.js';
import { creditOf } from '../../../src/findings/verify/verify-fix.js';
import type { AdviceFix } from '../../../src/model/results/advise.js';
import type { EffectOutcome, VerifyChange, VerifyFigure, VerifyRun } from '../../../src/model/results/verify.js';

const NONE: VerifyFigure = { before: null, after: null, delta: null, percent: null, noise: null, of: '' };
const MEASURED = {
  ...{
    peak_allocated: NONE,
    first_peak_allocated: NONE,
    peak_reserved: NONE,
    cached: NONE,
    step_ms: NONE,
    tflops: NONE,
  },
};
const OOM: VerifyRun = {
  ...{ run: 'before', ending: 'oom', cause: 'capacity', detail: null, summary: 'full', rank: 0, stage: 0 },
  ...{ iteration: 3, phase: 'backward', first_iteration: 1, last_iteration: 3, steady_steps: 2 },
};
const RAN: VerifyRun = {
  ...{ ...OOM, run: 'after', ending: 'completed', cause: null, rank: null, iteration: null, phase: null },
  ...{ last_iteration: 20, steady_steps: 19 },
};
const AGAIN: VerifyRun = { ...OOM, run: 'after' };
const UNKNOWN = { iteration: null };

function change(key: string, outcome: EffectOutcome, fix: string | null = null): VerifyChange {
  const effect = { outcome, text: '', source: '', ranks: { active: [], inactive: [] }, evidence: [], needs: null };
  return {
    ...{ key, kind: 'setting', from: 'a', from_known: true, to: 'b', fix, fix_complete: fix !== null, non_fix: null },
    ...{ group: fix ?? key, credited: false, on_cause: null, effect },
  };
}

const phases = (before: number, after: number): Partial<VerdictInput> => ({ phases: { before, after } });
const peak = (delta: number): Partial<VerdictInput> => ({
  measured: { ...MEASURED, peak_allocated: { ...NONE, before: 100, after: 100 + delta, delta, percent: delta } },
});

it.each<[string, string, VerifyRun, VerifyRun, Partial<VerdictInput>?]>([
  // Steady iterations past the place of the failure are needed.
  ['fixed', 'by a run that completed', OOM, RAN],
  ['fixed', 'by a run that was stopped', OOM, { ...RAN, ending: 'stopped' }],
  ['progress', 'by few steady steps', OOM, { ...RAN, steady_steps: 2 }],
  ['undecided', 'by as many iterations', OOM, { ...RAN, last_iteration: 3 }],
  ['undecided', 'without iterations', { ...OOM, ...UNKNOWN }, { ...RAN, last_iteration: null }],
  // A fix is not credited to a change that is not in force.
  ['not_active', 'of an inactive change', OOM, RAN, { changes: [change('micro_batch_size', 'inactive')] }],
  ['undecided', 'without a change', OOM, RAN, { changes: [] }],
  ['undecided', 'of an unfair comparison', OOM, RAN, { unfair: ['hidden_size 1 → 2'] }],
  // An OOM that moved is progress.
  ['no_effect', 'of the same OOM', OOM, AGAIN],
  ['progress', 'of another rank', OOM, { ...AGAIN, rank: 3 }],
  ['no_effect', 'of another rank in another layout', OOM, { ...AGAIN, rank: 3, stage: 0 }, { sameLayout: false }],
  ['progress', 'of another stage in another layout', OOM, { ...AGAIN, rank: 3, stage: 1 }, { sameLayout: false }],
  ['progress', 'of a later iteration', OOM, { ...AGAIN, iteration: 9 }],
  ['progress', 'of another phase', OOM, { ...AGAIN, phase: 'optimizer step' }],
  ['worse', 'of an earlier iteration', OOM, { ...AGAIN, iteration: 1 }],
  ['progress', 'of a later phase of the start', { ...OOM, ...UNKNOWN }, { ...AGAIN, ...UNKNOWN }, phases(1, 5)],
  ['worse', 'of an earlier phase of the start', { ...OOM, ...UNKNOWN }, { ...AGAIN, ...UNKNOWN }, phases(5, 1)],
  // What one run does not announce is no progress of the other.
  ['no_effect', 'of a phase that one has', { ...OOM, ...UNKNOWN }, { ...AGAIN, ...UNKNOWN }, phases(-1, 5)],
  // Runs without a failure are judged by what they need.
  ['progress', 'by a lower peak', { ...RAN, run: 'before' }, RAN, peak(-10)],
  ['worse', 'by a higher peak', { ...RAN, run: 'before' }, RAN, peak(10)],
  ['no_effect', 'by about the same peak', { ...RAN, run: 'before' }, RAN, peak(1)],
  ['worse', 'by an OOM of the second run', { ...RAN, run: 'before' }, AGAIN],
  ['worse', 'by another failure of the second run', { ...RAN, run: 'before' }, { ...RAN, ending: 'failed' }],
  ['undecided', 'by another failure after an OOM', OOM, { ...RAN, ending: 'failed' }],
])('the verdict is %s %s', (expected, _, before, after, more = {}) => {
  const { verdict } = verdictOf({
    ...{ before, after, changes: [change('micro_batch_size', 'active')], measured: MEASURED, unfair: [] },
    ...{ sameRun: false, sameLayout: true, sameWork: true, phases: { before: -1, after: -1 }, expectedCost: null },
    ...more,
  });
  expect(verdict).toBe(expected);
});

describe('credit', () => {
  const fixes = Object.entries({ enough: true, too: true, small: false }).map(([id, closes]) => ({ id, closes }));

  // One change, or the only one that is enough by itself.
  it.each<[string, ...VerifyChange[]]>([
    ['a', change('a', 'active')],
    ['', change('a', 'inactive')],
    ['b', change('a', 'active'), change('b', 'active', 'enough')],
    ['', change('a', 'active', 'too'), change('b', 'active', 'enough')],
    ['', change('a', 'active'), change('b', 'inactive', 'enough')],
    ['', change('a', 'active', 'small'), change('b', 'active')],
  ])('goes to "%s" of %j', (expected, ...changes) => {
    const credited = creditOf(changes, fixes as unknown as AdviceFix[]).filter((one) => one.credited);
    expect(credited.map(({ key }) => key).join()).toBe(expected);
  });
});
