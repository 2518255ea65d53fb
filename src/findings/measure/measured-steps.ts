/** How fast a run is, as measurements have it: the row of the macro `steady_window`, if there is one. */
import type { MeasuredSteps } from '../../model/measurement.js';
import type { QueryRow } from '../../store/query-catalog.js';

export function measuredSteps([row]: readonly QueryRow<'compare.steady_window'>[]): MeasuredSteps | null {
  if (row === undefined) return null;
  const { first_iteration: from, last_iteration: to, iterations: count, ...figures } = row;
  return { from, to, count, ...figures };
}
