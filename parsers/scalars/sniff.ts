import type { Head, Sniff } from '../../src/model/parser.js';
import { shapeOfLine } from './line-forms.js';
import { isMetricLine, parseLine } from './read-lines.js';
import { planTable, splitHeader, type TableForm } from './table-plan.js';

export type ScalarsKind = 'table' | 'trainer-state' | 'tensorboard' | 'json-lines' | 'mlflow';

export interface Recognised extends Sniff {
  readonly kind: ScalarsKind;
}

/** `[[1712345678.9, 10, 0.5], …`: seconds, a step, a value. */
const CURVE =
  /^\s{0,64}\[\s{0,16}\[\s{0,16}1\d{9}(?:\.\d{0,20})?,\s{0,16}-?\d{1,15},\s{0,16}(?:-?[\d.]{1,40}(?:e[+-]?\d{1,4})?|"?NaN"?|"?-?Infinity"?)\s{0,16}\](?:\s{0,16}[,\]]|\s{0,64}$)/i;
const HISTORY = /"log_history"\s{0,16}:\s{0,16}\[/;
const TRAINER = /"(?:global_step|best_metric|is_world_process_zero|total_flos)"\s{0,16}:/;
/** Endings of files that are not tables of scalars; MLflow's files have none of them. */
const OTHER_NAME = /\.(?:log|out|err|txt|py|md)$/i;
/** Whose other files a parser of its own reads. */
const WANDB_FILE = /(?:^|[._-])wandb-(?:summary|metadata|events)/i;

const WHY: Readonly<Record<TableForm, string>> = {
  tensorboard: 'It is the table of one curve from TensorBoard.',
  'wandb-history': 'It is a table of the history of a W&B run.',
  'wandb-chart': 'It is the table of a chart of W&B.',
  lightning: 'It is the metrics.csv of Lightning.',
  deepspeed: 'It is a table of DeepSpeed’s monitor.',
  table: 'It is a table with a step and figures of a training run.',
};

/** Recognises exports by their headers and first rows. Null: it is none. Never throws. */
export function recogniseScalars({ bytes, name, sizeBytes }: Head): Recognised | null {
  if (bytes.length === 0) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('utf8')
    .replace(/^\ufeff/, '');
  if (text.includes('\0')) return null;
  const start = text.trimStart()[0];
  const feed = text.indexOf('\n');
  const isWhole = sizeBytes <= bytes.length;
  // A line that the head cuts is none.
  const line = feed >= 0 ? text.slice(0, feed).replace(/\r$/, '') : isWhole ? text : null;
  if (start === '[') {
    return CURVE.test(text)
      ? { kind: 'tensorboard', score: 0.9, why: 'It is the JSON of one curve from TensorBoard.' }
      : null;
  }
  if (start === '{') {
    if (HISTORY.test(text) && TRAINER.test(text) && !WANDB_FILE.test(name)) {
      return {
        kind: 'trainer-state',
        score: 0.96,
        why: 'It is the state of a Hugging Face trainer, with the history of its log.',
      };
    }
    const shape = line === null || WANDB_FILE.test(name) ? null : shapeOfLine(parseLine(line));
    return shape === null ? null : { kind: 'json-lines', score: 0.93, why: shape.why };
  }
  if (line === null) return null;
  if (isMetricLine(line) && !OTHER_NAME.test(name)) {
    const lines = text.slice(0, isWhole ? undefined : text.lastIndexOf('\n')).split('\n');
    const isAll = lines.every((other) => other === '' || isMetricLine(other));
    return isAll
      ? { kind: 'mlflow', score: 0.93, why: 'Each line is a time, a value and a step, as in a metric of MLflow.' }
      : null;
  }
  if (!line.includes(',')) return null;
  const header = splitHeader(line);
  const plan = header === null ? null : planTable(header, name);
  if (plan === null) return null;
  return { kind: 'table', score: plan.form === 'table' ? 0.7 : 0.95, why: WHY[plan.form] };
}

export function sniffScalars(head: Head): Sniff {
  return recogniseScalars(head) ?? { score: 0, why: 'It has no header and no first row of exported scalars.' };
}
