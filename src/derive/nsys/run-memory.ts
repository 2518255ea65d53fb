/**
 * Each rank's memory at the driver from the exports of a run, for the diagnosis: the owners of the bytes outside
 * PyTorch.
 */
import { sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import type { DriverOwner, NsysOwnerShare } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';
import { readReportMemory } from './report-memory.js';
import { stepWindows } from './step-windows.js';

export interface DriverMemory {
  readonly rank: number | null;
  readonly device: number | null;
  /** The moment of the shares. */
  readonly moment: 'oom' | 'peak';
  /** Memory of the device outside PyTorch, most bytes first. Only what the profiler recorded is included. */
  readonly outside: readonly NsysOwnerShare[];
  /** Of `outside`, what was taken after the first step; null without steps. */
  readonly grownBytes: number | null;
  /** Calls for memory that failed, by name. */
  readonly failed: readonly { readonly api: string; readonly count: number }[];
  /** Bursts of frees after an allocation that failed, and the time that they took. */
  readonly retries: number;
  readonly retryNs: number;
  /** The export. */
  readonly source: Place;
}

const OF_TORCH: ReadonlySet<DriverOwner> = new Set<DriverOwner>(['torch', 'torch_unmatched']);

function outsideTorch(shares: readonly NsysOwnerShare[]): readonly NsysOwnerShare[] {
  return shares.filter(({ owner }) => !OF_TORCH.has(owner));
}

/** Processes with known device memory outside PyTorch, or with failed calls. */
export async function readDriverMemory(store: Store, runId: number): Promise<DriverMemory[]> {
  const memories: DriverMemory[] = [];
  for (const row of await store.all('nsys.reports', { run_id: runId })) {
    const counts = (await store.one('nsys.counts', { source_id: row.source_id }))!;
    const { steps } = await stepWindows(store, row.source_id);
    const report = await readReportMemory(store, runId, row, { counts, steps });
    const processes = report.processes.filter(({ devices }) => devices.length > 0);
    for (const { pid, rank, devices } of processes) {
      const account = (report.accounts ?? []).find((one) => one.pid === pid && one.device === (devices[0] ?? null));
      // Without a snapshot, PyTorch's own memory cannot be distinguished from the rest.
      const moment =
        account?.snapshot == null
          ? undefined
          : (account.moments.find((one) => one.moment === 'oom') ??
            account.moments.find((one) => one.moment === 'peak'));
      const outside = outsideTorch(moment?.shares ?? []);
      const first = account?.moments.find((one) => one.moment === 'first step');
      const failed = (report.failed ?? [])
        .filter((call) => call.pid === pid && call.is_oom)
        .map(({ api, count }) => ({ api, count }));
      const storms = (report.storms ?? []).filter((storm) => storm.pid === pid && storm.is_retry);
      if (moment === undefined && failed.length === 0) continue;
      memories.push({
        rank,
        device: devices[0] ?? null,
        moment: moment?.moment === 'oom' ? 'oom' : 'peak',
        outside,
        grownBytes:
          first === undefined || first.time_ns > (moment?.time_ns ?? 0)
            ? null
            : sumOf(outside.map(({ bytes }) => bytes)) - sumOf(outsideTorch(first.shares).map(({ bytes }) => bytes)),
        failed,
        retries: storms.length,
        retryNs: storms.reduce((sum, { busy_ns }) => sum + busy_ns, 0),
        source: { path: row.display_path },
      });
    }
  }
  return memories;
}

/** The memory of one rank; without ranks, that of the only process. */
export function driverMemoryOf(all: readonly DriverMemory[], rank: number | null): DriverMemory | null {
  const ownMemory = all.find((memory) => memory.rank !== null && memory.rank === rank);
  return ownMemory ?? (all.length === 1 && (all[0]!.rank === null || rank === null) ? all[0]! : null);
}
