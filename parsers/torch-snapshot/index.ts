/**
 * PyTorch CUDA memory snapshots: what `torch.cuda.memory._dump_snapshot()` writes. See FORMAT.md for where the format
 * is defined, its generations, and what a file has lost.
 */
import { ColumnBatch, ENUMS, LAYOUTS, type TableLayout } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import type {
  ByteSource,
  Head,
  ParseContext,
  ParserSpec,
  ParseSummary,
  RowSink,
  SnapshotSink,
  SnapshotSummary,
  Sniff,
} from '../../src/model/parser.js';
import { BATCH_ROWS } from '../../src/model/tables.js';
import { TraceModule } from '../../src/wasm/trace-module.js';
import { detectEncoding, encodingOf } from './encoding.js';
import { detectFeatures } from './features.js';
import { clip, flattenSettings } from './generic-values.js';
import { type EmbeddedFile, openPage, PAGE_PADDING_BYTES } from './html-page.js';
import { JsonMachine } from './json-machine.js';
import { SnapshotMachine } from './snapshot-machine.js';
import type { SnapshotShapes } from './snapshot-shapes.js';
import { StackDictionary } from './stack-dictionary.js';
import { Ref, ROWS, SEGMENT } from './value-stack.js';

const KNOWN_TOP_LEVEL = new Set([
  'segments',
  'device_traces',
  'traces',
  'allocator_settings',
  'external_annotations',
  'host_segments',
  'host_traces',
]);
/** Blocks and segments are few; a full-size batch would be 4 MB of untouched memory. */
const STATE_BATCH_ROWS = 8_192;
/** Of what most files lack. */
const RARE_BATCH_ROWS = 512;

export const torchSnapshot: ParserSpec = {
  id: 'torch-snapshot',
  title: 'PyTorch CUDA memory snapshot (pickle, JSON, memory_viz page)',
  sniff,
  parse: (source, sink, context) => parseSnapshot(source, sink, context),
};

function sniff(head: Head): Sniff {
  const { bytes } = head;
  if (bytes[0] === 0x80) return sniffPickle(head);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const encoding = encodingOf(bytes);
  if (encoding === 'json') return sniffJson(text);
  if (encoding === 'html') return sniffPage(text);
  return { score: 0, why: 'no pickle (the first byte is not 0x80), no JSON, no page' };
}

/**
 * `device_traces` occurs in torch only; the bare list of segments is recognised by the keys that all its segments
 * share.
 */
