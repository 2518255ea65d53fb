/** What `diagnose` takes from advice: what forbids PyTorch's hint, and the answer of `advise` in short. */
import type { DiagnoseAdvice } from '../../model/results/common.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { advise } from '../advice/advise.js';
import { type ExpandableConstraint, expandableConstraint } from '../lint/expandable-constraint.js';
import { factsOfRun } from '../settings/facts-of-run.js';
import { readSituation } from './read-situation.js';

export async function constraintOfRun(store: Store, runId: number): Promise<ExpandableConstraint | null> {
  return expandableConstraint(await factsOfRun(store, runId));
}

export async function shortAdvice(
  store: Store,
  runId: number,
  run: string,
  verdicts: readonly Verdict[],
  capacityBytes: number | undefined,
): Promise<DiagnoseAdvice> {
  const advice = advise(await readSituation(store, runId, { run, verdicts }, capacityBytes ?? null));
  return {
    plan: advice.plan?.fixes ?? null,
    fixes: advice.fixes.map(({ id, status, saving_bytes, cost_percent, closes, forbidden_by }) => ({
      id,
      status,
      saving_bytes,
      cost_percent,
      closes,
      forbidden_by,
    })),
    non_fixes: advice.non_fixes.map(({ id }) => id),
  };
}
