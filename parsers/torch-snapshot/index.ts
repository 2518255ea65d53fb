/**
 * PyTorch CUDA memory snapshots: what `torch.cuda.memory._dump_snapshot()` writes. See FORMAT.md for where the format is defined, its
 * generations, and what a file has lost.
 */
import { ColumnBatch } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import type {
  ByteSource,
  Head,
  ParseContext,
  ParserSpec,
  ParseSummary,
  RowSink,
  Sniff,
} from '../../src/model/parser.js';
import { ANNOTATION_LAYOUT, BATCH_ROWS, BLOCK_LAYOUT, EVENT_LAYOUT, SEGMENT_LAYOUT } from '../../src/model/tables.js';
import { TRACE_ACTIONS } from '../../src/model/vocabulary.js';
import { detectFeatures } from './features.js';
import { clip, flattenSettings } from './generic-values.js';
import { SnapshotMachine } from './snapshot-machine.js';
import { StackDictionary } from './stack-dictionary.js';
import { Ref, ROWS, SEGMENT } from './value-stack.js';

const KNOWN_TOP_LEVEL = new Set(['segments', 'device_traces', 'traces', 'allocator_settings', 'external_annotations']);
/** Blocks and segments are few; a full-size batch would be 4 MB of untouched memory. */
const STATE_BATCH_ROWS = 8_192;

export const torchSnapshot: ParserSpec = {
  id: 'torch-snapshot',
  title: 'PyTorch CUDA memory snapshot (pickle)',
  sniff,
  parse,
};

/** A binary pickle starts with PROTO 2–5; that alone is any pickle, so the known keys near the start make it a snapshot. */
function sniff(head: Head): Sniff {
  const { bytes } = head;
  if (bytes[0] !== 0x80) return { score: 0, why: 'no pickle: the first byte is not 0x80' };
  const protocol = bytes[1] ?? 0;
  if (protocol < 2 || protocol > 5) return { score: 0.3, why: `a pickle of protocol ${protocol}` };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const keys = ['segments', 'device_traces', 'total_size', 'segment_type', 'active_allocated', 'blocks'].filter((key) =>
    text.includes(key),
  );
  if (keys.length >= 2) return { score: 1, why: `pickle protocol ${protocol} with the keys ${keys.join(', ')}` };
  const name = /snapshot|\.pickle$|\.pkl$/i.test(head.name);
  return name
    ? {
        score: 0.6,
        why: `pickle protocol ${protocol}, named like a snapshot, without its keys in the first ${bytes.length} bytes`,
      }
    : {
        score: 0.3,
        why: `pickle protocol ${protocol} without the keys of a snapshot in the first ${bytes.length} bytes`,
      };
}

async function parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const dictionary = new StackDictionary();
  const out = await sink.snapshot(dictionary);
  const machine = new SnapshotMachine(sink, out, dictionary, {
    events: new ColumnBatch(EVENT_LAYOUT, BATCH_ROWS),
    segments: new ColumnBatch(SEGMENT_LAYOUT, STATE_BATCH_ROWS),
    blocks: new ColumnBatch(BLOCK_LAYOUT, STATE_BATCH_ROWS),
    annotations: new ColumnBatch(ANNOTATION_LAYOUT, STATE_BATCH_ROWS),
  });
  await machine.run(source, context.progress);
  const root = readRoot(machine);
  const settings = new Map<string, string>();
  let allKept = flattenSettings(root.settings, root.settings instanceof Map ? '' : 'allocator_settings', settings);
  const unknown = root.topLevel.filter((key) => !KNOWN_TOP_LEVEL.has(key));
  for (const key of unknown) allKept = flattenSettings(root.values.get(key), clip(key), settings) && allKept;
  if (!allKept) {
    const text = `more settings than fit, or nested too deep; the first ${settings.size} are kept`;
    sink.note({ kind: 'settings_dropped', severity: 'warning', text });
  }
  for (const key of unknown) {
    const text = `top-level key not known, kept with the settings: ${clip(key)}`;
    sink.note({ kind: 'unknown_key', severity: 'info', text });
  }
  for (const [key, count] of machine.frameExtras) {
    if (!key.startsWith('fx_'))
      sink.note({ kind: 'unknown_key', severity: 'info', text: `frame key not known: ${key}`, count });
  }
  for (const note of machine.segments.notes()) sink.note(note);
  if (machine.trailingBytes > 0) {
    const text = `${machine.trailingBytes} bytes follow the end of the pickle`;
    sink.note({ kind: 'trailing_bytes', severity: 'info', text });
  }
  out.end({
    protocol: machine.protocol,
    form: root.form,
    features: detectFeatures({
      form: root.form,
      topLevel: root.topLevel,
      segmentBits: machine.segmentBits,
      blockBits: machine.blockBits,
      entryBits: machine.entryBits,
      settings,
      frameExtras: [...machine.frameExtras.keys()],
      actions: TRACE_ACTIONS.filter((_, code) => (machine.actionBits & (1 << code)) !== 0),
    }),
    settings,
    traceLengths: root.traceLengths,
    statistics: { fastEntries: machine.fastEntries, predictedStacks: machine.predictedStacks },
  });
  return { rank: null, rankOrigin: null };
}

