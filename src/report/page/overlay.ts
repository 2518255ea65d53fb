/** Axes, marks and the cursor on the upper canvas. Positions are CSS pixels. */
import type { PageDevice, PageMark } from '../../model/picture/page-data.js';
import type { Axis } from './axis.js';
import type { Frame } from './canvas.js';
import { cssOf, type Palette } from './palette.js';
import { axisTicks, stepTicks, type Tick } from './ticks.js';
import type { Loaded, ViewState } from './view-state.js';

/** The middle of the nearest pixel: lines of 1 pixel stay sharp. */
const crisp = (at: number): number => Math.round(at) + 0.5;

export function line(over: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  over.beginPath();
  over.moveTo(x0, y0);
  over.lineTo(x1, y1);
  over.stroke();
}

/** Labels left of the plot with short lines, and lines across the plot behind which the data is seen. */
export function drawBytes(
  frame: Frame,
  palette: Palette,
  ticks: readonly Tick[],
  yOf: (bytes: number) => number,
): void {
  const { over, plot } = frame;
  over.textAlign = 'right';
  for (const { at, text } of ticks) {
    const y = yOf(at);
    over.fillStyle = cssOf(palette.muted);
    over.fillText(text, plot.x - 8, y);
    over.strokeStyle = cssOf(palette.muted, 0.6);
    line(over, plot.x - 4, crisp(y), plot.x, crisp(y));
    over.strokeStyle = cssOf(palette.ink, 0.1);
    line(over, plot.x, crisp(y), plot.x + plot.width, crisp(y));
  }
}

/** CSS pixels below a plot for a second row of labels, of steps. */
export const stepsHeight = ({ steps }: PageDevice): number => (steps.length > 0 ? 14 : 0);

/** CSS pixels of one label of entries or times. */
const TICK_WIDTH = 90;

/** Begins and ends of steps, and below the plot entries, times or steps; with the first two, steps are a second row. */
export function drawHorizontal(frame: Frame, palette: Palette, loaded: Loaded, state: ViewState, axis: Axis): void {
  const { page, columns } = loaded;
  drawDashes(
    frame,
    palette,
    page.steps.flatMap(({ first, last }) => [axis.xOf(first), axis.xOf(last + 1)]),
  );
  const ticks = axisTicks(page, columns, state.axis, state, frame.plot.width / TICK_WIDTH);
  drawTicks(frame, palette, ticks, axis, state.axis);
  if (state.axis === 'step' || page.steps.length === 0) return;
  drawTicks(frame, palette, stepTicks(page, axis, state, frame.plot.width / 40), axis, 'step', 14);
}

/** Labels `below` the first row below the plot; one that would touch the label before it is left out. */
export function drawTicks(
  frame: Frame,
  palette: Palette,
  ticks: readonly Tick[],
  axis: Axis,
  title: string,
  below = 0,
): void {
  const { over, plot } = frame;
  const bottom = plot.y + plot.height;
  const y = bottom + 13 + below;
  over.strokeStyle = cssOf(palette.muted, 0.6);
  line(over, plot.x, bottom + 0.5, plot.x + plot.width, bottom + 0.5);
  over.fillStyle = cssOf(palette.muted);
  over.textAlign = 'right';
  over.fillText(title, plot.x - 8, y);
  over.textAlign = 'center';
  let taken = plot.x - 4;
  for (const { at, text, isMiddle } of ticks) {
    const x = plot.x + axis.xOf(at) * plot.width;
    if (x < plot.x - 0.5 || x > plot.x + plot.width + 0.5) continue;
    if (isMiddle !== true) line(over, crisp(x), bottom, crisp(x), bottom + 4);
    const half = over.measureText(text).width / 2;
    const middle = Math.min(frame.width - half, x);
    if (middle - half < taken) continue;
    over.fillText(text, middle, y);
    taken = middle + half + 10;
  }
}

