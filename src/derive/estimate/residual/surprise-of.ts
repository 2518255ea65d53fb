/** What contradicts theory most on one device; used to judge a failure. */

import { builtInRules } from '../../../attribution/built-in-rules.js';
import { threshold } from '../../../knowledge/thresholds/threshold.js';
import { type Figures, named } from '../../../model/statement.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { compareDevice } from './compare-device.js';
import type { Theory } from './theory.js';

const LEAST_SHARE = threshold('estimate.least_surprise_share');

/**
 * With its meaning; null where the run is incomplete for an estimate, or where no deviation can be explained
 * by the figures. At a failure, memory below the estimate is expected: the step did not come to its peak.
 */
export async function surpriseOf(
  store: Store,
  { estimate, stageOf }: Theory,
  snapshot: QueryRow<'snapshot.list'>,
  device: number,
): Promise<Figures | null> {
  if (estimate === null) return null;
  const question = { moment: { kind: 'oom' } as const, rules: builtInRules() };
  const comparison = await compareDevice(store, snapshot, device, estimate, stageOf, question);
  const row = comparison?.components.find(
    ({ surprise_bytes, reading }) => reading !== null && surprise_bytes > LEAST_SHARE * comparison.estimated_bytes,
  );
  if (row === undefined) return null;
  const { component, surprise_bytes, reading } = row;
  return { numbers: { surprise_bytes }, names: named({ component, reading }) };
}
