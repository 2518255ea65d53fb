/** One row of the guides' symptom tables: observation, cause, confirmation, fix. */
import { loadData } from '../../knowledge/load-data.js';
import type { SymptomHit } from '../../model/results/advise.js';
import type { SymptomEvidence } from './evidence.js';

/** A row of `symptoms.yaml`. */
interface SymptomText {
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
}

export interface Symptom extends SymptomText {
  /** Null where the run does not show it. */
  find(evidence: SymptomEvidence): SymptomHit | null;
}

const TEXTS = new Map((loadData('symptoms') as readonly SymptomText[]).map((text) => [text.id, text]));

/** The observations of a rule on a run; the rest of a hit is the rule's own text. */
export interface Sighting {
  readonly seen: string;
  readonly source: string;
  readonly confirmation: SymptomHit['confirmation'];
  /** The result of the guides' way of confirmation, or what is missing for it. */
  readonly because: string;
  /** If the configuration forbids the guides' fix. */
  readonly instead?: string;
}

/** The answer alone. */
export type Judged = Pick<Sighting, 'confirmation' | 'because'>;

export const confirmed = (because: string): Judged => ({ confirmation: 'confirmed', because });
export const refuted = (because: string): Judged => ({ confirmation: 'refuted', because });
export const untested = (because: string): Judged => ({ confirmation: 'untested', because });

export function symptom(id: string, look: (evidence: SymptomEvidence) => Sighting | null): Symptom {
  const about = TEXTS.get(id);
  if (about === undefined) throw new Error(`no symptom ${id}`);
  return {
    ...about,
    find(evidence) {
      const sighting = look(evidence);
      if (sighting === null) return null;
      const { cause, fix } = about;
      const { seen, source, confirmation, because, instead } = sighting;
      return {
        id,
        symptom: about.symptom,
        seen,
        source,
        cause,
        confirmation,
        confirmation_text: because,
        fix: instead ?? fix,
      };
    },
  };
}
