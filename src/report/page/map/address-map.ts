/**
 * Addresses × entries: each block is a rectangle where it was, for as long as it was there. Ranges that were never
 * reserved are left out, so rows are bytes of address space and not addresses.
 */
import { shellWord, visibleText } from '../../../model/escape-controls.js';
import { counted, formatBytes, formatCount } from '../../../model/units.js';
import { type Axis, axisOf } from '../axis.js';
import { type Frame, isDark, newSurface, PLOT_LEFT, PLOT_RIGHT } from '../canvas.js';
import { choice, element, setLabel, setText } from '../dom.js';
import { rampGradient, rampOf } from '../flame/ramp.js';
import { type LegendItem, showLegend, swatch } from '../legend.js';
import { entryOf, isWholeAt } from '../live-at.js';
import { addressOf, componentName, momentWords, siteOf } from '../names.js';
import { drawBytes, drawCursor, drawHorizontal, drawMarks, line, stepsHeight } from '../overlay.js';
import { cssOf, type Palette, paletteOf } from '../palette.js';
import { holesAt, type LayoutAt } from '../segments/holes-at.js';
import { byteTicks } from '../ticks.js';
import { attachTip } from '../tip.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { attachZoom } from '../zoom.js';
import { blockLines, freeWords, poolOf } from './block-lines.js';
import { blockColors, followsCursor, MAP_MODES, type MapMode, mutedOf } from './map-colors.js';
import {
  type BlockColors,
  boxAt,
  drawBoxes,
  drawSegments,
  layoutBoxes,
  newBoxes,
  outlineStack,
  type Rows,
} from './map-raster.js';
import { attachRows } from './map-rows.js';

const HEIGHT = 560;
/** CSS pixels a range must be high for a line between it and the next one. */
const LEAST_BAND = 10;

const SIZES = [
  [0, 'all sizes'],
  [1024 ** 2, 'at least 1 MiB'],
  [20 * 1024 ** 2, 'at least 20 MiB'],
  [100 * 1024 ** 2, 'at least 100 MiB'],
  [1024 ** 3, 'at least 1 GiB'],
] as const;

