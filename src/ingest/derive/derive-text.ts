/**
 * Rows of a text, put into columns where the file is decoded: of millions of figures the writer then copies whole
 * columns, and a thread sends buffers instead of objects.
 */
import { hideSecrets } from '../../knowledge/secrets.js';
import {
  ColumnBatch,
  type ColumnsOf,
  LAYOUTS,
  NULL_F64,
  NULL_I32,
  putI64,
  putNullI64,
  type TableLayout,
} from '../../model/columns.js';
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

function putInteger(column: Int32Array, row: number, value: Value): void {
  column[row] = value !== null && value !== undefined && value >= 0 && value < 2 ** 31 ? value : NULL_I32;
}
/** A figure of a hostile log may be anything; what no 64-bit integer holds is unknown. */
function putLong(column: Uint32Array, row: number, value: Value): void {
  if (value === null || value === undefined || !Number.isSafeInteger(value)) putNullI64(column, row);
  else putI64(column, row, value);
}
function putReal(column: Float64Array, row: number, value: Value): void {
  column[row] = value ?? NULL_F64;
}

type LineKind = Exclude<TextKind, 'profiler'>;
type Columns<Kind extends LineKind> = ColumnsOf<(typeof TEXT_LAYOUTS)[Kind]>;
type SizeColumns = Pick<Columns<'memory'>, 'metric_id' | 'bytes' | 'value' | 'unit_id' | 'precision_bytes'>;
type LineColumns = Pick<Columns<'iterations'>, 'attempt' | 'line' | 'byte_offset' | 'rank' | 'format_id' | 'time_us'>;

class Filler<Kind extends LineKind> {
  readonly batch: ColumnBatch;
  readonly columns: Columns<Kind>;

  constructor(kind: Kind) {
    this.batch = new ColumnBatch(TEXT_LAYOUTS[kind], TEXT_BATCH_ROWS);
    this.columns = this.batch.columns(TEXT_LAYOUTS[kind]);
  }
}

export class TextBatches {
  private readonly sink: TextSink;
  private readonly fillers: { [Kind in LineKind]?: Filler<Kind> } = {};
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
    for (const [kind, { batch }] of Object.entries(this.fillers)) this.flush(kind as LineKind, batch);
  }

  private flush(kind: LineKind, batch: ColumnBatch): void {
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

  /** Ends the row. */
  private next(kind: LineKind, batch: ColumnBatch): void {
    batch.rows += 1;
    if (batch.rows === TEXT_BATCH_ROWS) this.flush(kind, batch);
  }

  private begin(columns: LineColumns, rows: number, place: LogPlace): void {
    putInteger(columns.attempt, rows, place.attempt);
    putInteger(columns.line, rows, place.line);
    putLong(columns.byte_offset, rows, place.offset);
    putInteger(columns.rank, rows, place.rank);
    putInteger(columns.format_id, rows, this.text(place.format));
    putLong(columns.time_us, rows, place.timeUs);
  }

  private beginPlaced(
    columns: LineColumns & Pick<Columns<'memory'>, 'device' | 'host_id'>,
    rows: number,
    place: LogPlace,
  ): void {
    putInteger(columns.device, rows, place.device);
    putInteger(columns.host_id, rows, this.text(place.host));
    this.begin(columns, rows, place);
  }

  private iteration(row: IterationFinding, place: LogPlace): void {
    this.fillers.iterations ??= new Filler('iterations');
    const { columns, batch } = this.fillers.iterations;
    const { rows } = batch;
    this.begin(columns, rows, place);
    putLong(columns.iteration, rows, row.iteration);
    putLong(columns.target_iterations, rows, row.target);
    putReal(columns.step_ms, rows, row.stepMs);
    putLong(columns.consumed_samples, rows, row.consumedSamples);
    putLong(columns.global_batch_size, rows, row.globalBatchSize);
    putReal(columns.tflops_per_gpu, rows, row.tflopsPerGpu);
    putReal(columns.learning_rate, rows, row.learningRate);
    putReal(columns.loss, rows, row.loss);
    putReal(columns.loss_scale, rows, row.lossScale);
    putReal(columns.grad_norm, rows, row.gradNorm);
    putLong(columns.skipped_iterations, rows, row.skippedIterations);
    putLong(columns.nan_iterations, rows, row.nanIterations);
    this.next('iterations', batch);
    const { iteration } = row;
    for (const { name, value, text } of row.others ?? []) {
      const words = value === null ? text : undefined;
      this.figure({ row: 'value', name: `iteration.${name}`, value, unit: null, text: words, iteration }, place);
    }
  }

  private memory(row: MemoryFinding, place: LogPlace): void {
    this.fillers.memory ??= new Filler('memory');
    const { columns, batch } = this.fillers.memory;
    const { rows } = batch;
    this.beginPlaced(columns, rows, place);
    putLong(columns.iteration, rows, row.iteration);
    putInteger(columns.moment_id, rows, this.text(row.moment));
    this.size(columns, rows, row);
    this.next('memory', batch);
  }

  private gauge(row: GaugeFinding, place: LogPlace): void {
    this.fillers.gauges ??= new Filler('gauges');
    const { columns, batch } = this.fillers.gauges;
    const { rows } = batch;
    this.beginPlaced(columns, rows, place);
    putInteger(columns.gpu_id, rows, this.text(row.gpuId));
    putLong(columns.pid, rows, row.pid);
    putInteger(columns.process_id, rows, this.text(row.process));
    this.size(columns, rows, row);
    this.next('gauges', batch);
  }

  private size(columns: SizeColumns, rows: number, row: MemoryFinding | GaugeFinding): void {
    putInteger(columns.metric_id, rows, this.text(row.metric));
    putLong(columns.bytes, rows, row.bytes);
    putReal(columns.value, rows, row.value);
    putInteger(columns.unit_id, rows, this.text(row.unit));
    putReal(columns.precision_bytes, rows, row.precisionBytes);
  }

  private figure(row: ValueFinding, place: LogPlace): void {
    this.fillers.figures ??= new Filler('figures');
    const { columns, batch } = this.fillers.figures;
    const { rows } = batch;
    this.beginPlaced(columns, rows, place);
    putLong(columns.iteration, rows, row.iteration);
    putInteger(columns.name_id, rows, this.text(row.name));
    putReal(columns.value, rows, row.value);
    putInteger(columns.unit_id, rows, this.text(row.unit));
    putInteger(columns.text_id, rows, this.text(row.text));
    this.next('figures', batch);
  }
}
