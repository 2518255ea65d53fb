/** Round numbers along an axis, with their labels. Pure. */
import { visibleText } from '../../model/escape-controls.js';
import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';
import { BYTES, decimalsOf, roundStep, TIMES, tickText, type Unit, unitFor } from '../axis-labels.js';
import { type Axis, scaleOf } from './axis.js';
import type { AxisKind } from './view-state.js';

export interface Tick {
  /** Bytes, or an entry. */
  readonly at: number;
  readonly text: string;
  /** Names what is around it, such as a step; drawn without a line. */
  readonly isMiddle?: boolean;
}

/** Most decimals of a label of bytes: with more it would be wider than the space left of a plot. */
const MOST_DECIMALS = 3;

/** Bytes from `low` to `high`, at most `most` of them; with `isSigned`, growth has a plus. */
export function byteTicks(low: number, high: number, most: number, isSigned = false): Tick[] {
  const unit = unitFor(BYTES, Math.max(Math.abs(low), Math.abs(high)));
  // Addresses are seen closely too: there, labels after the first one are distances from it.
  const isNear = decimalsOf(roundStep((high - low) / unit.size, most)) > MOST_DECIMALS;
  const stepUnit = isNear ? unitFor(BYTES, high - low) : unit;
  const step = roundStep((high - low) / stepUnit.size, most) * stepUnit.size;
  const first = Math.ceil(low / step - 1e-9);
  const ticks: Tick[] = [];
  for (let i = first; i * step <= high + step * 1e-6 && ticks.length <= 200; i += 1) {
    const at = i * step;
    const plus = (isSigned && at > 0) || (isNear && i > first) ? '+' : '';
    const text = !isNear
      ? tickText(at, step, unit)
      : i === first
        ? tickText(at, unit.size / 100, unit)
        : tickText(at - first * step, step, stepUnit);
    ticks.push({ at, text: `${plus}${text}` });
  }
  return ticks;
}

/** Names of steps at the middle of what is visible of each; at most `most`. */
export function stepTicks(
  { steps }: PageDevice,
  { xOf, seqOf }: Axis,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Tick[] {
  const shown = steps.filter(({ first, last }) => last >= from && first < to);
  const every = Math.max(1, Math.ceil(shown.length / Math.max(1, most)));
  return shown
    .filter((_, i) => i % every === 0)
    .map(({ first, last, name }) => {
      const [left, right] = [Math.max(from, first), Math.min(to, last + 1)].map(xOf);
      return { at: seqOf((left! + right!) / 2), text: visibleText(name), isMiddle: true };
    });
}

/** Entries of round places between `from` and `to`, or {@link stepTicks}; at most `most` or so. */
export function axisTicks(
  page: PageDevice,
  columns: DeviceColumns,
  kind: AxisKind,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Tick[] {
  const scale = scaleOf(page, columns, kind);
  if (kind === 'step') return stepTicks(page, { xOf: scale.valueOf, seqOf: scale.seqOf }, { from, to }, most);
  const low = scale.valueOf(from);
  const high = scale.valueOf(to);
  const unit = kind === 'entry' ? ENTRY : unitFor(TIMES, Math.max(Math.abs(low), Math.abs(high)));
  const rounded = roundStep((high - low) / unit.size, most) * unit.size;
  const step = kind === 'entry' ? Math.max(1, Math.ceil(rounded)) : rounded;
  const ticks: Tick[] = [];
  for (let i = Math.ceil(low / step); i * step < high && ticks.length <= 200; i += 1)
    ticks.push({ at: scale.seqOf(i * step), text: tickText(i * step, step, unit) });
  return ticks;
}

const ENTRY: Unit = { size: 1, name: '' };

/** Microseconds to four digits. */
export function timeText(us: number): string {
  const unit = unitFor(TIMES, us);
  return tickText(us, roundStep(Math.max(us / unit.size, 1e-3), 2_000) * unit.size, unit);
}
