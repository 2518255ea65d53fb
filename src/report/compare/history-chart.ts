/** Bars of one figure from left to right, oldest first, with marks below. Pure; drawn with the signs of `chart.ts`. */
import { type ChartMark, chartSigns, EIGHTHS, GUTTER, gutter, labelText, laneText, NICE } from '../chart.js';

export interface HistoryBar {
  readonly low: number;
  readonly high: number;
  /** Drawn in another shade: the run failed. */
  readonly isDead: boolean;
  /** At least so much: where columns have to be shared, it gives way. */
  readonly isLowerBound: boolean;
}

export interface HistoryChartSpec {
  /** At least one. */
  readonly bars: readonly HistoryBar[];
  /** Of the whole chart with its gutter. */
  readonly width: number;
  readonly ascii: boolean;
  /** What the values are multiplied by, and the name of that unit. */
  readonly scale: { readonly factor: number; readonly name: string };
  /** Signs below the bars, by index of a bar. */
  readonly lanes: readonly { readonly title: string; readonly marks: readonly { index: number; sign: string }[] }[];
  readonly labels: readonly { readonly index: number; readonly text: string }[];
}

/** The widest bar of a chart with few bars. */
const WIDEST_BAR = 6;
const TICKS = 4;
const ROWS_PER_TICK = 3;
const HEIGHT = TICKS * ROWS_PER_TICK;
/** A range that is smaller against its values would blow up noise. */
const LEAST_RANGE = 0.04;
/** Where the least value is below this share of the greatest, the axis begins at 0. */
const FROM_ZERO = 0.4;

/**
 * Lines without trailing blanks. The axis does not begin at 0 where all values are alike; its lowest label shows the
 * value.
 */
export function historyChart(spec: HistoryChartSpec): string[] {
  const signs = chartSigns(spec.ascii);
  const plotWidth = Math.max(1, spec.width - GUTTER);
  const { bars } = spec;
  const width = Math.min(plotWidth, bars.length * WIDEST_BAR);
  const columns = columnsOf(bars, width);
  const { factor, name } = spec.scale;
  // A run that failed early has a far lower value. It is marked in a lane, and must not flatten the chart.
  const exact = bars.filter(({ isLowerBound }) => !isLowerBound);
  const axis = axisOf(
    (exact.length > 0 ? exact : bars).reduce(
      (least, { low }) => Math.min(least, low * factor),
      Number.POSITIVE_INFINITY,
    ),
    bars.reduce((most, { high }) => Math.max(most, high * factor), Number.NEGATIVE_INFINITY),
  );
  const cells = columns.map((column) => {
    if (column === undefined) return new Array<string>(HEIGHT).fill(' ');
    // Whatever there is at all is drawn, and nothing is not.
    const eighths = (value: number): number => {
      const above = (value * factor - axis.base) / (axis.top - axis.base);
      return above <= 0 ? 0 : Math.max(1, Math.round(above * HEIGHT * 8));
    };
    const low = eighths(column.low);
    const high = eighths(column.high);
    return Array.from({ length: HEIGHT }, (_, row) => {
      const bottom = row * 8;
      if (column.isDead) return high >= bottom + 4 || (row === 0 && column.high > 0) ? signs.pending : ' ';
      if (low >= bottom + 8) return signs.full;
      if (high >= bottom + 8) return signs.sometimes;
      if (high <= bottom) return ' ';
      if (spec.ascii) return high >= bottom + 4 || row === 0 ? signs.full : ' ';
      return EIGHTHS[high - bottom]!;
    });
  });
  const lines = [gutter(name)];
  for (let row = HEIGHT - 1; row >= 0; row -= 1) {
    const isTick = (row + 1) % ROWS_PER_TICK === 0;
    const value = axis.base + ((axis.top - axis.base) * (row + 1)) / HEIGHT;
    lines.push(
      `${gutter(isTick ? label(value) : '')} ${isTick ? signs.tick : signs.axis}${cells.map((cell) => cell[row]).join('')}`,
    );
  }
  lines.push(`${gutter(label(axis.base))} ${signs.corner}${signs.floor.repeat(width)}`);
  const place = (index: number): number => (index + 0.5) / bars.length;
  for (const { title, marks } of spec.lanes) {
    const chartMarks: ChartMark[] = marks.map(({ index, sign }) => ({ at: place(index), sign }));
    lines.push(`${gutter(title)}  ${laneText(chartMarks, width)}`);
  }
  const labels = spec.labels.map(({ index, text }) => ({ at: place(index), text }));
  lines.push(`${gutter('')}  ${labelText(labels, width)}`);
  return lines.map((line) => line.trimEnd());
}

/** Bars with gaps where the width suffices. Otherwise a column shows the least and greatest of the bars it covers. */
function columnsOf(bars: readonly HistoryBar[], width: number): (HistoryBar | undefined)[] {
  const count = bars.length;
  return Array.from({ length: width }, (_, i) => {
    if (count <= width) {
      const index = Math.floor((i * count) / width);
      const isLast = Math.floor(((i + 1) * count) / width) !== index;
      return isLast && width >= 3 * count ? undefined : bars[index]!;
    }
    const covered = bars.slice(Math.floor((i * count) / width), Math.ceil(((i + 1) * count) / width));
    const exact = covered.filter(({ isLowerBound }) => !isLowerBound);
    const used = exact.length > 0 ? exact : covered;
    return {
      low: used.reduce((least, { low }) => Math.min(least, low), Number.POSITIVE_INFINITY),
      high: used.reduce((most, { high }) => Math.max(most, high), Number.NEGATIVE_INFINITY),
      isDead: used.every(({ isDead }) => isDead),
      isLowerBound: exact.length === 0,
    };
  });
}

function label(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Round numbers at every tick. */
function axisOf(least: number, most: number): { base: number; top: number } {
  const size = Math.max(Math.abs(least), Math.abs(most));
  if (size === 0) return { base: 0, top: 1 };
  const fromZero = least >= 0 && least < FROM_ZERO * most;
  const range = Math.max(most - least, LEAST_RANGE * size);
  // Above the least value some of the axis is left, or the shortest bar could not be seen.
  const low = fromZero || most === least ? Math.min(0, least) : least - range / 8;
  const needed = (most - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(needed));
  for (const step of [...NICE, ...NICE.map((nice) => 10 * nice)].map((nice) => nice * power)) {
    const base = Math.floor(low / step + 1e-9) * step;
    if (base + TICKS * step >= most * (1 - 1e-9)) return { base, top: base + TICKS * step };
  }
  return { base: low, top: most };
}
