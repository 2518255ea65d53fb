/** The whole trace in a strip, with the visible range as a frame that is moved, resized and drawn anew. */
import { visibleText } from '../../../model/escape-controls.js';
import { axisOf, scaleOf } from '../axis.js';
import { isDark, newSurface, PLOT_LEFT, PLOT_RIGHT } from '../canvas.js';
import { setLabel } from '../dom.js';
import { levelsFor } from '../levels-for.js';
import { rangeName } from '../names.js';
import { drawCursor, line } from '../overlay.js';
import { cssOf, paletteOf } from '../palette.js';
import { newPicks, type Picks, pickColumns } from '../pick.js';
import { type Bounds, panned, zoomed } from '../range.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { attachKeys } from '../zoom.js';
import { drawStack } from './stack-raster.js';

const HEIGHT = 66;
/** CSS pixels to both sides of an edge in which it is gripped. */
const GRIP = 7;
/** A shorter drag is a click. */
const STEADY = 4;

/** `highest`: bytes at the upper edge. */
export function mountOverview(root: HTMLElement, loaded: Loaded, shared: Shared, highest: number): View {
  const { page, columns } = loaded;
  const bounds: Bounds = {
    first: page.firstSeq,
    end: page.lastSeq + 1,
    least: Math.min(8, page.lastSeq + 1 - page.firstSeq),
  };
  const surface = newSurface(root, HEIGHT, { left: PLOT_LEFT, right: PLOT_RIGHT, top: 4, bottom: 4 }, '');
  surface.root.classList.add('overview');
  const { canvas } = surface;
  const wholeTrace = (state: ViewState): ViewState => ({ ...state, from: bounds.first, to: bounds.end });
  attachBrush(canvas, loaded, shared, bounds);

  let drawn = '';
  let picks: Picks = newPicks(0);
  return {
    draw: (state) => {
      const frame = surface.frame();
      const { raster, over, plot } = frame;
      const dark = isDark();
      const palette = paletteOf(page.components, dark);
      const axis = axisOf(page, columns, wholeTrace(state));
      const key = [state.axis, raster.width, raster.height, dark].join(' ');
      if (key !== drawn) {
        drawn = key;
        if (picks.width !== raster.width) picks = newPicks(raster.width);
        const levels = levelsFor(loaded, bounds.first, bounds.end, raster.width);
        pickColumns(levels, axis.seqOf, picks);
        drawStack(raster, levels, picks, { palette, low: 0, high: highest, line: 1, hasSeparators: false });
        surface.put();
      }
      const label = `The whole trace of ${visibleText(page.title)}. Visible: ${rangeName(state)}.`;
      setLabel(canvas, label);
      const left = plot.x + axis.xOf(state.from) * plot.width;
      const right = Math.max(left + 2, plot.x + axis.xOf(state.to) * plot.width);
      over.fillStyle = cssOf(palette.background, 0.62);
      over.fillRect(plot.x, plot.y, left - plot.x, plot.height);
      over.fillRect(right, plot.y, plot.x + plot.width - right, plot.height);
      over.strokeStyle = cssOf(palette.oom);
      for (const mark of page.marks) {
        if (mark.kind !== 'oom') continue;
        const x = Math.round(plot.x + axis.xOf(mark.seq) * plot.width) + 0.5;
        line(over, x, plot.y, x, plot.y + plot.height);
      }
      drawCursor(frame, palette, axis.xOf(state.cursor));
      over.strokeStyle = cssOf(palette.ink);
      over.strokeRect(Math.round(left) + 0.5, plot.y - 0.5, Math.round(right - left) - 1, plot.height + 1);
      over.fillStyle = cssOf(palette.ink);
      for (const x of [left, right - 1]) {
        over.beginPath();
        over.roundRect(Math.round(x) - 2, plot.y + plot.height / 2 - 10, 5, 20, 2);
        over.fill();
      }
      over.fillStyle = cssOf(palette.muted);
      over.textAlign = 'right';
      over.fillText('whole trace', plot.x - 8, plot.y + plot.height / 2);
    },
  };
}

/** Entries of both ends when the pointer went down, and what it holds. */
interface Grip {
  readonly kind: 'move' | 'left' | 'right' | 'new';
  readonly from: number;
  readonly to: number;
  /** 0 to 1 across the strip. */
  readonly share: number;
  readonly x: number;
}

