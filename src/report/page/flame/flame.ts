/** Live memory at the cursor by call stack: rows of cells as wide as their bytes, the root above. */
import { visibleText } from '../../../model/escape-controls.js';
import { counted, formatBytes } from '../../../model/units.js';
import { type Frame, isDark, newSurface } from '../canvas.js';
import { choice, element, setLabel, setText } from '../dom.js';
import { entryOf, isWholeAt, liveAt } from '../live-at.js';
import { momentWords } from '../names.js';
import { cssOf, type Palette, paletteOf } from '../palette.js';
import { attachTip } from '../tip.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { frameColor } from './flame-colors.js';
import {
  type FlameCell,
  type FlameDirection,
  type FlameNode,
  flameCells,
  flameNodes,
  NO_STACK_FRAME,
  neighbourOf,
  nodeAt,
  pathOf,
  ROOT_FRAME,
} from './flame-layout.js';

const ROW = 20;
const INSETS = { left: 2, right: 2, top: 2, bottom: 2 };
/** Deeper frames are left out: a canvas that is much higher takes too much memory. */
const MOST_ROWS = 120;
const DIRECTIONS: readonly (readonly [FlameDirection, string])[] = [
  ['callers', 'callers first'],
  ['sites', 'call site first'],
];

export function mountFlame(root: HTMLElement, loaded: Loaded, shared: Shared): View {
  const { page, columns } = loaded;
  let direction: FlameDirection = 'callers';
  /** Of the cell that is as wide as the picture, and of the one that keys act on. */
  let focusPath: readonly number[] = [];
  let markPath: readonly number[] = [];
  const redraw = (): void => draw(shared.get());

  const directions = choice('Order', DIRECTIONS, (value) => {
    direction = value;
    focusPath = [];
    markPath = [];
    redraw();
  });
  const reset = element('button', '', 'show everything');
  reset.type = 'button';
  reset.addEventListener('click', () => zoomTo(0));
  const tools = element('div', 'tools');
  tools.append(directions.root, reset);
  const headline = element('p', 'headline');
  root.append(tools, headline);
  const deepest = columns.stacks.reduce((most, stack) => Math.max(most, stack.length), 1);
  const rows = Math.min(MOST_ROWS, deepest + 1);
  // Deep pictures scroll within the page.
  const holder = element('div', 'flame');
  const scroll = element('div', 'flame-scroll');
  holder.append(scroll);
  root.append(holder);
  const surface = newSurface(scroll, rows * ROW + INSETS.top + INSETS.bottom, INSETS, 'Live memory by call stack');
  const { canvas } = surface;
  const detail = element('p', 'note');
  if (rows < deepest + 1)
    root.append(
      element(
        'p',
        'note',
        `Stacks have up to ${deepest} frames; the first ${MOST_ROWS} are drawn. Zoom to see others.`,
      ),
    );
  detail.setAttribute('aria-live', 'polite');
  root.append(detail);
  root.append(
    element(
      'p',
      'keys',
      'Width: live bytes at the cursor. Click or Enter: zoom to a frame, and select its stack if it has only one. ' +
        'Arrow keys: move. Escape: zoom out.',
    ),
  );

  let known: { readonly key: string; readonly nodes: readonly FlameNode[] } = { key: '', nodes: [] };
  let cells: readonly FlameCell[] = [];

  const nodesAt = (seq: number): readonly FlameNode[] => {
    const key = `${seq} ${direction}`;
    if (known.key !== key) known = { key, nodes: flameNodes(columns, liveAt(columns, seq), direction) };
    return known.nodes;
  };
  const zoomTo = (node: number): void => {
    focusPath = pathOf(known.nodes, node);
    markPath = focusPath;
    const { stack } = known.nodes[node]!;
    if (stack === null) shared.set({ stack: null });
    else if (node > 0) shared.set({ stack });
    redraw();
  };
  const cellBelow = (event: MouseEvent): FlameCell | undefined => {
    const row = Math.floor((event.offsetY - INSETS.top) / ROW);
    const x = event.offsetX - INSETS.left;
    return cells.find((cell) => cell.row === row && cell.x0 <= x && x < cell.x1);
  };
  attachTip(canvas, holder, (event) => {
    const cell = cellBelow(event);
    return { lines: cell === undefined ? [] : cellLines(loaded, known.nodes, cell), link: cell !== undefined };
  });
  canvas.addEventListener('click', (event) => {
    const cell = cellBelow(event);
    if (cell !== undefined) zoomTo(cell.node);
  });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || known.nodes.length === 0) return;
    const mark = nodeAt(known.nodes, markPath);
    const focus = nodeAt(known.nodes, focusPath);
    if (event.key === 'Enter') zoomTo(mark);
    else if (event.key === 'Escape' && focus > 0) zoomTo(known.nodes[focus]!.parent);
    else {
      const next = neighbourOf(known.nodes, mark, event.key);
      if (next === null) return;
      markPath = pathOf(known.nodes, next);
      redraw();
      const y = INSETS.top + known.nodes[next]!.depth * ROW;
      if (y < scroll.scrollTop) scroll.scrollTop = y;
      else if (y + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = y + ROW - scroll.clientHeight;
    }
    event.preventDefault();
  });

  function draw(state: ViewState): void {
    const seq = entryOf(page, state.cursor);
    const nodes = nodesAt(seq);
    const frame = surface.frame();
    const dark = isDark();
    const palette = paletteOf(page.components, dark);
    frame.raster.pixels.fill(palette.background);
    surface.put();
    const focus = nodeAt(nodes, focusPath);
    const mark = nodeAt(nodes, markPath);
    cells = flameCells(nodes, focus, frame.plot.width, rows);
    directions.show(direction);
    reset.disabled = focus === 0;
    for (const cell of cells) drawCell(frame, loaded, nodes, cell, focus, state.stack, palette, dark);
    const marked = cells.find((cell) => cell.node === mark && cell.folded === 0);
    if (marked !== undefined && document.activeElement === canvas) outlineCell(frame, marked, cssOf(palette.ink), 2);
    const { bytes, blocks } = nodes[0]!;
    const partialNote = isWholeAt(page, seq) ? '' : ' Blocks that are not in this page are left out.';
    setText(
      headline,
      `${momentWords(page, seq)}: ${formatBytes(bytes)} in ${counted(blocks, 'live block')}.${partialNote}`,
    );
    setText(detail, markPath.length === 0 ? '' : `${nodeName(loaded, nodes[mark]!)}: ${amountsOf(nodes, mark)}`);
    const largest = nodes[1] === undefined ? '' : ` Most is below ${nodeName(loaded, widest(nodes))}.`;
    const label = `Live memory of ${visibleText(page.title)} by call stack. ${headline.textContent}${largest}`;
    setLabel(canvas, label);
  }
  // The outline of the marked cell is for the keyboard only.
  canvas.addEventListener('focus', redraw);
  canvas.addEventListener('blur', redraw);

  return { draw };
}