/** Dashed lines at shares of the plot, unless they are too close. */
export function drawDashes({ over, plot }: Frame, palette: Palette, shares: readonly number[]): void {
  const places = new Set(shares.filter((x) => x > 0 && x < 1).map((x) => crisp(plot.x + x * plot.width)));
  if (places.size > plot.width / 8) return;
  over.strokeStyle = cssOf(palette.ink, 0.22);
  over.setLineDash([2, 3]);
  for (const x of places) line(over, x, plot.y, x, plot.y + plot.height);
  over.setLineDash([]);
}

const MARK_NAMES: Readonly<Record<PageMark['kind'], string>> = {
  oom: 'OOM',
  peak: 'peak',
  peak_reserved: 'peak reserved',
  snapshot: 'snapshot',
};

/** Marks of one kind whose lines meet in a pixel are one mark with their number. */
export function drawMarks(frame: Frame, palette: Palette, page: PageDevice, axis: Axis): void {
  const { over, plot } = frame;
  const free: { from: number; to: number }[] = [];
  const top = plot.y - 9;
  for (const kind of ['oom', 'peak', 'peak_reserved', 'snapshot'] as const) {
    const places = new Map<number, number>();
    for (const mark of page.marks) {
      if (mark.kind !== kind) continue;
      const x = axis.xOf(mark.seq);
      if (x < 0 || x > 1) continue;
      const place = crisp(plot.x + x * plot.width);
      places.set(place, (places.get(place) ?? 0) + 1);
    }
    const color = cssOf(kind === 'oom' ? palette.oom : palette.ink);
    over.fillStyle = color;
    over.strokeStyle = color;
    over.textAlign = 'left';
    for (const [x, count] of places) {
      if (kind === 'oom') line(over, x, plot.y, x, plot.y + plot.height);
      triangle(over, x, plot.y, kind === 'snapshot' ? 3 : 4);
      const text = `${MARK_NAMES[kind]}${count > 1 ? ` × ${count}` : ''}`;
      const width = over.measureText(text).width;
      // Left of its mark where the space right of it is too narrow.
      const right = { from: x + 6, to: x + 10 + width };
      const left = { from: x - 10 - width, to: x - 6 };
      const place = [right, left].find(
        ({ from, to }) =>
          from >= plot.x && to <= frame.width && free.every((other) => from >= other.to || to <= other.from),
      );
      if (place === undefined) continue;
      free.push(place);
      over.fillText(text, place.from + 2, top);
    }
  }
}

function triangle(over: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  over.beginPath();
  over.moveTo(x - size, y - size - 2);
  over.lineTo(x + size, y - size - 2);
  over.lineTo(x, y);
  over.fill();
}

/** A line of the ink between two of the background: it is seen on every colour. */
export function drawCursor(frame: Frame, palette: Palette, place: number): void {
  if (place < 0 || place > 1) return;
  const { over, plot } = frame;
  const x = crisp(plot.x + place * plot.width);
  over.strokeStyle = cssOf(palette.background, 0.8);
  over.lineWidth = 3;
  line(over, x, plot.y, x, plot.y + plot.height);
  over.lineWidth = 1;
  over.strokeStyle = cssOf(palette.ink);
  line(over, x, plot.y, x, plot.y + plot.height + 5);
  over.fillStyle = cssOf(palette.ink);
  over.fillRect(x - 2.5, plot.y + plot.height + 1, 5, 5);
}

/** A dashed line across the plot with its name. */
export function drawLimit(frame: Frame, palette: Palette, y: number, text: string): void {
  const { over, plot } = frame;
  over.strokeStyle = cssOf(palette.ink, 0.8);
  over.setLineDash([6, 4]);
  line(over, plot.x, crisp(y), plot.x + plot.width, crisp(y));
  over.setLineDash([]);
  label(frame, palette, plot.x + plot.width - 4, y - 9, text, 'right');
}

/** Text on a ground of the background. */
export function label(
  { over }: Frame,
  palette: Palette,
  x: number,
  y: number,
  text: string,
  align: 'left' | 'right' = 'left',
): void {
  const width = over.measureText(text).width;
  over.fillStyle = cssOf(palette.background, 0.85);
  over.fillRect(align === 'left' ? x - 3 : x - width - 3, y - 8, width + 6, 16);
  over.fillStyle = cssOf(palette.ink);
  over.textAlign = align;
  over.fillText(text, x, y);
}
