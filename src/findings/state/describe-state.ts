/** `mbforensics at`: the allocator of one device at one moment. */
import { type AllocatorState, freeHoles, stateTotals } from '../../allocator/walk/allocator-state.js';
import type { AtResult, PinnedSegment } from '../../model/results/at.js';
import type { Store } from '../../store/store.js';
import { nvtxOf } from '../nsys/snapshot-clock.js';
import { blockLabels } from '../run/names/block-labels.js';
import { readNotes } from '../run/names/snapshots.js';
import { readStreamNumbers } from '../run/names/stream-numbers.js';
import { readStacks, siteOf } from '../stacks/read-stacks.js';
import { deviceHistory } from '../trace/device-history.js';
import { type Moment, momentText } from '../trace/moment.js';
import { stateAt } from '../trace/state-at.js';
import type { ChosenDevice } from './choose-snapshot.js';
import { liveSet } from './live/live-set.js';
import {
  fragmentation,
  hex,
  largestHoles,
  namesOf,
  poolShares,
  releasableBytes,
  type SegmentSums,
  segmentSums,
  streamShares,
} from './state-view.js';

/** Sites named per pinned segment; more are rarely read, and the count shows that there are more. */
const SITES_PER_SEGMENT = 3;

export interface AtLimits {
  /** Sites, holes and pinned segments shown; 0 = all. */
  readonly limit: number;
}

export async function describeState(
  store: Store,
  chosen: ChosenDevice,
  moment: Moment,
  { limit }: AtLimits,
): Promise<AtResult> {
  const { snapshotId, device } = chosen;
  const at = await stateAt(store, snapshotId, device, moment);
  const history = await deviceHistory(store, snapshotId, device);
  const { state } = at;
  const totals = stateTotals(state);
  const holes = freeHoles(state);
  const sums = segmentSums(state, holes);
  const names = namesOf(state, history.trace.pools.pair, await readStreamNumbers(store, snapshotId));
  const live = await liveSet(store, state);
  const releasable = releasableBytes(state, holes, at.settings);
  const count = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const shownSites = live.sites.slice(0, count);
  const otherSites = live.sites.slice(shownSites.length);
  const ring = (await readNotes(store, chosen.sourceId)).find(
    (note) => note.device === device && (note.kind === 'ring_truncated' || note.kind === 'ring_probably_truncated'),
  );
  const overwritten = ring?.kind === 'ring_truncated';
  const pinned = pinnedRows(state, sums, releasable);
  const entry =
    at.seq === null ? undefined : await store.one('history.entry', { snapshot_id: snapshotId, device, seq: at.seq });
  return {
    schema: 'mbforensics/at@1',
    snapshot: chosen.handle,
    path: chosen.path,
    rank: chosen.rank,
    device,
    moment: momentText(moment),
    seq: at.seq,
    last_seq: history.trace.events === 0 ? null : history.trace.events - 1,
    time_us: at.timeUs,
    entry:
      entry === undefined
        ? null
        : {
            action: entry.action,
            address: entry.addr === null ? null : hex(Number(entry.addr)),
            size_bytes: entry.size_bytes,
            site: entry.stack_id === null ? null : siteOf(entry.stack_id, await readStacks(store, [entry.stack_id])),
          },
    reserved_bytes: totals.reservedBytes,
    active_bytes: totals.activeBytes,
    allocated_bytes: totals.allocatedBytes,
    pending_bytes: totals.pendingBytes,
    inactive_bytes: totals.reservedBytes - totals.activeBytes,
    requested_bytes: totals.requestedBytes,
    rounding_bytes: roundingBytes(state),
    largest_hole_bytes: holes.bytes.reduce((most, bytes) => Math.max(most, bytes), 0),
    segments: state.segments.count,
    blocks: state.blocks.count,
    holes: holes.count,
    releasable_bytes: releasable.reduce((sum, bytes) => sum + bytes, 0),
    basis: at.holds ? 'actual' : 'approximate',
    uncertain_blocks: totals.uncertainBlocks,
    uncertain_bytes: totals.uncertainBytes,
    start: history.trace.events === 0 ? null : history.startsEmpty ? 'cold' : overwritten ? 'overwritten' : 'late',
    ring_note: ring?.text ?? null,
    nvtx: await nvtxOf(store, chosen, at.timeUs),
    fragmentation: fragmentation(state, holes),
    pools: poolShares(state, sums, names),
    streams: streamShares(state, sums, names),
    sites: shownSites,
    other_sites: {
      groups: otherSites.length,
      bytes: otherSites.reduce((sum, site) => sum + site.bytes, 0),
      count: otherSites.reduce((sum, site) => sum + site.count, 0),
    },
    largest_holes: largestHoles(state, holes, names, count),
    pinned_segments: await describePinned(store, snapshotId, state, sums, releasable, pinned.slice(0, count)),
    other_pinned_segments: {
      segments: Math.max(0, pinned.length - count),
      inactive_bytes: pinned
        .slice(count)
        .reduce((sum, segment) => sum + state.segments.totalBytes[segment]! - sums.active[segment]!, 0),
    },
  };
}

