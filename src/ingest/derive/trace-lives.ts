/**
 * What follows from the whole trace of one device: the state before its first entry, found by walking back from the
 * dump, and on the way the lifetimes of all blocks and segments; then the course of the totals.
 */

import {
  type AllocatorSettings,
  NO_DIVISIONS,
  SMALL_SEGMENT_BYTES,
  settingsFromSnapshot,
} from '../../allocator/settings.js';
import type { FinalState } from '../../allocator/walk/walk-input.js';
import type { BlockLabel } from '../../attribution/blocks/labels.js';
import type { Lives } from '../../attribution/blocks/lives.js';
import { stepCuts } from '../../derive/step-cuts.js';
import { type ColumnBatch, ENUMS, LAYOUTS, type TableLayout, type TableRows } from '../../model/columns.js';
import { entriesPerBucket, LEAST_STORED_ENTRIES } from '../../model/derived-tables.js';
import type { PoolNumbers } from '../../model/pool-numbers.js';
import type { TraceAction } from '../../model/vocabulary.js';
import type { TraceModule } from '../../wasm/trace-module.js';
import type { Traces } from './derive-trace.js';
import type { TraceLabels } from './label-trace.js';
import { type Annotation, findSteps, type TraceSteps } from './steps.js';

export interface TraceInput {
  readonly device: number;
  readonly traces: Traces;
  /** Pools as the file numbers them. */
  readonly final: FinalState;
  readonly settings: ReadonlyMap<string, string>;
  readonly pools: PoolNumbers;
  /** Entries by action. */
  readonly actions: ReadonlyMap<TraceAction, number>;
  /** Of training steps. */
  readonly annotations: readonly Annotation[];
  /** Nothing was reserved before the first entry, by the sums of the trace. */
  readonly beganEmpty: boolean;
  /** Undefined: rows of blocks lack labels. */
  readonly label?: ((lives: Lives, steps: TraceSteps | null) => TraceLabels | undefined) | undefined;
}

export type PutRows = (batch: ColumnBatch) => void;

export interface LivesOut {
  readonly blockLives: PutRows;
  readonly segmentLives: PutRows;
  /** Those that no lifetime restores. */
  readonly entries: PutRows;
  readonly buckets: PutRows;
}

type Settings = 'maxSplitBytes' | 'maxNonSplitRoundingBytes' | 'largeSegmentBytes' | 'roundupDivisions';
type Steps = 'stepsOrigin' | 'stepsAnnotations' | 'stepsAnnotationsDevice' | 'stepsWithoutEntries';
/** The figures of the walk over a trace, without the rows. Bytes are actual sizes. */
export interface DeviceLives extends Omit<TableRows['derived_history'], 'snapshotId' | Settings | Steps> {
  readonly settings: AllocatorSettings;
  readonly steps: TraceSteps | null;
  /** Of the labels that the rows of blocks have; null: none. */
  readonly labels: readonly BlockLabel[] | null;
}

/** Rows of a batch at most: more would not be faster, and keep memory that the trace needs. */
const MOST_ROWS = 16_384;
const LEAST_ROWS = 512;

/** Columns that the module fills, in its order: see `assembly/rows.ts`. */
const LIFE_TABLES: readonly (readonly [TableLayout, keyof LivesOut, readonly string[]])[] = [
  [
    LAYOUTS.block_life,
    'blockLives',
    [
      ...['block', 'address', 'from_seq', 'to_seq', 'pending_seq', 'requested_bytes', 'excess_bytes', 'least_bytes'],
      ...['most_bytes', 'stream', 'pool', 'stack_id', 'stack_origin', 'alloc_us', 'request_us', 'free_us'],
      ...['free_stack_id', 'compile_context_id', 'user_metadata_id', 'entries', 'label'],
    ],
  ],
  [
    LAYOUTS.segment_life,
    'segmentLives',
    [
      ...['address', 'total_bytes', 'from_seq', 'to_seq', 'stream', 'segment_type', 'pool', 'is_expandable'],
      'is_inferred',
    ],
  ],
  [
    LAYOUTS.trace_entry,
    'entries',
    [
      ...['seq', 'action', 'addr', 'size_bytes', 'stream', 'time_us', 'pool', 'stack_id', 'compile_context_id'],
      'user_metadata_id',
    ],
  ],
];
const BUCKET_COLUMNS = [
  ...['first_seq', 'last_seq', 'first_time_us', 'last_time_us', 'allocated_min_bytes', 'allocated_max_bytes'],
  ...['active_min_bytes', 'active_max_bytes', 'reserved_min_bytes', 'reserved_max_bytes'],
];

