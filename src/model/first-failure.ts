import type { RowOf } from './results/row-of.js';
import type { IncidentKind } from './vocabulary.js';

/** The first failure of a run, and how it was chosen. */
export interface FirstFailureResult
  extends Pick<RowOf<'log.incidents'>, 'rank' | 'host' | 'device' | 'time' | 'file' | 'line'> {
  readonly kind: IncidentKind;
  /**
   * `primary`: states its own cause. `unexplained`: does not. `secondary`: only reports another failure, which was not
   * found.
   */
  readonly role: string;
  readonly attempt: number | null;
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
