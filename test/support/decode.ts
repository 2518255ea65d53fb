/** Every row our parser makes of a pickle, with all dictionary ids resolved, one text line a row. */
import { torchSnapshot } from '../../parsers/torch-snapshot/index.js';
import { type ColumnBatch, NULL_HIGH, NULL_I32, NULL_U8 } from '../../src/model/columns.js';
import type { ByteSource, Dictionary, ParseContext, RowSink, SnapshotSummary } from '../../src/model/parser.js';
import type { EventExtraRow, Note, TraceOomRow } from '../../src/model/tables.js';

type Cell = string | number | null | readonly Cell[];

export interface Decoded {
  readonly summary: SnapshotSummary;
  readonly notes: readonly Note[];
  /** JSON lines as `python-truth.ts` writes them; stacks are numbers into `stacks`, given in order of first use. */
  readonly segments: readonly string[];
  readonly blocks: readonly string[];
  readonly events: readonly string[];
  readonly annotations: readonly string[];
  readonly hostEvents: readonly string[];
  readonly hostSegments: readonly string[];
  readonly ooms: readonly string[];
  readonly extras: readonly string[];
  readonly stacks: readonly string[];
}

/** A source over bytes in memory that gives at most `chunkBytes` at a time. */
export function bytesSource(bytes: Uint8Array, chunkBytes = Number.POSITIVE_INFINITY, sized = true): ByteSource {
  let at = 0;
  return {
    sizeBytes: sized ? bytes.length : undefined,
    read(target, start) {
      const count = Math.min(chunkBytes, target.length - start, bytes.length - at);
      target.set(bytes.subarray(at, at + count), start);
      at += count;
      return Promise.resolve(count);
    },
  };
}

export function decode(source: ByteSource): Promise<Decoded> {
  return collectDecoded((sink, context) => torchSnapshot.parse(source, sink, context));
}

/**
 * The rows of whatever `parse` sends. Ids are resolved at the end, so they may refer to a dictionary that is still
 * growing.
 */
export async function collectDecoded(
  parse: (sink: RowSink, context: ParseContext) => Promise<unknown>,
): Promise<Decoded> {
  const notes: Note[] = [];
  const ooms: TraceOomRow[] = [];
  const extras: EventExtraRow[] = [];
  const rows = {
    segments: [] as Cell[][],
    blocks: [] as Cell[][],
    events: [] as Cell[][],
    annotations: [] as Cell[][],
    hostEvents: [] as Cell[][],
    hostSegments: [] as Cell[][],
  };
  let dictionary: Dictionary | undefined;
  let summary: SnapshotSummary | undefined;
  await parse(
    {
      note: (note) => notes.push(note),
      incident: () => {
        throw new Error('a snapshot has no incidents');
      },
      logRow: () => {},
      attempt: () => {},
      profilerMemory: () => {},
      snapshot: (given) => {
        dictionary = given;
        return Promise.resolve({
          segments: (batch) => collect(rows.segments, batch, given, SEGMENT),
          blocks: (batch) => collect(rows.blocks, batch, given, BLOCK),
          events: (batch) => collect(rows.events, batch, given, EVENT),
          annotations: (batch) => collect(rows.annotations, batch, given, ANNOTATION),
          hostEvents: (batch) => collect(rows.hostEvents, batch, given, HOST_EVENT),
          hostSegments: (batch) => collect(rows.hostSegments, batch, given, HOST_SEGMENT),
          oom: (row) => ooms.push(row),
          eventExtra: (row) => extras.push(row),
          end: (given) => {
            summary = given;
          },
        });
      },
    },
    { name: 'test.pickle' },
  );
  if (dictionary === undefined || summary === undefined) throw new Error('the parser ended without a snapshot');
  const known = dictionary;
  const stacks: string[] = [];
  const numbers = new Map<string, number>();
  const byId = new Map<number, number>();
  const number = (id: number): number => {
    let stack = byId.get(id);
    if (stack !== undefined) return stack;
    const text = stackText(known, id);
    stack = numbers.get(text);
    if (stack === undefined) {
      stack = stacks.push(text) - 1;
      numbers.set(text, stack);
    }
    byId.set(id, stack);
    return stack;
  };
  /** The stack is the last column of every layout here. */
  const lines = (table: Cell[][]): string[] =>
    table.map((row) => {
      const id = row.at(-1) as number | null;
      return JSON.stringify([...row.slice(0, -1), id === null ? null : number(id)]);
    });
  return {
    summary,
    notes,
    segments: lines(rows.segments),
    blocks: lines(rows.blocks),
    events: lines(rows.events),
    annotations: rows.annotations.map((row) => JSON.stringify(row)),
    hostEvents: lines(rows.hostEvents),
    hostSegments: lines(rows.hostSegments),
    ooms: ooms.map((row) => JSON.stringify([row.device, row.seq, row.requestedBytes, row.deviceFreeBytes])),
    extras: extras.map((row) => JSON.stringify([row.device, row.seq, row.key, JSON.parse(row.valueJson)])),
    stacks,
  };
}

