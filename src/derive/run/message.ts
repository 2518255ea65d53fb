/** A failure line as the verdicts read it. */
import type { Place } from '../../model/place.js';
import type { IncidentKind } from '../../model/vocabulary.js';

export interface Message {
  readonly kind: IncidentKind;
  readonly rank: number | null;
  readonly device: number | null;
  readonly place: Place;
  readonly text: string;
}
