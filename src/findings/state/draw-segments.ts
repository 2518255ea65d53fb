/** `mbforensics segments`: every segment of one device at one moment, cell by cell. */
import { type AllocatorState, freeHoles, stateTotals } from '../../allocator/walk/allocator-state.js';
import type { SegmentDrawing, SegmentGroup, SegmentsResult } from '../../model/results/at.js';
import type { Store } from '../../store/store.js';
import { readStreamNumbers } from '../run/names/stream-numbers.js';
import { deviceHistory } from '../trace/device-history.js';
import { type Moment, momentText } from '../trace/moment.js';
import { stateAt } from '../trace/state-at.js';
import type { ChosenDevice } from './choose-snapshot.js';
import { hex, namesOf, type SegmentSums, type StateNames, segmentSums, sharesBy } from './state-view.js';

export interface DrawingLimits {
  /** Cells of the widest drawing. */
  readonly cells: number;
  /** Segments drawn per group; 0 = all. */
  readonly limit: number;
}

/** The smallest unit of memory the driver maps, and so of a drawing. */
const SMALLEST_CELL_BYTES = 64 * 1024;

export async function drawSegments(
  store: Store,
  chosen: ChosenDevice,
  moment: Moment,
  limits: DrawingLimits,
): Promise<SegmentsResult> {
  const at = await stateAt(store, chosen.snapshotId, chosen.device, moment);
  const { state } = at;
  const history = await deviceHistory(store, chosen.snapshotId, chosen.device);
  const totals = stateTotals(state);
  const holes = freeHoles(state);
  const sums = segmentSums(state, holes);
  const names = namesOf(state, history.trace.pools.pair, await readStreamNumbers(store, chosen.snapshotId));
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
    reserved_bytes: totals.reservedBytes,
    active_bytes: totals.activeBytes,
    pending_bytes: totals.pendingBytes,
    segments: state.segments.count,
    basis: at.holds ? 'actual' : 'approximate',
    groups: groups(state, sums, names, limits),
  };
}

function groups(
  state: AllocatorState,
  sums: SegmentSums,
  names: StateNames,
  { cells, limit }: DrawingLimits,
): SegmentGroup[] {
  const { segments } = state;
  const keyOf = (segment: number) => ({
    pool: names.pool(segment),
    segment_type: segments.small[segment] === 1 ? ('small' as const) : ('large' as const),
    stream: names.stream(segment),
  });
  const texts = Array.from({ length: segments.count }, (_, segment) => JSON.stringify(keyOf(segment)));
  return sharesBy(state, sums, keyOf).map(({ key, ...share }) => {
    const text = JSON.stringify(key);
    // As memory_viz's segsum lists them: by size, then by what is in use; the largest first, since they decide.
    const rows = texts
      .flatMap((other, segment) => (other === text ? [segment] : []))
      .sort(
        (a, b) =>
          segments.totalBytes[b]! - segments.totalBytes[a]! ||
          sums.active[b]! - sums.active[a]! ||
          segments.address[a]! - segments.address[b]!,
      );
    const drawn = limit === 0 ? rows : rows.slice(0, limit);
    const rest = rows.slice(drawn.length);
    const widest = segments.totalBytes[rows[0]!]!;
    let cellBytes = SMALLEST_CELL_BYTES;
    while (Math.ceil(widest / cellBytes) > cells) cellBytes *= 2;
    const sum = (of: Float64Array): number => rest.reduce((total, segment) => total + of[segment]!, 0);
    return {
      ...key,
      ...share,
      cell_bytes: cellBytes,
      drawings: drawn.map((segment) => draw(state, sums, segment, cellBytes)),
      other_segments: {
        segments: rest.length,
        total_bytes: sum(segments.totalBytes),
        active_bytes: sum(sums.active),
      },
    };
  });
}

function draw(
  { segments, blocks }: AllocatorState,
  sums: SegmentSums,
  segment: number,
  cellBytes: number,
): SegmentDrawing {
  const start = segments.address[segment]!;
  const total = segments.totalBytes[segment]!;
  const count = Math.ceil(total / cellBytes);
  const allocated = new Float64Array(count);
  const pending = new Float64Array(count);
  const first = segments.firstBlock[segment]!;
  const last = segments.firstBlock[segment + 1]!;
  for (let row = first; row < last; row += 1) {
    const from = blocks.address[row]! - start;
    const to = Math.min(total, from + blocks.sizeBytes[row]!);
    const into = blocks.state[row] === 1 ? pending : allocated;
    for (let cell = Math.floor(from / cellBytes); cell * cellBytes < to; cell += 1)
      into[cell]! += Math.min(to, (cell + 1) * cellBytes) - Math.max(from, cell * cellBytes);
  }
  const width = (cell: number): number => Math.min(cellBytes, total - cell * cellBytes);
  return {
    address: hex(start),
    total_bytes: total,
    active_bytes: sums.active[segment]!,
    pending_bytes: sums.pending[segment]!,
    blocks: last - first,
    holes: sums.holes[segment]!,
    largest_hole_bytes: sums.largestHole[segment]!,
    expandable: segments.expandable[segment] === 1,
    cells: Array.from({ length: count }, (_, cell) => [allocated[cell]! / width(cell), pending[cell]! / width(cell)]),
  };
}
