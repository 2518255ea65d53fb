/** One export, described. */
import type {
  NsysDriverAccount,
  NsysFailedCall,
  NsysMemoryCall,
  NsysProcess,
  NsysReport,
  NsysStep,
} from '../../model/nsys-results.js';
import type { NsysForm } from '../../model/nsys-rows.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { asksForMemory, cudaErrorName, OUT_OF_MEMORY } from './cuda-errors.js';
import { deviceBudgets } from './device-budgets.js';
import { driverAccounts } from './driver-account.js';
import { readDriverAllocations } from './driver-allocation.js';
import { notCaptured } from './not-captured.js';
import { rangeStacks } from './range-stacks.js';
import { stepWindows } from './step-windows.js';

/** Kernels told by name. */
const MOST_KERNELS = 30;
/** Frees of one thread further apart than this are two bursts; a flush of the cache makes them as fast as the device allows. */
const STORM_GAP_NS = 5_000_000;
const LEAST_STORM_CALLS = 8;

export type ReportRow = QueryRow<'nsys.reports'>;

export async function readReport(store: Store, runId: number, row: ReportRow): Promise<NsysReport> {
  const { source_id } = row;
  const tables = await store.all('nsys.tables', { source_id });
  const names = new Set(tables.map(({ name }) => name));
  const counts = (await store.one('nsys.counts', { source_id }))!;
  const endNs = Math.max(row.duration_ns ?? 0, counts.last_ns ?? 0);
  const { steps, by } = await stepWindows(store, source_id);
  const hasCalls = counts.calls !== null;
  const failed = hasCalls ? await failedCalls(store, source_id) : null;
  const calls = hasCalls ? await memoryCalls(store, source_id, steps) : null;
  const found = await readProcesses(store, source_id, row);
  const hasMemory = counts.memory_events !== null;
  const allocations = hasMemory ? await readDriverAllocations(store, source_id) : [];
  const driver = hasMemory
    ? await driverAccounts(store, runId, allocations, {
        sourceId: source_id,
        clockOffsetUs: row.clock_offset_us,
        oomNs: lastFailed(failed ?? []),
        endNs,
        ranks: new Map(found.flatMap(({ pid, rank }) => (rank === null ? [] : [[pid, rank] as const]))),
        vmmCalls: vmmCalls(calls ?? []),
      })
    : undefined;
  const processes = found.map((process): NsysProcess => {
    const rank = driver?.ranksFound.get(process.pid);
    return process.rank !== null || rank === undefined
      ? process
      : { ...process, rank, rank_origin: "addresses of a snapshot's segments" };
  });
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
    gpus: (await store.all('nsys.gpus', { source_id })).map(({ gpu, name, total_bytes }) => ({
      id: gpu,
      name,
      total_bytes,
    })),
    processes,
    tables: Object.fromEntries(tables.map(({ name, row_count }) => [name, row_count])),
    device_memory: hasMemory ? await store.all('nsys.device_memory', { source_id }) : null,
    pools: hasMemory ? (await store.all('nsys.pools', { source_id })).map(({ address: _, ...pool }) => pool) : null,
    failed_calls: failed,
    nvtx_ranges: counts.ranges,
    steps,
    steps_by: by,
    kernels: counts.kernels,
    copies: counts.copies,
    accounts: driver === undefined ? null : await withRanges(store, source_id, driver.accounts),
    memory_calls: calls,
    storms: hasCalls
      ? (await store.all('nsys.free_storms', { source_id, gap_ns: STORM_GAP_NS, least_calls: LEAST_STORM_CALLS })).map(
          ({ failed_before, ...storm }) => ({ ...storm, is_retry: failed_before }),
        )
      : null,
    copy_groups: counts.copies === null && counts.sets === null ? null : await copyGroups(store, source_id),
    kernel_groups:
      counts.kernels === null
        ? null
        : (await store.all('nsys.kernels', { source_id, from_ns: null, to_ns: null, most: MOST_KERNELS })).map(
            ({ name, count, total_ns, median_ns }) => ({ name, count, total_ns, median_ns }),
          ),
    budgets:
      counts.kernels === null
        ? null
        : await deviceBudgets(store, source_id, steps, {
            start: counts.first_work_ns ?? 0,
            end: counts.last_work_ns ?? endNs,
          }),
    missing: notCaptured({
      tables: names,
      memoryEventsCollected: row.memory_events_collected,
      hasCallChains: names.has('CUDA_CALLCHAINS'),
      graphTrace: row.graph_trace,
      isPartial: row.is_partial,
      form: row.form,
    }),
    diagnostics: (await store.all('nsys.diagnostics', { source_id })).map(({ severity, text, count }) => ({
      severity,
      text,
      count,
    })),
  };
}

