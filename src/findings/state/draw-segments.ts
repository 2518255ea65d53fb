/** `mbforensics state --map`: every segment of one device at one moment, cell by cell. */

import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { momentAt, type StateKey } from '../../derive/trace/state-at.js';
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type { SegmentDrawing, SegmentsResult } from '../../model/results/at.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readStreamNumbers } from '../run/names/stream-numbers.js';
import { hex, placeOf, shareOf } from './state-view.js';

export interface DrawingLimits {
  /** Cells of the widest drawing. */
  readonly cells: number;
  /** Segments drawn per group; 0 = all. */
  readonly limit: number;
}

/** The smallest unit of memory the driver maps, and so of a drawing. */
const SMALLEST_CELL_BYTES = 64 * 1024;
const ALL = 0x7fffffff;

export async function drawSegments(
  store: Store,
  chosen: ChosenDevice,
  moment: Moment,
  { cells, limit }: DrawingLimits,
): Promise<SegmentsResult> {
  const at = await momentAt(store, chosen.snapshotId, chosen.device, moment);
  const { key, history } = at;
  const totals = (await store.one('state.totals', key))!;
  const numbers = await readStreamNumbers(store, chosen.snapshotId);
  const segments = await store.all('state.largest_segments', { ...key, count: limit === 0 ? ALL : limit });
  const shares = (await store.all('state.shares', { ...key })).filter(({ part }) => part === 'group');
  const groups = shares.map((share) => {
    const drawn = segments.filter((segment) => samePlace(segment, share));
    const widest = drawn[0]!.total_bytes;
    let cellBytes = SMALLEST_CELL_BYTES;
    while (Math.ceil(widest / cellBytes) > cells) cellBytes *= 2;
    return { share, drawn, cellBytes };
  });
  const drawing = await drawings(store, key, groups);
  return {
    schema: 'mbforensics/segments@1',
    snapshot: chosen.handle,
    path: chosen.path,
    rank: chosen.rank,
    device: chosen.device,
    moment: momentText(moment),
    seq: at.seq,
    last_seq: history.trace.events === 0 ? null : history.trace.events - 1,
    time_us: at.timeUs,
    ...pick(totals, ['reserved_bytes', 'active_bytes', 'pending_bytes', 'segments']),
    basis: at.holds ? 'actual' : 'approximate',
    groups: groups.map(({ share, drawn, cellBytes }) => ({
      ...placeOf(share, numbers),
      ...shareOf(share),
      cell_bytes: cellBytes,
      drawings: drawn.map((segment) => drawing(segment, cellBytes)),
      other_segments: {
        segments: share.segments - drawn.length,
        total_bytes: drawn.reduce((rest, segment) => rest - segment.total_bytes, share.reserved_bytes),
        active_bytes: drawn.reduce((rest, segment) => rest - segment.active_bytes, share.active_bytes),
      },
    })),
  };
}

type Segment = QueryRow<'state.largest_segments'>;

function samePlace(segment: Segment, share: QueryRow<'state.shares'>): boolean {
  return (['pool_id_a', 'pool_id_b', 'segment_type', 'stream'] as const).every((name) => segment[name] === share[name]);
}

async function drawings(
  store: Store,
  key: StateKey,
  groups: readonly { readonly drawn: readonly Segment[]; readonly cellBytes: number }[],
): Promise<(segment: Segment, cellBytes: number) => SegmentDrawing> {
  const segments = groups.flatMap(({ drawn, cellBytes }) =>
    drawn.map(({ address, total_bytes }) => `${address} ${total_bytes} ${cellBytes}`),
  );
  const cells = groupBy(await store.all('state.cells', { ...key, segments: segments.join() }), (row) =>
    String(row.address),
  );
  return (segment, cellBytes) => {
    const filled = new Map((cells.get(String(segment.address)) ?? []).map((row) => [row.cell, row]));
    return {
      address: hex(segment.address),
      ...pick(segment, ['total_bytes', 'active_bytes', 'pending_bytes', 'blocks', 'holes', 'largest_hole_bytes']),
      expandable: segment.is_expandable,
      cells: Array.from({ length: Math.ceil(segment.total_bytes / cellBytes) }, (_, cell) => {
        const width = Math.min(cellBytes, segment.total_bytes - cell * cellBytes);
        const { allocated_bytes = 0, pending_bytes = 0 } = filled.get(cell) ?? {};
        return [allocated_bytes / width, pending_bytes / width];
      }),
    };
  };
}
