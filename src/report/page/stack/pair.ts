/**
 * Active memory of two devices on one axis, and below it how much more the second one has. Each pixel column shows the
 * highest state of its entries, of either device.
 */
import { visibleText } from '../../../model/escape-controls.js';
import type { Level } from '../../../model/picture/levels.js';
import { formatBytes } from '../../../model/units.js';
import type { Scale } from '../axis.js';
import { type Frame, isDark, newSurface, PLOT_LEFT, PLOT_RIGHT } from '../canvas.js';
import { announcer, element, setText } from '../dom.js';
import { showLegend, swatch } from '../legend.js';
import { levelsFor } from '../levels-for.js';
import { exactBytes } from '../names.js';
import { drawBytes, drawCursor, drawDashes, drawTicks, label, line } from '../overlay.js';
import { cssOf, type Palette, paletteOf, word } from '../palette.js';
import { highestOf, newPicks, pickColumns } from '../pick.js';
import { fillRect, type Raster } from '../raster.js';
import { byteTicks } from '../ticks.js';
import { createShared, type Loaded, type Shared, type View } from '../view-state.js';
import { attachCourse } from '../zoom.js';
import { pairAxis } from './pair-axis.js';
import { activeAt, drawLine } from './stack-raster.js';

const HEIGHT = 470;
const INSETS = { left: PLOT_LEFT, right: PLOT_RIGHT, top: 10, bottom: 26 };
/** Of the plot: the totals, a gap, and below it the difference. */
const TOTALS = 0.62;
const GAP = 0.05;

const HELP =
  'Wheel or + and −: zoom. Drag or Page Up and Page Down: move. Click or ← and →: cursor. o: next OOM. ' +
  'p: largest difference of the view. n: next step. 0 or double click: everything.';

/** Words of `ImageData`. */
interface PairColors {
  readonly aFill: number;
  readonly a: number;
  readonly b: number;
  /** b has more: hatched. */
  readonly more: number;
  readonly less: number;
}

const LIGHT: PairColors = colors('#d5e6f2', '#006eab', '#bd5300', '#d98245', '#008d66');
const DARK: PairColors = colors('#17384d', '#56b4e9', '#e69f00', '#d55e00', '#009e73');

function colors(aFill: string, a: string, b: string, more: string, less: string): PairColors {
  return { aFill: word(aFill), a: word(a), b: word(b), more: word(more), less: word(less) };
}

