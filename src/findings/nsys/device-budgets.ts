/**
 * How each device spent its time, step by step. Overlapping times are joined, never added: every nanosecond of a window
 * is in one of four parts.
 */
import type { NsysBudget, NsysDeviceBudget, NsysStep } from '../../model/results/nsys.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

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
  for (const row of rows) {
    const { pid, device, step } = row;
    if (step === null) budgets.push({ pid, device, per_step: budgetOf(row), steps: [] });
    else budgets.at(-1)!.steps.push({ index: step, ...budgetOf(row) });
  }
  return budgets;
}

function budgetOf(row: QueryRow<'nsys.busy_times'>): NsysBudget {
  return {
    window_ns: row.window_ns,
    compute_ns: row.compute_ns,
    exposed_communication_ns: row.exposed_communication_ns,
    exposed_copy_ns: row.exposed_copy_ns,
    idle_ns: row.idle_ns,
    communication_ns: row.communication_ns,
    copy_ns: row.copy_ns,
  };
}
