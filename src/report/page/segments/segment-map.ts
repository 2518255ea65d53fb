/** The segments at the cursor on one scale, the holes between their blocks, and what keeps them. */
import { visibleText } from '../../../model/escape-controls.js';
import { counted, formatBytes } from '../../../model/units.js';
import { type Frame, isDark, newSurface } from '../canvas.js';
import { element, setText } from '../dom.js';
import { type LegendItem, showLegend, swatch } from '../legend.js';
import { entryOf, isWholeAt } from '../live-at.js';
import { blockLines, freeWords, poolOf } from '../map/block-lines.js';
import { componentName, momentWords } from '../names.js';
import { cssOf, type Palette, paletteOf } from '../palette.js';
import { highestOf } from '../pick.js';
import { attachTip } from '../tip.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { attachKeys, jumpOf } from '../zoom.js';
import { cheapestRun, largestFor, type Request, requestNear } from './free-to-fit.js';
import { enlargeLargest, fitSentence, holeLine } from './hole-words.js';
import { type Hole, holesAt, type LayoutAt } from './holes-at.js';
import { holesBySize } from './pin-ranks.js';
import { byteAt, type SegmentRows, segmentRows } from './segment-layout.js';
import { listsOf, partialNote } from './segment-lists.js';
import { drawScale, drawTitles, outlineHole, outlineRun } from './segment-overlay.js';
import { drawSegmentRows } from './segment-raster.js';

const HEIGHT = 470;
/** Above the bars: the scale and the failed request. */
const INSETS = { left: 2, right: 2, top: 34, bottom: 18 };
/** Blocks that are freed around the largest hole where no request failed. */
const FREED_WITHOUT_REQUEST = 3;

export function mountSegments(root: HTMLElement, loaded: Loaded, shared: Shared): View {
  const { page, columns } = loaded;
  const mostReserved = Math.max(1, highestOf(columns.levels, 'reservedMost'));
  const headline = element('p', 'headline');
  const partial = element('div', 'partial');
  root.append(headline, partial);
  const surface = newSurface(root, HEIGHT, INSETS, 'Segments at the cursor');
  const { canvas } = surface;
  const legend = element('div', 'legend');
  const lists = element('div', 'lists');
  root.append(legend, lists);

  let shown: { readonly at: LayoutAt; readonly rows: SegmentRows; readonly frame: Frame } | null = null;
  let rasterKey = '';
  let listKey = '';

  /** Lines on what is below the pointer, and the block there; −1: none. */
  const below = (event: MouseEvent): { readonly block: number; readonly lines: readonly string[] } => {
    const nothing = { block: -1, lines: [] };
    if (shown === null) return nothing;
    const { at, rows } = shown;
    const hit = byteAt(rows, event.offsetX - INSETS.left, event.offsetY - INSETS.top);
    if (hit === null) return nothing;
    const segment = at.segments[hit.segment]!;
    const { block, hole } = blockOrHole(loaded, at, hit.segment, segment.place + hit.byte, rows.bytesPerPixel);
    const amount = `${formatBytes(segment.freeBytes)} free of ${formatBytes(segment.bytes)}`;
    const about = `${amount} in its segment: ${poolOf(segment)}`;
    if (block >= 0) return { block, lines: [...blockLines(loaded, block), about] };
    if (hole === null) return nothing;
    const line = holeLine(columns, at, hole, requestNear(page, at.live.seq));
    const text = line.slice(line.indexOf(': ') + 2);
    return { block, lines: [`${formatBytes(hole.bytes)} ${freeWords(isWholeAt(page, at.live.seq))}`, text, about] };
  };
  attachTip(canvas, surface.root, (event) => {
    const { block, lines } = below(event);
    return { lines, link: block >= 0 };
  });
  canvas.addEventListener('click', (event) => {
    const { block } = below(event);
    const stack = block < 0 ? -1 : columns.blocks.stack[block]!;
    shared.set({ stack: stack < 0 ? null : stack });
  });
  attachKeys(canvas, (key) => {
    const cursor = Math.floor(shared.get().cursor);
    const by = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0;
    const next = by === 0 ? jumpOf(page, key, cursor) : cursor + by;
    if (next !== null) shared.set({ cursor: Math.min(page.lastSeq, Math.max(page.firstSeq, next)) });
    return next !== null;
  });

  function draw(state: ViewState): void {
    const seq = entryOf(page, state.cursor);
    const at = holesAt(page, columns, seq);
    const isWhole = isWholeAt(page, seq);
    const request = requestNear(page, seq);
    const frame = surface.frame();
    const palette = paletteOf(page.components, isDark());
    const rows = segmentRows(at, mostReserved, frame.plot.width, frame.plot.height);
    shown = { at, rows, frame };
    const run = !isWhole
      ? null
      : request === null
        ? enlargeLargest(columns, at, FREED_WITHOUT_REQUEST)
        : cheapestRun(columns, at, request);
    const key = [seq, state.stack, frame.raster.width, frame.raster.height, palette.background].join(' ');
    if (rasterKey !== key) {
      rasterKey = key;
      drawSegmentRows(frame.raster, columns.blocks, at, rows, palette, state.stack, frame.ratio);
      surface.put();
    }
    drawTitles(frame, rows, palette);
    drawScale(frame, rows, palette, request);
    const largest = request === null ? (holesBySize(at)[0] ?? null) : largestFor(at, request);
    if (largest !== null) outlineHole(frame, at, rows, largest, cssOf(palette.ink), false);
    if (run !== null) outlineRun(frame, loaded, at, rows, run, palette);
    setText(headline, headlineOf(loaded, at, request, isWhole));
    const list = [seq, state.stack, palette.background].join(' ');
    if (listKey === list) return;
    listKey = list;
    const label = `Segments of ${visibleText(page.title)}. ${headline.textContent}`;
    canvas.setAttribute('aria-label', label);
    showLegend(legend, legendOf(loaded, at, palette, isWhole, run !== null));
    partial.replaceChildren(...(isWhole ? [] : partialNote(loaded, shared, seq)));
    lists.replaceChildren(...(isWhole ? listsOf(loaded, shared, at, request, run) : []));
  }

  return { draw };
}

