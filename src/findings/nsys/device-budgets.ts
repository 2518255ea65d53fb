/**
 * How each device spent its time, step by step. Overlapping times are joined, never added: every nanosecond of a window
 * is in one of four parts.
 */
import { pick } from '../../model/pick.js';
import type { NsysDeviceBudget, NsysStep } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';

const BUDGET = [
  ...(['window_ns', 'compute_ns', 'exposed_communication_ns', 'exposed_copy_ns', 'idle_ns'] as const),
  ...(['communication_ns', 'copy_ns'] as const),
] as const;

/** Without steps there is one window, `whole`. */
export async function deviceBudgets(
  store: Store,
  sourceId: number,
  steps: readonly NsysStep[],
  whole: { readonly start: number; readonly end: number },
): Promise<NsysDeviceBudget[]> {
  const rows = await store.all('nsys.busy_times', {
    source_id: sourceId,
    steps: JSON.stringify(steps),
    from_ns: whole.start,
    to_ns: whole.end,
  });
  // The average of a device comes before its steps.
  const budgets: (NsysDeviceBudget & { steps: NsysDeviceBudget['steps'][number][] })[] = [];
  for (const { pid, device, step, ...row } of rows) {
    const budget = pick(row, BUDGET);
    if (step === null) budgets.push({ pid, device, per_step: budget, steps: [] });
    else budgets.at(-1)!.steps.push({ index: step, ...budget });
  }
  return budgets;
}
