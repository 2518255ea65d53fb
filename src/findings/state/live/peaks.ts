/**
 * `mbforensics peak`: the live set at a moment of each device, by default at the most actual bytes in use, by any key.
 */
import { frameText, shownFrames } from '../../../attribution/frames/call-site.js';
import { listSnapshots, type SnapshotFilter } from '../../../derive/run/names/snapshots.js';
import { readStacks } from '../../../derive/stacks/read-stacks.js';
import { cut, namedSites } from '../../../derive/state/live/live-sites.js';
import { type Moment, momentText } from '../../../derive/trace/moment.js';
import { momentAt } from '../../../derive/trace/state-at.js';
import { MbfError } from '../../../model/errors.js';
import type { PeakDevice, PeakResult } from '../../../model/results/common.js';
import type { Grouping, GroupKey, KeyGroup, MemoryVizFigures } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { bridgeFigures } from '../parity/bridge.js';
import { memoryVizFigures, mosaicFigures } from '../parity/viewers.js';
import { lifetimeBasis } from './lifetimes.js';
import { groupLiveSet, type StackRow } from './live-groups.js';

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
  /** Only this device; default: all. */
  readonly device?: number | undefined;
  /** With native frames. */
  readonly rawFrames?: boolean;
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
    const ooms = await store.all('snapshot.ooms', { snapshot_id: row.snapshot_id });
    for (const device of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (device.segments === 0 && device.events === null) continue;
      if (question.device !== undefined && question.device !== device.device) continue;
      try {
        const peak = await devicePeak(store, row.snapshot_id, device.device, device.events !== null, limits, question);
        devices.push({ ...peak, ran_out: ooms.some((oom) => oom.device === device.device) });
        found = true;
      } catch (error) {
        // One device of several runs out of memory; the others lack that moment, and still get an answer.
        if (!(error instanceof MbfError && error.code === 'MBF1002')) throw error;
        missing = error;
        without.push(device.device);
      }
      if (question.grouping === 'memory_viz') {
        plotted.push(await memoryVizFigures(store, row.snapshot_id, device.device));
      }
    }
    devices.sort(
      (a, b) => Number(b.ran_out) - Number(a.ran_out) || b.active_bytes - a.active_bytes || a.device - b.device,
    );
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
): Promise<Omit<PeakDevice, 'ran_out'>> {
  const { moment = { kind: 'peak' }, by = 'site', depth = 1 } = question;
  const at = await momentAt(store, snapshotId, device, moment);
  const { key } = at;
  const totals = (await store.one('state.totals', { ...key }))!;
  const rows = await store.all('peak.stacks', { ...key });
  const sites = cut(
    namedSites(
      rows.map((row) => ({ ...row, has_stack: row.stack_id !== null, is_freed: row.origin === 'free_event' })),
    ),
    limits.sites,
  );
  const stacks = cut(stacksOf(rows), limits.stacks);
  const frames = await readStacks(
    store,
    stacks.shown.map((stack) => stack.stack_id ?? -1),
  );
  const groups = cut(await groupLiveSet(store, key, by, depth, rows), limits.sites);
  const lifetime = await lifetimeBasis(store, at.key.snapshot_id, at.key.device);
  const lived = (pick: (group: KeyGroup) => number | null): number | null =>
    lifetime.rule === 'none' ? null : groups.left.reduce((sum, group) => sum + (pick(group) ?? 0), 0);
  return {
    device,
    seq: hasTrace ? at.seq : null,
    moment: hasTrace ? momentText(moment) : 'dump',
    active_bytes: totals.active_bytes,
    reserved_bytes: totals.reserved_bytes,
    basis: at.holds ? 'actual' : 'approximate',
    blocks: totals.blocks,
    sites: sites.shown,
    stacks: stacks.shown.map((stack) => ({
      ...stack,
      frames: shownFrames(frames.get(stack.stack_id ?? -1) ?? [], question.rawFrames).map(frameText),
    })),
    other_sites: sites.rest,
    other_stacks: stacks.rest,
    by,
    depth,
    groups: groups.shown,
    other_groups: {
      ...groups.rest,
      resident_bytes: lived((group) => group.resident_bytes),
      transient_bytes: lived((group) => group.transient_bytes),
      unknown_bytes: lived((group) => group.unknown_bytes),
    },
    lifetime,
  };
}

/** Sums over lifetimes, in descending order of bytes. */
function stacksOf(rows: readonly StackRow[]) {
  const stacks = new Map<string, { stack_id: number | null; origin: string; bytes: number; count: number }>();
  for (const { stack_id, origin, bytes, count } of rows) {
    const key = `${stack_id} ${origin}`;
    const known = stacks.get(key) ?? { stack_id, origin, bytes: 0, count: 0 };
    stacks.set(key, { ...known, bytes: known.bytes + bytes, count: known.count + count });
  }
  return [...stacks.values()].sort((a, b) => b.bytes - a.bytes || (a.stack_id ?? -1) - (b.stack_id ?? -1));
}
