/** The account of the moment with the most live memory, from a trace or from memory lines. */

import { BEFORE_TRACE } from '../../model/derived-tables.js';
import { sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import type { Part, PeakAccount } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { deviceHistories } from '../trace/device-history.js';
import type { StateKey } from '../trace/state-at.js';
import { partsOfState, statePartsAt } from './accounting.js';
import { CAPACITY, type Figure } from './facts.js';
import type { MemoryLines, MemoryRow } from './memory-lines.js';

/** A device of a snapshot at its peak, or without a trace at its dump. */
export interface PeakOfTrace {
  readonly snapshot_id: number;
  readonly device: number;
  readonly display_path: string;
  readonly has_trace: boolean;
  /** Of the device, where known. The remainder was free, or held outside PyTorch at that moment; no trace shows it. */
  readonly total: Figure | null;
}

/** Of each device. */
export async function peaksOfTraces(
  store: Store,
  peaks: readonly PeakOfTrace[],
): Promise<{ readonly account: PeakAccount; readonly state: StateKey }[]> {
  const histories = await deviceHistories(store, peaks);
  const states = peaks.map(({ snapshot_id, device }, i) => ({
    ...{ snapshot_id, device },
    at_seq: histories[i]!.peak.seq ?? BEFORE_TRACE,
  }));
  const parts = await statePartsAt(store, states);
  return peaks.map(({ has_trace, display_path: path, total }, i) => {
    const { seq } = histories[i]!.peak;
    const place = has_trace && seq !== null ? { path, entry: seq } : { path };
    const account: PeakAccount = {
      moment: has_trace ? 'peak' : 'dump',
      seq,
      ...toTotal(partsOfState(parts[i]!, place, false), sumOf(parts[i]!.values()), place, total),
      from: total === null || total.source === CAPACITY ? 'snapshot' : 'joined',
    };
    return { account, state: states[i]! };
  });
}

/**
 * Null where the rank's memory lines lack a peak. Largest allocated and largest reserved may be of different moments.
 */
export function peakOfLines(lines: MemoryLines, rank: number | null, total: Figure | null): PeakAccount | null {
  const ownLines = lines.of(rank).filter((row) => row.max_bytes !== null);
  const largest = (metrics: readonly string[]): MemoryRow | undefined =>
    metrics
      .flatMap((metric) => ownLines.filter((row) => row.metric === metric))
      .sort((a, b) => b.max_bytes! - a.max_bytes!)[0];
  const allocated = largest(['max_allocated', 'allocated']);
  const reserved = largest(['max_reserved', 'reserved']);
  if (allocated === undefined) return null;
  const at = ({ display_path: path, line }: MemoryRow): Place => ({ path, line });
  const parts: Part[] = [{ part: 'allocated', bytes: allocated.max_bytes!, place: at(allocated) }];
  const held = reserved ?? allocated;
  const beyond = held.max_bytes! - allocated.max_bytes!;
  if (beyond < 0) return null;
  if (beyond > 0) parts.push({ part: 'reserved_beyond', bytes: beyond, place: at(held), rest_of: 'reserved' });
  return { moment: 'lines', seq: null, ...toTotal(parts, held.max_bytes!, at(held), total), from: 'log' };
}

function toTotal(
  parts: readonly Part[],
  reserved: number,
  place: Place,
  total: Figure | null,
): Pick<PeakAccount, 'total' | 'parts'> {
  if (total === null) return { total: { kind: 'reserved', bytes: reserved, place }, parts };
  const left = total.bytes - reserved;
  const part = left >= 0 ? 'free_or_outside_pytorch' : 'more_than_the_total';
  return {
    total: { kind: 'total', bytes: total.bytes, place: total.source },
    parts: left === 0 ? parts : [...parts, { part, bytes: left, place: total.source, rest_of: 'total' }],
  };
}
