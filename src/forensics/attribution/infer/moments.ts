/** The two moments of Adam, where the stack says only that it is one of them. */
import { type DeviceAttribution, infer, labelAt } from '../device-attribution.js';
import { groupByLine, rowsByRule } from './matched-lines.js';

export const ADAM_MOMENTS = 'inference.adam-moments';

/** What rules say of an allocation that is a first or a second moment. */
const EITHER = 'moments';
/** Two moments of the same parameters are equally large. */
const TOLERANCE = 0.01;
/** Of successive allocations, so many must be equally large pairs. */
const PAIRED = 0.95;

/**
 * Every Adam allocates `exp_avg`, then `exp_avg_sq`: on two lines, or on one line in turn for each parameter. Upstream: torch `optim/adam.py` `_init_group`, Transformer Engine
 * `optimizers/fused_adam.py` `initialize_state`.
 */
export function inferMoments(of: DeviceAttribution): void {
  for (const [rule, rows] of rowsByRule(of, (sub) => sub === EITHER)) {
    const groups = groupByLine(of, rule, rows);
    const [first, second] = groups;
    if (first === undefined) continue;
    if (second === undefined) inTurn(of, first.rows);
    else if (groups.length === 2 && Math.abs(first.bytes - second.bytes) <= TOLERANCE * first.bytes) {
      for (const row of first.rows) name(of, row, 'exp_avg');
      for (const row of second.rows) name(of, row, 'exp_avg_sq');
    }
  }
}

function inTurn(of: DeviceAttribution, rows: readonly number[]): void {
  const { bytes } = of.lives;
  if (rows.length < 2 || rows.length % 2 === 1) return;
  let pairs = 0;
  for (let i = 0; i < rows.length; i += 2) if (bytes[rows[i]!] === bytes[rows[i + 1]!]) pairs += 1;
  if (pairs < PAIRED * (rows.length / 2)) return;
  for (let i = 0; i < rows.length; i += 1) name(of, rows[i]!, i % 2 === 0 ? 'exp_avg' : 'exp_avg_sq');
}

function name(of: DeviceAttribution, row: number, moment: 'exp_avg' | 'exp_avg_sq'): void {
  const { component } = labelAt(of, row);
  infer(of, row, ADAM_MOMENTS, { component, sub_component: moment, confidence: 'medium' });
}
