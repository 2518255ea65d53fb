import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, RowSink } from '../../src/model/parser.js';
import { type JsonPlace, readJsonItems } from '../../src/text/json-items.js';
import { microseconds, numberOf, stepOf } from './numbers.js';
import { plainJson } from './plain-json.js';
import { ScalarSink } from './scalar-sink.js';
import { tagOfDownload } from './table-plan.js';

const MOST_KEYS = 10_000;

/**
 * Reads `trainer_state.json` of Hugging Face, or the JSON download of a curve from TensorBoard. Throws if it is damaged
 * before its first row.
 */
export async function readJson(
  form: 'trainer-state' | 'tensorboard',
  source: ByteSource,
  sink: RowSink,
  context: ParseContext,
): Promise<void> {
  const out = new ScalarSink(sink, form, form === 'trainer-state' ? 1 : undefined);
  const take = form === 'trainer-state' ? trainerRow(out) : curveRow(out, tagOfDownload(context.name));
  const paths = [form === 'trainer-state' ? 'log_history' : ''];
  const taker = { item: take, document: () => {} };
  const damage = await readJsonItems(plainJson(source), paths, taker, context.progress);
  out.end();
  if (damage === null) return;
  const { what, offset, line, lostBytes } = damage;
  if (out.scalars === 0) throw new MbfError('MBF2922', `is not complete JSON: ${what}`, { offset, line });
  const text = `is damaged or cut: ${what}; what precedes it was kept, ${lostBytes} bytes were not read`;
  sink.note({ kind: 'scalars_damaged', severity: 'warning', text, offset, line });
}

/**
 * An entry of `log_history`: the names that the trainer's callbacks give on, with the prefix that they add
 * (`transformers/integrations/integration_utils.py`, `rewrite_logs`), so that they are the same names as in TensorBoard
 * and W&B.
 */
function trainerRow(out: ScalarSink): (value: unknown, place: JsonPlace) => void {
  return (value, { line, offset }) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const entries = Object.entries(value).slice(0, MOST_KEYS);
    const step = stepOf(numberOf(new Map<string, unknown>(entries).get('step')));
    for (const [key, member] of entries) {
      const number = numberOf(member);
      if (key === 'step' || number === undefined) continue;
      out.add(prefixed(key), number, { line, offset, step, timeUs: null });
    }
  };
}

function prefixed(key: string): string {
  if (key.startsWith('eval_')) return `eval/${key.slice('eval_'.length)}`;
  return key.startsWith('test_') ? `test/${key.slice('test_'.length)}` : `train/${key}`;
}

/** `[wall time, step, value]`. */
function curveRow(out: ScalarSink, tag: string): (value: unknown, place: JsonPlace) => void {
  return (value, { line, offset }) => {
    if (!Array.isArray(value) || value.length !== 3) return;
    const [time, step, figure] = value.map(numberOf);
    if (figure === undefined) return;
    out.add(tag, figure, { line, offset, step: stepOf(step), timeUs: microseconds(time) }, true);
  };
}
