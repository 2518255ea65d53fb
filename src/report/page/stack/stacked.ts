/**
 * Memory by component over the visible entries: components from the bottom, above them free memory of private pools and
 * cached memory, with lines of what is reserved and of the device, marks and the cursor.
 */
import type { Level } from '../../../model/picture/levels.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { AXIS_KINDS, type Axis, axisOf, missingAxis } from '../axis.js';
import { type Frame, isDark, newSurface, PLOT_LEFT, PLOT_RIGHT } from '../canvas.js';
import { choice, element, setText } from '../dom.js';
import { levelsFor } from '../levels-for.js';
import { componentName, entriesCommand, momentName, stackedSentence } from '../names.js';
import { drawBytes, drawCursor, drawHorizontal, drawLimit, drawMarks, label, stepsHeight } from '../overlay.js';
import { type Palette, paletteOf } from '../palette.js';
import { highestOf, newPicks, type Picks, pickColumns } from '../pick.js';
import { bucketState } from '../state-at.js';
import { byteTicks } from '../ticks.js';
import { attachTip } from '../tip.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { attachZoom } from '../zoom.js';
import { mountOverview } from './overview.js';
import { mountReadout } from './readout.js';
import { changeExtent, drawChange, drawLine, drawStack } from './stack-raster.js';

type Mode = 'absolute' | 'change';

const HEIGHT = 420;
/** The line of the device is part of the picture if the picture does not get more than this many times as high. */
const DEVICE_TIMES = 1.5;

const HELP =
  'Wheel or + and −: zoom. Drag or Page Up and Page Down: move. Click or ← and →: cursor (with Shift by a pixel). ' +
  'Home, End: first and last entry. o: next OOM. p: peak. n: next step. 0 or double click: whole trace.';

