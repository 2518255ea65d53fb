/** `mbforensics state --map`: every segment of one device at one moment, cell by cell. */

import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { momentAt, type StateKey } from '../../derive/trace/state-at.js';
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
    return { share, drawn: drawn.map((segment) => new Drawing(segment, cellBytes)), cellBytes };
  });
  await fill(
    store,
    key,
    groups.flatMap(({ drawn }) => drawn),
  );
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
      drawings: drawn.map((drawing) => drawing.result()),
      other_segments: {
        segments: share.segments - drawn.length,
        total_bytes: drawn.reduce((rest, { segment }) => rest - segment.total_bytes, share.reserved_bytes),
        active_bytes: drawn.reduce((rest, { segment }) => rest - segment.active_bytes, share.active_bytes),
      },
    })),
  };
}

type Segment = QueryRow<'state.largest_segments'>;

function samePlace(segment: Segment, share: QueryRow<'state.shares'>): boolean {
  return (['pool_id_a', 'pool_id_b', 'segment_type', 'stream'] as const).every((name) => segment[name] === share[name]);
}

/** Goes once over the live blocks, of which there may be very many. */
async function fill(store: Store, key: StateKey, drawings: readonly Drawing[]): Promise<void> {
  const ascending = drawings.toSorted((a, b) => a.start - b.start);
  const spec = { address: 'f64', actual_bytes: 'f64', is_pending: 'u8' } as const;
  let next = 0;
  for await (const { rows, columns } of store.readQueryColumns('state.blocks', { ...key }, spec)) {
    for (let row = 0; row < rows; row += 1) {
      const address = columns.address[row]!;
      while (next < ascending.length && address >= ascending[next]!.end) next += 1;
      if (next === ascending.length) return;
      if (address >= ascending[next]!.start)
        ascending[next]!.add(address, columns.actual_bytes[row]!, columns.is_pending[row] === 1);
    }
  }
}

class Drawing {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
  private readonly cellBytes: number;
  private readonly allocated: Float64Array;
  private readonly pending: Float64Array;

  constructor(segment: Segment, cellBytes: number) {
    this.segment = segment;
    this.start = Number(segment.address);
    this.end = this.start + segment.total_bytes;
    this.cellBytes = cellBytes;
    const cells = Math.ceil(segment.total_bytes / cellBytes);
    this.allocated = new Float64Array(cells);
    this.pending = new Float64Array(cells);
  }

  add(address: number, bytes: number, isPending: boolean): void {
    const { cellBytes } = this;
    const from = address - this.start;
    const to = Math.min(this.segment.total_bytes, from + bytes);
    const into = isPending ? this.pending : this.allocated;
    for (let cell = Math.floor(from / cellBytes); cell * cellBytes < to; cell += 1)
      into[cell]! += Math.min(to, (cell + 1) * cellBytes) - Math.max(from, cell * cellBytes);
  }

  result(): SegmentDrawing {
    const { segment, cellBytes } = this;
    const width = (cell: number): number => Math.min(cellBytes, segment.total_bytes - cell * cellBytes);
    return {
      address: hex(segment.address),
      ...pick(segment, ['total_bytes', 'active_bytes', 'pending_bytes', 'blocks', 'holes', 'largest_hole_bytes']),
      expandable: segment.is_expandable,
      cells: Array.from(this.allocated, (bytes, cell) => [bytes / width(cell), this.pending[cell]! / width(cell)]),
    };
  }
}
