/**
 * Between a parser and the writer of its rows: what follows from one file alone, without the store. It is done where
 * the file is decoded, so that a file decoded on a second core leaves the writer little more than copying.
 */
import type { RunFigures } from '../../attribution/blocks/attribution.js';
import type { Lives } from '../../attribution/blocks/lives.js';
import { type ColumnBatch, ENUMS, getI64, LAYOUTS, type TableRows } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import { sumOf } from '../../model/lists.js';
import type { Dictionary, RowSink, SharedMemory, SnapshotSink, SnapshotSummary } from '../../model/parser.js';
import { poolNumbers } from '../../model/pool-numbers.js';
import type { IncidentRow, Note, TraceOomRow } from '../../model/tables.js';
import { isOomKind } from '../../model/vocabulary.js';
import { TraceModule } from '../../wasm/trace-module.js';
import { ContentKeys, type StackKeys } from '../read/content-keys.js';
import { TextBatches, type TextSink } from './derive-text.js';
import { type DeviceTrace, Traces } from './derive-trace.js';
import { DumpedState, StepAnnotations } from './dumped-state.js';
import { NoteFolder } from './fold-notes.js';
import { hidingSecrets } from './hide-secrets.js';
import type { TraceLabels } from './label-trace.js';
import type { TraceSteps } from './steps.js';
import { type DeviceLives, deriveLives } from './trace-lives.js';

const ALLOCATED = ENUMS.block_state.indexOf('active_allocated');
const INACTIVE = ENUMS.block_state.indexOf('inactive');

/** Segments and blocks of one device at the dump, added up. */
type Sums = 'reservedBytes' | 'allocatedBytes' | 'activeBytes' | 'inactiveBytes' | 'largestInactiveBlockBytes';
export type DeviceSums = Pick<TableRows['snapshot_device'], 'device' | 'segments' | 'blocks' | Sums>;

export interface SnapshotDerivation {
  /** By device ordinal; devices with an entry. */
  readonly traces: readonly DeviceTrace[];
  /** Devices with a segment or a block. */
  readonly sums: readonly DeviceSums[];
  /** By device ordinal; devices with an entry, a segment or a block. */
  readonly lives: readonly DeviceLives[];
  /** What only the whole trace shows. */
  readonly notes: readonly Note[];
}

/** A {@link SnapshotSink} that also gets the rows that follow from the whole trace, before `end`. */
export interface DerivedSnapshotSink extends Omit<SnapshotSink, 'end' | 'events'> {
  /** All rows of the file itself have come, but those of traces; these and what is derived from them follow. */
  parsed(): void;
  blockLives(batch: ColumnBatch): void;
  segmentLives(batch: ColumnBatch): void;
  /** Entries that no row of `block_life` restores. */
  entries(batch: ColumnBatch): void;
  buckets(batch: ColumnBatch): void;
  end(summary: SnapshotSummary, derivation: SnapshotDerivation): void;
}

/** Failure lines that are counted and not kept: of one launch, kind, rank and device; without these, of all others. */
export interface DroppedIncidents
  extends Pick<TableRows['incident_dropped'], 'attempt' | 'kind' | 'rank' | 'device' | 'isOom'> {
  count: number;
}

export interface DerivedSink extends Omit<RowSink, 'snapshot' | 'logRow' | 'profilerMemory'>, TextSink {
  /** Once, behind the last incident. */
  droppedIncidents(rows: readonly DroppedIncidents[]): void;
  snapshot(dictionary: Dictionary, keys: StackKeys): Promise<DerivedSnapshotSink>;
}

/**
 * The sink to give to a parser. `end` after its last row. `run`: what labels are made with; undefined: rows of blocks
 * have none.
 */
