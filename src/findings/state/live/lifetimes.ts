/** Resident against transient: what of a live set outlives its step. */
import type { StateBlocks } from '../../../allocator/walk/allocator-state.js';
import { countUpTo } from '../../../model/count-up-to.js';
import type { LifetimeBasis } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import type { StateAt } from '../../trace/state-at.js';
import { stepBoundaries } from '../../trace/steps.js';

export const RESIDENT = 0;
export const TRANSIENT = 1;
export const UNKNOWN = 2;

export interface Lifetimes {
  readonly basis: LifetimeBasis;
  /**
   * Per block of the state: {@link RESIDENT}, {@link TRANSIENT} or {@link UNKNOWN}. Undefined without a usable trace.
   */
  readonly classes: Uint8Array | undefined;
}

/** What the trace shows of one block: µs; allocated −∞ = before the recording, freed +∞ = not in the trace. */
export interface BlockLife {
  readonly allocated: number;
  readonly freed: number;
}

/** What the trace shows of the moment. */
export interface MomentFacts {
  /** µs; −∞ = before the first entry. */
  readonly time: number;
  /** Ascending µs; undefined = no step is marked. */
  readonly boundaries: Float64Array | undefined;
  readonly ringTruncated: boolean;
  /** Something is freed after the moment. */
  readonly freesAfter: boolean;
}

/**
 * The rule. The *step* of a moment reaches from the last boundary at or before it (or from before the recording) to the
 * first one after it.
 *
 * With boundaries, in this order: a block that was live from one boundary to the next is resident (it lived through a
 * whole step); one that the trace shows live at the end of the step is resident; one freed before that end is transient
 * if its allocation was recorded, else unknown (it may be of any age). If the step does not end within the trace: freed
 * in the trace is judged the same way; not freed is resident if allocated before the step began, else unknown.
 *
 * Without boundaries the whole trace is the step: freed in it after the moment is transient, except for memory from
 * before a truncated ring, which is unknown; not freed is resident if it predates the trace or if the trace shows any
 * free after the moment, else unknown (a trace that stops at the moment shows of nothing whether it would have been
 * freed).
 */
export function lifetimeClass(life: BlockLife, moment: MomentFacts): number {
  const { allocated, freed } = life;
  const { boundaries } = moment;
  const predates = allocated === Number.NEGATIVE_INFINITY;
  const inTrace = freed !== Number.POSITIVE_INFINITY;
  if (boundaries === undefined) {
    if (inTrace) return predates && moment.ringTruncated ? UNKNOWN : TRANSIENT;
    return predates || moment.freesAfter ? RESIDENT : UNKNOWN;
  }
  // The first boundary at or after the allocation, and the one after that.
  let first = countUpTo(boundaries, allocated);
  if (first > 0 && boundaries[first - 1] === allocated) first -= 1;
  if (first + 1 < boundaries.length && boundaries[first + 1]! <= freed) return RESIDENT;
  const next = countUpTo(boundaries, moment.time);
  const end = next < boundaries.length ? boundaries[next]! : undefined;
  if (inTrace && (end === undefined || freed < end)) return predates ? UNKNOWN : TRANSIENT;
  if (end !== undefined) return RESIDENT;
  const start = next > 0 ? boundaries[next - 1]! : Number.NEGATIVE_INFINITY;
  return predates || allocated < start ? RESIDENT : UNKNOWN;
}

/** What is known of the allocations of a state; arrays by block, from one scan of the trace. */
export interface BlockAllocations {
  /** µs; NaN where the allocation or its time was not recorded. */
  readonly timeUs: Float64Array;
  /** Id in text_value; −1 where there is none. */
  readonly compileContext: Int32Array;
  readonly userMetadata: Int32Array;
}

