/** The advice on the run before: what its changes were expected to save and to cost. */
import type { Store } from '../../store/store.js';
import { advise } from '../advice/advise.js';
import type { AdviceBefore, Side } from '../verify/side.js';
import { readSituation } from './read-situation.js';

export async function readAdviceBefore(
  store: Store,
  runId: number,
  { diagnosis }: Pick<Side, 'diagnosis'>,
  capacityBytes: number | null = null,
): Promise<AdviceBefore> {
  if (diagnosis.verdicts.length === 0) return { fixes: [], nonFixes: [] };
  const { fixes, non_fixes: nonFixes } = advise(await readSituation(store, runId, diagnosis, capacityBytes));
  return { fixes, nonFixes };
}