export function deriving(sink: DerivedSink, run?: RunFigures): RowSink & { end(): void } {
  const texts = new TextBatches(sink);
  const rows = hidingSecrets({
    note: (note) => sink.note(note),
    incident: (row) => sink.incident(row),
    logRow: (finding, place) => texts.row(finding, place),
    profilerMemory: (batch) => sink.textRows('profiler', batch, []),
    nsys: sink.nsys,
    attempt: (row) => sink.attempt(row),
    snapshot: async (dictionary, memory) => {
      const keys = new ContentKeys(dictionary);
      const label = run === undefined ? undefined : await labeller(dictionary, keys, run);
      return derivingSnapshot(await sink.snapshot(dictionary, keys), dictionary, memory, label);
    },
  });
  const incidents = new BoundedIncidents({ ...rows, droppedIncidents: (dropped) => sink.droppedIncidents(dropped) });
  const notes = new NoteFolder();
  const note = (one: Note): void => {
    if (one.count !== undefined || notes.add(one)) rows.note(one);
  };
  const end = (): void => {
    incidents.end();
    texts.end();
    for (const repeated of notes.repeats()) rows.note(repeated);
  };
  return { ...rows, incident: (row) => incidents.take(row), note, end };
}

/**
 * Incidents kept per source: the first ones, then the first of each launch, kind, rank and device. A log that repeats
 * one line a million times adds nothing. Each takes 4 KB and a quarter of a millisecond until it is judged.
 */
const MANY_INCIDENTS = 4096;
const MAX_INCIDENTS = 16_384;
/** Of so many launches, kinds, ranks and devices those that are not kept are counted each for itself. */
const MOST_COUNTED = 65_536;
class BoundedIncidents {
  private readonly sink: Pick<DerivedSink, 'incident' | 'note' | 'droppedIncidents'>;
  /** By identity; of one that is kept with all its lines, the count is 0. */
  private readonly dropped = new Map<string, DroppedIncidents>();
  /** Beyond {@link MOST_COUNTED}. */
  private readonly others: DroppedIncidents[] = [true, false].map((isOom) => ({
    ...{ attempt: null, kind: null, isOom, rank: null, device: null, count: 0 },
  }));
  private kept = 0;
  private firstDroppedLine: number | undefined;

  constructor(sink: Pick<DerivedSink, 'incident' | 'note' | 'droppedIncidents'>) {
    this.sink = sink;
  }

  take(row: IncidentRow): void {
    const { kept, dropped } = this;
    const { attempt, kind, rank, device } = row;
    const identity = `${attempt} ${kind} ${rank} ${device}`;
    const known = dropped.get(identity);
    const isOom = isOomKind(kind);
    const counted = known ?? { ...{ attempt, kind, isOom, rank, device }, count: 0 };
    if (known === undefined && dropped.size < MOST_COUNTED) dropped.set(identity, counted);
    if (kept < MANY_INCIDENTS || (kept < MAX_INCIDENTS && known === undefined)) {
      this.kept += 1;
      this.sink.incident(row);
      return;
    }
    this.firstDroppedLine ??= row.line;
    const counter = dropped.has(identity) ? counted : this.others[isOom ? 0 : 1]!;
    counter.count += 1;
  }

  end(): void {
    if (this.firstDroppedLine === undefined) return;
    const rows = [...this.dropped.values(), ...this.others].filter(({ count }) => count > 0);
    this.sink.droppedIncidents(rows);
    const text = `more than ${MANY_INCIDENTS} failure lines; repeated ones are counted, not kept`;
    const count = sumOf(rows.map((row) => row.count));
    this.sink.note({ kind: 'incidents_dropped', severity: 'warning', text, count, line: this.firstDroppedLine });
  }
}

export const NO_BYTES = {
  ...{ reservedBytes: 0, allocatedBytes: 0, activeBytes: 0, inactiveBytes: 0, largestInactiveBlockBytes: null },
};

type Label = (lives: Lives, steps: TraceSteps | null, ooms: readonly number[]) => TraceLabels | undefined;

/** The rules of labels take time to load: with the first snapshot. */
async function labeller(dictionary: Dictionary, keys: StackKeys, run: RunFigures): Promise<Label> {
  const { labelTrace } = await import('./label-trace.js');
  return (lives, steps, ooms) => labelTrace(lives, { dictionary, keys }, steps, ooms, run);
}