function sniffJson(text: string): Sniff {
  const has = (key: string): boolean => text.includes(`"${key}"`);
  const keys = [
    'device_traces',
    'segments',
    'total_size',
    'segment_type',
    'allocated_size',
    'active_size',
    'blocks',
  ].filter(has);
  // A log may begin with a bracket too.
  const isJson = /^(?:\u00ef\u00bb\u00bf)?\s{0,4096}(?:\[\s{0,4096}\{|\{\s{0,4096}")/.test(text);
  const isProfile = has('traceEvents') || has('deviceProperties');
  const known =
    has('device_traces') || (has('total_size') && (has('segment_type') || has('allocated_size') || has('active_size')));
  if (isJson && known && !isProfile) return { score: 1, why: `JSON with the keys ${keys.join(', ')}` };
  return { score: 0, why: `JSON without the keys of a snapshot in the first ${text.length} bytes` };
}

function sniffPage(text: string): Sniff {
  if (!isMemoryVizPage(text)) return { score: 0, why: "HTML, but no page of torch's memory viewer" };
  if (/base64["']?\s{0,64}:/.test(text)) return { score: 1, why: 'a memory_viz page with an embedded snapshot' };
  return { score: 0.9, why: `a memory_viz page; no embedded snapshot begins in the first ${text.length} bytes` };
}

/** The page carries the pickle as base64 and loads this script; https://docs.pytorch.org/memory_viz saves the same. */
function isMemoryVizPage(text: string): boolean {
  return /MemoryViz\.js|add_local_files|local_files\s{0,64}=\s{0,64}\[/.test(text);
}

/**
 * A binary pickle starts with PROTO 2–5; that alone is any pickle, so the known keys near the start make it a snapshot.
 */
function sniffPickle(head: Head): Sniff {
  const { bytes } = head;
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

/** Of tests: small windows of the scanners of JSON and of pages; pickles without the fast way. */
interface Ways {
  readonly windowBytes?: number | undefined;
  readonly isFast?: boolean;
}

/** {@link torchSnapshot}'s `parse`. */
export async function parseSnapshot(
  source: ByteSource,
  sink: RowSink,
  context: ParseContext,
  { windowBytes, isFast }: Ways = {},
): Promise<ParseSummary> {
  const detected = await detectEncoding(source);
  const page = detected.encoding === 'html' ? await openPage(detected.source, windowBytes) : undefined;
  const dictionary = new StackDictionary();
  const module = TraceModule.take();
  const out = await sink.snapshot(dictionary, module);
  // A row has 60 bytes of the file and more. Each megabyte of a batch counts, where a file has few hundred rows.
  const mostRows = Math.max(512, Math.ceil((source.sizeBytes ?? Number.POSITIVE_INFINITY) / 64));
  const eventRows = Math.min(BATCH_ROWS, mostRows);
  const stateBatch = (layout: TableLayout): ColumnBatch =>
    new ColumnBatch(layout, Math.min(STATE_BATCH_ROWS, mostRows));
  const batches = {
    segments: stateBatch(LAYOUTS.segment),
    blocks: stateBatch(LAYOUTS.block),
    annotations: stateBatch(LAYOUTS.annotation),
    hostEvents: new ColumnBatch(LAYOUTS.host_event, RARE_BATCH_ROWS),
    hostSegments: new ColumnBatch(LAYOUTS.host_segment, RARE_BATCH_ROWS),
  };
  const parts = { sink, out, dictionary, module, eventRows, batches };
  if (detected.encoding === 'json') {
    const machine = new JsonMachine(parts, windowBytes);
    await machine.run(detected.source, context.progress);
    const { predictedStacks, predictedFrames } = machine;
    machine.close();
    endSnapshot(machine, sink, out, { protocol: null, statistics: { predictedStacks, predictedFrames } });
  } else {
    const machine = new SnapshotMachine(parts, isFast);
    if (page === undefined) await machine.run(detected.source, context.progress);
    else await inPage(page, () => machine.run(page.source, context.progress));
    if (machine.trailingBytes > (page === undefined ? 0 : PAGE_PADDING_BYTES)) {
      const text = `${machine.trailingBytes} bytes follow the end of the pickle`;
      sink.note({ kind: 'trailing_bytes', severity: 'info', text });
    }
    const further = (await page?.furtherFiles()) ?? 0;
    if (further > 0) {
      const text = `the page holds ${further} more ${further === 1 ? 'file' : 'files'}, left out: one snapshot is read from a page, its first`;
      sink.note({ kind: 'files_left_out', severity: 'warning', text, count: further });
    }
    const { protocol, fastEntries, predictedStacks } = machine;
    machine.close();
    endSnapshot(machine, sink, out, { protocol, statistics: { fastEntries, predictedStacks } });
  }
  // Not after an error, when the memory that the file took is still reserved.
  module.giveBack();
  return { rank: null, rankOrigin: null };
}

/** Places of the embedded pickle become places of the page. */
async function inPage(page: EmbeddedFile, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof MbfError) || !error.code.startsWith('MBF21') || error.place.offset === undefined)
      throw error;
    const offset = page.pageOffset(error.place.offset);
    throw new MbfError(error.code, error.message, { ...error.place, offset }, error.cause);
  }
}

/** Data outside of rows: settings, notes, features. The same for every encoding. */
function endSnapshot(
  machine: SnapshotShapes,
  sink: RowSink,
  out: SnapshotSink,
  { protocol, statistics }: Pick<SnapshotSummary, 'protocol' | 'statistics'>,
): void {
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
  if (root.nestedIn !== undefined) {
    sink.note({ kind: 'nested_snapshot', severity: 'info', text: `the snapshot is nested in ${root.nestedIn}` });
  }
  for (const [key, count] of machine.frameExtras) {
    if (!key.startsWith('fx_'))
      sink.note({ kind: 'unknown_key', severity: 'info', text: `frame key not known: ${key}`, count });
  }
  for (const note of machine.segments.notes()) sink.note(note);
  out.end({
    protocol,
    form: root.form,
    features: detectFeatures({
      form: root.form,
      topLevel: root.topLevel,
      segmentBits: machine.segmentBits,
      blockBits: machine.blockBits,
      entryBits: machine.entryBits,
      settings,
      frameExtras: [...machine.frameExtras.keys()],
      actions: ENUMS.trace_action.filter((_, code) => (machine.actionBits & (1 << code)) !== 0),
    }),
    settings,
    traceLengths: root.traceLengths,
    statistics,
  });
}

interface Root {
  readonly form: 'dict' | 'list';
  readonly topLevel: readonly string[];
  readonly values: ReadonlyMap<string, unknown>;
  readonly settings: unknown;
  readonly traceLengths: readonly number[];
  /** The one key or list around it. */
  readonly nestedIn: string | undefined;
}

/**
 * Checks that the root is a snapshot and that every row which was emitted while reading hangs where it should: the
 * segment list must hold all segments read, the trace list of device d exactly the entries counted for d.
 */
function readRoot(machine: SnapshotShapes): Root {
  const { segments, host, traceLengths } = machine;
  const wrong = (fact: string): never => {
    throw new MbfError('MBF2106', fact);
  };
  const { root, nestedIn, around } = unwrap(machine.root, wrong);
  if (segments.orphans > 0) wrong(`${segments.orphans} blocks belong to no segment`);
  const rowCount = (value: unknown, name: string, what: string): number => {
    if (Array.isArray(value) && value.length === 0) return 0;
    if (value instanceof Ref && value.kind === ROWS) return value.payload;
    return wrong(`\`${name}\` is not a list of ${what}`);
  };
  const checkRows = (value: unknown, name: string, what: string, read: number): void => {
    const listed = rowCount(value, name, what);
    if (listed !== read) wrong(`the file holds ${read} ${what}, its list ${listed}`);
  };
  const checkSegments = (value: unknown): void => checkRows(value, 'segments', 'segments', segments.segmentCount);
  const checkHost = (values: ReadonlyMap<string, unknown>): void => {
    checkRows(values.get('host_segments') ?? [], 'host_segments', 'segments of the host', host.segmentCount);
    checkRows(values.get('host_traces') ?? [], 'host_traces', 'trace entries of the host', host.eventCount);
  };
  if (Array.isArray(root) || (root instanceof Ref && root.kind === ROWS)) {
    checkSegments(root);
    checkHost(new Map());
    if (traceLengths.some((length) => length > 0)) wrong('trace entries outside of a snapshot');
    return { form: 'list', topLevel: [], values: new Map(), settings: undefined, traceLengths: [], nestedIn };
  }
  if (root instanceof Ref && root.kind === SEGMENT) wrong('a single segment, not a snapshot');
  if (!(root instanceof Map)) return wrong('it holds no dict and no list of segments');
  const values = new Map([...(root as ReadonlyMap<string, unknown>), ...around]);
  if (!values.has('segments')) wrong('the dict has no key `segments`');
  checkSegments(values.get('segments'));
  checkHost(values);
  const traces: unknown = values.get('device_traces') ?? values.get('traces') ?? [];
  if (!Array.isArray(traces)) return wrong('`device_traces` is not a list of lists');
  const lengths = traces.map((trace: unknown) => {
    if (Array.isArray(trace) && trace.length === 0) return 0;
    if (trace instanceof Ref && trace.kind === ROWS) return trace.payload;
    return wrong('`device_traces` holds something that is not a list of trace entries');
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
    nestedIn,
  };
}

/**
 * Converters wrap: `{"snapshot": {…}}`, `[{…}]`. One snapshot one level down is taken as the root, and its sibling keys
 * as unknown keys.
 */
function unwrap(
  root: unknown,
  wrong: (fact: string) => never,
): { root: unknown; nestedIn: string | undefined; around: ReadonlyMap<string, unknown> } {
  const plain = { root, nestedIn: undefined, around: new Map<string, unknown>() };
  const isSnapshot = (value: unknown): boolean => value instanceof Map && value.has('segments');
  if (isSnapshot(root) || !(root instanceof Map || Array.isArray(root))) return plain;
  const parts: (readonly [string, unknown])[] = Array.isArray(root)
    ? root.map((value: unknown) => ['a list', value] as const)
    : [...(root as ReadonlyMap<string, unknown>)];
  const inside = parts.filter(([, value]) => isSnapshot(value));
  if (inside.length > 1)
    wrong(`it holds ${inside.length} snapshots, where one is expected: write each to a file of its own`);
  const [found] = inside;
  if (found === undefined) return plain;
  return {
    root: found[1],
    nestedIn: Array.isArray(root) ? found[0] : `the key ${clip(found[0])}`,
    around: new Map(parts.filter((part) => part !== found)),
  };
}
