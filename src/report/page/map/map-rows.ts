/** Zoom and moves along the addresses of the map: wheel with Ctrl, drag with Shift, keys. */
import { attachKeys } from '../zoom.js';
import type { Rows } from './map-raster.js';

/** Rows show at least this many bytes. */
const LEAST_BYTES = 64 * 1024;
const KEY_ZOOM = 0.5;
const KEY_MOVE = 0.25;

/** The same share of the visible rows is below `at` as before; a factor below 1 shows less. */
export function zoomedRows({ low, high }: Rows, total: number, at: number, factor: number): Rows {
  const span = Math.min(total, Math.max(Math.min(LEAST_BYTES, total), (high - low) * factor));
  const share = (at - low) / (high - low);
  return rowsWithin(at - share * span, span, total);
}

/** Moved up by a share of what is visible. */
export function movedRows({ low, high }: Rows, total: number, share: number): Rows {
  return rowsWithin(low + share * (high - low), high - low, total);
}

function rowsWithin(low: number, span: number, total: number): Rows {
  const from = Math.min(total - span, Math.max(0, low));
  return { low: from, high: from + span };
}

/** Must be called before other listeners are attached: what is handled here is not for them. */
export function attachRows(
  canvas: HTMLCanvasElement,
  insets: { readonly top: number; readonly bottom: number },
  total: number,
  rows: { get(): Rows; set(rows: Rows): void },
): void {
  const height = (): number => Math.max(1, canvas.clientHeight - insets.top - insets.bottom);
  const placeAt = (event: MouseEvent): number => {
    const { low, high } = rows.get();
    return high - (Math.min(height(), Math.max(0, event.offsetY - insets.top)) / height()) * (high - low);
  };
  canvas.addEventListener(
    'wheel',
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const by = Math.max(-300, Math.min(300, event.deltaY * (event.deltaMode === 1 ? 20 : 1)));
      rows.set(zoomedRows(rows.get(), total, placeAt(event), Math.exp(by * 0.002)));
    },
    { passive: false },
  );
  let drag: { readonly y: number; readonly rows: Rows } | null = null;
  let isOurs = false;
  canvas.addEventListener('pointerdown', (event) => {
    isOurs = event.shiftKey && event.button === 0;
    if (!isOurs) return;
    event.stopImmediatePropagation();
    drag = { y: event.clientY, rows: rows.get() };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag === null) return;
    event.stopImmediatePropagation();
    rows.set(movedRows(drag.rows, total, (event.clientY - drag.y) / height()));
  });
  const drop = (): void => {
    drag = null;
  };
  canvas.addEventListener('pointerup', drop);
  canvas.addEventListener('pointercancel', drop);
  canvas.addEventListener(
    'click',
    (event) => {
      if (isOurs) event.stopImmediatePropagation();
    },
    { capture: true },
  );
  canvas.addEventListener('dblclick', () => rows.set({ low: 0, high: total }));
  attachKeys(canvas, (key) => {
    const { low, high } = rows.get();
    const zoom = (factor: number) => () => zoomedRows(rows.get(), total, (low + high) / 2, factor);
    const move = (share: number) => () => movedRows(rows.get(), total, share);
    const keys: Readonly<Record<string, () => Rows>> = {
      ...{ ']': zoom(KEY_ZOOM), '[': zoom(1 / KEY_ZOOM), '}': move(KEY_MOVE), '{': move(-KEY_MOVE) },
    };
    const next = keys[key]?.();
    if (next !== undefined) rows.set(next);
    return next !== undefined;
  });
}
