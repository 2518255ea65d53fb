/** Round numbers along an axis, with their labels. Pure. */
import { visibleText } from '../../model/escape-controls.js';
import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';
import { formatCount, GIB, KIB, MIB } from '../../model/units.js';
import { scaleOf } from './axis.js';

import type { AxisKind } from './view-state.js';

export interface Tick {
  /** Bytes, or an entry. */
  readonly at: number;
  readonly text: string;
  /** Names what is around it, such as a step; drawn without a line. */
  readonly isMiddle?: boolean;
}

const ROUND = [1, 2, 2.5, 5, 10];

/** The least round step of which at most `most` are in `span`. */
export function roundStep(span: number, most: number): number {
  const least = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ROUND.find((round) => round * power >= least * (1 - 1e-9))!;
}

/** Bytes from `low` to `high`, at most `most` of them; with `isSigned`, growth has a plus. */
export function byteTicks(low: number, high: number, most: number, isSigned = false): Tick[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const [unit, name] = size >= GIB ? [GIB, 'GiB'] : size >= MIB ? [MIB, 'MiB'] : size >= KIB ? [KIB, 'KiB'] : [1, 'B'];
  const step = roundStep((high - low) / unit, most);
  const ticks: Tick[] = [];
  for (let i = Math.ceil(low / unit / step - 1e-9); i * step * unit <= high * (1 + 1e-9); i += 1) {
    const number = Number((i * step).toPrecision(6));
    const text = number === 0 ? '0' : `${isSigned && number > 0 ? '+' : ''}${number} ${name}`;
    ticks.push({ at: i * step * unit, text });
    if (ticks.length > 200) break;
  }
  return ticks;
}

/** Entries of round places between `from` and `to`, or middles of what is visible of steps; at most `most` or so. */
export function axisTicks(
  page: PageDevice,
  columns: DeviceColumns,
  kind: AxisKind,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Tick[] {
  const scale = scaleOf(page, columns, kind);
  if (kind === 'step') {
    const shown = page.steps.filter(({ first, last }) => last >= from && first < to);
    const every = Math.max(1, Math.ceil(shown.length / Math.max(1, most)));
    return shown
      .filter((_, i) => i % every === 0)
      .map(({ first, last, name }) => {
        const [left, right] = [Math.max(from, first), Math.min(to, last + 1)].map(scale.valueOf);
        return { at: scale.seqOf((left! + right!) / 2), text: visibleText(name), isMiddle: true };
      });
  }
  const low = scale.valueOf(from);
  const high = scale.valueOf(to);
  const step = kind === 'entry' ? Math.max(1, roundStep(high - low, most)) : roundStep(high - low, most);
  const tickStep = kind === 'entry' ? Math.ceil(step) : step;
  const ticks: Tick[] = [];
  for (let i = Math.ceil(low / tickStep); i * tickStep < high && ticks.length <= 200; i += 1) {
    const value = i * tickStep;
    ticks.push({ at: scale.seqOf(value), text: kind === 'entry' ? formatCount(value) : timeText(value, tickStep) });
  }
  return ticks;
}

/** Microseconds after the first entry, to the precision of `stepUs`. */
export function timeText(us: number, stepUs: number): string {
  const [unit, name] = stepUs >= 10_000 ? [1e6, 's'] : stepUs >= 10 ? [1e3, 'ms'] : [1, 'µs'];
  const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(stepUs / unit) - 1e-9)));
  const value = us / unit;
  // 2.5 of a power of ten needs one more.
  const more = Math.abs(Number(value.toFixed(decimals)) - value) > (stepUs / unit) * 1e-6 ? 1 : 0;
  return `${value.toFixed(decimals + more)} ${name}`;
}
