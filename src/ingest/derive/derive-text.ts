/**
 * Rows of a text, put into columns where the file is decoded: of millions of figures the writer then copies whole
 * columns, and a thread sends buffers instead of objects.
 */
import { hideSecrets } from '../../knowledge/secrets.js';
import { ColumnBatch, LAYOUTS, NULL_F64, NULL_I32, putI64, putNullI64, type TableLayout } from '../../model/columns.js';
import type {
  ConfigFinding,
  EnvFinding,
  GaugeFinding,
  IterationFinding,
  KeptFinding,
  LogPlace,
  MemoryFinding,
  PhaseFinding,
  ValueFinding,
} from '../../model/log-rows.js';

/** Rows of one batch: a log of one run seldom fills it. */
export const TEXT_BATCH_ROWS = 16_384;

/** The layouts that travel. */
export const TEXT_LAYOUTS = {
  iterations: LAYOUTS.log_iteration,
  memory: LAYOUTS.log_memory,
  gauges: LAYOUTS.log_gauge,
  figures: LAYOUTS.log_figure,
  profiler: LAYOUTS.profiler_memory,
} as const satisfies Record<string, TableLayout>;
export type TextKind = keyof typeof TEXT_LAYOUTS;

/** Findings few enough to travel as objects. */
export type SmallFinding = PhaseFinding | ConfigFinding | EnvFinding;

export interface TextSink {
  /**
   * `source_id` is left to the writer; text columns hold ids of the file's own texts, the new ones of which come with
   * the batch.
   */
  textRows(kind: TextKind, batch: ColumnBatch, newTexts: readonly string[]): void;
  textRow(finding: SmallFinding, place: LogPlace): void;
}

/** One value; null and undefined are NULL. */
type Value = number | null | undefined;

class Filler {
  readonly batch: ColumnBatch;
  private readonly arrays: ColumnBatch['arrays'];
  private readonly kinds: readonly string[];
  private column = 0;

  constructor(layout: TableLayout) {
    this.batch = new ColumnBatch(layout, TEXT_BATCH_ROWS);
    this.arrays = this.batch.arrays;
    this.kinds = layout.columns.map(({ kind }) => kind);
  }

  /** Writes the next columns of the row being filled, in the order of the layout. */
  put(...values: readonly Value[]): this {
    for (let i = 0; i < values.length; i += 1) this.putOne(values[i]);
    return this;
  }

  private putOne(value: Value): void {
    const index = this.column++;
    const array = this.arrays[index]!;
    const row = this.batch.rows;
    const kind = this.kinds[index];
    if (kind === 'f64') array[row] = value ?? NULL_F64;
    else if (kind === 'i32')
      array[row] = value !== null && value !== undefined && value >= 0 && value < 2 ** 31 ? value : NULL_I32;
    // A figure of a hostile log may be anything; what no 64-bit integer holds is unknown.
    else if (value === null || value === undefined || !Number.isSafeInteger(value))
      putNullI64(array as Uint32Array, row);
    else putI64(array as Uint32Array, row, value);
  }

  /** Ends the row; true if the batch is full. */
  next(): boolean {
    if (this.column !== this.kinds.length)
      throw new Error(`${this.batch.layout.table}: ${this.column} columns were filled`);
    this.column = 0;
    this.batch.rows += 1;
    return this.batch.rows === TEXT_BATCH_ROWS;
  }
}

export class TextBatches {
  private readonly sink: TextSink;
  private readonly fillers = new Map<TextKind, Filler>();
  private readonly textIds = new Map<string, number>();
  private newTexts: string[] = [];

  constructor(sink: TextSink) {
    this.sink = sink;
  }

  row(finding: KeptFinding, place: LogPlace): void {
    switch (finding.row) {
      case 'iteration':
        this.iteration(finding, place);
        break;
      case 'memory':
        this.memory(finding, place);
        break;
      case 'value':
        this.figure(finding, place);
        break;
      case 'gauge':
        this.gauge(finding, place);
        break;
      default:
        this.sink.textRow(finding, place);
    }
  }

  /** Sends what is still waiting: after the last row. */
  end(): void {
    for (const kind of this.fillers.keys()) this.flush(kind);
  }

  private filler(kind: TextKind): Filler {
    let filler = this.fillers.get(kind);
    if (filler === undefined) {
      filler = new Filler(TEXT_LAYOUTS[kind]);
      this.fillers.set(kind, filler);
    }
    return filler;
  }

  private flush(kind: TextKind): void {
    const { batch } = this.fillers.get(kind)!;
    if (batch.rows === 0) return;
    const { newTexts } = this;
    this.newTexts = [];
    this.sink.textRows(kind, batch, newTexts);
    batch.rows = 0;
  }

  private text(text: string | null | undefined): number | null {
    if (text === null || text === undefined) return null;
    const known = this.textIds.get(text);
    if (known !== undefined) return known;
    const id = this.textIds.size;
    this.textIds.set(text, id);
    this.newTexts.push(hideSecrets(text));
    return id;
  }

  /** Source, attempt, line, offset, rank: the columns every layout begins with. */
  private begin(kind: TextKind, place: LogPlace): Filler {
    return this.filler(kind).put(0, place.attempt, place.line, place.offset, place.rank);
  }

  private beginPlaced(kind: TextKind, place: LogPlace): Filler {
    const { device, host, format, timeUs } = place;
    return this.begin(kind, place).put(device, this.text(host), this.text(format), timeUs);
  }

  private next(kind: TextKind): void {
    if (this.fillers.get(kind)!.next()) this.flush(kind);
  }

  private iteration(row: IterationFinding, place: LogPlace): void {
    this.begin('iterations', place)
      .put(this.text(place.format), place.timeUs, row.iteration, row.target)
      .put(row.stepMs, row.consumedSamples, row.globalBatchSize, row.tflopsPerGpu, row.learningRate, row.loss)
      .put(row.lossScale, row.gradNorm, row.skippedIterations, row.nanIterations);
    this.next('iterations');
    const { iteration } = row;
    for (const { name, value, text } of row.others ?? []) {
      const words = value === null ? text : undefined;
      this.figure({ row: 'value', name: `iteration.${name}`, value, unit: null, text: words, iteration }, place);
    }
  }

  private memory(row: MemoryFinding, place: LogPlace): void {
    this.beginPlaced('memory', place)
      .put(row.iteration, this.text(row.moment), this.text(row.metric))
      .put(row.bytes, row.value, this.text(row.unit), row.precisionBytes);
    this.next('memory');
  }

  private gauge(row: GaugeFinding, place: LogPlace): void {
    this.beginPlaced('gauges', place)
      .put(this.text(row.gpuId), row.pid, this.text(row.process), this.text(row.metric))
      .put(row.bytes, row.value, this.text(row.unit), row.precisionBytes);
    this.next('gauges');
  }

  private figure(row: ValueFinding, place: LogPlace): void {
    this.beginPlaced('figures', place)
      .put(row.iteration, this.text(row.name))
      .put(row.value, this.text(row.unit), this.text(row.text));
    this.next('figures');
  }
}