export function mountMap(root: HTMLElement, loaded: Loaded, shared: Shared): View {
  const { page, columns } = loaded;
  const insets = { left: PLOT_LEFT, right: PLOT_RIGHT, top: 20, bottom: 24 + stepsHeight(page) };
  const total = columns.bands.reduce((sum, band) => sum + band.bytes, 0);
  const view = { mode: 'component' as MapMode, leastBytes: 0, isAlive: false, rows: { low: 0, high: total } as Rows };
  const redraw = (): void => draw(shared.get());

  const modes = choice('Colour', MAP_MODES, (mode) => {
    view.mode = mode;
    redraw();
  });
  const alive = element('button', '', 'alive at the cursor');
  alive.type = 'button';
  alive.setAttribute('aria-pressed', 'false');
  alive.addEventListener('click', () => {
    view.isAlive = !view.isAlive;
    alive.setAttribute('aria-pressed', String(view.isAlive));
    redraw();
  });
  const sizes = element('select');
  sizes.setAttribute('aria-label', 'Blocks that are drawn');
  for (const [bytes, text] of SIZES) sizes.append(new Option(text, String(bytes)));
  sizes.addEventListener('change', () => {
    view.leastBytes = Number(sizes.value);
    redraw();
  });
  const filters = element('div', 'choice');
  filters.append(element('span', 'choice-label', 'Show'), sizes);
  const tools = element('div', 'tools');
  tools.append(modes.root, filters, alive);
  root.append(tools);
  const surface = newSurface(root, HEIGHT, insets, 'Address map');
  const legend = element('div', 'legend');
  const selection = element('p', 'note');
  root.append(legend, selection, ...droppedNote(loaded));
  root.append(
    element(
      'p',
      'keys',
      'Wheel: zoom entries. Ctrl + wheel or [ and ]: zoom addresses. Shift + drag or { and }: move addresses. ' +
        'Double click: everything. Click: select the stack of a block.',
    ),
  );

  const { canvas } = surface;
  attachRows(canvas, insets, total, {
    get: () => view.rows,
    set: (rows) => {
      view.rows = rows;
      redraw();
    },
  });
  attachZoom(canvas, loaded, shared);

  const boxes = newBoxes(columns.blocks.count);
  const present = presentIn(loaded);
  let boxesKey = '';
  let colors: BlockColors | null = null;
  let colorsKey = '';
  let rasterKey = '';
  let frame: Frame | null = null;

  /** The block below the pointer; −1: none. */
  const blockBelow = (event: MouseEvent): number => {
    if (frame === null) return -1;
    const x = Math.floor((event.offsetX - insets.left) * frame.ratio);
    const y = Math.floor((event.offsetY - insets.top) * frame.ratio);
    const at = boxAt(boxes, x, y);
    return at < 0 ? -1 : boxes.block[at]!;
  };
  canvas.addEventListener('click', (event) => {
    const block = blockBelow(event);
    if (block < 0) return shared.set({ stack: null });
    const { from, to, stack } = columns.blocks;
    // The cursor is at an entry of the pixel; of the entries there, the block may have only some.
    const cursor = Math.min(to[block]! - 1, page.lastSeq, Math.max(from[block]!, page.firstSeq, shared.get().cursor));
    shared.set({ cursor, stack: stack[block]! < 0 ? null : stack[block]! });
  });
  attachTip(canvas, surface.root, (event) => {
    const block = blockBelow(event);
    return { lines: block >= 0 ? blockLines(loaded, block) : placeLines(event), link: block >= 0 };
  });

  const placeLines = (event: MouseEvent): string[] => {
    if (frame === null) return [];
    const { plot } = frame;
    const x = (event.offsetX - plot.x) / plot.width;
    const y = (event.offsetY - plot.y) / plot.height;
    if (x < 0 || x >= 1 || y < 0 || y >= 1) return [];
    const seq = Math.floor(axisOf(page, columns, shared.get()).seqOf(x));
    const place = view.rows.high - y * (view.rows.high - view.rows.low);
    const { segments } = columns;
    for (let i = 0; i < segments.count; i += 1) {
      if (segments.from[i]! > seq || segments.to[i]! <= seq) continue;
      if (place < segments.place[i]! || place >= segments.place[i]! + segments.bytes[i]!) continue;
      const [isSmall, isPrivate] = [segments.isSmall[i] === 1, segments.isPrivate[i] === 1];
      const isExpandable = segments.isExpandable[i] === 1;
      const pool = poolOf({ isSmall, isPrivate, isExpandable, stream: segments.stream[i]! });
      return [
        freeWords(isWholeAt(page, seq)),
        `segment of ${formatBytes(segments.bytes[i]!)}: ${pool}`,
        `begins at ${addressOf(columns, segments.place[i]!)}`,
      ];
    }
    return ['not reserved', addressOf(columns, place)];
  };

  function draw(state: ViewState): void {
    frame = surface.frame();
    const { raster } = frame;
    const palette = paletteOf(page.components, isDark());
    const ramp = rampOf(isDark());
    const axis = axisOf(page, columns, state);
    const seq = entryOf(page, state.cursor);
    const { mode, leastBytes, isAlive, rows } = view;
    const course = [state.from, state.to, state.axis, raster.width, raster.height, rows.low, rows.high].join(' ');
    const shown = [course, leastBytes, isAlive ? seq : '', state.stack].join(' ');
    if (boxesKey !== shown) {
      boxesKey = shown;
      layoutBoxes(boxes, loaded, axis, rows, raster, {
        leastBytes,
        aliveAt: isAlive ? seq : null,
        stack: state.stack,
      });
      rasterKey = '';
    }
    const look = [mode, palette.background, state.stack, followsCursor(mode) ? seq : ''].join(' ');
    if (colors === null || colorsKey !== look) {
      colorsKey = look;
      const at = (): LayoutAt => holesAt(page, columns, seq);
      colors = blockColors(mode, loaded, at, state.stack, palette, ramp);
      showLegend(legend, legendOf(mode, loaded, present, palette, ramp));
    }
    if (rasterKey !== look) {
      rasterKey = look;
      raster.pixels.fill(palette.background);
      drawSegments(raster, page, columns.segments, axis, rows, palette);
      drawBoxes(raster, boxes, colors);
      if (state.stack !== null) outlineStack(raster, boxes, columns.blocks.stack, state.stack, palette.selected);
      surface.put();
    }
    modes.show(mode);
    drawOver(frame, loaded, state, axis, rows, palette);
    setText(selection, selectionText(loaded, state.stack, boxes.count));
    const label = labelOf(loaded, seq, mode, boxes.count);
    setLabel(canvas, label);
  }

  return { draw };
}

function drawOver(
  frame: Frame,
  loaded: Loaded,
  state: ViewState,
  axis: Axis,
  { low, high }: Rows,
  palette: Palette,
): void {
  const { over, plot } = frame;
  const { page, columns } = loaded;
  const yOf = (place: number): number => plot.y + ((high - place) / (high - low)) * plot.height;
  over.strokeStyle = cssOf(palette.background, 0.9);
  for (let i = 1; i < columns.bands.length; i += 1) {
    const y = yOf(columns.bands[i]!.place);
    const before = yOf(columns.bands[i - 1]!.place);
    const isSeen = y > plot.y && y < plot.y + plot.height && before - y >= LEAST_BAND;
    if (isSeen) line(over, plot.x, Math.round(y) + 0.5, plot.x + plot.width, Math.round(y) + 0.5);
  }
  drawBytes(frame, palette, byteTicks(low, high, 9), yOf);
  drawHorizontal(frame, palette, loaded, state, axis);
  drawMarks(frame, palette, page, axis);
  drawCursor(frame, palette, axis.xOf(state.cursor));
}

