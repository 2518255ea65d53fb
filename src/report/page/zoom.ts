/**
 * Wheel, pointer and keys of all views with entries on the horizontal axis. They change the shared state only; views
 * draw it.
 */
import type { PageDevice } from '../../model/picture/page-data.js';
import { type Scale, scaleOf } from './axis.js';
import { PLOT_LEFT, PLOT_RIGHT } from './canvas.js';
import { levelsFor } from './levels-for.js';
import { highestEntry } from './pick.js';
import { type Bounds, panned, showing, zoomed } from './range.js';
import type { AxisKind, Loaded, Shared } from './view-state.js';

/** What a canvas moves through. */
export interface Course {
  readonly shared: Shared;
  readonly bounds: Bounds;
  scale(axis: AxisKind): Scale;
  /** How far an arrow key moves the cursor; null: by a pixel. */
  readonly stride: number | null;
  /** Where a click between two places sets the cursor; they are a pixel from each other. */
  cursorAt(from: number, to: number): number;
  /** Where a letter sets the cursor; null: nowhere. */
  jump(key: string, cursor: number): number | null;
}

/** The share of the visible range that one key press of `+` leaves. */
const KEY_ZOOM = 0.5;
/** Pixels that a click may move. */
const STEADY = 4;

/** The plot of `canvas` is inset by {@link PLOT_LEFT} and {@link PLOT_RIGHT} unless `insets` gives other CSS pixels. */
export function attachZoom(
  canvas: HTMLCanvasElement,
  loaded: Loaded,
  shared: Shared,
  insets: { readonly left: number; readonly right: number } = { left: PLOT_LEFT, right: PLOT_RIGHT },
): void {
  const { page, columns } = loaded;
  attachCourse(canvas, insets, {
    shared,
    bounds: { first: page.firstSeq, end: page.lastSeq + 1, least: Math.min(8, page.lastSeq + 1 - page.firstSeq) },
    scale: (axis) => scaleOf(page, columns, axis),
    stride: 1,
    // The levels of the whole view: those of a pixel would replace them.
    cursorAt: (from, to) => {
      const view = shared.get();
      return highestEntry(levelsFor(loaded, view.from, view.to, canvas.clientWidth), from, to);
    },
    jump: (key, cursor) => jumpOf(page, key, cursor),
  });
}

/** `o`: the next failed allocation, `p`: the peak, `n`: the next step; after the last one the first. */
export function jumpOf(page: PageDevice, key: string, cursor: number): number | null {
  const nextOf = (places: readonly number[]): number | null =>
    places.find((place) => place > cursor) ?? places[0] ?? null;
  const ofKind = (kind: string): number[] => page.marks.filter((mark) => mark.kind === kind).map(({ seq }) => seq);
  if (key === 'o') return nextOf(ofKind('oom').sort((a, b) => a - b));
  if (key === 'p') return ofKind('peak')[0] ?? null;
  if (key === 'n') return nextOf(page.steps.map(({ first }) => first));
  return null;
}