/** Columns in the order of the lines. Derived columns and `snapshot_id` belong to ingest. */
const SEGMENT = [
  'segment',
  'device',
  'address',
  'total_bytes',
  'allocated_header_bytes',
  'active_header_bytes',
  'requested_header_bytes',
  'stream',
  'segment_type',
  'is_expandable',
  'pool',
  'stack_id',
];
const BLOCK = ['segment', 'device', 'address', 'size_bytes', 'requested_bytes', 'state', 'stack_id'];
const EVENT = [
  'device',
  'seq',
  'action',
  'addr',
  'size_bytes',
  'stream',
  'time_us',
  'pool',
  'compile_context_id',
  'user_metadata_id',
  'stack_id',
];
const HOST_EVENT = ['seq', 'action', 'addr', 'size_bytes', 'time_us', 'pool', 'stack_id'];
const HOST_SEGMENT = ['segment', 'address', 'total_bytes', 'allocated_bytes', 'active_bytes', 'pool', 'stack_id'];
const ANNOTATION = ['ordinal', 'stage', 'name_id', 'device', 'time_us'];

/** Reads the batch at once: the parser uses it again. Stack ids stay local, they are resolved at the end. */
function collect(into: Cell[][], batch: ColumnBatch, dictionary: Dictionary, columns: readonly string[]): void {
  const readers = columns.map((name) => {
    const spec = batch.layout.columns.find((column) => column.name === name);
    if (spec === undefined) throw new Error(`no column ${name}`);
    if (spec.kind === 'u8') {
      const array = batch.u8(name);
      return (row: number): Cell => {
        const value = array[row]!;
        if (spec.values !== undefined) return spec.values[value] ?? `code ${value}`;
        return value === NULL_U8 ? null : value;
      };
    }
    if (spec.kind === 'i32') {
      const array = batch.i32(name);
      return (row: number): Cell => {
        const value = array[row]!;
        if (value === NULL_I32 && spec.nullable === true) return null;
        if (spec.refersTo === 'text') return dictionary.text(value);
        if (spec.name === 'pool') return [...dictionary.pool(value)];
        return value;
      };
    }
    const array = batch.i64(name);
    const signed = spec.kind === 'i64';
    return (row: number): Cell => {
      const [low, high] = [array[row * 2]!, array[row * 2 + 1]!];
      if (spec.nullable === true && low === 0 && high === NULL_HIGH) return null;
      const wide = (BigInt(high) << 32n) | BigInt(low);
      return (signed ? BigInt.asIntN(64, wide) : wide).toString();
    };
  });
  for (let row = 0; row < batch.rows; row++) into.push(readers.map((read) => read(row)));
}

function stackText(dictionary: Dictionary, id: number): string {
  const frames = [...dictionary.stackFrames(id)].map((frame) => {
    const { name, filename, line } = dictionary.frame(frame);
    return [dictionary.text(name), dictionary.text(filename), line];
  });
  return JSON.stringify(frames);
}
