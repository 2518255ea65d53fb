/** What a rule found, as a code and figures; its sentences are in `src/knowledge/words/symptoms.yaml`. */

import type { Looked } from '../../derive/settings/facts.js';
import { type Sentence, sentencesOf, type Text } from '../../model/statement.js';
import type { SymptomSighting } from '../../model/symptom.js';
import type { SymptomEvidence } from './evidence.js';

export type Sighting = Omit<SymptomSighting, 'id' | 'also'>;
export type SightedFigures = Sighting['figures'];
/** Null where the run does not show it. */
export type SymptomRule = (evidence: SymptomEvidence) => Sighting | null;

export const fact = sentencesOf('facts', 'facts');

export const place = ({ file, line }: { readonly file: string; readonly line: number | null }): Sentence =>
  fact('place', { file, line });

/** `recompute_modules ["mlp"] (run_config.yaml line 12)`; an implicit value is marked as such. */
export const factOf = ({ key, kind, by, value, explicit }: Looked): Sentence =>
  fact('looked', {
    ...{ key, kind, by, value: value ?? 'None' },
    state: by === 'unknown' ? 'unknown' : kind === 'env' && value === null ? 'unset' : null,
    place: explicit === null || explicit.file === '' ? null : place(explicit),
  });

/** Each fact once. */
export const factsOf = (looked: readonly Looked[]): readonly Sentence[] =>
  [...new Map(looked.map((one) => [one.key, one])).values()].map(factOf);

/** The place of the first fact that has one; empty: none has. */
export function placeOfFacts(looked: readonly Looked[]): Text {
  const explicit = looked.find((one) => one.explicit !== null && one.explicit.file !== '')?.explicit;
  return explicit == null ? '' : place(explicit);
}

export const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
