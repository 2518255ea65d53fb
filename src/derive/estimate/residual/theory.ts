/** What theory needs of a run, read once for all its devices. */
import type { Store } from '../../../store/store.js';
import { readStages, type StageOf } from '../../attribution/blocks/run-figures.js';
import { estimateRun, type RunEstimate } from '../estimate-run.js';

export interface Theory extends RunEstimate {
  readonly stageOf: StageOf;
}

export async function readTheory(store: Store, runId: number): Promise<Theory> {
  return { ...(await estimateRun(store, runId)), stageOf: await readStages(store, runId) };
}
