/** The situation of a run of the store: its verdict, what was live, and the circumstances that were stored with it. */
import { readStoredCircumstances } from '../../derive/diagnosis-rows.js';
import type { Diagnosis } from '../../model/results/common.js';
import type { Store } from '../../store/store.js';
import type { Situation } from '../advice/situation.js';

/** Of a run that was diagnosed. `capacityBytes`: the device's total, where the user gives it. */
export async function readSituation(
  store: Store,
  runId: number,
  { run, verdicts }: Pick<Diagnosis, 'run' | 'verdicts'>,
  capacityBytes: number | null = null,
): Promise<Situation> {
  // That of the rank that failed first.
  const [first] = verdicts;
  const circumstances = (await readStoredCircumstances(store, runId))!;
  return {
    run,
    ...circumstances,
    deviceBytes: capacityBytes ?? circumstances.deviceBytes,
    verdict: first ?? NOTHING,
    components:
      first?.components == null
        ? null
        : new Map(first.components.parts.map(({ component, bytes }) => [component, bytes])),
  };
}

/** Where neither a message nor a snapshot was found. */
const NOTHING: Situation['verdict'] = {
  rank: null,
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  tests: [],
  evidence: [],
  request: null,
  what_if: [],
  replay: null,
  accounting: [],
  steps: [],
};
