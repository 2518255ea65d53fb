/**
 * Derives what ingest derives, for snapshots that an older version ingested: from the rows in the store instead of
 * those of a parser.
 */
import type { FinalState } from '../../allocator/walk/backward-walk.js';
import { callSite, type Frame } from '../../attribution/frames/call-site.js';
import type { TableLayout } from '../../model/columns.js';
import { BLOCK_LIFE_LAYOUT, BUCKET_LAYOUT, HISTORY_RULES, SEGMENT_LIFE_LAYOUT } from '../../model/derived-tables.js';
import { getOrAdd } from '../../model/group-by.js';
import { poolNumbers } from '../../model/pool-numbers.js';
import { BLOCK_STATES, SEGMENT_TYPES, type TraceAction } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { DERIVED_TABLES } from '../write/source-rows.js';
import { deriveOoms } from './derive-ooms.js';
import { historyRow, stepRows } from './history-rows.js';
import type { PutRows } from './life-rows.js';
import { type Annotation, marksStep } from './steps.js';
import { deriveLives } from './trace-lives.js';
import { TraceSpool } from './trace-spool.js';

export interface DeviceKey {
  readonly snapshot_id: number;
  readonly device: number;
}

/** Devices whose lifetimes are missing, or were derived by older rules. */
export function underivedDevices(store: Store): Promise<DeviceKey[]> {
  return store.all('history.underived', { rules: HISTORY_RULES });
}

/** Names the call sites of stacks that an older version interned. */
export async function nameSites(store: Store): Promise<void> {
  const rows = await store.all('stack.all');
  if (!rows.some(({ site, depth }) => site === null && depth > 0)) return;
  const stacks = new Map<number, Frame[]>();
  for (const { stack_id, name, filename, line } of await store.all('stack.unnamed_frames')) {
    const stack = getOrAdd(stacks, stack_id, () => []);
    stack.push({ name, filename, line });
  }
  await store.transaction(async () => {
    await store.run('DELETE FROM stack');
    await store.insertRows(
      'stack',
      rows.map((row) => ({
        ...row,
        site: row.site ?? (row.depth > 0 ? (callSite(stacks.get(row.stack_id) ?? []) ?? '') : null),
      })),
    );
  });
}

/** Replaces what was derived of a device, in one transaction. */
export async function deriveStored(store: Store, id: DeviceKey): Promise<void> {
  const spool = await spoolOf(store, id);
  try {
    await store.transaction(async () => {
      // Labels are a column of block_life, and are made again with it.
      for (const table of DERIVED_TABLES)
        await store.run(`DELETE FROM ${table} WHERE snapshot_id = $snapshot_id AND device = $device`, { ...id });
      const appenders = new Map<TableLayout, PutRows>();
      for (const layout of [BLOCK_LIFE_LAYOUT, SEGMENT_LIFE_LAYOUT, BUCKET_LAYOUT]) {
        const appender = await store.appender(layout);
        appenders.set(layout, (batch) => {
          batch.i32('snapshot_id').fill(id.snapshot_id);
          appender.append(batch);
        });
      }
      const lives = deriveLives(
        { device: id.device, spool, ...(await readInput(store, id)) },
        {
          blockLives: appenders.get(BLOCK_LIFE_LAYOUT)!,
          segmentLives: appenders.get(SEGMENT_LIFE_LAYOUT)!,
          buckets: appenders.get(BUCKET_LAYOUT)!,
        },
      );
      await store.insertRows('derived_history', [historyRow(id.snapshot_id, lives)]);
      await store.insertRows('trace_step', stepRows(id.snapshot_id, lives));
      await deriveOoms(store, id.snapshot_id, id.device);
    });
  } finally {
    spool.close();
  }
}

const EVENT_SPEC = {
  action: 'u8',
  addr: 'f64',
  size_bytes: 'f64',
  stream: 'f64',
  time_us: 'f64',
  pool: 'i32',
  stack_id: 'i32',
  compile_context_id: 'i32',
  user_metadata_id: 'i32',
} as const;

async function spoolOf(store: Store, id: DeviceKey): Promise<TraceSpool> {
  const spool = new TraceSpool();
  for await (const { rows, columns } of store.readQueryColumns('history.whole_events', { ...id }, EVENT_SPEC))
    spool.push(
      {
        action: columns.action,
        address: columns.addr,
        sizeBytes: columns.size_bytes,
        stream: columns.stream,
        timeUs: columns.time_us,
        pool: columns.pool,
        stackId: columns.stack_id,
        compileContext: columns.compile_context_id,
        userMetadata: columns.user_metadata_id,
      },
      rows,
    );
  return spool;
}

async function readInput(store: Store, id: DeviceKey) {
  const ofSnapshot = { snapshot_id: id.snapshot_id };
  const pools = poolNumbers(
    new Map(
      (await store.all('snapshot.pool_ids', ofSnapshot)).map((row) => [row.pool, [row.pool_id_a, row.pool_id_b]]),
    ),
  );
  const actions = (await store.all('snapshot.actions', ofSnapshot)).filter((row) => row.device === id.device);
  const devices = await store.all('snapshot.devices', ofSnapshot);
  return {
    final: await readFinalState(store, id, pools.toWalk),
    settings: new Map((await store.all('snapshot.settings', ofSnapshot)).map((row) => [row.key, row.value])),
    pools,
    actions: new Map(actions.map((row) => [row.action as TraceAction, row.count])),
    annotations: await readAnnotations(store, id),
    beganEmpty: devices.find((row) => row.device === id.device)?.start_reserved_bytes === 0,
  };
}

async function readFinalState(store: Store, id: DeviceKey, toWalk: (pool: number) => number): Promise<FinalState> {
  const segments = await store.all('snapshot.final_segments', { ...id });
  const blocks = await store.all('snapshot.final_blocks', { ...id });
  return {
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, (row) => Number(row.address)),
      totalBytes: Float64Array.from(segments, (row) => row.total_bytes),
      stream: Float64Array.from(segments, (row) => (row.stream === null ? Number.NaN : Number(row.stream))),
      type: Uint8Array.from(segments, (row) =>
        SEGMENT_TYPES.indexOf(row.segment_type as (typeof SEGMENT_TYPES)[number]),
      ),
      pool: Int32Array.from(segments, (row) => toWalk(row.pool ?? -1)),
      expandable: Uint8Array.from(segments, (row) => row.is_expandable ?? 0),
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, (row) => Number(row.address)),
      sizeBytes: Float64Array.from(blocks, (row) => row.size_bytes),
      requestedBytes: Float64Array.from(blocks, (row) => row.requested_bytes ?? -1),
      state: Uint8Array.from(blocks, (row) => BLOCK_STATES.indexOf(row.state as (typeof BLOCK_STATES)[number])),
      stackId: Int32Array.from(blocks, (row) => row.stack_id ?? -1),
    },
  };
}

async function readAnnotations(store: Store, id: DeviceKey): Promise<Annotation[]> {
  const rows = await store.all('peak.annotations', { snapshot_id: id.snapshot_id });
  return rows.flatMap(({ ordinal, stage, name, device, time_us }): Annotation[] =>
    (stage === 'START' || stage === 'END') && time_us !== null && marksStep(name)
      ? [{ ordinal, stage, name, device, time_us }]
      : [],
  );
}
