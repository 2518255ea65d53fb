/** States of an allocator made by hand, as rows of a snapshot in a store. */
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { type AllocatorState, placeBlocks } from '../../../src/allocator/walk/allocator-state.js';
import { settingColumns } from '../../../src/ingest/derive/history-rows.js';
import { NEVER } from '../../../src/model/derived-tables.js';
import type { Store } from '../../../src/store/store.js';
import type { RequestThen } from './state-account.js';

export interface Segment {
  readonly total: number;
  readonly stream?: number;
  readonly small?: boolean;
  /** 0 is the default pool. */
  readonly pool?: number;
  readonly expandable?: boolean;
  readonly blocks?: readonly {
    readonly offset: number;
    readonly size: number;
    /** −1 where unknown; default: all of it. */
    readonly requested?: number;
    readonly pending?: boolean;
    /** −1: before the trace. */
    readonly allocSeq?: number;
    readonly stack?: number;
  }[];
}

/** The entry that fails. */
export const OOM_SEQ = 1000;
const TABLES = [
  'block_life',
  'segment_life',
  'derived_history',
  'snapshot_pool',
  'trace_oom',
  'trace_entry',
  'snapshot',
];

/** Of each segment. */
const addressOf = (segment: number): number => (segment + 1) * 2 ** 40;

export function stateOf(list: readonly Segment[]): AllocatorState {
  const rows = list.flatMap(({ blocks = [] }, segment) => blocks.map((block) => ({ segment, ...block })));
  const size = Float64Array.from(rows, (row) => row.size);
  const state: AllocatorState = {
    afterSeq: OOM_SEQ - 1,
    segments: {
      count: list.length,
      address: Float64Array.from(list, (_, i) => addressOf(i)),
      totalBytes: Float64Array.from(list, ({ total }) => total),
      stream: Float64Array.from(list, ({ stream }) => stream ?? 0),
      small: Uint8Array.from(list, ({ small }) => (small === true ? 1 : 0)),
      pool: Int32Array.from(list, ({ pool }) => pool ?? 0),
      expandable: Uint8Array.from(list, ({ expandable }) => (expandable === true ? 1 : 0)),
      inferred: new Uint8Array(list.length),
      firstBlock: new Int32Array(list.length + 1),
    },
    blocks: {
      count: rows.length,
      address: Float64Array.from(rows, (row) => addressOf(row.segment) + row.offset),
      sizeBytes: size,
      minBytes: size,
      maxBytes: size,
      requestedBytes: Float64Array.from(rows, (row) => row.requested ?? row.size),
      state: Uint8Array.from(rows, ({ pending }) => (pending === true ? 1 : 0)),
      segment: new Int32Array(rows.length),
      stackId: Int32Array.from(rows, ({ stack }) => stack ?? -1),
      stackOrigin: new Uint8Array(rows.length),
      allocSeq: Int32Array.from(rows, ({ allocSeq }) => allocSeq ?? -1),
    },
  };
  placeBlocks(state.segments, state.blocks);
  return state;
}

const known = (value: number): number | null => (value < 0 || Number.isNaN(value) ? null : value);

/**
 * Writes the states as snapshots 1, 2, … of the store, in place of those it has, with an OOM at entry {@link OOM_SEQ}
 * of device 0 if there is a request. The OOM is not derived yet.
 */
export async function writeStates(
  store: Store,
  states: readonly {
    readonly state: AllocatorState;
    readonly settings?: AllocatorSettings;
    readonly request?: RequestThen | null;
  }[],
): Promise<void> {
  for (const table of [...TABLES, 'oom_hole', 'oom_state', 'oom_rounding']) await store.run(`DELETE FROM ${table}`);
  const id = (i: number) => ({ snapshot_id: i + 1, device: 0 });
  const life = { from_seq: -1, to_seq: NEVER };
  const each = <Row>(rowsOf: (one: (typeof states)[number], i: number) => Row[]): Row[] => states.flatMap(rowsOf);
  await store.insertRows(
    'segment_life',
    each(({ state: { segments: s } }, i) =>
      Array.from({ length: s.count }, (_, row) => ({
        ...{ ...id(i), ...life, address: BigInt(s.address[row]!), total_bytes: s.totalBytes[row]! },
        stream: Number.isNaN(s.stream[row]!) ? null : s.stream[row]!,
        ...{ segment_type: s.small[row] === 1 ? 'small' : 'large', pool: s.pool[row]! },
        ...{ is_expandable: s.expandable[row]!, is_inferred: 0 },
      })),
    ),
  );
  await store.insertRows(
    'block_life',
    each(({ state: { blocks: b } }, i) =>
      Array.from({ length: b.count }, (_, row) => ({
        ...{ ...id(i), ...life, from_seq: b.allocSeq[row]!, block: row, address: BigInt(b.address[row]!) },
        ...{ pending_seq: b.state[row] === 1 ? -1 : NEVER, requested_bytes: known(b.requestedBytes[row]!) },
        ...{
          excess_bytes: b.sizeBytes[row]! - Math.max(0, b.requestedBytes[row]!),
          least_bytes: b.minBytes[row]!,
          most_bytes: b.maxBytes[row]!,
        },
        ...{ stack_id: known(b.stackId[row]!), stack_origin: b.stackId[row]! < 0 ? 'none' : 'alloc_event' },
      })),
    ),
  );
  await store.insertRows(
    'derived_history',
    each(({ settings = DEFAULT_SETTINGS }, i) => [{ ...id(i), ...HISTORY, ...settingColumns(settings) }]),
  );
  const failed = states.flatMap(({ request }, i) => (request == null ? [] : [{ ...id(i), request }]));
  await store.insertRows(
    'trace_oom',
    failed.map(({ request, ...of }) => ({ ...of, seq: OOM_SEQ, requested_bytes: request.bytes })),
  );
  await store.insertRows(
    'trace_entry',
    failed.map(({ request: { bytes, stream }, ...of }) => ({
      ...{ ...of, seq: OOM_SEQ, action: 'oom', size_bytes: bytes, stream },
    })),
  );
  await store.insertRows(
    'snapshot_pool',
    each((_, i) =>
      Array.from({ length: 8 }, (_, pool) => ({ snapshot_id: i + 1, pool, pool_id_a: 0, pool_id_b: pool })),
    ),
  );
  await store.insertRows(
    'snapshot',
    each((_, i) => [
      {
        ...{ snapshot_id: i + 1, source_id: 1, run_id: 1, handle: `r/0/snapshot#${i + 1}`, protocol: 4 },
        ...{ form: 'dict', has_traces: true, last_is_oom: true },
      },
    ]),
  );
  const now = new Date(0);
  await store.run('DELETE FROM run');
  await store.insertRows('run', [{ run_id: 1, name: 'r', root_path: '/', created_at: now, touched_at: now }]);
}

const HISTORY = {
  ...{ events: OOM_SEQ + 1, blocks: 0, holds: true, starts_empty: true },
  ...{ violations: 0, implied_completions: 0, requests_recorded: true, completions_recorded: true },
  ...{ pooled: false, peak_active_bytes: 0, peak_reserved_bytes: 0, uncertain_blocks: 0, uncertain_bytes: 0 },
  ...{ bucket_entries: 1, steps_without_entries: 0 },
};
