/**
 * Line charts as static SVG. Long series are drawn by the least and the greatest value of each part, never by averages,
 * so that no spike is lost. Pure.
 */
import { maxOf, minOf } from '../../model/lists.js';
import { formatCount } from '../../model/units.js';
import { BYTES, NUMBERS, TIMES, tickText, type Unit, unitFor } from '../axis-labels.js';
import { NICE } from '../chart.js';
import { type Child, element, join, list, type SafeHtml, text, textElement } from './html.js';

/** Points of a line at most. */
const MOST_POINTS = 600;

const TICKS = 4;

export interface Series {
  readonly name: string;
  /** By index of {@link LineChart.x}; null: no value there. */
  readonly values: readonly (number | null)[];
}

export interface LineChart {
  readonly title: string;
  /** Of both axes: `iteration`, and the unit of the values. */
  readonly xName: string;
  readonly x: readonly number[];
  readonly series: readonly Series[];
  /** What the values are: the unit of the labels is chosen by their size. */
  readonly kind: 'bytes' | 'ms' | 'number';
  /** Below the title: first, last, most. */
  readonly note: string;
}

const UNITS: Readonly<Record<LineChart['kind'], readonly Unit[]>> = {
  bytes: BYTES,
  ms: TIMES.map(({ size, from = size, name }) => ({ size: size / 1e3, from: from / 1e3, name })),
  number: NUMBERS,
};

/** Pixels of a character of a label at most, and left and right of it. */
const CHARACTER = 7.4;
const LABEL_SPACE = 14;

/** The size of a drawing in pixels, and what is around its plot. */
export interface PlotSize {
  readonly width: number;
  readonly height: number;
  readonly top: number;
  readonly bottom: number;
  readonly right: number;
  /** Pixels left of the plot at least; labels may need more. */
  readonly left: number;
}

/** A vertical axis with a labelled line for each tick. */
export function plotOf(
  { base, top: most, ticks }: NiceAxis,
  labels: readonly string[],
  { width, height, top, bottom, right, left: least }: PlotSize,
): { readonly left: number; readonly toY: (value: number) => number; readonly grid: Child } {
  const left = Math.ceil(Math.max(least, CHARACTER * maxOf(labels.map(({ length }) => length)) + LABEL_SPACE));
  const toY = (value: number): number =>
    short(top + (height - top - bottom) * (1 - Math.max(0, value - base) / (most - base)));
  const grid = ticks.map((tick, i) => [
    element('path', { class: 'grid', d: `M${left} ${toY(tick)}H${width - right}` }),
    textElement('text', labels[i]!, { class: 'tick', x: left - 6, y: toY(tick) + 4, 'text-anchor': 'end' }),
  ]);
  return { left, toY, grid };
}

/** A figure with its title, a note, and a legend. */
export const chartFigure = (
  title: string,
  note: string,
  svg: SafeHtml,
  legend: readonly SafeHtml[],
  className = 'chart',
) =>
  element(
    'figure',
    { class: className },
    element('figcaption', {}, textElement('b', title), text(` ${note}`)),
    svg,
    list(legend, { class: 'legend' }),
  );

/** A sign of a legend with its text. */
export const legendItem = (sign: SafeHtml, words: string): SafeHtml =>
  join([element('svg', { class: 'swatch', width: 18, height: 14, 'aria-hidden': 'true' }, sign), text(words)]);

const SIZE: PlotSize = { width: 640, height: 200, right: 12, top: 14, bottom: 30, left: 40 };

