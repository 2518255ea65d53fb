/** One row of the guides' symptom tables: what one sees, what it comes from, how to make sure, what to do. */
import type { SymptomHit } from '../../model/advise-results.js';
import type { SymptomEvidence } from './evidence.js';

export interface Symptom {
  /** `S1` to `S29`. */
  readonly id: string;
  readonly name: string;
  readonly symptom: string;
  readonly cause: string;
  /** How the guides make sure. */
  readonly confirm: string;
  readonly fix: string;
  /** Rows of several guides that tell of one and the same thing have one word here: it is told once. */
  readonly finding?: string;
  /** Null where the run does not show it. */
  find(evidence: SymptomEvidence): SymptomHit | null;
}

/** What a rule sees of a run; the rest of a hit is the rule's own text. */
export interface Sighting {
  readonly seen: string;
  readonly source: string;
  readonly confirmation: SymptomHit['confirmation'];
  /** What the guides' way of making sure says here, or what is missing for it. */
  readonly because: string;
  /** Where the configuration forbids what the guides say to do. */
  readonly instead?: string;
}

/** The answer alone. */
export type Judged = Pick<Sighting, 'confirmation' | 'because'>;

export function symptom(about: Omit<Symptom, 'find'>, look: (evidence: SymptomEvidence) => Sighting | null): Symptom {
  return {
    ...about,
    find(evidence) {
      const sighting = look(evidence);
      if (sighting === null) return null;
      const { id, cause, fix } = about;
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