export async function readAllocations(
  store: Store,
  snapshotId: number,
  device: number,
  blocks: StateBlocks,
): Promise<BlockAllocations> {
  const timeUs = new Float64Array(blocks.count).fill(Number.NaN);
  const compileContext = new Int32Array(blocks.count).fill(-1);
  const userMetadata = new Int32Array(blocks.count).fill(-1);
  const order = Int32Array.from({ length: blocks.count }, (_, i) => i)
    .filter((row) => blocks.allocSeq[row]! >= 0)
    .sort((a, b) => blocks.allocSeq[a]! - blocks.allocSeq[b]!);
  if (order.length > 0) {
    const params = { snapshot_id: snapshotId, device, to_seq: blocks.allocSeq[order.at(-1)!]! };
    const spec = { seq: 'i32', time_us: 'f64', compile_context_id: 'i32', user_metadata_id: 'i32' } as const;
    let next = 0;
    for await (const { rows, columns } of store.readQueryColumns('peak.allocations', params, spec)) {
      for (let i = 0; i < rows && next < order.length; i += 1) {
        if (columns.seq[i] !== blocks.allocSeq[order[next]!]) continue;
        const row = order[next]!;
        timeUs[row] = columns.time_us[i]!;
        compileContext[row] = columns.compile_context_id[i]!;
        userMetadata[row] = columns.user_metadata_id[i]!;
        next += 1;
      }
    }
  }
  return { timeUs, compileContext, userMetadata };
}

/**
 * Classifies the blocks of a state of one device; see {@link lifetimeClass}. Two scans of the trace, whatever the
 * number of blocks.
 */
export async function readLifetimes(
  store: Store,
  snapshotId: number,
  device: number,
  at: StateAt,
  allocations?: BlockAllocations,
): Promise<Lifetimes> {
  const none: Lifetimes = { basis: { rule: 'none', boundary: null, boundaries: 0 }, classes: undefined };
  const actions = await store.all('snapshot.actions', { snapshot_id: snapshotId });
  const recorded = (action: string): boolean => actions.some((row) => row.device === device && row.action === action);
  if (!actions.some((row) => row.device === device)) return none;
  const action = recorded('free_completed') || !recorded('free_requested') ? 'free_completed' : 'free_requested';
  // A trace of allocations alone was recorded with skip_actions, or shows nothing of how long they live.
  if (!recorded(action)) return none;
  const { blocks } = at.state;
  const steps = await stepBoundaries(store, snapshotId, device);
  const facts = await store.one('peak.moment_facts', { snapshot_id: snapshotId, device, seq: at.seq });
  const times =
    steps === undefined
      ? undefined
      : (allocations ?? (await readAllocations(store, snapshotId, device, blocks))).timeUs;
  const freed = await readFrees(store, snapshotId, device, at, action);
  const moment: MomentFacts = {
    time: at.timeUs ?? facts?.time_us ?? Number.NEGATIVE_INFINITY,
    boundaries: steps?.times,
    ringTruncated: facts?.ring_truncated ?? false,
    freesAfter: freed.any,
  };
  const classes = Uint8Array.from(freed.times, (end, row) => {
    const traced = blocks.allocSeq[row]! >= 0;
    // Without boundaries only whether an allocation was recorded counts; its time is 0.
    const allocated = traced ? (times?.[row] ?? 0) : Number.NEGATIVE_INFINITY;
    return lifetimeClass({ allocated, freed: end }, moment);
  });
  const basis: LifetimeBasis =
    steps === undefined
      ? { rule: 'trace', boundary: null, boundaries: 0 }
      : { rule: 'steps', boundary: steps.source, boundaries: steps.times.length };
  return { basis, classes };
}

/** When each block of the state is freed: µs (0 for a trace without times), +∞ = not within the trace. */
async function readFrees(
  store: Store,
  snapshotId: number,
  device: number,
  at: StateAt,
  action: string,
): Promise<{ readonly times: Float64Array; readonly any: boolean }> {
  const { blocks } = at.state;
  const times = new Float64Array(blocks.count).fill(Number.POSITIVE_INFINITY);
  const rowOf = new Map<number, number>();
  for (let row = 0; row < blocks.count; row += 1) rowOf.set(blocks.address[row]!, row);
  const params = { snapshot_id: snapshotId, device, after_seq: at.seq ?? -1, action };
  let any = false;
  const spec = { addr: 'f64', time_us: 'f64' } as const;
  for await (const { rows, columns } of store.readQueryColumns('peak.frees_after', params, spec)) {
    any ||= rows > 0;
    for (let i = 0; i < rows; i += 1) {
      const row = rowOf.get(columns.addr[i]!);
      if (row === undefined) continue;
      // The first one is this block's; later ones are of its successors at the address.
      rowOf.delete(columns.addr[i]!);
      const time = columns.time_us[i]!;
      times[row] = Number.isNaN(time) ? 0 : time;
    }
  }
  return { times, any };
}