/** Has its own range and cursor: entries of two devices are not the same. `shared` is not changed. */
export function mountPair(root: HTMLElement, pair: readonly [Loaded, Loaded], _shared: Shared): View {
  const [a, b] = pair;
  const axis = pairAxis(a.page, b.page);
  const highest = Math.max(1, highestOf(a.columns.levels, 'active'), highestOf(b.columns.levels, 'active')) * 1.06;
  const titles = pair.map(({ page }) => visibleText(page.title));
  const readout = element('p', 'readout');
  const spoken = element('p');
  const speak = announcer(spoken);
  const legend = element('p', 'legend pair-legend');
  const how = axis.by === 'step' ? 'Steps of the same name are at the same place.' : 'No step has a name in both.';
  const sentence = `Active memory of a (${titles[0]}) and b (${titles[1]}), and their difference. ${how}`;
  root.append(legend, readout, spoken);
  const surface = newSurface(root, HEIGHT, INSETS, sentence);
  root.append(element('p', 'note', `${how} Each column shows the highest state of its entries.`));
  root.append(element('p', 'keys', HELP));

  const local = createShared({ device: 0, from: 0, to: axis.end, axis: 'step', cursor: 0, stack: null });
  const scale: Scale = { valueOf: (place) => place, seqOf: (place) => place };
  let picks = [newPicks(0), newPicks(0)] as const;
  let levels: readonly [readonly Level[], readonly Level[]] = [[], []];
  const activeOf = (device: 0 | 1, x: number): number => activeAt(levels[device], picks[device], x);
  const differenceAt = (x: number): number => activeOf(1, x) - activeOf(0, x);
  const largestAt = (): number => {
    let best = 0;
    for (let x = 1; x < picks[0].width; x += 1)
      if (!(Math.abs(differenceAt(x)) <= Math.abs(differenceAt(best)))) best = Number.isNaN(differenceAt(x)) ? best : x;
    const { from, to } = local.get();
    return from + ((best + 0.5) / Math.max(1, picks[0].width)) * (to - from);
  };
  const ooms = pair.flatMap(({ page }, i) =>
    page.marks.filter(({ kind }) => kind === 'oom').map(({ seq }) => axis.placeOf(i as 0 | 1, seq)),
  );
  attachCourse(surface.canvas, INSETS, {
    shared: local,
    bounds: { first: 0, end: axis.end, least: axis.by === 'step' ? axis.end / 100_000 : Math.min(8, axis.end) },
    scale: () => scale,
    stride: null,
    cursorAt: (from, to) => (from + to) / 2,
    jump: (key, cursor) => {
      const next = (places: readonly number[]): number | null =>
        places.find((place) => place > cursor + 1e-9) ?? places[0] ?? null;
      if (key === 'o') return next([...ooms].sort((one, other) => one - other));
      if (key === 'n') return next(axis.starts);
      return key === 'p' ? largestAt() : null;
    },
  });

  let drawn: readonly unknown[] = [];
  let extent = { low: -1, high: 1 };
  const drawRaster = (raster: Raster, ratio: number, dark: boolean, palette: Palette): void => {
    const { from, to } = local.get();
    const now = [from, to, raster, dark];
    if (now.every((value, i) => value === drawn[i])) return;
    drawn = now;
    const { width } = raster;
    if (picks[0].width !== width) picks = [newPicks(width), newPicks(width)];
    const pick = (device: 0 | 1): readonly Level[] => {
      const seqOf = (x: number): number => axis.seqOf(device, from + x * (to - from));
      const pairLevels = levelsFor(pair[device], seqOf(0), Math.max(seqOf(1), seqOf(0) + 1), width * 2);
      pickColumns(pairLevels, seqOf, picks[device]);
      return pairLevels;
    };
    levels = [pick(0), pick(1)];
    let [low, high] = [0, 0];
    for (let x = 0; x < width; x += 1) {
      const difference = differenceAt(x);
      if (difference < low) low = difference;
      if (difference > high) high = difference;
    }
    const space = Math.max(1, (high - low) * 0.08);
    extent = { low: low - space, high: high + space };
    drawPair(raster, { activeOf, differenceAt, extent, highest, ratio, palette, colors: dark ? DARK : LIGHT });
    surface.put();
  };

  const drawOver = (frame: Frame, palette: Palette): void => {
    const { over, plot } = frame;
    const { from, to, cursor } = local.get();
    const view = { xOf: (place: number) => (place - from) / (to - from), seqOf: (x: number) => from + x * (to - from) };
    const totals = plot.height * TOTALS;
    const below = plot.height * (1 - TOTALS - GAP);
    const lower = plot.y + plot.height - below;
    drawBytes(frame, palette, byteTicks(0, highest, totals / 48), (bytes) => plot.y + totals * (1 - bytes / highest));
    const yOf = (bytes: number): number => lower + ((extent.high - bytes) / (extent.high - extent.low)) * below;
    drawBytes(frame, palette, byteTicks(extent.low, extent.high, below / 40, true), yOf);
    drawDashes(frame, palette, axis.starts.map(view.xOf));
    drawTicks(frame, palette, axis.ticks(from, to, plot.width / 90), view, axis.by);
    label(frame, palette, plot.x + 6, plot.y + 10, 'active');
    label(frame, palette, plot.x + 6, lower + 10, 'difference, b − a');
    over.strokeStyle = cssOf(palette.oom);
    for (const place of ooms) {
      const x = Math.round(plot.x + view.xOf(place) * plot.width) + 0.5;
      if (x < plot.x || x > plot.x + plot.width) continue;
      line(over, x, plot.y, x, plot.y + plot.height);
      label(frame, palette, x - 6, plot.y + 10, 'OOM', 'right');
    }
    drawCursor(frame, palette, view.xOf(cursor));
  };

  let shownDark: boolean | null = null;
  let isFirst = true;
  const draw = (): void => {
    const dark = isDark();
    const palette = paletteOf(a.page.components, dark);
    const { a: lineA, b: lineB, more, less } = dark ? DARK : LIGHT;
    if (dark !== shownDark)
      showLegend(legend, [
        ...[swatch(`a: ${titles[0]}`, lineA), swatch(`b: ${titles[1]}`, lineB)],
        ...[swatch('b has more', more, true), swatch('b has less', less)],
      ]);
    shownDark = dark;
    const frame = surface.frame();
    drawRaster(frame.raster, frame.ratio, dark, palette);
    if (isFirst) local.set({ cursor: largestAt() });
    isFirst = false;
    drawOver(frame, palette);
    const { from, to, cursor } = local.get();
    const x = Math.floor(((cursor - from) / (to - from)) * picks[0].width);
    const isVisible = x >= 0 && x < picks[0].width;
    const [ofA, ofB] = [activeOf(0, isVisible ? x : 0), activeOf(1, isVisible ? x : 0)];
    const name = axis.nameAt(cursor);
    const text = isVisible
      ? `${name.charAt(0).toUpperCase()}${name.slice(1)}: a ${bytesOr(ofA)}, b ${bytesOr(ofB)}, difference ${signed(ofB - ofA)}.`
      : 'The cursor is outside of the view.';
    const exact = isVisible ? `a ${exactOr(ofA)}, b ${exactOr(ofB)}, difference ${exactOr(ofB - ofA)}` : '';
    setText(readout, text, exact);
    speak(text);
  };
  local.subscribe(draw);
  return { draw };
}

