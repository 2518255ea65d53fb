/** What carries statements of the guides: rules, knobs, symptoms, fixes. One place that knows all four lists. */

import { KNOBS } from '../../knowledge/knobs/index.js';
import { FIXES } from '../advice/fixes/index.js';
import { RULES } from '../lint/rules/index.js';
import { SYMPTOMS } from '../symptoms/index.js';

/** As much of a symptom as is shown. */
export interface SymptomRow {
  readonly id: string;
  readonly name: string;
  readonly symptom: string;
  readonly cause: string;
  readonly confirm: string;
  readonly fix: string;
  readonly statements: readonly string[];
}

export interface FixRow {
  readonly id: string;
  readonly title: string;
  readonly statements: readonly string[];
}

export const SYMPTOM_ROWS: readonly SymptomRow[] = SYMPTOMS.map(
  ({ id, name, symptom, cause, confirm, fix, statements }) => ({ id, name, symptom, cause, confirm, fix, statements }),
);
export const FIX_ROWS: readonly FixRow[] = FIXES.map(({ id, title, statements }) => ({ id, title, statements }));

export interface Carriers {
  readonly rules: readonly string[];
  readonly knobs: readonly string[];
  readonly symptoms: readonly string[];
  readonly fixes: readonly string[];
}

const idsOf = (
  rows: readonly { readonly id: string; readonly statements: readonly string[] }[],
  statement: string,
): string[] => rows.filter(({ statements }) => statements.includes(statement)).map(({ id }) => id);

export function carriersOf(statement: string): Carriers {
  return {
    rules: idsOf(RULES, statement),
    knobs: idsOf(KNOBS, statement),
    symptoms: idsOf(SYMPTOM_ROWS, statement),
    fixes: idsOf(FIX_ROWS, statement),
  };
}
