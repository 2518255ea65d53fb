import { CsvError, type Info, parse } from 'csv-parse';
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, RowSink } from '../../src/model/parser.js';
import { microseconds, readNumber, stepOf } from './numbers.js';
import { ScalarSink } from './scalar-sink.js';
import { planTable, type TablePlan } from './table-plan.js';

const CHUNK_BYTES = 256 * 1024;
/** A row of W&B with ten thousand columns has 200 KB; a quote that does not end would swallow the rest. */
const MOST_ROW_BYTES = 4 * 1024 * 1024;

/** Reads a table of scalars, see FORMAT.md. Throws if it contains no row. */
export async function readTable(source: ByteSource, sink: RowSink, context: ParseContext): Promise<void> {
  const reader = new TableReader(sink, context.name);
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MOST_ROW_BYTES,
    // Rows are taken as they are made: what a stream still holds is lost when it fails.
    on_record: (record: string[], info: Info) => {
      reader.row(record, info);
      return null;
    },
  });
  parser.on('error', () => {});
  parser.resume();
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = 0;
  let failure: unknown;
  for (;;) {
    const count = await source.read(buffer, 0);
    if (count > 0) at += count;
    if (failure === undefined) {
      const chunk = count === 0 ? undefined : Buffer.from(buffer.subarray(0, count));
      failure = await new Promise<unknown>((resolve) => {
        const done = (error?: Error | null): void => resolve(error ?? undefined);
        if (chunk === undefined) {
          parser.once('error', done);
          parser.end(() => done());
        } else parser.write(chunk, done);
      });
      if (failure !== undefined && !(failure instanceof CsvError)) throw failure;
    }
    if (count === 0) break;
    context.progress?.(at);
  }
  reader.finish(failure, at);
}

class TableReader {
  private plan: TablePlan | null = null;
  private out: ScalarSink | null = null;
  private end = 0;
  private line = 1;
  private rows = 0;
  private readonly sink: RowSink;
  private readonly name: string;

  constructor(sink: RowSink, name: string) {
    this.sink = sink;
    this.name = name;
  }

  row(cells: readonly string[], info: Info): void {
    const offset = this.end;
    this.end = info.bytes;
    this.line = info.lines;
    if (this.plan === null) {
      this.plan = planTable(cells, this.name);
      if (this.plan === null)
        throw new MbfError('MBF2921', 'its header is that of no table of scalars', { offset: 0, line: 1 });
      this.out = new ScalarSink(this.sink, this.plan.form, this.plan.countsFrom);
      return;
    }
    const { step, stepTag, time, columns, isFloat32 } = this.plan;
    const out = this.out!;
    const number = (index: number | null): number | undefined =>
      index === null ? undefined : readNumber(cells[index] ?? '');
    const at = stepOf(number(step));
    const place = { line: info.lines, offset, step: at, timeUs: microseconds(number(time)) };
    let figureCount = 0;
    for (const { index, tag } of columns) {
      const cell = cells[index];
      if (cell === undefined || cell === '') continue;
      const value = readNumber(cell);
      if (value === undefined) continue;
      out.add(tag, value, place, isFloat32);
      figureCount += 1;
    }
    if (figureCount === 0) return;
    this.rows += 1;
    if (stepTag !== null && at !== null) out.add(stepTag, at, place);
  }

  finish(failure: unknown, bytes: number): void {
    const { plan } = this;
    if (failure instanceof CsvError) {
      const fact = `is not a table from byte ${this.end} on: ${failure.message}`;
      if (this.rows === 0) throw new MbfError('MBF2921', fact, { offset: this.end, line: this.line }, failure);
      const text = `${fact}; the rows before were kept, ${bytes - this.end} bytes were not read`;
      this.sink.note({ kind: 'scalars_damaged', severity: 'warning', text, offset: this.end, line: this.line });
    }
    if (plan === null || this.out === null) throw new MbfError('MBF2921', 'has no header', { offset: 0 });
    this.out.end();
    if (this.rows === 0) {
      const text = 'has a header, and no figure under it';
      this.sink.note({ kind: 'scalars_empty', severity: 'warning', text });
    }
    if (plan.runs > 1) {
      const text = `holds ${plan.runs} runs side by side: their figures are kept under the names of their columns, and none is taken for an iteration of this run; export one run alone`;
      this.sink.note({ kind: 'scalars_runs', severity: 'warning', text, count: plan.runs });
    }
  }
}
