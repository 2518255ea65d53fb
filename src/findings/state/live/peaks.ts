/**
 * `mbforensics peak`: the live set at a moment of each device, by default at the most actual bytes in use, by any key.
 */
import { stateTotals } from '../../../allocator/walk/allocator-state.js';
import { MbfError } from '../../../model/errors.js';
import type { PeakDevice, PeakResult } from '../../../model/results/common.js';
import type { Grouping, GroupKey, KeyGroup, MemoryVizFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { listSnapshots, type SnapshotFilter } from '../../run/names/snapshots.js';
import { readStacks } from '../../stacks/read-stacks.js';
import { type Moment, momentText } from '../../trace/moment.js';
import { type StateAt, stateAt } from '../../trace/state-at.js';
import { bridgeFigures } from '../parity/bridge.js';
import { memoryVizFigures } from '../parity/memory-viz.js';
import { mosaicFigures } from '../parity/mosaic.js';
import { groupLiveSet } from './live-groups.js';
import { type LiveSet, liveSet } from './live-set.js';

export interface PeakLimits {
  /** Groups shown; 0 = all. */
  readonly sites: number;
  readonly stacks: number;
}

export interface PeakQuestion {
  /** Default: the peak. */
  readonly moment?: Moment;
  /** Default: site. */
  readonly by?: GroupKey;
  /** Frames that make a key; default 1. */
  readonly depth?: number;
  /** Adds a peer's figures; default: ours alone. */
  readonly grouping?: Grouping;
}

/** Throws MBF1002 where no device of the snapshots has the moment. */
export async function describePeaks(
  store: Store,
  filter: SnapshotFilter,
  limits: PeakLimits,
  question: PeakQuestion = {},
): Promise<PeakResult> {
  const snapshots: PeakResult['snapshots'][number][] = [];
  let missing: MbfError | undefined;
  let found = false;
  for (const row of await listSnapshots(store, filter)) {
    const devices: PeakDevice[] = [];
    const without: number[] = [];
    const plotted: MemoryVizFigures[] = [];
    for (const device of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (device.segments === 0 && device.events === null) continue;
      try {
        devices.push(await devicePeak(store, row.snapshot_id, device.device, device.events !== null, limits, question));
        found = true;
      } catch (error) {
        // One device of several runs out of memory; the others lack that moment, and still get an answer.
        if (!(error instanceof MbfError && error.code === 'MBF1002')) throw error;
        missing = error;
        without.push(device.device);
      }
      if (question.grouping === 'memory_viz') {
        const dump = await stateAt(store, row.snapshot_id, device.device, { kind: 'end' });
        plotted.push(await memoryVizFigures(store, row.snapshot_id, device.device, dump.state));
      }
    }
    snapshots.push({
      path: row.display_path,
      handle: row.handle,
      rank: row.rank,
      devices,
      ...(without.length > 0 ? { devices_without_moment: without } : {}),
      ...(question.grouping === 'bridge'
        ? { bridge: await bridgeFigures(store, row.snapshot_id, question.depth ?? 1) }
        : {}),
      ...(question.grouping === 'mosaic' ? { mosaic: await mosaicFigures(store, row.snapshot_id) } : {}),
      ...(question.grouping === 'memory_viz' ? { memory_viz: plotted } : {}),
    });
  }
  if (!found && missing !== undefined) throw missing;
  return { schema: 'mbforensics/peak@1', snapshots };
}

async function devicePeak(
  store: Store,
  snapshotId: number,
  device: number,
  hasTrace: boolean,
  limits: PeakLimits,
  question: PeakQuestion,
): Promise<PeakDevice> {
  const { moment = { kind: 'peak' }, by = 'site', depth = 1 } = question;
  const at: StateAt = await stateAt(store, snapshotId, device, moment);
  const { state } = at;
  const stacks = await readStacks(store, state.blocks.stackId.subarray(0, state.blocks.count));
  const live = await liveSet(store, state, stacks);
  const grouped = await groupLiveSet(store, { snapshotId, device, at, by, depth, stacks });
  const groups = cut(grouped.groups, limits.sites);
  const lived = (pick: (group: KeyGroup) => number | null): number | null =>
    grouped.lifetime.rule === 'none' ? null : groups.left.reduce((sum, group) => sum + (pick(group) ?? 0), 0);
  return {
    device,
    seq: hasTrace ? at.seq : null,
    moment: hasTrace ? momentText(moment) : 'dump',
    active_bytes: live.bytes,
    reserved_bytes: stateTotals(state).reservedBytes,
    basis: at.holds ? 'actual' : 'approximate',
    blocks: live.blocks,
    ...limited(live, limits),
    by,
    depth,
    groups: groups.shown,
    other_groups: {
      ...groups.rest,
      resident_bytes: lived((group) => group.resident_bytes),
      transient_bytes: lived((group) => group.transient_bytes),
      unknown_bytes: lived((group) => group.unknown_bytes),
    },
    lifetime: grouped.lifetime,
  };
}

function cut<T extends { readonly bytes: number; readonly count: number }>(groups: readonly T[], limit: number) {
  const shown = limit === 0 ? groups : groups.slice(0, limit);
  const left = groups.slice(shown.length);
  const sum = (pick: (group: T) => number): number => left.reduce((total, group) => total + pick(group), 0);
  return {
    shown,
    left,
    rest: { groups: left.length, bytes: sum((group) => group.bytes), count: sum((group) => group.count) },
  };
}

function limited(live: LiveSet, limits: PeakLimits) {
  const sites = cut(live.sites, limits.sites);
  const stacks = cut(live.stacks, limits.stacks);
  return { sites: sites.shown, stacks: stacks.shown, other_sites: sites.rest, other_stacks: stacks.rest };
}
