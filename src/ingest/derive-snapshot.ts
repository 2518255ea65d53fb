/**
 * Between a parser and the writer of its rows: what follows from one file alone, without the store. It is done where
 * the file is decoded, so that a file decoded on a second core leaves the writer little more than copying.
 */
import { type ColumnBatch, getI64 } from '../model/columns.js';
import { MbfError } from '../model/errors.js';
import type { Dictionary, RowSink, SnapshotSink, SnapshotSummary } from '../model/parser.js';
import type { Note } from '../model/tables.js';
import { BLOCK_STATES } from '../model/vocabulary.js';
import { ContentKeys, type StackKeys } from './content-keys.js';
import { TextBatches, type TextSink } from './derive-text.js';
import { type DeviceTrace, TraceDerivation } from './derive-trace.js';

const ALLOCATED = BLOCK_STATES.indexOf('active_allocated');
const INACTIVE = BLOCK_STATES.indexOf('inactive');

/** Segments and blocks of one device at the dump, added up. */
export interface DeviceSums {
  readonly device: number;
  readonly segments: number;
  readonly blocks: number;
  readonly reserved: number;
  readonly allocated: number;
  readonly active: number;
  readonly inactive: number;
  /** Null without an inactive block. */
  readonly largestInactive: number | null;
}

export interface SnapshotDerivation {
  /** By device ordinal; devices with an entry. */
  readonly traces: readonly DeviceTrace[];
  /** Devices with a segment or a block. */
  readonly sums: readonly DeviceSums[];
  /** What only the whole trace shows. */
  readonly notes: readonly Note[];
}

/** A {@link SnapshotSink} whose events carry their derived columns. */
export interface DerivedSnapshotSink extends Omit<SnapshotSink, 'end'> {
  end(summary: SnapshotSummary, derivation: SnapshotDerivation): void;
}

export interface DerivedSink extends Omit<RowSink, 'snapshot' | 'logRow' | 'profilerMemory'>, TextSink {
  snapshot(dictionary: Dictionary, keys: StackKeys): Promise<DerivedSnapshotSink>;
}

/** The sink to give to a parser. `end` after its last row. */
export function deriving(sink: DerivedSink): RowSink & { end(): void } {
  const texts = new TextBatches(sink);
  return {
    note: (note) => sink.note(note),
    incident: (row) => sink.incident(row),
    logRow: (finding, place) => texts.row(finding, place),
    profilerMemory: (batch) => sink.textRows('profiler', batch, []),
    nsys: sink.nsys,
    attempt: (row) => sink.attempt(row),
    snapshot: async (dictionary) => derivingSnapshot(await sink.snapshot(dictionary, new ContentKeys(dictionary))),
    end: () => texts.end(),
  };
}

function derivingSnapshot(sink: DerivedSnapshotSink): SnapshotSink {
  const trace = new TraceDerivation();
  const sums = new Map<number, Mutable<DeviceSums>>();
  const of = (device: number): Mutable<DeviceSums> => {
    let known = sums.get(device);
    if (known === undefined) {
      known = {
        device,
        segments: 0,
        blocks: 0,
        reserved: 0,
        allocated: 0,
        active: 0,
        inactive: 0,
        largestInactive: null,
      };
      sums.set(device, known);
    }
    return known;
  };
  return {
    events(batch) {
      trace.add(batch);
      sink.events(batch);
    },
    segments(batch) {
      addSegments(batch, of);
      sink.segments(batch);
    },
    blocks(batch) {
      addBlocks(batch, of);
      sink.blocks(batch);
    },
    annotations: (batch) => sink.annotations(batch),
    oom: (row) => sink.oom(row),
    eventExtra: (row) => sink.eventExtra(row),
    end: (summary) => sink.end(summary, { traces: trace.devices(), sums: [...sums.values()], notes: trace.notes() }),
  };
}

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

function addSegments(batch: ColumnBatch, of: (device: number) => Mutable<DeviceSums>): void {
  const device = batch.i32('device');
  const total = batch.i64('total_bytes');
  for (let row = 0; row < batch.rows; row++) {
    const sums = of(device[row]!);
    sums.segments += 1;
    sums.reserved = exactSum(sums.reserved, getI64(total, row), 'segments');
  }
}

function addBlocks(batch: ColumnBatch, of: (device: number) => Mutable<DeviceSums>): void {
  const device = batch.i32('device');
  const size = batch.i64('size_bytes');
  const state = batch.u8('state');
  for (let row = 0; row < batch.rows; row++) {
    const sums = of(device[row]!);
    const bytes = getI64(size, row);
    sums.blocks += 1;
    if (state[row] === ALLOCATED) sums.allocated = exactSum(sums.allocated, bytes, 'blocks');
    if (state[row] === INACTIVE) {
      sums.inactive = exactSum(sums.inactive, bytes, 'blocks');
      sums.largestInactive = Math.max(sums.largestInactive ?? 0, bytes);
    } else sums.active = exactSum(sums.active, bytes, 'blocks');
  }
}

function exactSum(sum: number, bytes: number, what: string): number {
  if (sum + bytes > Number.MAX_SAFE_INTEGER) {
    throw new MbfError('MBF2107', `the sizes of the ${what} add up to more than 2^53 bytes`);
  }
  return sum + bytes;
}