function attachBrush(canvas: HTMLCanvasElement, loaded: Loaded, shared: Shared, bounds: Bounds): void {
  const { page, columns } = loaded;
  const scale = (): ReturnType<typeof scaleOf> => scaleOf(page, columns, shared.get().axis);
  const axis = (): ReturnType<typeof axisOf> =>
    axisOf(page, columns, { ...shared.get(), from: bounds.first, to: bounds.end });
  const width = (): number => Math.max(1, canvas.clientWidth - PLOT_LEFT - PLOT_RIGHT);
  const shareOf = (event: MouseEvent): number => Math.min(1, Math.max(0, (event.offsetX - PLOT_LEFT) / width()));
  const kindAt = (event: MouseEvent): Grip['kind'] => {
    const { from, to } = shared.get();
    const x = event.offsetX - PLOT_LEFT;
    const left = axis().xOf(from) * width();
    const right = axis().xOf(to) * width();
    // Of a narrow frame the nearer edge, from outside; its middle moves it.
    if (Math.abs(x - left) <= GRIP && (x <= left || right - left > 3 * GRIP)) return 'left';
    if (Math.abs(x - right) <= GRIP && (x >= right || right - left > 3 * GRIP)) return 'right';
    const isAll = from <= bounds.first && to >= bounds.end;
    return x > left && x < right && !isAll ? 'move' : 'new';
  };
  const set = (from: number, to: number): void => {
    const low = Math.max(bounds.first, Math.min(from, to));
    const high = Math.min(bounds.end, Math.max(from, to));
    const short = Math.max(0, bounds.least - (high - low)) / 2;
    const start = Math.min(bounds.end - bounds.least, Math.max(bounds.first, low - short));
    shared.set({ from: start, to: Math.max(start + bounds.least, high + short) });
  };

  let grip: Grip | null = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const { from, to } = shared.get();
    grip = { kind: kindAt(event), from, to, share: shareOf(event), x: event.clientX };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (grip === null) {
      const kind = kindAt(event);
      canvas.style.setProperty('cursor', kind === 'move' ? 'grab' : kind === 'new' ? 'crosshair' : 'ew-resize');
      return;
    }
    if (Math.abs(event.clientX - grip.x) < STEADY && grip.kind === 'new') return;
    const share = shareOf(event);
    const at = axis().seqOf(share);
    if (grip.kind === 'left') set(at, grip.to);
    else if (grip.kind === 'right') set(grip.from, at);
    else if (grip.kind === 'new') set(axis().seqOf(grip.share), at);
    else {
      const part = axis().xOf(grip.to) - axis().xOf(grip.from);
      shared.set(panned(scale(), bounds, grip, (share - grip.share) / part));
    }
  });
  canvas.addEventListener('pointerup', (event) => {
    const { from, to } = shared.get();
    // A click outside the frame moves it there.
    if (grip?.kind === 'new' && Math.abs(event.clientX - grip.x) < STEADY) {
      const part = axis().xOf(to) - axis().xOf(from);
      const left = axis().xOf(from);
      shared.set(panned(scale(), bounds, { from, to }, (grip.share - part / 2 - left) / part));
    }
    grip = null;
  });
  canvas.addEventListener('pointercancel', () => {
    grip = null;
  });
  canvas.addEventListener('dblclick', () => shared.set({ from: bounds.first, to: bounds.end }));
  attachKeys(canvas, (key, isShifted) => {
    const { from, to } = shared.get();
    const pan = (share: number) => () => shared.set(panned(scale(), bounds, { from, to }, share));
    const zoom = (factor: number) => () => shared.set(zoomed(scale(), bounds, { from, to }, (from + to) / 2, factor));
    const tenth = (sign: number) => () => {
      const [left, right] = [scale().valueOf(from), scale().valueOf(to)];
      if (isShifted) set(from, scale().seqOf(right + ((right - left) * sign) / 10));
      else pan(sign / 10)();
    };
    const keys: Readonly<Record<string, () => void>> = {
      ...{
        ArrowLeft: tenth(-1),
        ArrowRight: tenth(1),
        PageUp: pan(-1),
        PageDown: pan(1),
        '+': zoom(0.5),
        '-': zoom(2),
      },
      ...{ Home: pan(Number.NEGATIVE_INFINITY), End: pan(Number.POSITIVE_INFINITY) },
      '0': () => shared.set({ from: bounds.first, to: bounds.end }),
    };
    const act = keys[key === '=' ? '+' : key];
    act?.();
    return act !== undefined;
  });
}
