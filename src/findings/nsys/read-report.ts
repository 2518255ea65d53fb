/** One export, described. */

import { rangeStacks } from '../../derive/nsys/range-stacks.js';
import { type ReportRow, readReportMemory } from '../../derive/nsys/report-memory.js';
import { stepWindows } from '../../derive/nsys/step-windows.js';
import { type NsysForm, PRIVATE_TABLES } from '../../model/nsys-rows.js';
import { pick } from '../../model/pick.js';
import type {
  NsysCopyGroup,
  NsysDeviceBudget,
  NsysDriverAccount,
  NsysProcess,
  NsysStep,
} from '../../model/results/nsys.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { notCaptured } from './not-captured.js';
import type { NsysReport } from './unworded.js';

const sentence = sentencesOf('nsys');

/** Most kernels listed by name. */
const MOST_KERNELS = 30;
/** `stepRange`: see {@link stepWindows}. */
export async function readReport(store: Store, runId: number, row: ReportRow, stepRange?: string): Promise<NsysReport> {
  const { source_id } = row;
  const tables = await store.all('nsys.tables', { source_id });
  // Exports that are not lazy have tables without rows.
  const filled = new Set(tables.flatMap(({ name, row_count }) => (row_count > 0 ? [name] : [])));
  const diagnostics = await store.all('nsys.diagnostics', { source_id });
  const counts = (await store.one('nsys.counts', { source_id }))!;
  const { steps, by, candidates } = await stepWindows(store, source_id, stepRange);
  const memory = await readReportMemory(store, runId, row, { counts, steps });
  const { processes, failed, calls, storms, accounts, endNs } = memory;
  const hasMemory = accounts !== null;
  return {
    path: row.display_path,
    form: row.form as NsysForm,
    nsys_version: row.product_version,
    schema_version: row.schema_version,
    rank: row.rank ?? onlyRank(processes),
    host: row.host,
    started_at: row.clock_offset_us === null ? null : new Date(row.clock_offset_us / 1000).toISOString(),
    clock_origin: row.clock_origin,
    duration_ns: row.duration_ns,
    memory_events_collected: row.memory_events_collected,
    is_partial: row.is_partial,
    gpus: await store.all('nsys.gpus', { source_id }),
    processes,
    tables: Object.fromEntries(tables.map(({ name, row_count }) => [name, row_count])),
    tables_not_kept: row.has_all_tables ? notKept(tables) : null,
    device_memory: hasMemory ? await store.all('nsys.device_memory', { source_id }) : null,
    pools: hasMemory ? await store.all('nsys.pools', { source_id }) : null,
    failed_calls: failed,
    nvtx_ranges: counts.ranges,
    steps,
    steps_by: by,
    step_candidates: candidates,
    kernels: counts.kernels,
    copies: counts.copies,
    accounts: accounts === null ? null : await withRanges(store, source_id, accounts),
    memory_calls: calls,
    storms,
    copy_groups: counts.copies === null && counts.sets === null ? null : await copyGroups(store, source_id),
    kernel_groups:
      counts.kernels === null
        ? null
        : await store.all('nsys.kernels', { source_id, from_ns: null, to_ns: null, most: MOST_KERNELS }),
    budgets:
      counts.kernels === null
        ? null
        : await deviceBudgets(store, source_id, steps, {
            start: counts.first_work_ns ?? 0,
            end: counts.last_work_ns ?? endNs,
          }),
    missing: notCaptured({
      tables: filled,
      settings: (await store.one('nsys.capture_settings', { source_id }))!,
      memoryEventsCollected: row.memory_events_collected,
      graphTrace: row.graph_trace,
      isPartial: row.is_partial,
      vmmCalls: (calls ?? [])
        .filter(({ api }) => /^cuMem(?:Create|Map)$/.test(api))
        .reduce((sum, { count }) => sum + count, 0),
      diagnostics,
    }),
    diagnostics,
  };
}

function notKept(tables: readonly QueryRow<'nsys.tables'>[]): { name: string; reason: Text }[] {
  return tables.flatMap(({ name, is_read }) =>
    is_read ? [] : [{ name, reason: PRIVATE_TABLES.get(name) ?? sentence('unreadable') }],
  );
}

function onlyRank(processes: readonly NsysProcess[]): number | null {
  const ranks = new Set(processes.flatMap(({ rank }) => (rank === null ? [] : [rank])));
  return ranks.size === 1 ? [...ranks][0]! : null;
}

async function copyGroups(store: Store, sourceId: number): Promise<NsysCopyGroup[]> {
  const rows = await store.all('nsys.copies', { source_id: sourceId });
  return rows.map((row) => ({ ...row, operation: row.operation as NsysCopyGroup['operation'] }));
}

/** Adds the program's NVTX ranges at each moment. */
async function withRanges(
  store: Store,
  sourceId: number,
  accounts: readonly NsysDriverAccount[],
): Promise<NsysDriverAccount[]> {
  const described: NsysDriverAccount[] = [];
  for (const account of accounts) {
    const moments = [];
    for (const moment of account.moments) {
      const stacks = moment.moment === 'end' ? [] : await rangeStacks(store, sourceId, moment.time_ns, account.pid);
      const ranges = stacks.map(({ tid, thread, ranges: open }) => ({
        tid,
        thread,
        texts: open.map(({ text }) => text),
      }));
      moments.push({ ...moment, ranges });
    }
    described.push({ ...account, moments });
  }
  return described;
}

const BUDGET = [
  ...(['window_ns', 'compute_ns', 'exposed_communication_ns', 'exposed_copy_ns', 'idle_ns'] as const),
  ...(['communication_ns', 'copy_ns'] as const),
] as const;

/**
 * How each device spent its time, step by step. Overlapping times are joined, never added: every nanosecond of a window
 * is in one of four parts. Without steps there is one window, `whole`.
 */
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
