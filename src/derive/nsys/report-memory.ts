/**
 * The driver's memory in one export: failed calls, and the accounts of its processes. All that a diagnosis needs of it.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type {
  NsysDriverAccount,
  NsysFailedCall,
  NsysMemoryCall,
  NsysProcess,
  NsysStep,
  NsysStorm,
} from '../../model/results/nsys.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { asksForMemory, cudaErrorName, OUT_OF_MEMORY } from './cuda-errors.js';
import { driverAccounts } from './driver-account.js';
import { readDriverAllocations } from './driver-allocation.js';
import { steadyWindow } from './step-windows.js';

const STORM_GAP_NS = threshold('nsys.storm_gap_ns');
const LEAST_STORM_CALLS = threshold('nsys.least_storm_calls');

export type ReportRow = QueryRow<'nsys.reports'>;
export type ReportCounts = QueryRow<'nsys.counts'>;

export interface ReportMemory {
  readonly processes: readonly NsysProcess[];
  /** Null: calls were not captured. */
  readonly failed: readonly NsysFailedCall[] | null;
  readonly calls: readonly NsysMemoryCall[] | null;
  readonly storms: readonly NsysStorm[] | null;
  /** Null: memory events were not captured. */
  readonly accounts: readonly NsysDriverAccount[] | null;
  /** The last known time of the report. */
  readonly endNs: number;
}

/** `steps`: to count calls within them, and to know what was taken after the first. */
export async function readReportMemory(
  store: Store,
  runId: number,
  row: ReportRow,
  { counts, steps }: { readonly counts: ReportCounts; readonly steps: readonly NsysStep[] },
): Promise<ReportMemory> {
  const { source_id } = row;
  const endNs = Math.max(row.duration_ns ?? 0, counts.last_ns ?? 0);
  const hasCalls = counts.calls !== null;
  const failed = hasCalls ? await failedCalls(store, source_id) : null;
  const calls = hasCalls ? await memoryCalls(store, source_id, steps) : null;
  const profiledProcesses = await readProcesses(store, source_id, row);
  const driver =
    counts.memory_events === null
      ? undefined
      : await driverAccounts(store, runId, await readDriverAllocations(store, source_id), {
          sourceId: source_id,
          clockOffsetUs: row.clock_offset_us,
          oomNs: lastFailed(failed ?? []),
          endNs,
          steadyNs: steadyWindow(steps)?.fromNs ?? null,
          ranks: new Map(profiledProcesses.flatMap(({ pid, rank }) => (rank === null ? [] : [[pid, rank] as const]))),
          vmmCalls: vmmCalls(calls ?? []),
        });
  const processes = profiledProcesses.map((process): NsysProcess => {
    const rank = driver?.ranksFound.get(process.pid);
    return process.rank !== null || rank === undefined
      ? process
      : { ...process, rank, rank_origin: "addresses of a snapshot's segments" };
  });
  return {
    processes,
    failed,
    calls,
    storms: hasCalls
      ? await store.all('nsys.free_storms', { source_id, gap_ns: STORM_GAP_NS, least_calls: LEAST_STORM_CALLS })
      : null,
    accounts: driver?.accounts ?? null,
    endNs,
  };
}

async function failedCalls(store: Store, sourceId: number): Promise<NsysFailedCall[]> {
  return (await store.all('nsys.failed_calls', { source_id: sourceId })).map((row) => ({
    ...row,
    error: cudaErrorName(row.return_value),
    is_oom: row.return_value === OUT_OF_MEMORY,
  }));
}

/** The last failed call for memory, by process: what follows is its end. */
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

function vmmCalls(calls: readonly NsysMemoryCall[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { api, pid, count, failed } of calls) {
    if (pid !== null && /^cuMem(?:Create|Map)$/.test(api) && count > failed)
      counts.set(pid, (counts.get(pid) ?? 0) + count - failed);
  }
  return counts;
}

async function readProcesses(store: Store, sourceId: number, report: ReportRow): Promise<NsysProcess[]> {
  const processes = await store.all('nsys.processes', { source_id: sourceId });
  const working = processes.filter(({ devices }) => devices.length > 0);
  // Facts about the file hold for its process if there is only one.
  if (report.rank === null || working.length !== 1 || working[0]!.rank !== null) return processes;
  const only = working[0]!;
  return processes.map((process) =>
    process === only ? { ...process, rank: report.rank, rank_origin: report.rank_origin } : process,
  );
}
