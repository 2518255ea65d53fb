import { loadData } from '../../src/knowledge/load-data.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';

/** States of jobs and steps: `src/knowledge/inputs/slurm-states.tsv`. */
const STATES = loadData('inputs/slurm-states') as readonly {
  readonly state: string;
  readonly kind: IncidentKind | null;
}[];

/**
 * A printed state: `CANCELLED by 1000` has a user behind it, and a column of ten characters cuts to `OUT_OF_ME+`. Null:
 * none.
 */
export function parseState(text: string): string | null {
  const word = /^([A-Z_]{3,24})(\+)?(?: by \d{1,10})?$/.exec(text.trim());
  if (word === null) return null;
  const [, name = '', cut] = word;
  return STATES.find(({ state }) => state === name || (cut !== undefined && state.startsWith(name)))?.state ?? null;
}

/** Kind of failure of a state of {@link parseState}. */
export function failureOf(state: string): IncidentKind | null {
  return STATES.find((known) => known.state === state)?.kind ?? null;
}

/** Lower is stronger. */
export function weightOf(state: string): number {
  return STATES.findIndex((known) => known.state === state);
}
