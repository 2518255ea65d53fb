/** Writes what a text says (iterations, memory lines, figures, phases, settings) into the open transaction. */
import { ColumnBatch, NULL_F64, NULL_I32, putI64, putNullI64, type TableLayout } from '../model/columns.js';
import {
  type AttemptRow,
  CONFIG_ORIGINS,
  ENV_ORIGINS,
  type IterationFinding,
  type LogPlace,
  type LogRow,
  type MemoryFinding,
  type Placed,
  type ValueFinding,
} from '../model/log-rows.js';
import { LOG_FIGURE_LAYOUT, LOG_ITERATION_LAYOUT, LOG_MEMORY_LAYOUT, type Note } from '../model/tables.js';
import type { ColumnAppender } from '../store/column-appender.js';
import type { Store } from '../store/store.js';
import type { SqlValue } from '../store/to-duckdb.js';
import type { StoreDictionary } from './store-dictionary.js';

/** Settings and phases kept per source; a log that dumps its configuration at every step says nothing more. */
const MAX_SMALL_ROWS = 100_000;
const BATCH = 8192;

type Fields = Readonly<Record<string, SqlValue>>;

/** One columnar table: rows are put one at a time, written a batch at a time. */
class Table {
  readonly batch: ColumnBatch;
  private readonly appender: ColumnAppender;
  private readonly columns: ReadonlyMap<string, number>;

  constructor(layout: TableLayout, appender: ColumnAppender) {
    this.batch = new ColumnBatch(layout, BATCH);
    this.appender = appender;
    this.columns = new Map(layout.columns.map(({ name }, index) => [name, index]));
  }

  /** Writes one value of the row being filled; null and undefined are NULL. */
  put(name: string, value: number | null | undefined): void {
    const index = this.columns.get(name)!;
    const { kind } = this.batch.layout.columns[index]!;
    const array = this.batch.arrays[index]!;
    const row = this.batch.rows;
    if (kind === 'i64') {
      // A figure of a hostile log may be anything; what no 64-bit integer holds is unknown.
      if (value === null || value === undefined || !Number.isSafeInteger(value)) putNullI64(array as Uint32Array, row);
      else putI64(array as Uint32Array, row, value);
    } else if (kind === 'f64') array[row] = value ?? NULL_F64;
    else array[row] = value !== null && value !== undefined && value >= 0 && value < 2 ** 31 ? value : NULL_I32;
  }

  next(): void {
    this.batch.rows += 1;
    if (this.batch.rows === BATCH) this.flush();
  }

  private flush(): void {
    if (this.batch.rows > 0) this.appender.append(this.batch);
    this.batch.rows = 0;
  }

  close(): void {
    this.flush();
    this.appender.close();
  }
}

export class TextRowWriter {
  private readonly store: Store;
  private readonly target: StoreDictionary;
  private readonly sourceId: number;
  private readonly iterations: Table;
  private readonly memory: Table;
  private readonly figures: Table;
  private readonly newTexts: { text_id: number; text: string }[] = [];
  private readonly attempts: AttemptRow[] = [];
  private readonly small: Readonly<Record<'log_phase' | 'log_config' | 'log_env', Fields[]>> = {
    log_phase: [],
    log_config: [],
    log_env: [],
  };
  private dropped = 0;

  /** Opens the appenders up front: the parser's calls are synchronous, making an appender is not. Needs an open transaction. */
  static async open(store: Store, target: StoreDictionary, sourceId: number): Promise<TextRowWriter> {
    await target.ready();
    const table = async (layout: TableLayout): Promise<Table> => new Table(layout, await store.appender(layout));
    return new TextRowWriter(
      store,
      target,
      sourceId,
      await table(LOG_ITERATION_LAYOUT),
      await table(LOG_MEMORY_LAYOUT),
      await table(LOG_FIGURE_LAYOUT),
    );
  }

  private constructor(
    store: Store,
    target: StoreDictionary,
    sourceId: number,
    iterations: Table,
    memory: Table,
    figures: Table,
  ) {
    this.store = store;
    this.target = target;
    this.sourceId = sourceId;
    this.iterations = iterations;
    this.memory = memory;
    this.figures = figures;
  }

