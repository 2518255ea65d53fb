/**
 * A stacked area chart of a device's memory in characters: allocated, pending and inactive bytes over time, with marks
 * below. Pure: the same series gives the same lines. Eighth blocks (U+2581 to U+2588) draw the edge of the allocated
 * area to an eighth of a row; shades draw the other areas.
 */
import { GIB, KIB, MIB } from '../model/units.js';

/** One slice of the series; the maxima are stacked as envelopes: allocated ≤ active ≤ reserved. */
export interface ChartColumn {
  readonly allocatedMinBytes: number;
  readonly allocatedMaxBytes: number;
  readonly activeMaxBytes: number;
  readonly reservedMaxBytes: number;
}

/** A sign below the chart at a place from 0 (left) to 1. Where two meet, the one given first stays. */
export interface ChartMark {
  readonly at: number;
  readonly sign: string;
}

/** A line of labels below the axis. A label keeps its position if there is space for it. */
export interface ChartScale {
  readonly title: string;
  readonly labels: readonly { readonly at: number; readonly text: string }[];
}

/** A line of marks; `title` is in the gutter. */
export interface ChartLane {
  readonly title: string;
  readonly marks: readonly ChartMark[];
}

export interface ChartSpec {
  /** Equal slices from left to right, at least one: stretched to the width, or folded with least and most kept. */
  readonly columns: readonly ChartColumn[];
  /** Of the whole chart with its gutter. */
  readonly width: number;
  /** Rows of the area itself. */
  readonly height: number;
  readonly ascii: boolean;
  readonly lanes: readonly ChartLane[];
  readonly scales: readonly ChartScale[];
}

/** Columns left of the plot: a label of six characters, a blank, the axis. */
export const GUTTER = 8;
export const EIGHTHS = ' ▁▂▃▄▅▆▇█';

interface Signs {
  readonly full: string;
  readonly sometimes: string;
  readonly pending: string;
  readonly inactive: string;
  readonly axis: string;
  readonly tick: string;
  readonly corner: string;
  readonly floor: string;
}

const BLOCKS: Signs = {
  full: '█',
  sometimes: '▓',
  pending: '▒',
  inactive: '░',
  axis: '│',
  tick: '┤',
  corner: '└',
  floor: '─',
};
const ASCII: Signs = {
  full: '#',
  sometimes: '+',
  pending: 'o',
  inactive: '.',
  axis: '|',
  tick: '+',
  corner: '+',
  floor: '-',
};

export function chartSigns(ascii: boolean): Signs {
  return ascii ? ASCII : BLOCKS;
}

/** The chart's lines, without trailing blanks, none longer than `width`. */
export function chart(spec: ChartSpec): string[] {
  const signs = chartSigns(spec.ascii);
  const width = Math.max(1, spec.width - GUTTER);
  const height = Math.max(1, spec.height);
  const columns = fold(spec.columns, width);
  const scale = verticalScale(highest(columns), height);
  const cells = columns.map((column) => drawColumn(column, scale.topBytes, height, signs, spec.ascii));
  const lines: string[] = [gutter(scale.unit)];
  for (let row = height - 1; row >= 0; row -= 1) {
    const label = scale.labels.get(row + 1);
    lines.push(
      `${gutter(label ?? '')} ${label === undefined ? signs.axis : signs.tick}${cells.map((cell) => cell[row]).join('')}`,
    );
  }
  lines.push(`${gutter('0')} ${signs.corner}${signs.floor.repeat(width)}`);
  for (const lane of spec.lanes) lines.push(`${gutter(lane.title)}  ${laneText(lane.marks, width)}`);
  for (const { title, labels } of spec.scales) lines.push(`${gutter(title)}  ${labelText(labels, width)}`);
  return lines.map((line) => line.trimEnd());
}

export function gutter(text: string): string {
  return text.slice(0, GUTTER - 2).padStart(GUTTER - 2);
}

/** Of a trace that contradicts itself the active bytes may exceed the reserved ones. */
function highest(columns: readonly ChartColumn[]): number {
  return columns.reduce((most, column) => Math.max(most, column.reservedMaxBytes, column.activeMaxBytes), 0);
}

