/** What theory finds most surprising about one device, for whoever judges a failure. */

import { builtInRules } from '../../../attribution/built-in-rules.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { compareDevice } from './compare-device.js';
import { surpriseText } from './readings.js';
import type { Theory } from './theory.js';

/** Less is the scatter of any estimate. */
const LEAST_SHARE = 0.05;

/**
 * In words, with what it means; null where the run does not tell enough for an estimate, or nothing stands out that the figures explain. At a failure memory below the estimate is no surprise:
 * the step did not come to its peak.
 */
export async function surpriseOf(
  store: Store,
  { estimate, ranks }: Theory,
  snapshot: QueryRow<'snapshot.list'>,
  device: number,
): Promise<string | null> {
  if (estimate === null) return null;
  const question = { moment: { kind: 'oom' } as const, rules: builtInRules() };
  const found = await compareDevice(store, snapshot, device, estimate, ranks, question);
  const row = found?.components.find(
    ({ surprise_bytes, reading }) => reading !== null && surprise_bytes > LEAST_SHARE * found.estimated_bytes,
  );
  return row === undefined ? null : surpriseText(row);
}
