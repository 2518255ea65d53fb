/**
 * What follows from the whole trace of one device: the state before its first entry, found by walking back from the
 * dump, and from there the lifetimes of all blocks and segments and the course of the totals.
 */

import { type AllocatorSettings, settingsFromSnapshot } from '../../allocator/settings.js';
import { AddressTable } from '../../allocator/walk/address-table.js';
import { type AllocatorState, STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import { BackwardWalk, type FinalState, type WalkEvents } from '../../allocator/walk/backward-walk.js';
import { ForwardWalk } from '../../allocator/walk/forward-walk.js';
import { ColumnBatch, LAYOUTS, putI64, putNullI64, type TableRows } from '../../model/columns.js';
import type { PoolNumbers } from '../../model/pool-numbers.js';
import { stepCuts } from '../../model/step-cuts.js';
import { ALLOC, FREE_COMPLETED, FREE_REQUESTED } from '../../model/trace-action-codes.js';
import { BLOCK_STATES, type TraceAction } from '../../model/vocabulary.js';
import { type BucketColumns, BucketFiller } from './buckets.js';
import { LifeRows, type LifeSinks, type PutRows } from './life-rows.js';
import { type Annotation, findSteps, type TraceSteps } from './steps.js';
import type { SpooledEvents, TraceSpool } from './trace-spool.js';

export interface TraceInput {
  readonly device: number;
  readonly spool: TraceSpool;
  /** Pools as walks number them. */
  readonly final: FinalState;
  readonly settings: ReadonlyMap<string, string>;
  readonly pools: PoolNumbers;
  /** Entries by action. */
  readonly actions: ReadonlyMap<TraceAction, number>;
  /** Of training steps. */
  readonly annotations: readonly Annotation[];
  /** Nothing was reserved before the first entry, by the sums of the trace. */
  readonly beganEmpty: boolean;
}

export interface LivesOut extends LifeSinks {
  readonly buckets: PutRows;
}

type Settings = 'maxSplitBytes' | 'maxNonSplitRoundingBytes' | 'largeSegmentBytes' | 'roundupDivisions';
type Steps = 'stepsOrigin' | 'stepsAnnotations' | 'stepsAnnotationsDevice' | 'stepsWithoutEntries';
/** What the walks over a trace found out, without the rows. Bytes are actual sizes. */
export interface DeviceLives extends Omit<TableRows['derived_history'], 'snapshotId' | Settings | Steps> {
  readonly settings: AllocatorSettings;
  readonly steps: TraceSteps | null;
}

export function deriveLives(input: TraceInput, out: LivesOut): DeviceLives {
  const { device, spool, final, pools } = input;
  const settings = settingsFromSnapshot(input.settings);
  const recorded = recordedFrees(input);
  const pooled = spool.poolsNamed.some((stored) => pools.toWalk(stored) > 0);
  const visible = (events: SpooledEvents): WalkEvents => ({
    ...events,
    pool: pooled ? events.pool.subarray(0, events.count).map(pools.toWalk) : undefined,
  });
  const back = new BackwardWalk(final, settings, recorded);
  const dumped = { reserved: back.reservedBytes, active: back.activeBytes, pending: back.pendingBytes };
  spool.backward((events) => back.undo(visible(events)));
  const start = back.finish();
  nameSubstitutes(start, spool);
  const steps = stepsOf(input);
  const totals = stateTotals(start);
  const cuts = stepCuts((steps?.spans ?? []).flatMap(({ range }) => (range === null ? [] : [range])));
  const filler = new BucketFiller({ firstSeq: 0, lastSeq: spool.count - 1, cuts }, totals);
  const lives = new LifeRows(device, out, pools.fromWalk);
  const walk = new ForwardWalk(start, settings, back.historyFacts(), { ...recorded, lives });
  const times = new BucketTimes(filler);
  spool.forward((events) => {
    walk.apply(visible(events), 0, events.count, filler);
    times.add(events);
  });
  lives.finish(walk);
  if (spool.count > 0) out.buckets(bucketBatch(device, filler.columns(), times));
  return {
    device,
    settings,
    events: spool.count,
    holds: back.impliedCompletions === 0 && back.violationCount === back.tailViolationCount,
    endsInDump:
      walk.divergences === 0 &&
      walk.reservedBytes === dumped.reserved &&
      walk.activeBytes === dumped.active &&
      walk.pendingBytes === dumped.pending,
    startsEmpty: back.empty,
    violations: back.violationCount,
    impliedCompletions: back.impliedCompletions,
    divergences: walk.divergences,
    requestsRecorded: recorded.freeRequestedRecorded,
    completionsRecorded: recorded.freeCompletedRecorded,
    pooled,
    peakActiveBytes: back.peak.bytes,
    peakActiveSeq: back.peak.seq,
    peakReservedBytes: back.peakReserved.bytes,
    peakReservedSeq: back.peakReserved.seq,
    uncertainBlocks: totals.uncertainBlocks,
    uncertainBytes: totals.uncertainBytes,
    bucketEntries: filler.entries,
    blocks: lives.blocks,
    steps: steps ?? null,
  };
}

/** Whether requests and completions of frees are in the recording, or were left out of it (`skip_actions`). */
function recordedFrees({ actions, spool, final }: TraceInput) {
  const count = (action: TraceAction): number => actions.get(action) ?? 0;
  const frees = count('free_requested') + count('free_completed') > 0;
  return {
    freeRequestedRecorded: !frees || count('free_requested') > 0,
    freeCompletedRecorded: !frees || count('free_completed') > 0 || !hasLoneRequests(spool, final),
  };
}

/**
 * Of a trace without completions: whether any request is of a block that is not pending in the dump. Then completions
 * were left out, else they are all outstanding; a ring of few entries often holds a request alone.
 */
function hasLoneRequests(spool: TraceSpool, { blocks }: FinalState): boolean {
  const pending = new Set<number>();
  for (let i = 0; i < blocks.count; i += 1)
    if (BLOCK_STATES[blocks.state[i]!] === 'active_pending_free') pending.add(blocks.address[i]!);
  let isLone = false;
  spool.forward(({ count, action, address }) => {
    for (let i = 0; i < count && !isLone; i += 1)
      isLone =
        action[i] === FREE_REQUESTED && !pending.has(address[i]!) && !(Number.isNaN(address[i]!) && pending.size > 0);
  });
  return isLone;
}

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const ALLOC_EVENT = STACK_ORIGINS.indexOf('alloc_event');
/** Entries that settle whether frees carry the stacks of their allocations. */
const STACKS_LOOKED_AT = 200_000;
/**
 * Equal stacks of so many different places are not a coincidence: a temporary is often freed on the line that made it,
 * but not all of them.
 */
const LEAST_STACKS = 3;

/**
 * Of memory from before the recording only the free has a stack. Unless recorded with context="all" that *is* the stack
 * of the allocation (torch `free` in CUDACachingAllocator.cpp passes the block's own context), and then it is not a
 * substitute.
 */
function nameSubstitutes({ blocks }: AllocatorState, spool: TraceSpool): void {
  if (!blocks.stackOrigin.includes(FREE_EVENT)) return;
  const stackAt = new AddressTable();
  const seen = new Set<number>();
  let differs = false;
  spool.forward(({ count, seq, action, address, stackId }) => {
    for (let i = 0; i < count && seq[i]! < STACKS_LOOKED_AT; i += 1) {
      const code = action[i]!;
      if (code > FREE_COMPLETED || !(address[i]! >= 0)) continue;
      if (code === ALLOC) stackAt.set(address[i]!, stackId[i]!);
      else {
        const made = stackAt.get(address[i]!);
        if (made >= 0 && stackId[i]! >= 0) {
          seen.add(stackId[i]!);
          differs ||= made !== stackId[i];
        }
        if (code === FREE_COMPLETED) stackAt.set(address[i]!, -1);
      }
    }
  });
  if (differs || seen.size < LEAST_STACKS) return;
  for (let i = 0; i < blocks.count; i += 1)
    if (blocks.stackOrigin[i] === FREE_EVENT) blocks.stackOrigin[i] = ALLOC_EVENT;
}

function stepsOf({ device, spool, annotations, beganEmpty }: TraceInput): TraceSteps | undefined {
  return findSteps(annotations, {
    device,
    entries: spool.count,
    firstTimeUs: spool.firstTimeUs,
    beganEmpty,
    lastSeqs(times) {
      const seqs = new Int32Array(times.length).fill(-1);
      // From the last entry back: an entry answers all times at or after its own that are still open, the latest ones.
      let open = times.length - 1;
      spool.backward(({ count, seq, timeUs }) => {
        for (let i = count - 1; i >= 0 && open >= 0; i -= 1)
          while (open >= 0 && timeUs[i]! <= times[open]!) seqs[open--] = seq[i]!;
      });
      return seqs;
    },
  });
}

/** Times of the first and the last entry of each bucket; NaN where they have none. */
class BucketTimes {
  first = new Float64Array(1024).fill(Number.NaN);
  last = new Float64Array(1024).fill(Number.NaN);
  private row = 0;
  private readonly filler: BucketFiller;

  constructor(filler: BucketFiller) {
    this.filler = filler;
  }

  /** Entries that were given to the filler. */
  add({ count, seq, timeUs }: SpooledEvents): void {
    const { count: rows, firstSeq, lastSeq } = this.filler.columns();
    if (rows > this.first.length) {
      this.first = enlarged(this.first, rows);
      this.last = enlarged(this.last, rows);
    }
    for (let i = 0; i < count; i += 1) {
      const at = seq[i]!;
      while (this.row < rows && lastSeq[this.row]! < at) this.row += 1;
      if (this.row === rows) return;
      if (firstSeq[this.row] === at) this.first[this.row] = timeUs[i]!;
      // A bucket that the next window continues ends later: its last time is written again.
      if (lastSeq[this.row] === at) this.last[this.row] = timeUs[i]!;
    }
  }
}

function enlarged(column: Float64Array, least: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(least, 2 * column.length)).fill(Number.NaN);
  larger.set(column);
  return larger;
}

function bucketBatch(device: number, columns: BucketColumns, times: BucketTimes): ColumnBatch {
  const batch = new ColumnBatch(LAYOUTS.derived_bucket, Math.max(1, columns.count));
  batch.rows = columns.count;
  const to = batch.columns(LAYOUTS.derived_bucket);
  to.device.fill(device);
  to.first_seq.set(columns.firstSeq.subarray(0, columns.count));
  to.last_seq.set(columns.lastSeq.subarray(0, columns.count));
  const wide = [
    [to.allocated_min_bytes, columns.allocatedMin],
    [to.allocated_max_bytes, columns.allocatedMax],
    [to.active_min_bytes, columns.activeMin],
    [to.active_max_bytes, columns.activeMax],
    [to.reserved_min_bytes, columns.reservedMin],
    [to.reserved_max_bytes, columns.reservedMax],
    [to.first_time_us, times.first],
    [to.last_time_us, times.last],
  ] as const;
  for (let row = 0; row < columns.count; row += 1) {
    to.bucket[row] = row;
    for (const [column, values] of wide) {
      if (Number.isNaN(values[row]!)) putNullI64(column, row);
      else putI64(column, row, values[row]!);
    }
  }
  return batch;
}