/** As `walkFigures` of the module writes them. */
const FIGURES = [
  ...(['blocks', 'starts', 'violations', 'tailViolations', 'impliedCompletions', 'startsEmpty'] as const),
  ...(['peakActiveBytes', 'peakActiveSeq', 'peakReservedBytes', 'peakReservedSeq'] as const),
  ...(['uncertainBlocks', 'uncertainBytes', 'pooled'] as const),
];

export function deriveLives(input: TraceInput, out: LivesOut): DeviceLives {
  const { device, traces, final, pools, actions } = input;
  const { module } = traces;
  const { exports } = module;
  const settings = settingsFromSnapshot(input.settings);
  const steps = stepsOf(input) ?? null;
  const events = [...actions.values()].reduce((sum, count) => sum + count, 0);
  const rows = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, events + final.blocks.count));
  traces.select(device);
  openWalk(traces, settings, pools, rows);
  const batches = LIFE_TABLES.map(([layout, , columns], table) => {
    const batch = module.batch(layout, rows);
    batch.i32('device').fill(device);
    columns.forEach((name, i) => {
      exports.setColumn(table, i, placeOf(batch, name));
    });
    return batch;
  });
  module.onRows = (table, count) => {
    module.refresh();
    const batch = batches[table]!;
    batch.rows = count;
    out[LIFE_TABLES[table]![1]](batch);
  };
  try {
    addFinal(traces, final);
    const recorded = recordedFrees(actions, () => exports.hasLoneRequests() === 1);
    exports.walkBack(recorded.requests ? 1 : 0, recorded.completions ? 1 : 0);
    module.refresh();
    const numbers = module.numbers(FIGURES.length, (to) => exports.walkFigures(to));
    const figures = Object.fromEntries(FIGURES.map((name, i) => [name, numbers[i]!]));
    const results = figures as Readonly<Record<(typeof FIGURES)[number], number>>;
    const cuts = stepCuts((steps?.spans ?? []).flatMap(({ range }) => (range === null ? [] : [range])));
    const bucketEntries = entriesPerBucket(events, LEAST_STORED_ENTRIES);
    const lives = { count: results.blocks, starts: results.starts, events };
    const labels = input.label?.(livesIn(module, lives), steps);
    const course = { events, entries: bucketEntries, cuts, label: labels?.label };
    goForward(traces, device, course, (batch) => out.buckets(batch));
    const { tailViolations, starts: _, ...rest } = results;
    return {
      ...rest,
      device,
      settings,
      events,
      holds: results.impliedCompletions === 0 && results.violations === tailViolations,
      startsEmpty: results.startsEmpty === 1,
      requestsRecorded: recorded.requests,
      completionsRecorded: recorded.completions,
      pooled: results.pooled === 1,
      peakActiveSeq: results.peakActiveSeq < 0 ? null : results.peakActiveSeq,
      peakReservedSeq: results.peakReservedSeq < 0 ? null : results.peakReservedSeq,
      bucketEntries,
      steps,
      labels: labels?.labels ?? null,
    };
  } finally {
    module.onRows = () => {};
    for (const batch of batches) module.releaseBatch(batch);
  }
}

function placeOf(batch: ColumnBatch, name: string): number {
  return batch.arrays[batch.layout.columns.findIndex((column) => column.name === name)]!.byteOffset;
}

function openWalk({ module }: Traces, settings: AllocatorSettings, pools: PoolNumbers, rows: number): void {
  const { exports } = module;
  exports.openWalk(
    settings.expandableSegments ? 1 : 0,
    settings.maxSplitBytes,
    settings.maxNonSplitRoundingBytes,
    settings.largeSegmentBytes,
    pools.fromWalk(0),
    rows,
  );
  if (settings.roundupPower2Divisions === NO_DIVISIONS) return;
  for (const [interval, divisions] of settings.roundupPower2Divisions.entries())
    exports.setDivision(interval, Math.min(divisions, 2 ** 31 - 1));
}

const SMALL = ENUMS.segment_type.indexOf('small');
const LARGE = ENUMS.segment_type.indexOf('large');
const INACTIVE = ENUMS.block_state.indexOf('inactive');
/** Bit of a segment whose class is inferred: see `assembly/segments.ts`. */
const INFERRED_SMALL = 2;