export function lineChart({ x, series, title, note, xName, kind }: LineChart): SafeHtml | null {
  const drawn = series.filter(({ values }) => values.some((value) => value !== null));
  if (drawn.length === 0 || x.length < 2) return null;
  const values = drawn.flatMap((one) => one.values.filter((value) => value !== null));
  const [least, most] = [minOf(values), maxOf(values)];
  const unit = unitFor(UNITS[kind], Math.max(Math.abs(least), Math.abs(most)));
  const axis = niceAxis(least, most, unit.size);
  const labels = axis.ticks.map((tick) => tickText(tick, axis.step, unit));
  const { width, height, right } = SIZE;
  const { left, toY, grid } = plotOf(axis, labels, SIZE);
  const [first, last] = [minOf(x), maxOf(x)];
  const toX = (value: number): number =>
    short(left + ((width - left - right) * (value - first)) / Math.max(1, last - first));
  const below = (words: string, at: number, anchor: 'start' | 'middle' | 'end'): SafeHtml =>
    textElement('text', words, { class: 'tick', x: at, y: height - 12, 'text-anchor': anchor });
  const svg = element(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title} by ${xName}: ${note}` },
    grid,
    below(formatCount(first), left, 'start'),
    below(formatCount(last), width - right, 'end'),
    below(xName, (left + width - right) / 2, 'middle'),
    drawn.map(({ values: line }, i) =>
      element('path', { class: `line l${i}`, d: pathOf(x, line, toX, toY), 'vector-effect': 'non-scaling-stroke' }),
    ),
  );
  const legend = drawn.map(({ name }, i) => legendItem(element('path', { class: `line l${i}`, d: 'M0 7H18' }), name));
  return chartFigure(title, note, svg, drawn.length > 1 ? legend : []);
}

const short = (value: number): number => Number(value.toFixed(1));

/** One path; a value that is missing leaves a gap. */
function pathOf(
  x: readonly number[],
  values: readonly (number | null)[],
  toX: (value: number) => number,
  toY: (value: number) => number,
): string {
  let path = '';
  let isOpen = false;
  for (const i of extremes(values)) {
    const value = values[i];
    if (value === null || value === undefined) {
      isOpen = false;
      continue;
    }
    path += `${isOpen ? 'L' : 'M'}${toX(x[i]!)} ${toY(value)}`;
    isOpen = true;
  }
  return path;
}

/**
 * Indexes of the points to draw: of each of equal parts the least and the greatest, in their order. A part without any
 * value gives one index, so that its gap is drawn.
 */
export function extremes(values: readonly (number | null)[], most = MOST_POINTS): number[] {
  const { length } = values;
  if (length <= most) return values.map((_, i) => i);
  const parts = Math.floor(most / 2);
  const chosen: number[] = [];
  for (let part = 0; part < parts; part += 1) {
    const from = Math.floor((part * length) / parts);
    const to = Math.floor(((part + 1) * length) / parts);
    let low = -1;
    let high = -1;
    for (let i = from; i < to; i += 1) {
      const value = values[i] ?? null;
      if (value === null) continue;
      if (low < 0 || value < values[low]!) low = i;
      if (high < 0 || value > values[high]!) high = i;
    }
    if (low < 0) chosen.push(from);
    else if (low === high) chosen.push(low);
    else chosen.push(Math.min(low, high), Math.max(low, high));
  }
  return chosen;
}

export interface NiceAxis {
  readonly base: number;
  readonly top: number;
  readonly ticks: readonly number[];
  readonly step: number;
}

/** Round values, multiples of a round number of `unit`, around all values. */
export function niceAxis(least: number, most: number, unit = 1): NiceAxis {
  const range = most > least ? most - least : Math.abs(most) * 0.1 || unit;
  const needed = range / TICKS / unit;
  const power = 10 ** Math.floor(Math.log10(needed));
  const steps = [...NICE, 10].map((nice) => nice * power * unit);
  const step = steps.find((one) => one >= needed * unit * (1 - 1e-9)) ?? steps.at(-1)!;
  const base = Math.floor(least / step + 1e-9) * step;
  const count = Math.max(1, Math.ceil((most - base) / step - 1e-9));
  const ticks = Array.from({ length: count + 1 }, (_, i) => base + i * step);
  return { base, top: ticks.at(-1)!, ticks, step };
}
