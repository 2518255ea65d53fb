import { PbfReader } from 'pbf';
import { configFinding, normaliseConfigValue } from '../../src/knowledge/config-keys.js';
import { MbfError } from '../../src/model/errors.js';
import { type LogPlace, plainPlace } from '../../src/model/log-rows.js';
import type { ByteSource, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import { formatBytes } from '../../src/model/units.js';
import { FRACTION_BITS, halfUnit } from '../../src/text/scalars/half-unit.js';
import { ScalarRows } from '../../src/text/scalars/scalar-rows.js';
import { type Event, readEvent, readValues, type SummaryValue } from './event.js';
import { hostFromName } from './file-name.js';
import { HPARAMS_PLUGIN, readHyperparameters } from './hparams.js';
import { type RecordsRead, type RecordVisitor, readRecords } from './record-reader.js';
import { readScalarTensor, readTextTensor } from './tensor.js';
import { TextSettings } from './text-settings.js';

/** Names whose plugin is remembered: only the first summary of a name states it. */
const MOST_PLUGINS = 65_536;
const SCALARS_PLUGIN = 'scalars';
const TEXT_PLUGIN = 'text';
const SESSION_START = 1;
/** Year 2200: a larger wall time is none. */
const MOST_SECONDS = 7.3e9;

/** Reads an event file; see FORMAT.md. Throws if no record of it is whole, or if none is an event. */
export async function readEventFile(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const reader = new EventReader(sink, hostFromName(context.name));
  const read = await readRecords(source, reader, context.progress);
  if (read.whole === 0) {
    if (read.damages === 0 && read.cut === null) return { rank: null, rankOrigin: null, clock: 'utc' };
    throw new MbfError('MBF2901', 'no record of it is whole', { offset: read.firstLost ?? read.cut?.offset ?? 0 });
  }
  if (reader.events === 0 && reader.malformed > 0) {
    throw new MbfError('MBF2902', `none of its ${read.whole} records is an event`, { offset: 0 });
  }
  reader.end();
  reportDamage(read, reader, sink);
  const rank = reader.settings.writer;
  return { rank, rankOrigin: rank === null ? null : 'arguments in the file: rank', clock: 'utc' };
}

class EventReader implements RecordVisitor {
  events = 0;
  malformed = 0;
  firstMalformed: number | null = null;
  media = 0;
  restarts = 0;
  readonly settings: TextSettings;
  private readonly rows: ScalarRows;
  private readonly plugins = new Map<string, string>();
  private readonly sink: RowSink;
  private readonly host: string | null;

  constructor(sink: RowSink, host: string | null) {
    this.sink = sink;
    this.host = host;
    this.rows = new ScalarRows((finding, place) => sink.logRow(finding, place), {
      format: 'tensorboard.scalar',
      rank: null,
      rankOrigin: null,
      host,
    });
    this.settings = new TextSettings((finding, { ordinal, offset, timeUs }) =>
      sink.logRow(finding, this.place(ordinal, offset, timeUs, 'tensorboard.text')),
    );
  }

  record(data: Uint8Array, ordinal: number, offset: number): void {
    try {
      const pbf = new PbfReader(data);
      const event = readEvent(pbf);
      const values: SummaryValue[] = [];
      for (const summary of event.summaries) readValues(pbf, summary, (value) => values.push(value));
      if (event.sessionStatus === SESSION_START) this.restarts += 1;
      for (const value of values) this.value(pbf, event, value, ordinal, offset);
      this.events += 1;
    } catch (error) {
      if (error instanceof MbfError) throw error;
      // Whatever the bytes are, they are none of this format; pbf throws errors of several kinds.
      this.malformed += 1;
      this.firstMalformed ??= offset;
    }
  }

  /** After the last record. */
  end(): void {
    this.rows.end();
    this.settings.end();
  }

  private value(pbf: PbfReader, event: Event, value: SummaryValue, ordinal: number, offset: number): void {
    const { tag, simple, tensor } = value;
    const timeUs = microseconds(event.wallTime);
    const step = Number.isSafeInteger(event.step) ? event.step : null;
    if (simple !== undefined) {
      const precision = halfUnit(simple, FRACTION_BITS.float);
      this.rows.add({ tag, value: simple, precision, step, timeUs, ordinal, offset });
      return;
    }
    const plugin = this.pluginOf(value);
    if (plugin === HPARAMS_PLUGIN) {
      if (value.pluginContent === undefined) return;
      const place = this.place(ordinal, offset, timeUs, 'tensorboard.hparams');
      for (const { name, text } of readHyperparameters(pbf, value.pluginContent)) {
        this.sink.logRow(configFinding(name, normaliseConfigValue(text), 'run file'), place);
      }
      return;
    }
    if (tensor !== undefined && plugin === TEXT_PLUGIN) {
      const text = readTextTensor(pbf, tensor);
      if (text === undefined) this.settings.passed += 1;
      else this.settings.add(tag, text, { ordinal, offset, timeUs });
      return;
    }
    const scalar =
      tensor !== undefined && (plugin === '' || plugin === SCALARS_PLUGIN) ? readScalarTensor(pbf, tensor) : undefined;
    if (scalar === undefined) {
      if (tensor !== undefined || value.isMedia) this.media += 1;
      return;
    }
    const precision = scalar.fractionBits === null ? 0 : halfUnit(scalar.value, scalar.fractionBits);
    this.rows.add({ tag, value: scalar.value, precision, step, timeUs, ordinal, offset });
  }

  private pluginOf({ tag, plugin }: SummaryValue): string {
    if (plugin === '') return this.plugins.get(tag) ?? '';
    if (!this.plugins.has(tag) && this.plugins.size < MOST_PLUGINS) this.plugins.set(tag, plugin);
    return plugin;
  }

  private place(ordinal: number, offset: number, timeUs: number | null, format: string): LogPlace {
    return plainPlace({ line: ordinal, offset, host: this.host, timeUs, format });
  }
}

function microseconds(seconds: number): number | null {
  return seconds > 0 && seconds < MOST_SECONDS ? Math.round(seconds * 1e6) : null;
}

function reportDamage(read: RecordsRead, reader: EventReader, sink: RowSink): void {
  if (read.damages > 0) {
    const places = read.damages === 1 ? 'one place' : `${read.damages} places`;
    const text = `damaged in ${places}: ${formatBytes(read.lostBytes)} from byte ${read.firstLost} on are in no whole record; every record outside of them was kept`;
    const offset = read.firstLost ?? undefined;
    sink.note({ kind: 'tensorboard_damaged', severity: 'warning', text, offset, count: read.lostBytes });
  }
  if (read.cut !== null) {
    const text = `ends in the middle of a record, of which ${formatBytes(read.cut.bytes)} are there, as when a run is killed; everything before it was read`;
    sink.note({ kind: 'tensorboard_cut', severity: 'info', text, offset: read.cut.offset });
  }
  if (reader.malformed > 0) {
    const text = 'records with a valid checksum that are not events were skipped';
    const offset = reader.firstMalformed ?? undefined;
    sink.note({ kind: 'tensorboard_no_event', severity: 'warning', text, offset, count: reader.malformed });
  }
  const passed = reader.media + reader.settings.passed;
  if (passed > 0) {
    const text = 'images, histograms, audio, tensors and texts hold no figure of a run and were passed over';
    sink.note({ kind: 'tensorboard_media', severity: 'info', text, count: passed });
  }
  if (read.longRecords > 0) {
    const text = `records of ${formatBytes(read.longBytes)} altogether are longer than any scalar (graphs, images) and were only checked`;
    sink.note({ kind: 'tensorboard_long_records', severity: 'info', text, count: read.longRecords });
  }
  if (reader.restarts > 0) {
    const text =
      'the writer started again at an earlier step; TensorBoard hides what came after that step before, here all of it is kept';
    sink.note({ kind: 'tensorboard_restart', severity: 'info', text, count: reader.restarts });
  }
}