function addFinal({ module }: Traces, { segments, blocks }: FinalState): void {
  const { exports } = module;
  for (let i = 0; i < segments.count; i += 1) {
    const type = segments.type[i]!;
    const bytes = segments.totalBytes[i]!;
    const isKnown = type === SMALL || type === LARGE;
    const isSmall = isKnown ? type === SMALL : bytes === SMALL_SEGMENT_BYTES;
    exports.finalSegment(
      segments.address[i]!,
      bytes,
      segments.stream[i]!,
      isSmall ? 1 : 0,
      segments.pool[i]!,
      segments.expandable[i] === 1 ? 1 : 0,
      isKnown ? 0 : INFERRED_SMALL,
    );
  }
  for (let i = 0; i < blocks.count; i += 1) {
    const requested = blocks.requestedBytes[i]!;
    if (blocks.state[i] === INACTIVE) continue;
    exports.finalBlock(
      blocks.address[i]!,
      blocks.sizeBytes[i]!,
      requested >= 0 ? requested : -1,
      blocks.state[i]!,
      blocks.stackId[i]!,
    );
  }
}

/** Whether requests and completions of frees are in the recording, or were left out of it (`skip_actions`). */
function recordedFrees(actions: ReadonlyMap<TraceAction, number>, hasLoneRequests: () => boolean) {
  const has = (action: TraceAction): boolean => (actions.get(action) ?? 0) > 0;
  const frees = has('free_requested') || has('free_completed');
  return {
    requests: !frees || has('free_requested'),
    completions: !frees || has('free_completed') || !hasLoneRequests(),
  };
}

function stepsOf({ device, traces, actions, annotations, beganEmpty }: TraceInput): TraceSteps | undefined {
  return findSteps(annotations, {
    device,
    entries: [...actions.values()].reduce((sum, count) => sum + count, 0),
    firstTimeUs: traces.firstTimeUs(device),
    beganEmpty,
    lastSeqs: (times) => traces.lastSeqs(device, times),
  });
}

/** The way forward: entries of the trace, those of a bucket, where else buckets end, labels of the lives. */
interface Course {
  readonly events: number;
  readonly entries: number;
  readonly cuts: readonly number[];
  readonly label: Int32Array | undefined;
}

const FREE_EVENT = ENUMS.stack_origin.indexOf('free_event');

/** The lives in the memory of the module, valid until it is called again. */
function livesIn(module: TraceModule, of: Pick<Lives, 'count' | 'starts' | 'events'>): Lives {
  const { count, starts } = of;
  const places = module.during(32, (place) => {
    module.exports.livesColumns(place);
    return new Uint32Array(module.buffer, place, 8).slice();
  });
  const { buffer } = module;
  const stackIsOfFree = new Uint8Array(count);
  const origins = new Uint8Array(buffer, places[5], count);
  for (let life = 0; life < starts; life += 1) stackIsOfFree[life] = origins[life] === FREE_EVENT ? 1 : 0;
  const freedSeq = new Int32Array(buffer, places[1], count).slice();
  const requestedSeq = new Int32Array(buffer, places[7], count);
  for (let life = 0; life < count; life += 1)
    if (requestedSeq[life]! < freedSeq[life]!) freedSeq[life] = requestedSeq[life]!;
  return {
    ...of,
    allocSeq: new Int32Array(buffer, places[0], count),
    freedSeq,
    bytes: new Float64Array(buffer, places[2], count),
    requested: new Float64Array(buffer, places[3], count),
    stackId: new Int32Array(buffer, places[4], count),
    stackIsOfFree,
    pool: new Int32Array(buffer, places[6], count),
  };
}

/** Hands over all rows that are not of segments. */
function goForward({ module }: Traces, device: number, { events, entries, cuts, label }: Course, put: PutRows): void {
  const { exports } = module;
  const most = Math.ceil(events / entries) + cuts.length;
  const batch = module.batch(LAYOUTS.derived_bucket, Math.max(1, most));
  const columns = BUCKET_COLUMNS.map((name) => placeOf(batch, name));
  const labels = label?.length ?? 0;
  batch.rows = module.during(4 * (columns.length + cuts.length + labels), (place) => {
    new Int32Array(module.buffer, place).set([...columns, ...cuts]);
    const cutsAt = place + 4 * columns.length;
    const labelsAt = cutsAt + 4 * cuts.length;
    if (label !== undefined) new Int32Array(module.buffer, labelsAt, labels).set(label);
    return exports.goForward(label === undefined ? 0 : labelsAt, place, entries, cutsAt, cuts.length, most);
  });
  module.refresh();
  batch.i32('device').fill(device);
  batch.i32('bucket').forEach((_, row, column) => {
    column[row] = row;
  });
  if (batch.rows > 0) put(batch);
  module.releaseBatch(batch);
}
