/** What theory finds most surprising about one device, for whoever judges a failure. */
import type { Store } from '../../store/store.js';
import { builtInRules } from '../attribution/rules/index.js';
import { describeResidual } from './describe-residual.js';
import { surpriseText } from './readings.js';

/** Less is the scatter of any estimate. */
const LEAST_SHARE = 0.05;

/**
 * In words, with what it means; null where the run does not tell enough for an estimate, or nothing stands out that the figures explain. At a failure memory below the estimate is no surprise:
 * the step did not come to its peak.
 */
export async function surpriseOf(
  store: Store,
  runId: number,
  run: string,
  handle: string,
  device: number,
): Promise<string | null> {
  const question = { moment: { kind: 'oom' } as const, rules: builtInRules(), handle };
  const { devices } = await describeResidual(store, runId, run, question);
  const found = devices.find((one) => one.device === device);
  const row = found?.components.find(
    ({ surprise_bytes, reading }) => reading !== null && surprise_bytes > LEAST_SHARE * found.estimated_bytes,
  );
  return row === undefined ? null : surpriseText(row);
}
