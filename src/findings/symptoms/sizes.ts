/** Parallel sizes in the form rules need. */
import { asNumber } from '../../derive/settings/values.js';
import type { SymptomEvidence } from './evidence.js';

/** A size from the run itself, otherwise from the configuration. */
const sizeOf = ({ parallel, view }: SymptomEvidence, name: 'tp' | 'pp' | 'cp' | 'dp', key: string): number | null =>
  parallel[name] ?? asNumber(view.setting(key).value);
export const tpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'tp', 'tensor_model_parallel_size');
export const ppOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'pp', 'pipeline_model_parallel_size');
export const cpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'cp', 'context_parallel_size');
export const dpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'dp', 'data_parallel_size');
