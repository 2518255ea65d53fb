/**
 * One side of a comparison: the live blocks of a device at a moment, grouped by stack, and what describes the snapshot.
 */

import { readStacks } from '../../derive/stacks/read-stacks.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { momentAt, type StateKey } from '../../derive/trace/state-at.js';
import { readSteps } from '../../derive/trace/steps.js';
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type { DiffSide } from '../../model/results/diff.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { StackGroup, TraceLine } from './side-stacks.js';

/** A device with memory or a trace. */
export type CandidateDevice = Pick<QueryRow<'diff.candidates'>, 'device' | 'has_trace' | 'reserved_bytes' | 'ooms'>;

/** A snapshot that may be compared. */
export interface Candidate {
  readonly snapshotId: number;
  readonly handle: string;
  readonly path: string;
  readonly run: string;
  readonly rank: number | null;
  readonly devices: readonly CandidateDevice[];
}

/**
 * The snapshots of a run, or the one a handle names; in order of rank, then time, then place. Those without memory and
 * trace are left out.
 */
export async function listCandidates(store: Store, runId: number, handle: string | undefined): Promise<Candidate[]> {
  const rows = await store.all('diff.candidates', { run_id: runId, handle: handle ?? null });
  return [...groupBy(rows, (row) => row.snapshot_id)].map(([snapshotId, devices]) => {
    const { handle: own, path, run, rank } = devices[0]!;
    return { snapshotId, handle: own, path, run, rank, devices };
  });
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

export interface Side {
  readonly info: DiffSide;
  /** Of each stack and kind. */
  readonly groups: readonly (StackGroup & { readonly stackId: number | null })[];
  readonly stacks: readonly QueryRow<'diff.live_stacks'>[];
  /** Of its whole trace; empty without one. */
  readonly lines: readonly TraceLine[];
  readonly pools: readonly QueryRow<'diff.pools'>[];
  readonly settings: readonly QueryRow<'snapshot.settings'>[];
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

/** In order of the first address of a stack. */
async function readGroups(store: Store, key: StateKey): Promise<Pick<Side, 'groups' | 'stacks'>> {
  const stacks = await store.all('diff.live_stacks', { ...key });
  const frames = await readStacks(
    store,
    stacks.map((row) => row.stack_id ?? -1),
  );
  const groups = [...groupBy(stacks, (row) => `${row.stack_id} ${row.kind}`).values()].map((rows) => {
    const { stack_id: stackId, kind } = rows[0]!;
    const sum = (of: 'bytes' | 'blocks'): number => rows.reduce((total, row) => total + row[of], 0);
    return { stackId, frames: frames.get(stackId ?? -1) ?? [], kind, bytes: sum('bytes'), count: sum('blocks') };
  });
  return { groups, stacks };
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
  const { groups, stacks } = await readGroups(store, key);
  const totals = (await store.one('state.totals', { ...key }))!;
  const features = (await store.all('snapshot.features', id)).map((row) => row.feature);
  const actions = (await store.all('snapshot.actions', id)).filter((row) => row.device === device);
  const count = (action: string): number => actions.find((row) => row.action === action)?.count ?? 0;
  const sums = (await store.all('snapshot.devices', id)).find((row) => row.device === device);
  const info: DiffSide = {
    operand,
    ...pick(candidate, ['handle', 'path', 'run', 'rank']),
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
    no_stack_bytes: stacks.reduce((sum, row) => (row.is_allocated_there ? sum : sum + row.bytes), 0),
    ooms: count('oom'),
    torch_at_least: torchAtLeast(features) ?? null,
  };
  const { start_anchored_bytes: start, peak_anchored_bytes: peak } = sums ?? {};
  return {
    info,
    groups,
    stacks,
    lines: await store.all('diff.trace_lines', { ...id, device }),
    pools: await store.all('diff.pools', { ...key }),
    settings: await store.all('snapshot.settings', id),
    features,
    trace:
      start === null || start === undefined || peak === null || peak === undefined
        ? null
        : { baselineBytes: start, peakBytes: peak - start, allocs: count('alloc') },
  };
}
