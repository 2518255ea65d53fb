/** The guides' symptom tables. */
import type { ExplainedSymptom } from '../model/results/knowledge.js';
import { loadData } from './load-data.js';

/** A row of `symptoms.yaml`. */
export interface SymptomText extends Omit<ExplainedSymptom, 'is' | 'disputes'> {
  /** Rows of several guides about one thing have the same word here and are reported once. */
  readonly finding?: string;
  /** Constraints of which the framework's own message is the symptom, and the configuration that confirms it. */
  readonly refusal?: { readonly of: readonly string[]; readonly when: string };
}

/** In the order of the guides. */
export const SYMPTOMS = loadData('symptoms') as readonly SymptomText[];
