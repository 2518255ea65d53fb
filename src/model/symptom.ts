import type { Part, Text } from './statement.js';

/** A symptom of the guides in a run, before it is put into words. */
export interface SymptomSighting {
  /** `S1` to `S29`. */
  readonly id: string;
  /** Rows of other guides about the same thing that the run shows too. */
  readonly also: readonly string[];
  readonly source: Text;
  /** Code of the answer to the guides' way of confirmation: confirmed, refuted, or what is missing for it. */
  readonly answer: string;
  /** What sentences are made of; null, undefined and false: not there. */
  readonly figures: Readonly<Record<string, Part>>;
}
