/** `mbforensics diagnose`: what was concluded when the run was ingested. */
import { readDiagnosis } from '../../derive/diagnosis-rows.js';
import type { Diagnosis, Failure } from '../../model/results/common.js';
import type { Store } from '../../store/store.js';

export interface DiagnoseOptions {
  /** The device's total where the user knows it and no message prints it: the run is derived again for this answer. */
  readonly capacityBytes?: number | undefined;
  /** Whether to add the output of `advise`. */
  readonly advises?: boolean;
  readonly failedSources?: readonly { readonly path: string; readonly error: Failure }[] | undefined;
}

export async function diagnose(
  store: Store,
  runId: number,
  run: string,
  { capacityBytes, advises, failedSources = [] }: DiagnoseOptions = {},
): Promise<Diagnosis> {
  let stored = capacityBytes === undefined ? await readDiagnosis(store, runId) : undefined;
  if (stored === undefined) {
    const { deriveTemporarily } = await import('../../derive/derive.js');
    await deriveTemporarily(store, [runId], { capacityBytes });
    stored = (await readDiagnosis(store, runId))!;
  }
  const { pinned_host_memory, ...rest } = stored;
  const diagnosis = { run, ...rest, failed_sources: failedSources, advice: null, pinned_host_memory };
  if (advises !== true) return diagnosis;
  // All rules of advice are loaded with the first question that needs them.
  const { shortAdvice } = await import('./advise-run.js');
  return { ...diagnosis, advice: await shortAdvice(store, runId, run, stored.verdicts) };
}
