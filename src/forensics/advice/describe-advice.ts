/** `mbforensics advise`: the diagnosis of a run, what would cure it, and the guides' symptoms that it shows. */
import type { AdviseResult } from '../../model/advise-results.js';
import type { Store } from '../../store/store.js';
import { diagnose } from '../diagnosis/diagnose.js';
import { findSymptoms } from '../symptoms/find-symptoms.js';
import { readSymptomEvidence } from '../symptoms/read-evidence.js';
import { advise } from './advise.js';
import { readSituation } from './read-situation.js';

export interface AdviceOptions {
  /** The device's total where the user knows it and no message prints it. */
  readonly capacityBytes?: number | undefined;
}

export async function describeAdvice(
  store: Store,
  runId: number,
  run: string,
  { capacityBytes }: AdviceOptions = {},
): Promise<{ readonly advice: AdviseResult; readonly framework: string | null }> {
  const diagnosis = await diagnose(store, runId, run, { capacityBytes });
  const situation = await readSituation(store, runId, diagnosis, capacityBytes ?? null);
  const evidence = await readSymptomEvidence(store, runId, run, { diagnosis });
  return {
    advice: { ...advise(situation), symptoms: findSymptoms(evidence) },
    framework: situation.facts.framework.name,
  };
}
