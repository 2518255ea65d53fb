/** `mbforensics state`: the allocator of one device at one moment. */

import { readNotes } from '../../derive/run/names/snapshots.js';
import { readStacks, siteName, siteOf } from '../../derive/stacks/read-stacks.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { cut, liveSites } from '../../derive/state/live/live-sites.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { momentAt, type StateKey } from '../../derive/trace/state-at.js';
import { pick } from '../../model/pick.js';
import type { AtResult, PinnedSegment } from '../../model/results/at.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { nvtxOf } from '../nsys/snapshot-clock.js';
import { blockLabels } from '../run/names/block-labels.js';
import { readStreamNumbers } from '../run/names/stream-numbers.js';
import { hex, placeOf, shareOf } from './state-view.js';

/** Sites named per pinned segment; more are rarely read, and the count shows that there are more. */
const SITES_PER_SEGMENT = 3;
const ALL = 0x7fffffff;

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
  const { key, seq, timeUs, history, holds } = await momentAt(store, snapshotId, device, moment);
  const count = limit === 0 ? ALL : limit;
  const totals = (await store.one('state.totals', key))!;
  const shares = await store.all('state.shares', key);
  const whole = shares.find(({ part }) => part === 'device');
  const { reserved_bytes: reserved, active_bytes: active } = totals;
  const inactive = reserved - active;
  const numbers = await readStreamNumbers(store, snapshotId);
  const sites = cut(await liveSites(store, key), limit);
  const holes = await store.all('state.holes', { ...key, count });
  const pinned = await store.all('state.pinned_segments', { ...key, count });
  const ring = (await readNotes(store, chosen.sourceId)).find(
    (note) => note.device === device && (note.kind === 'ring_truncated' || note.kind === 'ring_probably_truncated'),
  );
  const overwritten = ring?.kind === 'ring_truncated';
  const entryAt = (at: number) => store.one('history.entry', { snapshot_id: snapshotId, device, seq: at });
  const siteOfEntry = async (stackId: number | null): Promise<string | null> =>
    stackId === null ? null : siteOf(stackId, await readStacks(store, [stackId]));
  const entry = seq === null ? undefined : await entryAt(seq);
  const next = history.trace.events === 0 ? undefined : await entryAt(seq === null ? 0 : seq + 1);
  const largestHole = whole?.largest_hole_bytes ?? 0;
  return {
    schema: 'mbforensics/at@1',
    snapshot: chosen.handle,
    path: chosen.path,
    rank: chosen.rank,
    device,
    moment: momentText(moment),
    seq,
    last_seq: history.trace.events === 0 ? null : history.trace.events - 1,
    time_us: timeUs,
    entry:
      entry === undefined
        ? null
        : {
            action: entry.action,
            address: entry.addr === null ? null : hex(entry.addr),
            size_bytes: entry.size_bytes,
            site: await siteOfEntry(entry.stack_id),
          },
    failed_request:
      next?.action !== 'oom'
        ? null
        : {
            seq: seq === null ? 0 : seq + 1,
            requested_bytes: next.size_bytes,
            site: await siteOfEntry(next.stack_id),
          },
    reserved_bytes: reserved,
    active_bytes: active,
    allocated_bytes: active - totals.pending_bytes,
    pending_bytes: totals.pending_bytes,
    inactive_bytes: inactive,
    requested_bytes: totals.requested_bytes,
    rounding_bytes: totals.rounding_bytes,
    largest_hole_bytes: largestHole,
    segments: totals.segments,
    blocks: totals.blocks,
    holes: whole?.holes ?? 0,
    releasable_bytes: whole?.releasable_bytes ?? 0,
    basis: holds ? 'actual' : 'approximate',
    uncertain_blocks: totals.uncertain_blocks,
    uncertain_bytes: totals.uncertain_bytes,
    start: history.trace.events === 0 ? null : history.startsEmpty ? 'cold' : overwritten ? 'overwritten' : 'late',
    ring_note: ring?.text ?? null,
    nvtx: await nvtxOf(store, chosen, timeUs),
    fragmentation: {
      inactive_of_reserved: reserved === 0 ? null : (whole?.inactive_bytes ?? 0) / reserved,
      largest_hole_of_inactive: largestHole === 0 ? null : largestHole / whole!.inactive_bytes,
      squared_gap_index: reserved === 0 ? null : (whole?.hole_squares ?? 0) / (reserved * reserved),
    },
    pools: shares.flatMap((row) => {
      if (row.part !== 'pool') return [];
      const { pool, segment_type } = placeOf(row, numbers);
      return [{ pool, segment_type, expandable: row.is_expandable === true, ...shareOf(row) }];
    }),
    streams: shares.flatMap((row) => {
      if (row.part !== 'stream') return [];
      const pointer = row.stream === null ? null : String(row.stream);
      return [{ stream: placeOf(row, numbers).stream, pointer, ...shareOf(row) }];
    }),
    sites: sites.shown,
    other_sites: sites.rest,
    largest_holes: holes.map((hole) => ({
      address: hex(hole.address),
      bytes: hole.bytes,
      segment: hex(hole.segment_address),
      ...placeOf(hole, numbers),
    })),
    pinned_segments: await describePinned(store, key, pinned),
    other_pinned_segments: {
      segments: (pinned[0]?.all_segments ?? 0) - pinned.length,
      inactive_bytes: (pinned[0]?.all_inactive_bytes ?? 0) - pinned.reduce((sum, row) => sum + row.inactive_bytes, 0),
    },
  };
}

async function describePinned(
  store: Store,
  key: StateKey,
  rows: readonly QueryRow<'state.pinned_segments'>[],
): Promise<PinnedSegment[]> {
  if (rows.length === 0) return [];
  const segments = rows.map((row) => row.address).join(',');
  const pins = await store.all('state.pinning_sites', { ...key, segments, most: SITES_PER_SEGMENT });
  const labels = await blockLabels(
    store,
    key.snapshot_id,
    pins.map((pin) => ({ address: Number(pin.address), allocSeq: pin.alloc_seq })),
  );
  return rows.map((row) => ({
    segment: hex(row.address),
    ...pick(row, ['total_bytes', 'inactive_bytes', 'largest_hole_bytes', 'active_bytes', 'blocks']),
    expandable: row.is_expandable,
    releasable_bytes: row.releasable_bytes,
    pinned_by: pins.flatMap((pin, i) =>
      pin.segment === row.address
        ? [
            {
              site: siteName(pin.site, pin.has_stack),
              bytes: pin.bytes,
              count: pin.count,
              label: pin.count === 1 ? labels[i]! : null,
            },
          ]
        : [],
    ),
  }));
}