/** The deepest node that still has most of the bytes: what names the memory best. */
function widest(nodes: readonly FlameNode[]): FlameNode {
  let at = nodes[0]!;
  while (at.firstChild < at.endChild && nodes[at.firstChild]!.bytes * 2 > nodes[0]!.bytes) at = nodes[at.firstChild]!;
  return at.parent < 0 ? nodes[1]! : at;
}

function nodeName({ columns }: Loaded, { frame }: FlameNode): string {
  if (frame === ROOT_FRAME) return 'all live memory';
  return frame === NO_STACK_FRAME ? 'no stack recorded' : visibleText(columns.frames[frame]!);
}

function amountsOf(nodes: readonly FlameNode[], at: number): string {
  const { bytes, blocks } = nodes[at]!;
  const share = nodes[0]!.bytes === 0 ? 0 : (100 * bytes) / nodes[0]!.bytes;
  return `${formatBytes(bytes)}, ${share.toFixed(share < 10 ? 2 : 1)} %, ${counted(blocks, 'block')}`;
}

function cellLines(loaded: Loaded, nodes: readonly FlameNode[], { node, folded }: FlameCell): string[] {
  if (folded > 0) return [`${counted(folded, 'frame')}, too narrow to draw`, `below ${nodeName(loaded, nodes[node]!)}`];
  return [nodeName(loaded, nodes[node]!), amountsOf(nodes, node)];
}

function outlineCell({ over, plot }: Frame, { x0, x1, row }: FlameCell, color: string, width: number): void {
  over.strokeStyle = color;
  over.lineWidth = width;
  over.strokeRect(
    plot.x + x0 + width / 2,
    plot.y + row * ROW + width / 2,
    Math.max(1, x1 - x0 - width),
    ROW - 1 - width,
  );
  over.lineWidth = 1;
}

function drawCell(
  frame: Frame,
  loaded: Loaded,
  nodes: readonly FlameNode[],
  cell: FlameCell,
  focus: number,
  stack: number | null,
  palette: Palette,
  dark: boolean,
): void {
  const { over, plot } = frame;
  const { node, x0, x1, row, folded } = cell;
  const { depth, frame: id } = nodes[node]!;
  const isAbove = depth < nodes[focus]!.depth;
  const plain = dark ? '#39424b' : '#d5dbe0';
  over.fillStyle = folded > 0 ? cssOf(palette.free) : id < 0 ? plain : frameColor(loaded.columns.frames[id]!, dark);
  if (isAbove) over.globalAlpha = 0.55;
  // A pixel between neighbours is the background.
  over.fillRect(plot.x + x0, plot.y + row * ROW, Math.max(0.6, x1 - x0 - (x1 - x0 > 4 ? 1 : 0)), ROW - 1);
  over.globalAlpha = 1;
  if (folded === 0 && stack !== null && nodes[node]!.stack === stack)
    outlineCell(frame, cell, cssOf(palette.selected), 2);
  const text = folded > 0 ? '' : nodeName(loaded, nodes[node]!);
  const shown = fitted(over, text, x1 - x0 - 10);
  if (shown === '') return;
  over.fillStyle = cssOf(palette.ink, isAbove ? 0.75 : 1);
  over.textAlign = 'left';
  over.fillText(shown, plot.x + x0 + 5, plot.y + row * ROW + ROW / 2);
}

/** As many characters as fit into `width` CSS pixels; '' if they would name nothing. */
function fitted(over: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 22 || text === '') return '';
  if (over.measureText(text).width <= width) return text;
  const characters = [...text];
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (over.measureText(`${characters.slice(0, middle).join('')}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? '' : `${characters.slice(0, low).join('')}…`;
}
