/** What monitors recorded of the device of a failed rank, for the verdict on the failure. */
import type { Place } from '../../model/place.js';
import type { OutsideDevice } from '../../model/results/outside.js';
import type { Store } from '../../store/store.js';
import { describeOutside } from './describe-outside.js';

/** Samples of the device by a monitor (nvidia-smi, DCGM, W&B). Allocations between two samples are not seen. */
export interface MonitorFacts {
  /** By the driver. */
  readonly totalBytes: number | null;
  readonly usedBytes: number;
  /** The matching total: PyTorch's and the driver's differ. */
  readonly usedOfBytes: number | null;
  /** Of the sample nearest to the failure, or of the largest. */
  readonly moment: 'failure' | 'largest sample';
  /**
   * Other processes on this device in the last sample with any, the largest first; null where they cannot be
   * distinguished from this rank's own.
   */
  readonly others:
    | readonly { readonly pid: number | null; readonly process: string | null; readonly bytes: number }[]
    | null;
  /** Device memory in use less PyTorch's reserve, at the first and the last moment at which both are known. */
  readonly outsideFirstBytes: number | null;
  readonly outsideLastBytes: number | null;
  /**
   * Sources of the memory in use, of the driver's total, and of the last sample that lists the largest of the others.
   */
  readonly source: Place;
  readonly totalSource: Place;
  readonly othersSource: Place | null;
}

/** By rank; empty for a run without a monitor. */
export async function readMonitored(store: Store, runId: number): Promise<ReadonlyMap<number, MonitorFacts>> {
  const byRank = new Map<number, MonitorFacts>();
  // Most runs have none, and everything below makes many queries.
  if ((await store.all('outside.monitors', { run_id: runId })).length === 0) return byRank;
  const { devices } = await describeOutside(store, runId, '');
  for (const device of devices) {
    const facts = factsOf(device);
    if (device.rank !== null && facts !== null) byRank.set(device.rank, facts);
  }
  return byRank;
}

function factsOf({
  monitor,
  points,
  processes,
  total_bytes: total,
  outside,
}: Omit<OutsideDevice, 'joined_by'>): MonitorFacts | null {
  if (monitor === null) return null;
  const failure = points.findLast(({ kind }) => kind === 'failure message');
  const otherProcesses = processes.filter(({ is_own: isOwn }) => isOwn === false);
  // A message with both figures uses PyTorch's total, a sample the driver's.
  const isFromMessage = failure !== undefined && failure.apart_us === null;
  return {
    totalBytes: total,
    usedBytes: failure?.used_bytes ?? monitor.max_bytes,
    usedOfBytes: isFromMessage ? failure.total_bytes : total,
    moment: failure === undefined ? 'largest sample' : 'failure',
    // Without the rank's own pid, it is unknown which of the listed processes are others.
    others: processes.some(({ is_own: isOwn }) => isOwn !== null)
      ? otherProcesses.map(({ pid, process, last_bytes: bytes }) => ({ pid, process, bytes }))
      : null,
    outsideFirstBytes: outside === null || points.length < 2 ? null : outside.first_bytes,
    outsideLastBytes: outside === null || points.length < 2 ? null : outside.last_bytes,
    source:
      isFromMessage && failure.file !== null && failure.line !== null
        ? { path: failure.file, line: failure.line }
        : { path: monitor.file, line: monitor.max_line },
    totalSource: { path: monitor.file, line: monitor.max_line },
    othersSource:
      otherProcesses[0] === undefined ? null : { path: otherProcesses[0].file, line: otherProcesses[0].line },
  };
}