export function attachCourse(
  canvas: HTMLCanvasElement,
  insets: { readonly left: number; readonly right: number },
  course: Course,
): void {
  const { shared, bounds } = course;
  const scale = (): Scale => course.scale(shared.get().axis);
  const plotWidth = (): number => Math.max(1, canvas.clientWidth - insets.left - insets.right);
  /** 0 to 1 across the plot. */
  const shareOf = (event: MouseEvent): number => (event.offsetX - insets.left) / plotWidth();
  /** Entry at a share of the visible range. */
  const placeAt = (share: number): number => {
    const { from, to } = shared.get();
    const left = scale().valueOf(from);
    return scale().seqOf(left + Math.min(1, Math.max(0, share)) * (scale().valueOf(to) - left));
  };
  const setCursor = (place: number, follow: boolean): void => {
    const last = course.stride === null ? bounds.end : bounds.end - 1;
    const cursor = Math.min(last, Math.max(bounds.first, place));
    shared.set(follow ? { cursor, ...showing(scale(), bounds, shared.get(), cursor) } : { cursor });
  };
  const zoom = (at: number, factor: number): boolean => {
    const before = shared.get();
    const next = zoomed(scale(), bounds, before, at, factor);
    shared.set(next);
    return next.from !== before.from || next.to !== before.to;
  };
  const showAll = (): void => shared.set({ from: bounds.first, to: bounds.end });

  canvas.addEventListener(
    'wheel',
    (event) => {
      const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        shared.set(panned(scale(), bounds, shared.get(), (event.deltaX * unit) / plotWidth()));
        event.preventDefault();
        return;
      }
      const by = Math.max(-300, Math.min(300, event.deltaY * unit));
      // Where everything is shown already, the page scrolls.
      if (zoom(placeAt(shareOf(event)), Math.exp(by * 0.002)) || by < 0) event.preventDefault();
    },
    { passive: false },
  );

  let drag: { readonly x: number; readonly range: { from: number; to: number } } | null = null;
  let wasMoved = false;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const { from, to } = shared.get();
    drag = { x: event.clientX, range: { from, to } };
    wasMoved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag === null) return;
    const by = drag.x - event.clientX;
    if (Math.abs(by) > STEADY) wasMoved = true;
    if (wasMoved) shared.set(panned(scale(), bounds, drag.range, by / plotWidth()));
  });
  const drop = (): void => {
    drag = null;
  };
  canvas.addEventListener('pointerup', drop);
  canvas.addEventListener('pointercancel', drop);
  // Before other listeners: they must not take the end of a drag for a click.
  canvas.addEventListener(
    'click',
    (event) => {
      if (wasMoved) {
        event.stopImmediatePropagation();
        return;
      }
      const share = shareOf(event);
      if (share < 0 || share > 1) return;
      const pixel = 1 / plotWidth();
      const left = Math.floor(share / pixel) * pixel;
      setCursor(course.cursorAt(placeAt(left), placeAt(left + pixel)), false);
    },
    { capture: true },
  );
  canvas.addEventListener('dblclick', showAll);

  attachKeys(canvas, (key, isShifted) => press(key, isShifted));

  const press = (key: string, isShifted: boolean): boolean => {
    const { from, to, cursor } = shared.get();
    const isVisible = cursor >= from && cursor < to;
    const moveCursor = (sign: number): void => {
      const start = isVisible ? cursor : placeAt(sign > 0 ? 0 : 1);
      const value = scale().valueOf(start);
      const pixel = (scale().valueOf(to) - scale().valueOf(from)) / plotWidth();
      const next = scale().seqOf(value + sign * pixel);
      if (course.stride === null) setCursor(next, true);
      else if (!isShifted) setCursor(Math.floor(start) + sign * course.stride, true);
      else setCursor(sign > 0 ? Math.max(cursor + 1, Math.floor(next)) : Math.min(cursor - 1, Math.floor(next)), true);
    };
    const page = (share: number): void => {
      const place = scale().valueOf(cursor) - scale().valueOf(from);
      const next = panned(scale(), bounds, { from, to }, share);
      shared.set(next);
      if (!isVisible) return;
      const moved = scale().seqOf(scale().valueOf(next.from) + place);
      setCursor(course.stride === null ? moved : Math.round(moved), false);
    };
    const keys: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => moveCursor(-1),
      ArrowRight: () => moveCursor(1),
      PageUp: () => page(-1),
      PageDown: () => page(1),
      Home: () => setCursor(bounds.first, true),
      End: () => setCursor(bounds.end, true),
      '+': () => zoom(isVisible ? cursor : placeAt(0.5), KEY_ZOOM),
      '-': () => zoom(isVisible ? cursor : placeAt(0.5), 1 / KEY_ZOOM),
      '0': showAll,
    };
    const act = keys[key === '=' ? '+' : key];
    const place = act === undefined ? course.jump(key, cursor) : null;
    if (place !== null) setCursor(place, true);
    act?.();
    return act !== undefined || place !== null;
  };
}

/** `press` returns whether it has done something. Keys of the browser are left to it. */
export function attachKeys(canvas: HTMLCanvasElement, press: (key: string, isShifted: boolean) => boolean): void {
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(event.key, event.shiftKey)) event.preventDefault();
  });
}
