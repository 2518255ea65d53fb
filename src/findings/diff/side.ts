/**
 * One side of a comparison: the live blocks of a device at a moment, grouped by stack, and what describes the snapshot.
 */
import type { Frame } from '../../attribution/frames/call-site.js';
import { poolWords } from '../../model/pool-words.js';
import type { DiffSide } from '../../model/results/diff.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { useLabels } from '../attribution/use-labels.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../stacks/read-stacks.js';
import { type Moment, momentText } from '../trace/moment.js';
import { momentAt, type StateKey } from '../trace/state-at.js';
import { readSteps } from '../trace/steps.js';
import type { StackGroup } from './match-sites.js';

/** A device with memory or a trace. */
export interface CandidateDevice {
  readonly device: number;
  readonly hasTrace: boolean;
  /** At most, over the trace. */
  readonly reservedBytes: number;
  /** OOM entries of its trace. */
  readonly ooms: number;
}

/** A snapshot that may be compared. */
export interface Candidate {
  readonly snapshotId: number;
  readonly handle: string;
  readonly path: string;
  readonly run: string;
  readonly rank: number | null;
  /** Unix epoch; null where no entry has a time. */
  readonly lastTimeUs: number | null;
  readonly devices: readonly CandidateDevice[];
}

/**
 * The snapshots of a run, or the one a handle names; in order of rank, then time, then place. Those without memory and
 * trace are left out.
 */
export async function listCandidates(store: Store, runId: number, handle: string | undefined): Promise<Candidate[]> {
  const rows = await store.all('snapshot.list', {
    run_id: handle === undefined ? runId : null,
    handle: handle ?? null,
  });
  const times = new Map(
    (await store.all('diff.snapshot_times', { run_id: runId })).map((row) => [row.snapshot_id, row.last_time_us]),
  );
  const candidates: Candidate[] = [];
  for (const row of rows) {
    const devices = await store.all('snapshot.devices', { snapshot_id: row.snapshot_id });
    const usable = devices.filter((device) => device.segments > 0 || device.events !== null);
    if (usable.length === 0) continue;
    const ooms = await store.all('snapshot.ooms', { snapshot_id: row.snapshot_id });
    candidates.push({
      snapshotId: row.snapshot_id,
      handle: row.handle,
      path: row.display_path,
      run: row.run,
      rank: row.rank,
      lastTimeUs: times.get(row.snapshot_id) ?? null,
      devices: usable.map((device) => ({
        device: device.device,
        hasTrace: device.events !== null,
        reservedBytes: Math.max(device.reserved_bytes, device.peak_reserved_bytes ?? 0),
        ooms: ooms.filter((oom) => oom.device === device.device).length,
      })),
    });
  }
  return candidates.sort(
    (a, b) =>
      (a.rank ?? -1) - (b.rank ?? -1) || (a.lastTimeUs ?? -1) - (b.lastTimeUs ?? -1) || a.snapshotId - b.snapshotId,
  );
}

/** The numbers of the steps that some device of the snapshot has whole, ascending. */
export async function wholeSteps(store: Store, snapshotId: number): Promise<number[]> {
  const wholeStepNumbers = new Set<number>();
  for (const { device, events } of await store.all('snapshot.devices', { snapshot_id: snapshotId })) {
    if (events === null) continue;
    const { steps } = await readSteps(store, snapshotId, device);
    for (const step of steps) if (step.partial === null) wholeStepNumbers.add(step.step);
  }
  return [...wholeStepNumbers].sort((a, b) => a - b);
}

export interface PoolSums {
  readonly pool: string;
  readonly segmentType: 'small' | 'large';
  readonly sideStream: boolean;
  readonly reservedBytes: number;
  readonly activeBytes: number;
  readonly segments: number;
}

export interface Side {
  readonly info: DiffSide;
  readonly groups: readonly StackGroup[];
  /** Per group: block size → number of blocks. */
  readonly sizes: readonly ReadonlyMap<number, number>[];
  readonly pools: readonly PoolSums[];
  /** Bytes by component; see `attribute`. */
  readonly components: ReadonlyMap<Component, number>;
  readonly settings: ReadonlyMap<string, string>;
  readonly features: readonly string[];
  /** Of the whole trace in requested bytes; null without one. */
  readonly trace: { readonly baselineBytes: number; readonly peakBytes: number; readonly allocs: number } | null;
}

export type SideTotals = Pick<DiffSide, 'handle' | 'rank' | 'device' | 'active_bytes' | 'reserved_bytes'>;

/** What a side sums up to, without its stacks. Throws MBF1002 where the trace lacks the moment. */
export async function readTotals(
  store: Store,
  candidate: Candidate,
  device: number,
  moment: Moment,
): Promise<SideTotals> {
  const { key } = await momentAt(store, candidate.snapshotId, device, moment);
  const totals = (await store.one('state.totals', { ...key }))!;
  const { handle, rank } = candidate;
  return { handle, rank, device, active_bytes: totals.active_bytes, reserved_bytes: totals.reserved_bytes };
}

const FREED = '(freed there; allocated before the recording)';

/** Live blocks of one stack, component and size. */
export interface LiveStack {
  /** −1: none. */
  readonly stackId: number;
  /** What distinguishes memory of equal frames: only the free is known, or nothing is, and then the pool. */
  readonly kind: string;
  readonly component: Component;
  readonly sizeBytes: number;
  readonly bytes: number;
  readonly count: number;
}