/** What is drawn at a place of a segment: where several blocks are in a pixel, the largest of them. */
function blockOrHole(
  { columns }: Loaded,
  at: LayoutAt,
  index: number,
  place: number,
  bytesPerPixel: number,
): { readonly block: number; readonly hole: Hole | null } {
  const { blocks } = columns;
  const segment = at.segments[index]!;
  let best = -1;
  let hole: Hole | null = null;
  for (let i = segment.firstHole; i < segment.endHole; i += 1) {
    const candidate = at.holes[i]!;
    if (candidate.place <= place && place < candidate.place + candidate.bytes) hole = candidate;
  }
  for (let i = segment.firstBlock; i < segment.endBlock; i += 1) {
    const block = at.live.blocks[i]!;
    const from = blocks.place[block]!;
    if (from > place) break;
    const isHere = place < from + blocks.bytes[block]!;
    // Narrow blocks are drawn a pixel wide.
    const isNear = blocks.bytes[block]! < bytesPerPixel && place - from < bytesPerPixel;
    if (isHere) return { block, hole: null };
    if (isNear && (best < 0 || blocks.bytes[block]! > blocks.bytes[best]!)) best = block;
  }
  return best >= 0 ? { block: best, hole: null } : { block: -1, hole };
}

function headlineOf({ page }: Loaded, at: LayoutAt, request: Request | null, isWhole: boolean): string {
  const free = at.reservedBytes - at.liveBytes;
  const count = counted(at.segments.length, 'segment');
  const amounts = `${formatBytes(at.liveBytes)} live, ${formatBytes(free)} free in ${count}`;
  const basis = page.basis === 'approximate' ? ' (approximate)' : '';
  const state = `${momentWords(page, at.live.seq)}: ${amounts}${basis}.`;
  if (!isWhole) return `${state} Blocks that are not in this page are counted as free.`;
  return request === null ? state : `${state} ${fitSentence(at, request)}`;
}

function legendOf(
  { page, columns }: Loaded,
  at: LayoutAt,
  palette: Palette,
  isWhole: boolean,
  hasRun: boolean,
): LegendItem[] {
  const present = new Set(Array.from(at.live.blocks, (block) => columns.blocks.component[block]!));
  const items: LegendItem[] = [];
  page.components.forEach((name, i) => {
    if (present.has(i)) items.push(swatch(componentName(name), palette.component[i]!, palette.hatched[i] === 1));
  });
  if (at.pendingBytes > 0) items.push(swatch('freed, still used by a stream', palette.pending, true));
  items.push(swatch(freeWords(isWhole), palette.free));
  if (at.segments.some((segment) => segment.isPrivate))
    items.push(swatch('free in a private pool', palette.privateFree, true));
  items.push({ kind: 'outline', text: 'largest hole', color: palette.ink });
  if (hasRun) items.push({ kind: 'outline', text: 'the hole after freeing the underlined blocks', color: palette.pin });
  return items;
}
