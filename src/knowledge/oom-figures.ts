/** What follows from the figures of a failure message. */
import type { IncidentRow } from '../model/tables.js';

/** A figure computed from printed ones, with the sum of their reading errors. */
export interface DerivedBytes {
  readonly bytes: number;
  readonly precisionBytes: number;
}

/**
 * Memory torch holds on the device: printed (1.4–2.0), or allocated + unallocated (1.0–1.3 and 2.1 on). Since 2.4 the
 * printed "allocated" already contains the free blocks of private pools, so they are not added again.
 */
export function reservedOf(row: Pick<IncidentRow, 'bytes'>): DerivedBytes | null {
  const { reserved, allocated, reservedUnallocated } = row.bytes;
  if (reserved !== undefined) return { bytes: reserved.bytes, precisionBytes: reserved.precisionBytes };
  if (allocated === undefined || reservedUnallocated === undefined) return null;
  return {
    bytes: allocated.bytes + reservedUnallocated.bytes,
    precisionBytes: allocated.precisionBytes + reservedUnallocated.precisionBytes,
  };
}

/** Reserved but not allocated: printed, or reserved − allocated of the 1.4–2.0 wordings. */
export function unallocatedOf(row: Pick<IncidentRow, 'bytes'>): DerivedBytes | null {
  const { reserved, allocated, reservedUnallocated } = row.bytes;
  if (reservedUnallocated !== undefined) {
    return { bytes: reservedUnallocated.bytes, precisionBytes: reservedUnallocated.precisionBytes };
  }
  if (reserved === undefined || allocated === undefined) return null;
  return {
    bytes: reserved.bytes - allocated.bytes,
    precisionBytes: reserved.precisionBytes + allocated.precisionBytes,
  };
}

/** Which of the processes named in a message is the failing one. */
export interface ProcessReading {
  /** The failing process's own use: from its own sentence, or the one process that must be it. */
  readonly self: DerivedBytes | null;
  /** Sum over the other named processes; null if none is named. */
  readonly others: DerivedBytes | null;
  /** The pid under which the failing process itself is listed. */
  readonly selfPid: number | null;
  /**
   * No "this process" sentence, but processes are named: in a container torch does not recognise its own pid, so one of
   * them may be the failing process. `self` is then inferred.
   */
  readonly ambiguous: boolean;
}

/**
 * Applies the rule for messages from inside a pid namespace: without a "this process" sentence, if exactly one named
 * process uses at least what torch has reserved, it is the failing process. Both sides are compared with their reading
 * errors.
 */
export function readProcesses(row: Pick<IncidentRow, 'bytes' | 'processes'>): ProcessReading {
  const sum = (rows: IncidentRow['processes']): DerivedBytes | null =>
    rows.length === 0
      ? null
      : {
          bytes: rows.reduce((total, row) => total + row.printed.bytes, 0),
          precisionBytes: rows.reduce((total, row) => total + row.printed.precisionBytes, 0),
        };
  const mine = row.bytes.process;
  if (mine !== undefined) {
    const self = { bytes: mine.bytes, precisionBytes: mine.precisionBytes };
    return { self, others: sum(row.processes), selfPid: null, ambiguous: false };
  }
  const ambiguous = row.processes.length > 0;
  const reserved = reservedOf(row);
  const candidates =
    reserved === null
      ? []
      : row.processes.filter(
          ({ printed }) => printed.bytes + printed.precisionBytes >= reserved.bytes - reserved.precisionBytes,
        );
  const only = candidates.length === 1 ? candidates[0] : undefined;
  if (only === undefined) return { self: null, others: sum(row.processes), selfPid: null, ambiguous };
  return {
    self: { bytes: only.printed.bytes, precisionBytes: only.printed.precisionBytes },
    others: sum(row.processes.filter((process) => process !== only)),
    selfPid: only.pid,
    ambiguous,
  };
}