async function failedCalls(store: Store, sourceId: number): Promise<NsysFailedCall[]> {
  return (await store.all('nsys.failed_calls', { source_id: sourceId })).map((row) => ({
    api: row.api,
    count: row.count,
    first_ns: row.first_ns,
    last_ns: row.last_ns,
    pid: row.pid,
    return_value: row.return_value,
    error: cudaErrorName(row.return_value),
    is_oom: row.return_value === OUT_OF_MEMORY,
  }));
}

/** The last call for memory that failed, by process: what follows is its end. */
function lastFailed(failed: readonly NsysFailedCall[]): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  for (const { pid, is_oom, api, last_ns } of failed) {
    if (pid === null || !is_oom || !asksForMemory(api)) continue;
    last.set(pid, Math.max(last.get(pid) ?? Number.NEGATIVE_INFINITY, last_ns));
  }
  return last;
}

async function memoryCalls(store: Store, sourceId: number, steps: readonly NsysStep[]): Promise<NsysMemoryCall[]> {
  const window = steadyWindow(steps);
  const rows = await store.all('nsys.memory_calls', {
    source_id: sourceId,
    from_ns: window?.fromNs ?? null,
    to_ns: window?.toNs ?? null,
  });
  return rows.map(({ in_window, ...call }) => ({
    ...call,
    per_step: window === undefined ? null : in_window / window.steps,
  }));
}

/** The steps but the first, whose warm-up would be taken for thrashing. The processes of a report run in step: one of them tells the window. */
export function steadyWindow(
  steps: readonly NsysStep[],
): { readonly fromNs: number; readonly toNs: number; readonly steps: number } | undefined {
  const own = steps.filter(({ pid }) => pid === steps[0]!.pid);
  if (own.length < 2) return undefined;
  return { fromNs: own[1]!.start_ns, toNs: own.at(-1)!.end_ns, steps: own.length - 1 };
}

function vmmCalls(calls: readonly NsysMemoryCall[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { api, pid, count, failed } of calls) {
    if (pid !== null && /^cuMem(?:Create|Map)$/.test(api) && count > failed)
      counts.set(pid, (counts.get(pid) ?? 0) + count - failed);
  }
  return counts;
}

async function readProcesses(store: Store, sourceId: number, report: ReportRow): Promise<NsysProcess[]> {
  const rows = await store.all('nsys.processes', { source_id: sourceId });
  const processes = rows.map(({ pid, name, rank, rank_origin, devices }) => ({
    pid,
    name,
    rank,
    rank_origin,
    devices: devices === null ? [] : devices.split(',').map(Number),
  }));
  const working = processes.filter(({ devices }) => devices.length > 0);
  // What is known of the file holds for its process where there is one.
  if (report.rank === null || working.length !== 1 || working[0]!.rank !== null) return processes;
  const only = working[0]!;
  return processes.map((process) =>
    process === only ? { ...process, rank: report.rank, rank_origin: report.rank_origin } : process,
  );
}

function onlyRank(processes: readonly NsysProcess[]): number | null {
  const ranks = new Set(processes.flatMap(({ rank }) => (rank === null ? [] : [rank])));
  return ranks.size === 1 ? [...ranks][0]! : null;
}

async function copyGroups(store: Store, sourceId: number) {
  const rows = await store.all('nsys.copies', { source_id: sourceId });
  return rows.map(({ operation, copy_kind, source_kind, target_kind, count, bytes, busy_ns }) => ({
    operation: operation as 'memcpy' | 'memset',
    direction: copy_kind,
    source_kind,
    target_kind,
    count,
    bytes,
    busy_ns,
  }));
}

/** Adds what the program said it was doing at each moment. */
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
