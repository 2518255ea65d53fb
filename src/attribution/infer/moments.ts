/** The two moments of Adam, where the stack shows only that it is one of them. */
import type { Attribution } from '../blocks/attribution.js';
import { relabelling } from '../blocks/labels.js';
import { type Lives, sizeOf } from '../blocks/lives.js';
import { groupByLine, rowsByRule } from './matched-lines.js';

export const ADAM_MOMENTS = 'inference.adam-moments';

/** Labels of rules for an allocation that is a first or a second moment. */
const EITHER = 'moments';
/** Two moments of the same parameters are equally large. */
const TOLERANCE = 0.01;
/** In which they are made. */
const ORDER = ['exp_avg', 'exp_avg_sq', 'master_param'] as const;
/** Of successive allocations, so many must be equally large pairs. */
const PAIRED = 0.95;

/**
 * Every Adam allocates `exp_avg`, then `exp_avg_sq`, and where it keeps master weights of its own those last: each on
 * its line, or on one line in turn for each parameter. Upstream: torch `optim/adam.py` `_init_group`, Transformer
 * Engine `optimizers/fused_adam.py` `initialize_state`.
 */
export function inferMoments(of: Attribution): void {
  const isState = ORDER.map((state) => relabelling(of, ADAM_MOMENTS, ({ component }) => [component, state, 'medium']));
  for (const [rule, rows] of rowsByRule(of, (sub) => sub === EITHER)) {
    const groups = groupByLine(of, rule, rows);
    const [first, second] = groups;
    if (first === undefined) continue;
    if (second === undefined) {
      const { lives } = of;
      inTurn(
        lives,
        first.rows.filter((row) => row >= lives.starts),
        isState,
      );
      inPairs(
        lives,
        first.rows.filter((row) => row < lives.starts),
        isState,
      );
    } else if (groups.length <= ORDER.length && Math.abs(first.bytes - second.bytes) <= TOLERANCE * first.bytes)
      groups.forEach((group, i) => {
        group.rows.forEach(isState[i]!);
      });
  }
}

/** Names a block by its place in {@link ORDER}. */
type Naming = (row: number) => void;

/** Moments of one parameter are of one size; a master weight behind them may be of another. */
function inTurn(lives: Lives, rows: readonly number[], isState: readonly Naming[]): void {
  for (const period of [2, 3]) {
    if (rows.length < period || rows.length % period !== 0) continue;
    let sets = 0;
    for (let i = 0; i < rows.length; i += period)
      if (sizeOf(lives, rows[i]!) === sizeOf(lives, rows[i + 1]!)) sets += 1;
    if (sets < PAIRED * (rows.length / period)) continue;
    rows.forEach((row, i) => {
      isState[i % period]!(row);
    });
    return;
  }
}

/**
 * Of blocks from before the recording the order is not known: of two of a size one is a first moment and one a second,
 * whichever. The sums are right.
 */
function inPairs(lives: Lives, rows: readonly number[], isState: readonly Naming[]): void {
  const bySize = [...rows].sort((a, b) => sizeOf(lives, a) - sizeOf(lives, b));
  for (let i = 0; i < bySize.length; i += 2)
    if (i + 1 === bySize.length || sizeOf(lives, bySize[i]!) !== sizeOf(lives, bySize[i + 1]!)) return;
  bySize.forEach((row, i) => {
    isState[i % 2]!(row);
  });
}