interface PairDrawing {
  activeOf(device: 0 | 1, x: number): number;
  differenceAt(x: number): number;
  readonly extent: { readonly low: number; readonly high: number };
  readonly highest: number;
  readonly ratio: number;
  readonly palette: Palette;
  readonly colors: PairColors;
}

function drawPair(
  raster: Raster,
  { activeOf, differenceAt, extent, highest, ratio, palette, colors }: PairDrawing,
): void {
  const { width, height } = raster;
  fillRect(raster, 0, 0, width, height, palette.background);
  const thick = Math.max(1, Math.round(ratio * 1.5));
  // The lines are drawn in the upper part: the same pixels, fewer rows.
  const totals = Math.round(height * TOTALS);
  const upper: Raster = { width, height: totals, pixels: raster.pixels };
  for (let x = 0; x < width; x += 1) {
    const bytes = activeOf(0, x);
    if (!Number.isNaN(bytes)) fillRect(upper, x, totals * (1 - bytes / highest), x + 1, totals, colors.aFill);
  }
  const look = { palette, low: 0, high: highest, line: thick, hasSeparators: false };
  drawLine(upper, look, colors.a, (x) => activeOf(0, x));
  drawLine(upper, look, colors.b, (x) => activeOf(1, x));
  fillRect(raster, 0, totals, width, totals + Math.max(1, Math.round(ratio)), palette.grid);
  const below = height * (1 - TOTALS - GAP);
  const rowOf = (bytes: number): number =>
    Math.round(height - below + ((extent.high - bytes) / (extent.high - extent.low)) * below);
  const zero = rowOf(0);
  for (let x = 0; x < width; x += 1) {
    const difference = differenceAt(x);
    if (difference > 0) fillRect(raster, x, rowOf(difference), x + 1, zero, colors.more, true);
    else if (difference < 0) fillRect(raster, x, zero, x + 1, rowOf(difference), colors.less);
  }
  fillRect(raster, 0, zero, width, zero + Math.max(1, Math.round(ratio)), palette.ink);
}

const bytesOr = (bytes: number): string => (Number.isNaN(bytes) ? '—' : formatBytes(bytes));
const exactOr = (bytes: number): string => (Number.isNaN(bytes) ? '—' : exactBytes(bytes));
const signed = (bytes: number): string => (Number.isNaN(bytes) ? '—' : `${bytes > 0 ? '+' : ''}${formatBytes(bytes)}`);