/** Exactly `width` columns. */
function fold(columns: readonly ChartColumn[], width: number): ChartColumn[] {
  const count = columns.length;
  if (count === 0) throw new Error('a chart needs a column');
  return Array.from({ length: width }, (_, i) => {
    const from = Math.floor((i * count) / width);
    // Stretched, each slice keeps to itself; folded, a column takes every slice it touches, so that none is lost at an
    // edge.
    const to = count <= width ? from : Math.ceil(((i + 1) * count) / width) - 1;
    const folded = { ...columns[from]! };
    for (const column of columns.slice(from + 1, to + 1)) {
      folded.allocatedMinBytes = Math.min(folded.allocatedMinBytes, column.allocatedMinBytes);
      folded.allocatedMaxBytes = Math.max(folded.allocatedMaxBytes, column.allocatedMaxBytes);
      folded.activeMaxBytes = Math.max(folded.activeMaxBytes, column.activeMaxBytes);
      folded.reservedMaxBytes = Math.max(folded.reservedMaxBytes, column.reservedMaxBytes);
    }
    return folded;
  });
}

/** Characters of one column, from the bottom up. */
function drawColumn(column: ChartColumn, topBytes: number, height: number, signs: Signs, ascii: boolean): string[] {
  // Whatever there is at all is drawn: a sliver of memory and none are different answers.
  const eighths = (bytes: number): number =>
    bytes <= 0 ? 0 : Math.max(1, Math.round((bytes / topBytes) * height * 8));
  const least = eighths(column.allocatedMinBytes);
  const allocated = eighths(column.allocatedMaxBytes);
  const active = eighths(column.activeMaxBytes);
  const reserved = eighths(column.reservedMaxBytes);
  return Array.from({ length: height }, (_, row) => {
    const low = row * 8;
    const half = low + 4;
    if (allocated >= low + 8 || (ascii && allocated >= half)) return least >= half ? signs.full : signs.sometimes;
    if (allocated > low && !ascii) return EIGHTHS[allocated - low]!;
    if (active >= half) return signs.pending;
    if (reserved >= half) return signs.inactive;
    if (row > 0) return ' ';
    if (ascii && allocated > 0) return least > 0 ? signs.full : signs.sometimes;
    return active > 0 ? signs.pending : reserved > 0 ? signs.inactive : ' ';
  });
}

interface VerticalScale {
  readonly unit: string;
  readonly topBytes: number;
  /** By the number of rows below the label's line: it names the upper edge of its row. */
  readonly labels: ReadonlyMap<number, string>;
}

const UNITS = [
  ['GiB', GIB],
  ['MiB', MIB],
  ['KiB', KIB],
  ['B', 1],
] as const;
export const NICE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** A top a little above `mostBytes` that makes every fourth of the height or so a round number. */
function verticalScale(mostBytes: number, height: number): VerticalScale {
  const [unit, unitBytes] = UNITS.find(([, bytes]) => mostBytes >= bytes) ?? UNITS[3];
  const rowsPerTick = Math.max(1, Math.min(height, Math.max(2, Math.round(height / 4))));
  const least = mostBytes <= 0 ? 1 : ((mostBytes / unitBytes) * rowsPerTick) / height;
  const power = 10 ** Math.floor(Math.log10(least));
  // Sums such as 0.1 + 0.2 must not push a series that fits exactly to the next step.
  const step = power * NICE.find((nice) => nice * power >= least * (1 - 1e-9))!;
  const labels = new Map<number, string>();
  for (let row = rowsPerTick; row <= height; row += rowsPerTick)
    labels.set(row, String(Number(((step * row) / rowsPerTick).toPrecision(4))));
  return { unit, topBytes: ((step * height) / rowsPerTick) * unitBytes, labels };
}

function columnAt(at: number, width: number): number {
  return Math.min(width - 1, Math.max(0, Math.floor(at * width)));
}

export function laneText(marks: readonly ChartMark[], width: number): string {
  const cells = new Array<string>(width).fill(' ');
  for (const { at, sign } of marks) {
    const column = columnAt(at, width);
    if (cells[column] === ' ') cells[column] = sign;
  }
  return cells.join('');
}

/**
 * Each label is centred on its position; the outer labels stay inside the plot. A label that would touch or repeat an
 * earlier one is left out.
 */
export function labelText(labels: ChartScale['labels'], width: number): string {
  let text = ''.padEnd(width);
  // The first and last labels have priority; the others follow where there is space.
  const order = [labels[0], labels.at(-1), ...labels.slice(1, -1)];
  const written = new Set<string>();
  for (const label of new Set(order)) {
    if (label === undefined || label.text.length > width || written.has(label.text)) continue;
    const middle = Math.round(label.at * (width - 1) - (label.text.length - 1) / 2);
    const from = Math.min(width - label.text.length, Math.max(0, middle));
    const gap = text.slice(Math.max(0, from - 2), from + label.text.length + 2);
    if (gap.trim() !== '') continue;
    written.add(label.text);
    text = text.slice(0, from) + label.text + text.slice(from + label.text.length);
  }
  return text;
}