/** In order of the first address of a stack. */
export async function readLiveStacks(store: Store, key: StateKey): Promise<LiveStack[]> {
  await useLabels(store, key.snapshot_id, key.device);
  return (await store.all('diff.live_stacks', { ...key })).map((row) => {
    const name = poolWords(pairOf(row));
    const inPool = name === 'default' ? '' : ` in ${name}`;
    return {
      stackId: row.stack_id ?? -1,
      kind: row.stack_id === null ? `${NO_STACK}${inPool}` : row.is_freed ? FREED : '',
      component: (row.component ?? 'unattributed') as Component,
      sizeBytes: row.size_bytes,
      bytes: row.bytes,
      count: row.count,
    };
  });
}

const pairOf = (row: { readonly pool_id_a: number | null; readonly pool_id_b: number | null }) =>
  row.pool_id_a === null || row.pool_id_b === null ? null : ([row.pool_id_a, row.pool_id_b] as const);

/** What to call memory of a stack with these frames. */
export function kindOf({ stackId, kind }: Pick<LiveStack, 'stackId' | 'kind'>, frames: readonly Frame[]): string {
  return frames.length > 0 || stackId < 0 ? kind : kind === '' ? NO_FRAMES : `${NO_FRAMES} ${kind}`;
}

/** Throws MBF1002 where the trace lacks the moment. */
export async function readSide(
  store: Store,
  operand: string,
  candidate: Candidate,
  device: number,
  moment: Moment,
  torchAtLeast: (features: readonly string[]) => string | undefined,
): Promise<Side> {
  const id = { snapshot_id: candidate.snapshotId };
  const at = await momentAt(store, candidate.snapshotId, device, moment);
  const { key } = at;
  const byStack = new Map<string, LiveStack & { sizes: Map<number, number> }>();
  const components = new Map<Component, number>();
  for (const row of await readLiveStacks(store, key)) {
    const { stackId, kind, component, sizeBytes } = row;
    const known = byStack.get(`${stackId} ${kind}`);
    const sizes = known?.sizes ?? new Map<number, number>();
    sizes.set(sizeBytes, (sizes.get(sizeBytes) ?? 0) + row.count);
    const { bytes = 0, count = 0 } = known ?? {};
    byStack.set(`${stackId} ${kind}`, { ...row, sizes, bytes: bytes + row.bytes, count: count + row.count });
    components.set(component, (components.get(component) ?? 0) + row.bytes);
  }
  const entries = [...byStack.values()];
  const stacks = await readStacks(
    store,
    entries.map((group) => group.stackId),
  );
  const groups = entries.map((group): StackGroup => {
    const frames = stacks.get(group.stackId) ?? [];
    return { frames, kind: kindOf(group, frames), bytes: group.bytes, count: group.count };
  });
  const totals = (await store.one('state.totals', { ...key }))!;
  const features = (await store.all('snapshot.features', id)).map((row) => row.feature);
  const settings = await store.all('snapshot.settings', id);
  const actions = (await store.all('snapshot.actions', id)).filter((row) => row.device === device);
  const count = (action: string): number => actions.find((row) => row.action === action)?.count ?? 0;
  const sums = (await store.all('snapshot.devices', id)).find((row) => row.device === device);
  const info: DiffSide = {
    operand,
    handle: candidate.handle,
    path: candidate.path,
    run: candidate.run,
    rank: candidate.rank,
    device,
    moment: momentText(moment),
    seq: at.seq,
    has_trace: sums !== undefined && sums.events !== null,
    basis: at.holds ? 'actual' : 'approximate',
    active_bytes: totals.active_bytes,
    allocated_bytes: totals.active_bytes - totals.pending_bytes,
    pending_bytes: totals.pending_bytes,
    reserved_bytes: totals.reserved_bytes,
    inactive_bytes: totals.reserved_bytes - totals.active_bytes,
    blocks: totals.blocks,
    segments: totals.segments,
    no_stack_bytes: entries.reduce((sum, { kind, bytes }) => (kind === '' ? sum : sum + bytes), 0),
    ooms: count('oom'),
    torch_at_least: torchAtLeast(features) ?? null,
  };
  const { start_anchored_bytes: start, peak_anchored_bytes: peak } = sums ?? {};
  return {
    info,
    groups,
    sizes: entries.map((group) => group.sizes),
    pools: (await store.all('diff.pools', { ...key })).map((row) => ({
      pool: poolWords(pairOf(row)),
      segmentType: row.segment_type === 'small' ? 'small' : 'large',
      sideStream: row.is_side_stream,
      reservedBytes: row.reserved_bytes,
      activeBytes: row.active_bytes,
      segments: row.segments,
    })),
    components: new Map(
      [...components].sort((a, b) => b[1] - a[1] || COMPONENTS.indexOf(a[0]) - COMPONENTS.indexOf(b[0])),
    ),
    settings: new Map(settings.map((row) => [row.key, row.value])),
    features,
    trace:
      start === null || start === undefined || peak === null || peak === undefined
        ? null
        : { baselineBytes: start, peakBytes: peak - start, allocs: count('alloc') },
  };
}