export function mountStacked(root: HTMLElement, loaded: Loaded, shared: Shared): View {
  const { page, columns } = loaded;
  let mode: Mode = 'absolute';
  const highest = Math.max(highestOf(columns.levels, 'active'), highestOf(columns.levels, 'reservedMost'));
  const showsDevice = page.deviceTotalBytes !== null && page.deviceTotalBytes <= highest * DEVICE_TIMES;
  const high = Math.max(1, highest, showsDevice ? page.deviceTotalBytes! : 0) * 1.06;

  const tools = element('div', 'tools');
  const axes = choice(
    'Horizontal axis',
    AXIS_KINDS.map((kind) => [kind, kind, missingAxis(page, kind)] as const),
    (axis) => shared.set({ axis }),
  );
  const modes = choice<Mode>(
    'Show',
    [
      ['absolute', 'absolute'],
      ['change', 'difference from the start of the view'],
    ],
    (chosen) => {
      mode = chosen;
      draw(shared.get());
    },
  );
  tools.append(axes.root, modes.root);
  if (page.isDump) root.append(element('p', 'note', 'No trace was recorded: the only state is the dumped one.'));
  if (page.basis === 'approximate')
    root.append(element('p', 'note', 'Approximate: the trace contradicts the rules of the allocator.'));
  const line = element('div');
  const body = element('div', 'chart-and-list');
  const chart = element('div', 'chart');
  const list = element('div', 'list');
  body.append(chart, list);
  root.append(tools, line, body);
  const overview = mountOverview(chart, loaded, shared, high);
  const insets = { left: PLOT_LEFT, right: PLOT_RIGHT, top: 22, bottom: 26 + stepsHeight(page) };
  const surface = newSurface(chart, HEIGHT, insets, stackedSentence(page));
  const note = element('p', 'note');
  chart.append(note, element('p', 'keys', HELP));
  const readout = mountReadout(line, list, loaded);
  attachZoom(surface.canvas, loaded, shared);

  let palette: Palette = paletteOf(page.components, isDark());
  let wasDark = isDark();
  let picks: Picks = newPicks(0);
  let levels: readonly Level[] = [];
  let drawn: readonly unknown[] = [];
  let extent = { low: 0, high };

  const drawRaster = (frame: Frame, axis: Axis, state: ViewState): void => {
    const { raster, ratio } = frame;
    const now = [state.from, state.to, state.axis, mode, raster, wasDark];
    if (now.every((value, i) => value === drawn[i])) return;
    drawn = now;
    if (picks.width !== raster.width) picks = newPicks(raster.width);
    // Entries are not spread evenly over the other axes: some are wide there.
    levels = levelsFor(loaded, state.from, state.to, raster.width * (state.axis === 'entry' ? 1 : 4));
    pickColumns(levels, axis.seqOf, picks);
    extent = mode === 'absolute' ? { low: 0, high } : padded(changeExtent(levels, picks));
    const look = { palette, ...extent, line: Math.max(1, Math.round(ratio)), hasSeparators: true };
    if (mode === 'absolute') {
      drawStack(raster, levels, picks, look);
      drawLine(raster, look, palette.ink, (x) => (picks.level[x]! < 0 ? Number.NaN : picks.reservedMost[x]!));
    } else drawChange(raster, levels, picks, look);
    surface.put();
    const isCoarse = picks.longest > 2 * ratio;
    const command = entriesCommand(page, Math.floor(state.from), Math.ceil(state.to) - 1);
    setText(
      note,
      isCoarse ? `One column is ${formatCount(picks.longestEntries)} entries here; the entries: ${command}` : '',
    );
  };

  const drawOver = (frame: Frame, axis: Axis, state: ViewState): void => {
    const { plot } = frame;
    const yOf = (bytes: number): number => plot.y + ((extent.high - bytes) / (extent.high - extent.low)) * plot.height;
    drawBytes(frame, palette, byteTicks(extent.low, extent.high, plot.height / 48, mode === 'change'), yOf);
    drawHorizontal(frame, palette, loaded, state, axis);
    drawMarks(frame, palette, page, axis);
    const total = page.deviceTotalBytes;
    if (mode === 'absolute' && total !== null) {
      const text = `device ${formatBytes(total)}`;
      if (showsDevice) drawLimit(frame, palette, yOf(total), text);
      else label(frame, palette, plot.x + plot.width - 4, plot.y + 10, `${text}: above the picture`, 'right');
    }
    drawCursor(frame, palette, axis.xOf(state.cursor));
  };

  const draw = (state: ViewState): void => {
    if (wasDark !== isDark()) {
      wasDark = isDark();
      palette = paletteOf(page.components, wasDark);
    }
    axes.show(state.axis);
    modes.show(mode);
    overview.draw(state);
    const frame = surface.frame();
    const axis = axisOf(page, columns, state);
    drawRaster(frame, axis, state);
    drawOver(frame, axis, state);
    readout.show(state, palette);
  };

  attachTip(surface.canvas, surface.root, ({ offsetX: x, offsetY: y }) => ({
    lines: linesAt((x - insets.left) / plotWidth(), (y - insets.top) / PLOT_HEIGHT),
  }));
  const plotWidth = (): number => surface.canvas.clientWidth - insets.left - insets.right;
  const PLOT_HEIGHT = HEIGHT - insets.top - insets.bottom;

  /** What a place of the plot shows. */
  const linesAt = (right: number, down: number): string[] => {
    const x = Math.floor(right * picks.width);
    if (x < 0 || x >= picks.width || down < 0 || down > 1 || picks.level[x]! < 0) return [];
    const at = bucketState(levels[picks.level[x]!]!, picks.column[x]!);
    const totals = `${formatBytes(at.active)} active, ${formatBytes(at.reserved)} reserved`;
    const moment = momentName(page, at);
    if (mode === 'change') return [totals, moment];
    const bytes = extent.high * (1 - down);
    let sum = 0;
    for (const [c, name] of page.components.entries()) {
      sum += at.components[c]!;
      if (bytes < sum) return [`${componentName(name)}: ${formatBytes(at.components[c]!)}`, totals, moment];
    }
    const privateFree = Math.max(0, at.privateReserved - at.privateActive);
    if (bytes < sum + privateFree) return [`private pools, free: ${formatBytes(privateFree)}`, totals, moment];
    const cached = at.reserved - at.active - privateFree;
    return bytes < at.reserved ? [`cached, free: ${formatBytes(cached)}`, totals, moment] : [totals, moment];
  };

  return { draw };
}

/** With some space, and never empty. */
function padded({ low, high }: { readonly low: number; readonly high: number }): { low: number; high: number } {
  const space = Math.max(1, (high - low) * 0.06);
  return { low: low - space, high: high + space };
}