  row(row: LogRow): void {
    switch (row.row) {
      case 'iteration':
        this.iteration(row);
        break;
      case 'memory':
        this.memoryFigure(row);
        break;
      case 'value':
        this.figure(row);
        break;
      case 'phase':
        this.keep('log_phase', row, {
          byte_offset: row.offset,
          phase: row.phase,
          label: row.label,
          iteration: row.iteration ?? null,
          time_us: row.timeUs,
        });
        break;
      case 'config':
        this.keep('log_config', row, {
          key: row.key,
          raw_key: row.rawKey,
          value: row.value,
          origin: row.origin,
          precedence: CONFIG_ORIGINS.indexOf(row.origin),
        });
        break;
      case 'env':
        this.keep('log_env', row, {
          host: row.host,
          key: row.key,
          value: row.value,
          origin: row.origin,
          precedence: ENV_ORIGINS.indexOf(row.origin),
        });
        break;
    }
  }

  attempt(row: AttemptRow): void {
    this.attempts.push(row);
  }

  private keep(table: keyof TextRowWriter['small'], row: LogRow, fields: Fields): void {
    const rows = this.small[table];
    if (rows.length >= MAX_SMALL_ROWS) {
      this.dropped += 1;
      return;
    }
    const { attempt, line, rank, format } = row;
    rows.push({ source_id: this.sourceId, attempt, line, rank, format, ...fields });
  }

  private text(text: string | null | undefined): number | null {
    if (text === null || text === undefined) return null;
    const { id, isNew } = this.target.internText(text);
    if (isNew) this.newTexts.push({ text_id: id, text });
    return id;
  }

  private place(table: Table, row: LogPlace): void {
    table.put('source_id', this.sourceId);
    table.put('attempt', row.attempt);
    table.put('line', row.line);
    table.put('byte_offset', row.offset);
    table.put('rank', row.rank);
    table.put('format_id', this.text(row.format));
    table.put('time_us', row.timeUs);
  }

  private iteration(row: Placed<IterationFinding>): void {
    const table = this.iterations;
    this.place(table, row);
    table.put('iteration', row.iteration);
    table.put('target_iterations', row.target);
    table.put('step_ms', row.stepMs);
    table.put('consumed_samples', row.consumedSamples);
    table.put('global_batch_size', row.globalBatchSize);
    table.put('tflops_per_gpu', row.tflopsPerGpu);
    table.put('learning_rate', row.learningRate);
    table.put('loss', row.loss);
    table.put('loss_scale', row.lossScale);
    table.put('grad_norm', row.gradNorm);
    table.put('skipped_iterations', row.skippedIterations);
    table.put('nan_iterations', row.nanIterations);
    table.next();
    const { line, offset, attempt, rank, rankOrigin, host, device, timeUs, format } = row;
    const place = { line, offset, attempt, rank, rankOrigin, host, device, timeUs, format };
    for (const { name, value, text } of row.others ?? []) {
      this.figure({
        ...place,
        row: 'value',
        name: `iteration.${name}`,
        value,
        unit: null,
        iteration: row.iteration,
        ...(value === null ? { text } : {}),
      });
    }
  }

  private memoryFigure(row: Placed<MemoryFinding>): void {
    const table = this.memory;
    this.place(table, row);
    table.put('device', row.device);
    table.put('host_id', this.text(row.host));
    table.put('iteration', row.iteration);
    table.put('moment_id', this.text(row.moment));
    table.put('metric_id', this.text(row.metric));
    table.put('bytes', row.bytes);
    table.put('value', row.value);
    table.put('unit_id', this.text(row.unit));
    table.put('precision_bytes', row.precisionBytes);
    table.next();
  }

  private figure(row: Placed<ValueFinding>): void {
    const table = this.figures;
    this.place(table, row);
    table.put('device', row.device);
    table.put('host_id', this.text(row.host));
    table.put('iteration', row.iteration);
    table.put('name_id', this.text(row.name));
    table.put('value', row.value);
    table.put('unit_id', this.text(row.unit));
    table.put('text_id', this.text(row.text));
    table.next();
  }

  /** Writes what is still waiting; to be called once. */
  async finish(): Promise<Note[]> {
    for (const table of [this.iterations, this.memory, this.figures]) table.close();
    const { store, sourceId } = this;
    await store.insertRows('text_value', this.newTexts);
    for (const [table, rows] of Object.entries(this.small)) await store.insertRows(table, rows);
    await store.insertRows(
      'source_attempt',
      this.attempts.map(({ attempt, line, origin, timeUs }) => ({
        source_id: sourceId,
        attempt,
        line,
        origin,
        time_us: timeUs,
      })),
    );
    if (this.dropped === 0) return [];
    const text = `more than ${MAX_SMALL_ROWS} settings or phases of one kind; the rest is counted, not kept`;
    return [{ kind: 'log_rows_dropped', severity: 'warning', text, count: this.dropped }];
  }
}