/** What of the legend the device has at all. */
interface Present {
  readonly components: ReadonlySet<number>;
  readonly hasPending: boolean;
}

function presentIn({ page, columns: { blocks } }: Loaded): Present {
  const components = new Set<number>();
  let hasPending = false;
  for (let i = 0; i < blocks.count; i += 1) {
    components.add(blocks.component[i]!);
    if (blocks.pending[i]! < blocks.to[i]! && blocks.pending[i]! <= page.lastSeq) hasPending = true;
  }
  return { components, hasPending };
}

function legendOf(
  mode: MapMode,
  { page, columns }: Loaded,
  { components, hasPending }: Present,
  palette: Palette,
  ramp: Uint32Array,
): LegendItem[] {
  const items: LegendItem[] = [];
  const gradient = rampGradient(ramp);
  const entries = formatCount(page.lastSeq - page.firstSeq + 1);
  if (mode === 'component') {
    page.components.forEach((name, i) => {
      if (!components.has(i)) return;
      items.push(swatch(componentName(name), palette.component[i]!, palette.hatched[i] === 1));
    });
  } else if (mode === 'age')
    items.push(
      { kind: 'ramp', from: 'allocated just now', to: 'before the trace, or at its start', gradient },
      swatch('not live at the cursor', mutedOf(palette)),
    );
  else if (mode === 'life')
    items.push(
      { kind: 'ramp', from: '1 entry', to: `${entries} entries`, gradient },
      swatch('live at the end', palette.ink),
    );
  else if (mode === 'pins')
    items.push(swatch('keeps free memory from the driver', palette.pin), swatch('other blocks', mutedOf(palette)));
  else items.push(swatch('blocks of other stacks', mutedOf(palette)));
  if (hasPending && (mode === 'component' || mode === 'life'))
    items.push(swatch('freed, still used by a stream', palette.pending, true));
  const isDropped = page.blocks < page.allBlocks;
  items.push(swatch(isDropped ? 'free, or a block that is not in this page' : 'free', palette.free));
  if (columns.segments.isPrivate.includes(1)) items.push(swatch('free in a private pool', palette.privateFree, true));
  return items;
}

function selectionText({ columns }: Loaded, stack: number | null, drawn: number): string {
  if (stack === null) return `${counted(drawn, 'block')} drawn. No stack is selected.`;
  const { blocks } = columns;
  let count = 0;
  let bytes = 0;
  for (let i = 0; i < blocks.count; i += 1) {
    if (blocks.stack[i] !== stack) continue;
    count += 1;
    bytes += blocks.bytes[i]!;
  }
  const amount = `${counted(count, 'block')}, ${formatBytes(bytes)} in all`;
  return `${counted(drawn, 'block')} drawn. Selected: ${siteOf(columns, stack)}, ${amount}.`;
}

/** Which blocks the page has not, and the command that lists them. */
function droppedNote({ page }: Loaded): HTMLElement[] {
  const dropped = page.allBlocks - page.blocks - page.blocksOutside;
  const notes: HTMLElement[] = [];
  if (dropped > 0) {
    const shown = `${formatCount(page.blocks)} of ${counted(page.allBlocks, 'block')} are in this page`;
    const note = element('p', 'note', `${shown}: those with the largest bytes × entries. All of them: `);
    const command = `mbforensics allocations ${shellWord(page.handle)} --device ${page.device} --limit 0`;
    note.append(element('code', '', command));
    notes.push(note);
  }
  if (page.blocksOutside > 0)
    notes.push(
      element('p', 'note', `Not drawn: ${counted(page.blocksOutside, 'block')} outside of all drawn segments.`),
    );
  return notes;
}

function labelOf(loaded: Loaded, seq: number, mode: MapMode, drawn: number): string {
  const { page, columns } = loaded;
  const state = holesAt(page, columns, seq);
  const name = MAP_MODES.find(([known]) => known === mode)![1];
  const basisNote = isWholeAt(page, seq) ? '' : ', counted by the blocks of this page';
  return (
    `Address map of ${visibleText(page.title)}: ${counted(drawn, 'block')} drawn, colour by ${name}. ` +
    `${momentWords(page, seq)}: ${counted(state.live.blocks.length, 'live block')}, ` +
    `${formatBytes(state.liveBytes)} of ${formatBytes(state.reservedBytes)} reserved${basisNote}.`
  );
}
