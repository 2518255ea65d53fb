/** What `diagnose` takes from advice: the answer of `advise` in short. */

import { pick } from '../../model/pick.js';
import type { Diagnosis } from '../../model/results/common.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { advise } from '../advice/advise.js';
import { pasteForms } from '../advice/paste-forms.js';
import { readSituation } from './read-situation.js';

const SHORT_FIX = [
  ...(['id', 'title', 'status', 'saving_bytes', 'saving_by'] as const),
  ...(['cost_percent', 'cost_by', 'cost_on', 'closes', 'forbidden_by', 'requires', 'paste'] as const),
] as const;

export async function shortAdvice(
  store: Store,
  runId: number,
  run: string,
  verdicts: readonly Verdict[],
): Promise<NonNullable<Diagnosis['advice']>> {
  const situation = await readSituation(store, runId, { run, verdicts });
  const advice = advise(situation);
  return {
    plan: advice.plan?.fixes ?? null,
    actions: advice.actions,
    paste_forms: pasteForms(situation),
    fixes: advice.fixes.map((fix) => pick(fix, SHORT_FIX)),
    non_fixes: advice.non_fixes.map(({ id }) => id),
  };
}
