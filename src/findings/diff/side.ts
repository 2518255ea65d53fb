/**
 * One side of a comparison: the live blocks of a device at a moment, grouped by stack, and what describes the snapshot.
 */
import { STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import { poolWords } from '../../model/pool-words.js';
import type { DiffSide } from '../../model/results/diff.js';
import type { Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { componentsAt } from '../attribution/components-at.js';
import { readPoolNumbers } from '../run/names/pool-numbers.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../stacks/read-stacks.js';
import { type Moment, momentText } from '../trace/moment.js';
import { stateAt } from '../trace/state-at.js';
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
  const { activeBytes, reservedBytes } = stateTotals(
    (await stateAt(store, candidate.snapshotId, device, moment)).state,
  );
  const { handle, rank } = candidate;
  return { handle, rank, device, active_bytes: activeBytes, reserved_bytes: reservedBytes };
}

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const FREED = '(freed there; allocated before the recording)';

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
  const at = await stateAt(store, candidate.snapshotId, device, moment);
  const { state } = at;
  const { blocks, segments } = state;
  const pools = await readPoolNumbers(store, candidate.snapshotId);
  const poolName = (pool: number): string => poolWords(pools.pair(Math.max(0, pool)));
  const byKey = new Map<
    string,
    { stackId: number; kind: string; bytes: number; count: number; sizes: Map<number, number> }
  >();
  let noStackBytes = 0;
  for (let i = 0; i < blocks.count; i += 1) {
    const stackId = blocks.stackId[i]!;
    const bytes = blocks.sizeBytes[i]!;
    const freed = blocks.stackOrigin[i] === FREE_EVENT;
    // Unknown memory can still be distinguished by its pool.
    const pool = segments.pool[blocks.segment[i]!]!;
    const inPool = stackId < 0 && pool > 0 ? ` in ${poolName(pool)}` : '';
    const key = `${stackId} ${freed} ${inPool}`;
    let group = byKey.get(key);
    if (group === undefined) {
      group = {
        stackId,
        kind: stackId < 0 ? `${NO_STACK}${inPool}` : freed ? FREED : '',
        bytes: 0,
        count: 0,
        sizes: new Map(),
      };
      byKey.set(key, group);
    }
    group.bytes += bytes;
    group.count += 1;
    group.sizes.set(bytes, (group.sizes.get(bytes) ?? 0) + 1);
    if (stackId < 0 || freed) noStackBytes += bytes;
  }
  const entries = [...byKey.values()];
  const stacks = await readStacks(
    store,
    entries.map((group) => group.stackId),
  );
  const groups = entries.map(({ stackId, kind, bytes, count }): StackGroup => {
    const frames = stacks.get(stackId) ?? [];
    const named = frames.length > 0 || stackId < 0 ? kind : kind === '' ? NO_FRAMES : `${NO_FRAMES} ${kind}`;
    return { frames, kind: named, bytes, count };
  });
  const totals = stateTotals(state);
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
    active_bytes: totals.activeBytes,
    allocated_bytes: totals.allocatedBytes,
    pending_bytes: totals.pendingBytes,
    reserved_bytes: totals.reservedBytes,
    inactive_bytes: totals.reservedBytes - totals.activeBytes,
    blocks: blocks.count,
    segments: segments.count,
    no_stack_bytes: noStackBytes,
    ooms: count('oom'),
    torch_at_least: torchAtLeast(features) ?? null,
  };
  const { start_anchored_bytes: start, peak_anchored_bytes: peak } = sums ?? {};
  return {
    info,
    groups,
    sizes: entries.map((group) => group.sizes),
    pools: poolSums(at.state, poolName),
    components: await componentsAt(store, candidate.snapshotId, device, at.state),
    settings: new Map(settings.map((row) => [row.key, row.value])),
    features,
    trace:
      start === null || start === undefined || peak === null || peak === undefined
        ? null
        : { baselineBytes: start, peakBytes: peak - start, allocs: count('alloc') },
  };
}

function poolSums(state: Awaited<ReturnType<typeof stateAt>>['state'], poolName: (pool: number) => string): PoolSums[] {
  const { segments, blocks } = state;
  const sums = new Map<string, { -readonly [Key in keyof PoolSums]: PoolSums[Key] }>();
  for (let i = 0; i < segments.count; i += 1) {
    const pool = poolName(segments.pool[i]!);
    const segmentType = segments.small[i] === 1 ? 'small' : 'large';
    // Handles of side streams are addresses: two processes never agree on them.
    const sideStream = segments.stream[i]! > 0;
    const key = `${pool} ${segmentType} ${sideStream}`;
    let sum = sums.get(key);
    if (sum === undefined) {
      sum = { pool, segmentType, sideStream, reservedBytes: 0, activeBytes: 0, segments: 0 };
      sums.set(key, sum);
    }
    sum.reservedBytes += segments.totalBytes[i]!;
    sum.segments += 1;
    for (let row = segments.firstBlock[i]!; row < segments.firstBlock[i + 1]!; row += 1)
      sum.activeBytes += blocks.sizeBytes[row]!;
  }
  return [...sums.values()];
}
