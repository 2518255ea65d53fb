/** The guides' symptom tables. */
import { loadData } from './load-data.js';

/** A row of `symptoms.yaml`. */
export interface SymptomText {
  /** `S1` to `S29`. */
  readonly id: string;
  readonly name: string;
  readonly symptom: string;
  readonly cause: string;
  /** How the guides confirm it. */
  readonly confirm: string;
  readonly fix: string;
  /** Rows of several guides about one thing have the same word here and are reported once. */
  readonly finding?: string;
  /** Constraints of which the framework's own message is the symptom, and the configuration that confirms it. */
  readonly refusal?: { readonly of: readonly string[]; readonly when: string };
}

/** In the order of the guides. */
export const SYMPTOMS = loadData('symptoms') as readonly SymptomText[];
