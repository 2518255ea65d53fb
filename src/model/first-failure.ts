import type { IncidentKind } from './vocabulary.js';

/** The first failure of a run, and how it was chosen. */
export interface FirstFailureResult {
  readonly kind: IncidentKind;
  /**
   * `primary`: states its own cause. `unexplained`: does not. `secondary`: only reports another failure, which was not
   * found.
   */
  readonly role: string;
  readonly rank: number | null;
  readonly host: string | null;
  readonly device: number | null;
  readonly attempt: number | null;
  readonly time: string | null;
  readonly file: string;
  readonly line: number;
  /** Index into `incidents`. */
  readonly incident: number;
  /** Why this one: what was compared. */
  readonly why: string;
  /** Other ranks that failed with a cause of their own, in the order of their failures. */
  readonly also_failed: readonly number[];
  /** Ranks that only observed another rank's failure. */
  readonly victims: readonly number[];
  /** Failure lines that are consequences or reports. */
  readonly secondary: number;
}
