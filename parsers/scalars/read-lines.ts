import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, RowSink } from '../../src/model/parser.js';
import { Oddities } from '../../src/text/oddities.js';
import { readLines, utf8 } from '../../src/text/text-lines.js';
import { isRecord, type LineShape, shapeOfLine } from './line-forms.js';
import { microseconds, numberOf, readNumber, stepOf } from './numbers.js';
import { plainJsonText } from './plain-json.js';
import { type RowPlace, ScalarSink } from './scalar-sink.js';

const MOST_FIGURES = 20_000;
const MOST_DEPTH = 8;

/** A line of JSON; undefined if it is none. */
export function parseLine(text: string): unknown {
  try {
    return JSON.parse(plainJsonText(text)) as unknown;
  } catch {
    return undefined;
  }
}

/** Reads lines of JSON, a step each. Throws if none of them is one. */
export async function readJsonLines(source: ByteSource, sink: RowSink, context: ParseContext): Promise<void> {
  let shape: LineShape | null = null;
  let out: ScalarSink | null = null;
  const broken = new Oddities();
  await readLines(
    source,
    (text, line, offset) => {
      if (text.trim() === '') return;
      const row = parseLine(utf8(text));
      shape ??= shapeOfLine(row);
      if (!isRecord(row) || shape === null) {
        broken.add('scalars_damaged', line, offset);
        return;
      }
      out ??= new ScalarSink(sink, shape.form, undefined);
      const place = {
        line,
        offset,
        step: stepOf(numberOf(row[shape.step])),
        timeUs: shape.time === null ? null : microseconds(numberOf(row[shape.time])),
      };
      give(out, shape.data === null ? row : row[shape.data], shape.without, place);
    },
    context.progress,
  );
  const sinkOf = out as ScalarSink | null;
  sinkOf?.end();
  const where = broken.first('scalars_damaged') ?? { line: 1, offset: 0 };
  if (sinkOf === null) throw new MbfError('MBF2921', 'no line of it is a row of scalars', where);
  const text = 'lines that are not a complete JSON object were skipped';
  for (const note of broken.notes({ scalars_damaged: { severity: 'warning', text } })) sink.note(note);
}

/**
 * Nested figures have the path for a name, with dots, as in W&B. Tables, histograms and media have a `_type`, and are
 * none.
 */
function give(out: ScalarSink, row: unknown, without: ReadonlySet<string>, place: RowPlace): void {
  let left = MOST_FIGURES;
  const walk = (value: unknown, path: string, depth: number): void => {
    if (!isRecord(value) || '_type' in value || depth > MOST_DEPTH) return;
    for (const [key, member] of Object.entries(value)) {
      if (depth === 0 && without.has(key)) continue;
      const name = path === '' ? key : `${path}.${key}`;
      const number = numberOf(member);
      if (number === undefined) walk(member, name, depth + 1);
      else if (left > 0) {
        left -= 1;
        out.add(name, number, place);
      }
    }
  };
  walk(row, '', 0);
}

/**
 * `<milliseconds> <value> <step>`. Upstream: mlflow `mlflow/store/tracking/file_store.py`, `_log_run_metric`; since 3.0
 * more may follow.
 */
const METRIC_LINE = /^(\d{12,14}) (\S{1,60}) (-?\d{1,18})(?: [^\n]{1,400})?$/;

export function isMetricLine(line: string): boolean {
  const match = METRIC_LINE.exec(line);
  return match !== null && readNumber(match[2]!) !== undefined;
}

/**
 * Reads a metric of an MLflow run directory; the file is called like the metric. Throws if none of its lines is one.
 */
export async function readMetricFile(source: ByteSource, sink: RowSink, context: ParseContext): Promise<void> {
  const out = new ScalarSink(sink, 'mlflow', undefined);
  const broken = new Oddities();
  await readLines(
    source,
    (text, line, offset) => {
      if (text === '') return;
      const match = METRIC_LINE.exec(text);
      const value = readNumber(match?.[2] ?? '');
      if (match === null || value === undefined) {
        broken.add('scalars_damaged', line, offset);
        return;
      }
      const place = { line, offset, step: stepOf(Number(match[3])), timeUs: microseconds(Number(match[1])) };
      out.add(context.name, value, place);
    },
    context.progress,
  );
  out.end();
  const where = broken.first('scalars_damaged') ?? { line: 1, offset: 0 };
  if (out.scalars === 0) throw new MbfError('MBF2921', 'no line of it is a time, a value and a step', where);
  const text = 'lines that are not a time, value and step were skipped';
  for (const note of broken.notes({ scalars_damaged: { severity: 'warning', text } })) sink.note(note);
}
