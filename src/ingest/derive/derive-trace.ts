/**
 * What follows from the entries of a trace alone: counts, sums, and breaches of their order. Sizes on trace entries are
 * *requested* bytes; nothing here knows actual block sizes (that is `src/allocator/walk/backward-walk.ts`).
 */

import { type ColumnBatch, getI64, LAYOUTS, NULL_HIGH, type TableRows } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import { getOrAdd } from '../../model/group-by.js';
import type { Note } from '../../model/tables.js';
import {
  ALLOC,
  FREE_COMPLETED,
  FREE_REQUESTED,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../../model/trace-action-codes.js';
import { TRACE_ACTIONS, type TraceAction } from '../../model/vocabulary.js';

type Deltas = 'requestedDeltaBytes' | 'requestedDeltaPeakBytes' | 'reservedDeltaBytes' | 'reservedDeltaPeakBytes';
/** What a device's trace adds up to. Deltas count from 0 at the first entry. */
export interface DeviceTrace
  extends NonNull<
      Pick<TableRows['snapshot_device'], 'events' | 'unmatchedFreeBytes' | 'firstAction' | 'lastAction' | Deltas>
    >,
    Pick<TableRows['snapshot_device'], 'device' | 'requestedDeltaPeakSeq'> {
  /** Only actions that occur. */
  readonly actions: ReadonlyMap<TraceAction, number>;
}
type NonNull<Row> = { readonly [Field in keyof Row]: NonNullable<Row[Field]> };

const MAX_SUM = Number.MAX_SAFE_INTEGER;

const NONE = 0;
const ALLOCATED = 1;
const FREEING = 2;
/** As {@link FREEING}, of memory from before the trace. */
const FREEING_OLDER = 3;

const SEED = (Math.random() * 0x7fffffff) | 0;

/** Open addressing over 64-bit addresses; entries are never removed, since a trainer reuses its addresses. */
class AddressTable {
  private mask = (1 << 12) - 1;
  private low = new Uint32Array(1 << 12);
  private high = new Uint32Array(1 << 12);
  private used = new Uint8Array(1 << 12);
  private count = 0;
  /** The address looked up last: the completion of a free mostly follows its request. */
  private lastLow = 0;
  private lastHigh = 0;
  private lastSlot = -1;
  /** By slot: what happened last. */
  state = new Uint8Array(1 << 12);

  /** The slot of an address, made if new. */
  slot(low: number, high: number): number {
    if (low === this.lastLow && high === this.lastHigh && this.lastSlot >= 0) return this.lastSlot;
    const { mask, used } = this;
    // From a secret seed and through both halves in turn: a plain sum of products lets a file choose 200,000 addresses
    // of one slot (minutes).
    let mixed = Math.imul(low ^ SEED, 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 16) ^ high, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    let slot = (mixed ^ (mixed >>> 16)) & mask;
    while (used[slot] !== 0) {
      if (this.low[slot] === low && this.high[slot] === high) return this.found(low, high, slot);
      slot = (slot + 1) & mask;
    }
    if ((this.count + 1) * 2 > mask) {
      this.grow();
      return this.slot(low, high);
    }
    this.count += 1;
    used[slot] = 1;
    this.low[slot] = low;
    this.high[slot] = high;
    return this.found(low, high, slot);
  }

  private found(low: number, high: number, slot: number): number {
    this.lastLow = low;
    this.lastHigh = high;
    this.lastSlot = slot;
    return slot;
  }

  private grow(): void {
    const { low, high, used, state } = this;
    const size = (this.mask + 1) * 2;
    this.lastSlot = -1;
    this.mask = size - 1;
    this.low = new Uint32Array(size);
    this.high = new Uint32Array(size);
    this.used = new Uint8Array(size);
    this.state = new Uint8Array(size);
    this.count = 0;
    for (let old = 0; old < used.length; old++) {
      if (used[old] === 0) continue;
      const slot = this.slot(low[old]!, high[old]!);
      this.state[slot] = state[old]!;
    }
  }
}

class DeviceState {
  readonly device: number;
  readonly table = new AddressTable();
  readonly actions = new Float64Array(TRACE_ACTIONS.length);
  firstAction = -1;
  lastAction = -1;
  events = 0;
  unmatched = 0;
  requested = 0;
  requestedPeak = 0;
  requestedPeakSeq: number | null = null;
  reserved = 0;
  reservedPeak = 0;
  disorder = 0;
  disorderSeq = -1;

  constructor(device: number) {
    this.device = device;
  }
}

export class TraceDerivation {
  private readonly states = new Map<number, DeviceState>();

  /** Batches come in trace order, one device after another. */
  add(batch: ColumnBatch): void {
    const device = batch.i32('device');
    let from = 0;
    while (from < batch.rows) {
      const current = device[from]!;
      let to = from + 1;
      while (to < batch.rows && device[to] === current) to++;
      const state = getOrAdd(this.states, current, () => new DeviceState(current));
      addRange(state, batch, from, to);
      from = to;
    }
  }

  devices(): DeviceTrace[] {
    return [...this.states]
      .sort(([a], [b]) => a - b)
      .map(([device, state]) => ({
        device,
        events: state.events,
        actions: new Map(
          TRACE_ACTIONS.map((action, code) => [action, state.actions[code]!] as const).filter(([, count]) => count > 0),
        ),
        firstAction: TRACE_ACTIONS[state.firstAction]!,
        lastAction: TRACE_ACTIONS[state.lastAction]!,
        unmatchedFreeBytes: state.unmatched,
        requestedDeltaBytes: state.requested,
        requestedDeltaPeakBytes: state.requestedPeak,
        requestedDeltaPeakSeq: state.requestedPeakSeq,
        reservedDeltaBytes: state.reserved,
        reservedDeltaPeakBytes: state.reservedPeak,
      }));
  }

  /** Breaches of the order alloc → free_requested → free_completed → alloc at one address (FORMAT.md, invariant 4). */
  notes(): Note[] {
    return [...this.states]
      .filter(([, state]) => state.disorder > 0)
      .map(([device, state]) => ({
        kind: 'invariant_alternation',
        severity: 'warning' as const,
        text: 'an address is allocated while live, or freed out of order',
        device,
        seq: state.disorderSeq,
        count: state.disorder,
      }));
  }
}

function addRange(state: DeviceState, batch: ColumnBatch, from: number, to: number): void {
  const { table } = state;
  const { action, addr, size_bytes: size, seq } = batch.columns(LAYOUTS.event);
  let { requested, reserved } = state;
  if (state.firstAction < 0) state.firstAction = action[from]!;
  state.lastAction = action[to - 1]!;
  state.events += to - from;
  for (let row = from; row < to; row++) {
    const code = action[row]!;
    state.actions[code] = state.actions[code]! + 1;
    if (code <= FREE_COMPLETED) {
      const high = addr[row * 2 + 1]!;
      const known = high !== NULL_HIGH || addr[row * 2] !== 0;
      const slot = known ? table.slot(addr[row * 2]!, high) : -1;
      const bytes = getI64(size, row);
      const before = known ? table.state[slot]! : NONE;
      let ordered = true;
      if (code === ALLOC) {
        ordered = before === NONE;
        if (known) table.state[slot] = ALLOCATED;
        requested += bytes;
        if (requested > state.requestedPeak) {
          state.requestedPeak = requested;
          state.requestedPeakSeq = seq[row]!;
        }
      } else if (code === FREE_REQUESTED) {
        // Memory from before the trace lacks an alloc: its first free is valid in any order.
        ordered = before !== FREEING && before !== FREEING_OLDER;
        if (known) table.state[slot] = before === NONE || before === FREEING_OLDER ? FREEING_OLDER : FREEING;
      } else {
        requested -= bytes;
        if (before === NONE || before === FREEING_OLDER) state.unmatched += bytes;
        if (known) table.state[slot] = NONE;
      }
      if (!ordered) {
        state.disorder += 1;
        if (state.disorderSeq < 0) state.disorderSeq = seq[row]!;
      }
    } else if (code === SEGMENT_ALLOC || code === SEGMENT_MAP) {
      reserved += getI64(size, row);
      if (reserved > state.reservedPeak) state.reservedPeak = reserved;
    } else if (code === SEGMENT_FREE || code === SEGMENT_UNMAP) reserved -= getI64(size, row);
    // Sums beyond 2^53 are not exact any more, and beyond 2^63 they are nonsense; a petabyte-sized device is neither
    // near.
    if (!(Math.abs(requested) <= MAX_SUM && Math.abs(reserved) <= MAX_SUM && state.unmatched <= MAX_SUM)) {
      const fact = `the sizes of the trace of device ${state.device} add up to more than 2^53 bytes at entry ${seq[row]}`;
      throw new MbfError('MBF2107', fact);
    }
  }
  state.requested = requested;
  state.reserved = reserved;
}
