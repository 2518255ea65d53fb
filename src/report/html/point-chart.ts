/** A figure over commits or runs as static SVG: a point for each, its range, and marks. Pure. */
import { maxOf, minOf } from '../../model/lists.js';
import { type Child, element, type SafeHtml, textElement } from './html.js';
import { chartFigure, legendItem, niceAxis, type PlotSize, plotOf } from './line-chart.js';

export interface ChartPoint {
  readonly name: string;
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** A class of the style; each is drawn by a shape of its own. */
  readonly kind: 'good' | 'bad' | 'skip' | 'failed' | 'point';
  /** The value is a lower bound: drawn, but the axis is not made for it. */
  readonly isBound: boolean;
  /** A line at this point: the level changes here. */
  readonly mark: { readonly text: string; readonly isWorse: boolean } | null;
  /** Of the tooltip. */
  readonly text: string;
}

export interface PointChart {
  readonly title: string;
  readonly points: readonly ChartPoint[];
  readonly format: (value: number) => string;
  /** Labels of the axis are multiples of round numbers of it. */
  readonly unit: number;
  readonly legend: readonly { readonly kind: ChartPoint['kind']; readonly text: string }[];
}

const SIZE: PlotSize = { width: 1_080, height: 260, right: 20, top: 26, bottom: 34, left: 76 };
/** Names below the axis, and pixels from one to the next for each of their characters. */
const MOST_NAMES = 10;
const NAME_CHARACTER = 8;

/** A figure without a value (a skipped commit) is on the axis. Null without any value. */
export function pointChart({ title, points, format, unit, legend }: PointChart): SafeHtml | null {
  const valuesOf = (some: readonly ChartPoint[]): number[] =>
    some.flatMap(({ value, low, high }) => [value, low, high].filter((one) => one !== null));
  const all = valuesOf(points);
  if (all.length === 0) return null;
  // A run that failed early has a far lower value, which would flatten the others.
  const exact = valuesOf(points.filter(({ isBound }) => !isBound));
  const [least, most] = [minOf(exact.length > 0 ? exact : all), maxOf(all)];
  const axis = niceAxis(least < 0.4 * most && least >= 0 ? 0 : least - (most - least) / 8, most, unit);
  const { left, toY, grid } = plotOf(axis, axis.ticks.map(format), SIZE);
  const { width, height, right } = SIZE;
  const toX = (i: number): number =>
    Number((left + ((width - left - right) * (i + 0.5)) / Math.max(1, points.length)).toFixed(1));
  // The first and the last one may need half of their width beyond their point.
  const nameWidth = NAME_CHARACTER * maxOf(points.map(({ name }) => name.length));
  const names = Math.max(1, Math.min(MOST_NAMES, Math.floor((width - left - right) / (nameWidth + NAME_CHARACTER))));
  const step = Math.ceil(points.length / names);
  const nameX = (i: number): number => Math.max(nameWidth / 2, Math.min(width - nameWidth / 2, toX(i)));
  const svg = element(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}: ${points.length} points` },
    grid,
    points.map(({ mark }, i) => mark !== null && markLine(toX(i), mark)),
    points.map((point, i) => pointHtml(point, toX(i), toY)),
    points.map(
      ({ name }, i) =>
        i % step === 0 &&
        textElement('text', name, { class: 'tick', x: nameX(i), y: height - 12, 'text-anchor': 'middle' }),
    ),
  );
  const signs = legend.map(({ kind, text: words }) => legendItem(shape(kind, 7, 7), words));
  return chartFigure(title, '', svg, signs, 'chart wide');
}

function markLine(x: number, { text: label, isWorse }: NonNullable<ChartPoint['mark']>): Child {
  const className = isWorse ? 'mark' : 'mark better';
  const isRight = x > SIZE.width * 0.8;
  return [
    element('path', { class: className, d: `M${x} ${SIZE.top}V${SIZE.height - SIZE.bottom}` }),
    textElement('text', label, {
      class: className,
      x: x + (isRight ? -6 : 6),
      y: 16,
      'text-anchor': isRight ? 'end' : 'start',
    }),
  ];
}

function pointHtml(point: ChartPoint, x: number, toY: (value: number) => number): SafeHtml {
  const { value, low, high, kind } = point;
  const hasRange = low !== null && high !== null && low !== high;
  return element(
    'g',
    {},
    textElement('title', point.text),
    hasRange && element('path', { class: 'range', d: `M${x} ${toY(low)}V${toY(high)}` }),
    shape(kind, x, value === null ? SIZE.height - SIZE.bottom : toY(value)),
  );
}

/** Shapes distinguish kinds without their colour. */
function shape(kind: ChartPoint['kind'], x: number, y: number): SafeHtml {
  const attributes = { class: `dot ${kind}` };
  if (kind === 'bad') return element('path', { ...attributes, d: `M${x} ${y - 6}l6 10h-12z` });
  if (kind === 'failed') return element('path', { ...attributes, d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
  if (kind === 'skip') return element('circle', { ...attributes, cx: x, cy: y, r: 3.5 });
  return element('circle', { ...attributes, cx: x, cy: y, r: 4.5 });
}
