/** Parallel sizes in the form rules need. */
import type { Looked } from '../../derive/settings/facts.js';
import { asNumber } from '../../derive/settings/values.js';
import type { View } from '../../derive/settings/view.js';
import type { SymptomEvidence } from './evidence.js';

/** A size from the run itself, otherwise from the configuration. */
const sizeOf = ({ parallel, view }: SymptomEvidence, name: 'tp' | 'pp' | 'cp' | 'dp', key: string): number | null =>
  parallel[name] ?? asNumber(view.setting(key).value);
export const tpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'tp', 'tensor_model_parallel_size');
export const ppOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'pp', 'pipeline_model_parallel_size');
export const cpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'cp', 'context_parallel_size');
export const dpOf = (evidence: SymptomEvidence) => sizeOf(evidence, 'dp', 'data_parallel_size');

/** Settings by which the layers of the stages are laid out by hand. */
export const ownSplits = (view: Pick<View, 'setting'>): Looked[] =>
  ['num_layers_in_first_pipeline_stage', 'num_layers_in_last_pipeline_stage', 'pipeline_model_parallel_layout']
    .map((key) => view.setting(key))
    .filter(({ value }) => value !== null);
