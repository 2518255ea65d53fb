/** What to do is one list: steps of the verdict and the plan, in the order to do them. */
import { describe, expect, it } from 'vitest';
import { actionsOf } from '../../../src/findings/advice/actions.js';
import { statement } from '../../../src/model/statement.js';
import type { Step, StepKind } from '../../../src/model/verdict.js';

const step = (kind: StepKind): Step => ({ ...statement(kind), status: 'open', because: null });
const fix = (id: string, more: Partial<Parameters<typeof actionsOf>[2][number]> = {}) => ({
  ...{
    id,
    answers: [],
    status: 'possible' as const,
    isReplayed: false,
    saving_bytes: null,
    numerics: false,
    acts: false,
  },
  ...more,
});
const plan = (fixes: readonly string[], closes: boolean | null = null, cost_percent: number | null = null) => ({
  fixes,
  closes,
  cost_percent,
});
/** `kind+fix,fix` of each. */
const shown = (actions: ReturnType<typeof actionsOf>) =>
  actions.map(({ step: one, fixes }) => [one?.kind ?? '', ...(fixes.length > 0 ? [fixes.join(',')] : [])].join('+'));

describe('what to do', () => {
  it('has the plan in the place of the step that it carries out', () => {
    const steps = [step('training_fits'), step('sharded_checkpoint'), step('compare_snapshots')];
    const fixes = [fix('sharded', { answers: ['sharded_checkpoint'] })];
    expect(shown(actionsOf(steps, plan(['sharded']), fixes))).toEqual([
      'training_fits',
      'sharded_checkpoint+sharded',
      'compare_snapshots',
    ]);
  });

  it('has it in the place of a step that names no change', () => {
    const steps = [step('expandable_on_already'), step('lower_live')];
    expect(shown(actionsOf(steps, plan(['pp-8', 'tp-8']), [fix('pp-8'), fix('tp-8')]))).toEqual([
      'expandable_on_already',
      'lower_live+pp-8,tp-8',
    ]);
  });

  it('has it after the steps of the cause, and before them where it is sure and free', () => {
    const steps = [step('fewer_communicators')];
    const fixes = [fix('other'), fix('replayed', { isReplayed: true })];
    expect(shown(actionsOf(steps, plan(['other'], null, 0), fixes))).toEqual(['fewer_communicators', '+other']);
    expect(shown(actionsOf(steps, plan(['other'], true, 5), fixes))).toEqual(['fewer_communicators', '+other']);
    expect(shown(actionsOf(steps, plan(['other'], true, 0), fixes))).toEqual(['+other', 'fewer_communicators']);
    expect(shown(actionsOf(steps, plan(['replayed'], null, 0), fixes))).toEqual(['+replayed', 'fewer_communicators']);
  });

  it('names the largest saving, or the first fixes, where nothing is known to suffice', () => {
    const steps = [step('lower_live')];
    const fixes = [
      fix('small', { saving_bytes: 5 }),
      fix('large', { saving_bytes: 9 }),
      fix('rounds', { saving_bytes: 99, numerics: true }),
      fix('forbidden', { saving_bytes: 100, status: 'forbidden' }),
    ];
    expect(shown(actionsOf(steps, null, fixes))).toEqual(['lower_live+large']);
    expect(shown(actionsOf(steps, null, [fix('a'), fix('b'), fix('c')]))).toEqual(['lower_live+a', '+b']);
  });

  it('is the steps alone where nothing can be changed', () => {
    expect(shown(actionsOf([step('lower_live'), step('capture')], null, []))).toEqual(['lower_live', 'capture']);
  });
});
