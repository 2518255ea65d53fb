/** The account of the moment with the most live memory, from a trace or from memory lines. */

import { BEFORE_TRACE } from '../../model/derived-tables.js';
import { placeText } from '../../model/place.js';
import { type AccountingPart, BY_SUBTRACTION, type PeakAccounting } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from '../trace/device-history.js';
import { partsOfState, statePartsAt } from './accounting.js';
import { CAPACITY, type Figure } from './facts.js';
import type { MemoryLines, MemoryRow } from './memory-lines.js';

/**
 * `total`: of the device, where known. The remainder was free or held outside PyTorch at that moment; no trace shows
 * which.
 */
export async function peakOfTrace(
  store: Store,
  snapshot: { readonly snapshotId: number; readonly device: number; readonly path: string; readonly hasTrace: boolean },
  total: Figure | null,
): Promise<PeakAccounting> {
  const { seq } = (await deviceHistory(store, snapshot.snapshotId, snapshot.device)).peak;
  const where = !snapshot.hasTrace
    ? 'as dumped'
    : seq === null
      ? 'before its first entry'
      : `entry ${formatCount(seq)}`;
  const source = `${snapshot.path} ${where}`;
  const state = await statePartsAt(store, snapshot.snapshotId, snapshot.device, seq ?? BEFORE_TRACE);
  const reserved = [...state.values()].reduce((sum, bytes) => sum + bytes, 0);
  return {
    moment: snapshot.hasTrace ? 'peak' : 'dump',
    seq,
    ...toTotal(partsOfState(state, source, false), { bytes: reserved, source }, total),
    from: total === null || total.source === CAPACITY ? 'snapshot' : 'joined',
  };
}

/**
 * Null where the rank's memory lines lack a peak. Largest allocated and largest reserved may be of different moments.
 */
export function peakOfLines(lines: MemoryLines, rank: number | null, total: Figure | null): PeakAccounting | null {
  const ownLines = lines.of(rank).filter((row) => row.max_bytes !== null);
  const largest = (metrics: readonly string[]): MemoryRow | undefined =>
    metrics
      .flatMap((metric) => ownLines.filter((row) => row.metric === metric))
      .sort((a, b) => b.max_bytes! - a.max_bytes!)[0];
  const allocated = largest(['max_allocated', 'allocated']);
  const reserved = largest(['max_reserved', 'reserved']);
  if (allocated === undefined) return null;
  const at = (row: MemoryRow): string => placeText({ path: row.display_path, line: row.line });
  const parts: AccountingPart[] = [{ part: 'allocated', bytes: allocated.max_bytes!, source: at(allocated) }];
  const held = reserved ?? allocated;
  const beyond = held.max_bytes! - allocated.max_bytes!;
  if (beyond < 0) return null;
  if (beyond > 0)
    parts.push({
      part: 'reserved_beyond',
      bytes: beyond,
      source: `${BY_SUBTRACTION}: reserved (${at(held)}) − allocated`,
    });
  const basis = { bytes: held.max_bytes!, source: at(held) };
  return { moment: 'lines', seq: null, ...toTotal(parts, basis, total), from: 'log' };
}

function toTotal(
  parts: readonly AccountingPart[],
  reserved: { readonly bytes: number; readonly source: string },
  total: Figure | null,
): Pick<PeakAccounting, 'total' | 'parts'> {
  if (total === null)
    return {
      total: { text: 'reserved (device total not in the evidence)', bytes: reserved.bytes, source: reserved.source },
      parts,
    };
  const left = total.bytes - reserved.bytes;
  const remainder: AccountingPart = {
    part: left >= 0 ? 'free_or_outside_pytorch' : 'more_than_the_total',
    bytes: left,
    source: `${BY_SUBTRACTION} from the total (${placeText(total.source)})`,
  };
  return {
    total: { text: 'device total', bytes: total.bytes, source: placeText(total.source) },
    parts: left === 0 ? parts : [...parts, remainder],
  };
}
