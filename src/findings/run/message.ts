/** A failure line as the verdicts read it. */
import type { Place } from '../../model/place.js';
import type { IncidentByteField, PrintedBytes } from '../../model/tables.js';
import type { IncidentKind } from '../../model/vocabulary.js';

/** A failure line with its figures. */
export interface Message {
  readonly kind: IncidentKind;
  readonly rank: number | null;
  readonly device: number | null;
  readonly place: Place;
  readonly text: string;
  /** Innermost frame of its traceback that belongs to no library, where the text has one. */
  readonly frame?: { readonly file: string; readonly line: number; readonly function: string } | null | undefined;
  readonly bytes: Readonly<Partial<Record<IncidentByteField, PrintedBytes>>>;
  readonly processes: readonly { readonly pid: number; readonly printed: PrintedBytes }[];
}