function derivingSnapshot(
  sink: DerivedSnapshotSink,
  dictionary: Dictionary,
  memory: SharedMemory,
  label: Label | undefined,
): SnapshotSink {
  const ooms: TraceOomRow[] = [];
  const traces = new Traces(memory instanceof TraceModule ? memory : undefined);
  const dumped = new DumpedState();
  const annotations = new StepAnnotations(dictionary);
  const sums = new Map<number, Mutable<DeviceSums>>();
  const of = (device: number): Mutable<DeviceSums> => {
    const known = sums.get(device);
    if (known !== undefined) return known;
    const added = { device, segments: 0, blocks: 0, ...NO_BYTES };
    sums.set(device, added);
    return added;
  };
  return {
    events: (batch) => traces.add(batch),
    segments(batch) {
      addSegments(batch, of);
      dumped.segments(batch);
      sink.segments(batch);
    },
    blocks(batch) {
      addBlocks(batch, of);
      dumped.blocks(batch);
      sink.blocks(batch);
    },
    annotations(batch) {
      annotations.add(batch);
      sink.annotations(batch);
    },
    hostEvents: (batch) => sink.hostEvents(batch),
    hostSegments: (batch) => sink.hostSegments(batch),
    oom(row) {
      ooms.push(row);
      sink.oom(row);
    },
    eventExtra: (row) => sink.eventExtra(row),
    end(summary) {
      sink.parsed();
      const sumsOfTraces = traces.devices();
      const notes = traces.notes();
      const pools = poolNumbers(
        new Map(Array.from({ length: dictionary.poolCount }, (_, pool) => [pool, dictionary.pool(pool)])),
      );
      const seqsOf = (device: number): number[] => ooms.flatMap((row) => (row.device === device ? [row.seq] : []));
      const devices = [...new Set([...sums.keys(), ...sumsOfTraces.map(({ device }) => device)])].sort((a, b) => a - b);
      const lives = devices.map((device): DeviceLives => {
        const ofTrace = sumsOfTraces.find((one) => one.device === device);
        return deriveLives(
          {
            device,
            traces,
            final: dumped.of(device),
            settings: summary.settings,
            pools,
            actions: ofTrace?.actions ?? new Map(),
            annotations: annotations.list(),
            beganEmpty: (sums.get(device)?.reservedBytes ?? 0) === (ofTrace?.reservedDeltaBytes ?? 0),
            label: label && ((lives, steps) => label(lives, steps, seqsOf(device))),
          },
          sink,
        );
      });
      traces.close();
      sink.end(summary, { traces: sumsOfTraces, sums: [...sums.values()], lives, notes });
    },
  };
}

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

function addSegments(batch: ColumnBatch, of: (device: number) => Mutable<DeviceSums>): void {
  const { device, total_bytes } = batch.columns(LAYOUTS.segment);
  for (let row = 0; row < batch.rows; row++) {
    const sums = of(device[row]!);
    sums.segments += 1;
    sums.reservedBytes = exactSum(sums.reservedBytes, getI64(total_bytes, row), 'segments');
  }
}

function addBlocks(batch: ColumnBatch, of: (device: number) => Mutable<DeviceSums>): void {
  const { device, size_bytes, state } = batch.columns(LAYOUTS.block);
  for (let row = 0; row < batch.rows; row++) {
    const sums = of(device[row]!);
    const bytes = getI64(size_bytes, row);
    sums.blocks += 1;
    if (state[row] === ALLOCATED) sums.allocatedBytes = exactSum(sums.allocatedBytes, bytes, 'blocks');
    if (state[row] === INACTIVE) {
      sums.inactiveBytes = exactSum(sums.inactiveBytes, bytes, 'blocks');
      sums.largestInactiveBlockBytes = Math.max(sums.largestInactiveBlockBytes ?? 0, bytes);
    } else sums.activeBytes = exactSum(sums.activeBytes, bytes, 'blocks');
  }
}

function exactSum(sum: number, bytes: number, what: string): number {
  if (sum + bytes > Number.MAX_SAFE_INTEGER) {
    throw new MbfError('MBF2107', `the sizes of the ${what} add up to more than 2^53 bytes`);
  }
  return sum + bytes;
}