/** What blocks have beyond what was asked for, where that is known. */
function roundingBytes({ blocks }: AllocatorState): number {
  let bytes = 0;
  for (let row = 0; row < blocks.count; row += 1)
    if (blocks.requestedBytes[row]! >= 0) bytes += blocks.sizeBytes[row]! - blocks.requestedBytes[row]!;
  return bytes;
}

/** Segments with free memory that live blocks keep from the driver, most stuck bytes first. */
function pinnedRows(state: AllocatorState, sums: SegmentSums, releasable: Float64Array): number[] {
  const stuck = (segment: number): number =>
    state.segments.totalBytes[segment]! - sums.active[segment]! - releasable[segment]!;
  return Array.from({ length: state.segments.count }, (_, segment) => segment)
    .filter((segment) => sums.active[segment]! > 0 && stuck(segment) > 0)
    .sort((a, b) => stuck(b) - stuck(a) || state.segments.address[a]! - state.segments.address[b]!);
}

async function describePinned(
  store: Store,
  snapshotId: number,
  state: AllocatorState,
  sums: SegmentSums,
  releasable: Float64Array,
  rows: readonly number[],
): Promise<PinnedSegment[]> {
  const { segments, blocks } = state;
  const stackIds = new Set<number>();
  for (const segment of rows)
    for (let row = segments.firstBlock[segment]!; row < segments.firstBlock[segment + 1]!; row += 1)
      stackIds.add(blocks.stackId[row]!);
  const stacks = await readStacks(store, stackIds);
  const pins = rows.map((segment) => {
    const sites = new Map<string, { site: string; bytes: number; count: number; row: number }>();
    for (let row = segments.firstBlock[segment]!; row < segments.firstBlock[segment + 1]!; row += 1) {
      const site = siteOf(blocks.stackId[row]!, stacks);
      const known = sites.get(site);
      if (known === undefined) sites.set(site, { site, bytes: blocks.sizeBytes[row]!, count: 1, row });
      else {
        known.bytes += blocks.sizeBytes[row]!;
        known.count += 1;
      }
    }
    return [...sites.values()].sort((a, b) => b.bytes - a.bytes).slice(0, SITES_PER_SEGMENT);
  });
  const single = pins.flatMap((sites) => sites.filter((site) => site.count === 1));
  const named = await blockLabels(
    store,
    snapshotId,
    single.map(({ row }) => ({ address: blocks.address[row]!, allocSeq: blocks.allocSeq[row]! })),
  );
  const labels = new Map(single.map(({ row }, i) => [blocks.address[row]!, named[i]!]));
  return rows.map((segment, i) => ({
    segment: hex(segments.address[segment]!),
    total_bytes: segments.totalBytes[segment]!,
    inactive_bytes: segments.totalBytes[segment]! - sums.active[segment]!,
    largest_hole_bytes: sums.largestHole[segment]!,
    active_bytes: sums.active[segment]!,
    blocks: segments.firstBlock[segment + 1]! - segments.firstBlock[segment]!,
    expandable: segments.expandable[segment] === 1,
    releasable_bytes: releasable[segment]!,
    pinned_by: pins[i]!.map(({ site, bytes, count, row }) => ({
      site,
      bytes,
      count,
      label: count === 1 ? (labels.get(blocks.address[row]!) ?? null) : null,
    })),
  }));
}