interface Root {
  readonly form: 'dict' | 'list';
  readonly topLevel: readonly string[];
  readonly values: ReadonlyMap<string, unknown>;
  readonly settings: unknown;
  readonly traceLengths: readonly number[];
}

/**
 * Checks that the root is a snapshot and that every row which was emitted while reading hangs where it should: the segment list must hold
 * all segments read, the trace list of device d exactly the entries counted for d.
 */
function readRoot(machine: SnapshotMachine): Root {
  const { root, segments, traceLengths } = machine;
  const wrong = (fact: string): never => {
    throw new MbfError('MBF2106', fact);
  };
  if (segments.orphans > 0) wrong(`${segments.orphans} blocks belong to no segment`);
  const segmentCount = (value: unknown): number => {
    if (Array.isArray(value) && value.length === 0) return 0;
    if (value instanceof Ref && value.kind === ROWS) return value.payload;
    return wrong('`segments` is no list of segments');
  };
  const checkSegments = (value: unknown): void => {
    const listed = segmentCount(value);
    if (listed !== segments.segmentCount) wrong(`the file holds ${segments.segmentCount} segments, its list ${listed}`);
  };
  if (Array.isArray(root) || (root instanceof Ref && root.kind === ROWS)) {
    checkSegments(root);
    if (traceLengths.some((length) => length > 0)) wrong('trace entries outside of a snapshot');
    return { form: 'list', topLevel: [], values: new Map(), settings: undefined, traceLengths: [] };
  }
  if (root instanceof Ref && root.kind === SEGMENT) wrong('a single segment, not a snapshot');
  if (!(root instanceof Map)) return wrong('the pickle holds no dict and no list of segments');
  const values = root as ReadonlyMap<string, unknown>;
  if (!values.has('segments')) wrong('the dict has no key `segments`');
  checkSegments(values.get('segments'));
  const traces: unknown = values.get('device_traces') ?? values.get('traces') ?? [];
  if (!Array.isArray(traces)) return wrong('`device_traces` is no list of lists');
  const lengths = traces.map((trace: unknown) => {
    if (Array.isArray(trace) && trace.length === 0) return 0;
    if (trace instanceof Ref && trace.kind === ROWS) return trace.payload;
    return wrong('`device_traces` holds something that is no list of trace entries');
  });
  const total = traceLengths.reduce((sum, length) => sum + length, 0);
  if (
    lengths.reduce((sum, length) => sum + length, 0) !== total ||
    traceLengths.some((n, d) => n !== (lengths[d] ?? 0))
  ) {
    wrong(`trace entries per device read as ${clip(traceLengths.join(', '))}, listed as ${clip(lengths.join(', '))}`);
  }
  return {
    form: 'dict',
    topLevel: [...values.keys()],
    values,
    settings: values.get('allocator_settings'),
    traceLengths: lengths,
  };
}
