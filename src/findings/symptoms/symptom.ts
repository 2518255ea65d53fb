/** What a rule found, as a code and figures; its sentences are in `src/knowledge/words/symptoms.yaml`. */

import type { Looked } from '../../derive/settings/facts.js';
import type { SymptomSighting } from '../../model/symptom.js';
import { formatCount } from '../../model/units.js';
import type { SymptomEvidence } from './evidence.js';

export type Sighting = Omit<SymptomSighting, 'id' | 'also'>;
export type SightedFigures = Sighting['figures'];
/** Null where the run does not show it. */
export type SymptomRule = (evidence: SymptomEvidence) => Sighting | null;

export const place = ({ file, line }: { readonly file: string; readonly line: number }): string =>
  line > 0 ? `${file} line ${formatCount(line)}` : file;

/** `recompute_modules ["mlp"] (run_config.yaml line 12)`; an implicit value is marked as such. */
export function factText({ key, kind, by, value, explicit }: Looked): string {
  if (by === 'unknown') return `${key} unknown`;
  const shown = kind === 'env' ? (value === null ? `${key} not set` : `${key}=${value}`) : `${key} ${value ?? 'None'}`;
  if (by === 'default') return `${shown} (the default)`;
  if (by === 'assumed') return `${shown} (assumed; not in the files)`;
  return explicit === null || explicit.file === '' ? shown : `${shown} (${place(explicit)})`;
}

/** Each fact once. */
export function factsText(looked: readonly Looked[]): string {
  const seen = new Map(looked.map((fact) => [fact.key, fact]));
  return [...seen.values()].map(factText).join(', ');
}

/** The place of the first fact that has one. */
export function placeOfFacts(looked: readonly Looked[]): string {
  const explicit = looked.find((fact) => fact.explicit !== null && fact.explicit.file !== '')?.explicit;
  return explicit == null ? '' : place(explicit);
}

export const list = (values: readonly string[]): string =>
  values.length < 2 ? (values[0] ?? '') : `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`;

export const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
