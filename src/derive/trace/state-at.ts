/** The state of one device's allocator at a moment of its trace. */

import type { AllocatorSettings } from '../../allocator/settings.js';
import { type AllocatorState, placeBlocks } from '../../allocator/walk/allocator-state.js';
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import { MbfError } from '../../model/errors.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';
import { type DeviceHistory, deviceHistory } from './device-history.js';
import { type Moment, momentText } from './moment.js';
import { readSteps } from './steps.js';

/** Which state of the store, as the parameters of a query. */
export interface StateKey {
  readonly snapshot_id: number;
  readonly device: number;
  /** Entry after which the state holds; {@link BEFORE_TRACE}: before the first entry, or without a trace. */
  readonly at_seq: number;
}

export interface MomentAt {
  readonly moment: Moment;
  readonly key: StateKey;
  /** As in the key; null = before the first entry, or without a trace. */
  readonly seq: number | null;
  /** When that entry was written, where entries carry a time. */
  readonly timeUs: number | null;
  readonly history: DeviceHistory;
  readonly settings: AllocatorSettings;
  /**
   * Whether nothing contradicts the allocator's rules on the way from the dump to the start (a skew of the last few
   * entries aside).
   */
  readonly holds: boolean;
}

export interface StateAt extends MomentAt {
  readonly state: AllocatorState;
}

/**
 * The place of `moment` in a trace. Without a trace `peak`, `end` and `start` are the dumped state. Throws MBF1002
 * where the trace lacks the moment.
 */
export async function momentAt(store: Store, snapshotId: number, device: number, moment: Moment): Promise<MomentAt> {
  const history = await deviceHistory(store, snapshotId, device);
  const seq = await seqOfMoment(store, history, moment);
  const id = { snapshot_id: snapshotId, device };
  const entry = seq < 0 ? undefined : await store.one('history.entry', { ...id, seq });
  return {
    moment,
    key: { ...id, at_seq: seq },
    seq: seq < 0 ? null : seq,
    timeUs: entry?.time_us ?? null,
    history,
    settings: history.settings,
    holds: history.holds,
  };
}

/** The whole state at `moment`, for code that goes over its blocks. Errors as {@link momentAt}. */
export async function stateAt(store: Store, snapshotId: number, device: number, moment: Moment): Promise<StateAt> {
  const at = await momentAt(store, snapshotId, device, moment);
  return { ...at, state: await stateAfter(store, at.history, at.key.at_seq) };
}

/** The state after entry `seq`; {@link BEFORE_TRACE}: before the first. Not to be changed: others may have it too. */
export function stateAfter(store: Store, { trace }: DeviceHistory, seq: number): Promise<AllocatorState> {
  return onceState(store, `${trace.snapshotId} ${trace.device} ${seq}`);
}

const onceState = readOnce(async (store: Store, key: string): Promise<AllocatorState> => {
  const [snapshotId, device, seq] = key.split(' ').map(Number) as [number, number, number];
  const { pools } = (await deviceHistory(store, snapshotId, device)).trace;
  const id = { snapshot_id: snapshotId, device, at_seq: seq };
  const segmentRows = await store.readQueryWhole('state.segments_at', id, {
    address: 'f64',
    total_bytes: 'f64',
    stream: 'f64',
    segment_type: 'u8',
    pool: 'i32',
    is_expandable: 'u8',
    is_inferred: 'u8',
  });
  const blockRows = await store.readQueryWhole('state.blocks_at', id, {
    address: 'f64',
    actual_bytes: 'f64',
    least_bytes: 'f64',
    most_bytes: 'f64',
    requested_bytes: 'f64',
    is_pending: 'u8',
    alloc_seq: 'i32',
    stack_id: 'i32',
    stack_origin: 'u8',
    block: 'i32',
  });
  const { columns: of } = segmentRows;
  const segments = {
    count: segmentRows.rows,
    address: of.address,
    totalBytes: of.total_bytes,
    stream: of.stream,
    small: of.segment_type.map((type) => (type === 0 ? 1 : 0)),
    pool: of.pool.map((pool) => Math.max(0, pools.toWalk(pool))),
    expandable: of.is_expandable,
    inferred: of.is_inferred,
    firstBlock: new Int32Array(segmentRows.rows + 1),
  };
  const { columns } = blockRows;
  const known = (value: number): number => (value >= 0 ? value : -1);
  const blocks = {
    count: blockRows.rows,
    address: columns.address,
    sizeBytes: columns.actual_bytes,
    minBytes: columns.least_bytes,
    maxBytes: columns.most_bytes,
    requestedBytes: columns.requested_bytes.map(known),
    state: columns.is_pending,
    segment: new Int32Array(blockRows.rows),
    stackId: columns.stack_id.map(known),
    stackOrigin: columns.stack_origin,
    allocSeq: columns.alloc_seq.map(known),
    block: columns.block,
  };
  placeBlocks(segments, blocks);
  return { afterSeq: seq < 0 ? null : seq, segments, blocks };
});

/** The entry after which `moment` is; −1 = before the first. Throws MBF1002 where the trace lacks the moment. */
export async function seqOfMoment(store: Store, history: DeviceHistory, moment: Moment): Promise<number> {
  const { trace } = history;
  const last = trace.events - 1;
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  const none = (why: string): never => {
    throw new MbfError('MBF1002', `device ${trace.device} has no moment ${momentText(moment)}: ${why}`);
  };
  if (moment.kind === 'start') return BEFORE_TRACE;
  if (last < 0 && moment.kind !== 'peak' && moment.kind !== 'end') return none('no trace was recorded');
  switch (moment.kind) {
    case 'end':
      return last;
    case 'peak':
      return history.peak.seq ?? BEFORE_TRACE;
    case 'seq':
      return moment.seq <= last ? moment.seq : none(`its last entry is ${last}`);
    case 'oom': {
      const oom = (await store.all('snapshot.ooms', { snapshot_id: trace.snapshotId }))
        .filter((row) => row.device === trace.device)
        .at(-1);
      return oom === undefined ? none('no entry of it is an OOM') : oom.seq - 1;
    }
    case 'time': {
      const entry = await store.one('history.last_before', { ...id, time_us: moment.timeUs });
      return entry?.seq ?? none('no entry is that old, or entries carry no times');
    }
    case 'step': {
      const { steps } = await readSteps(store, trace.snapshotId, trace.device);
      // A restart may count the same step again; the last run of it is the one that got furthest.
      const step = steps.filter((one) => one.step === moment.step).at(-1);
      if (step !== undefined) return peakBetween(store, history, step.first_seq, step.last_seq);
      const [first, final] = [steps[0], steps.at(-1)];
      return none(
        first === undefined || final === undefined
          ? 'no annotation marks steps'
          : `its steps are ${first.step} to ${final.step}`,
      );
    }
  }
}

/** The first entry of `from` to `to` after which the most actual bytes are active. */
export async function peakBetween(store: Store, history: DeviceHistory, from: number, to: number): Promise<number> {
  const { snapshotId, device } = history.trace;
  const ranges = { firsts: String(from), lasts: String(to) };
  const [row] = await store.all('state.range_totals', { snapshot_id: snapshotId, device, ...ranges });
  return row?.peak_active_seq ?? from;
}
