/**
 * Two canvases, one over the other: pixels of a {@link Raster} inside the plot; axes, text and the cursor over the
 * whole area. Both have the resolution of the screen.
 */
import { element } from './dom.js';
import { newRaster, type Raster } from './raster.js';

/** CSS pixels around the plot. Views that share the horizontal axis have the same ones left and right. */
export interface Insets {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const PLOT_LEFT = 72;
export const PLOT_RIGHT = 16;

export interface Frame {
  /** Device pixels of the plot. */
  readonly raster: Raster;
  /** Its unit is the CSS pixel. Cleared. */
  readonly over: CanvasRenderingContext2D;
  /** CSS pixels of the whole area. */
  readonly width: number;
  readonly height: number;
  /** The plot in CSS pixels. */
  readonly plot: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
  /** Device pixels in a CSS pixel. */
  readonly ratio: number;
}

export interface Surface {
  readonly root: HTMLElement;
  /** The upper one, which gets the focus and the pointer. */
  readonly canvas: HTMLCanvasElement;
  /** Adapts to the size and resolution of the moment. The raster stays as it was unless its size changed. */
  frame(): Frame;
  /** Shows the raster. */
  put(): void;
}

/** CSS pixels of drawings on paper, whatever its size; those of `page.css`. */
const PRINT_WIDTH = 700;

let isPrinting = false;

/** For print: of one width, as the page has its new width only later; twice the resolution; the light colours. */
export function setPrinting(value: boolean): void {
  isPrinting = value;
}

export function isDark(): boolean {
  return !isPrinting && matchMedia('(prefers-color-scheme: dark)').matches;
}

/** `height` of the whole area in CSS pixels. `label`: a sentence that describes the data. */
export function newSurface(root: HTMLElement, height: number, insets: Insets, label: string): Surface {
  const holder = element('div', 'surface');
  holder.style.setProperty('height', `${height}px`);
  const lower = element('canvas');
  lower.setAttribute('aria-hidden', 'true');
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', label);
  canvas.tabIndex = 0;
  holder.append(lower, canvas);
  root.append(holder);
  const pixels = lower.getContext('2d', { alpha: false })!;
  const over = canvas.getContext('2d')!;
  let isStale = true;
  let size = { width: 0, ratio: 0 };
  let raster = newRaster(1, 1);
  let image: ImageData | null = null;
  // The width is read only after a change: reading it forces a layout.
  new ResizeObserver(() => {
    isStale = true;
  }).observe(holder);

  const adapt = (): void => {
    const ratio = isPrinting ? Math.max(2, devicePixelRatio) : devicePixelRatio;
    if (!isStale && size.ratio === ratio) return;
    const width = isPrinting ? PRINT_WIDTH : Math.max(insets.left + insets.right + 16, holder.clientWidth);
    isStale = false;
    if (size.width === width && size.ratio === ratio) return;
    size = { width, ratio };
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const columns = Math.round((width - insets.left - insets.right) * ratio);
    const rows = Math.round((height - insets.top - insets.bottom) * ratio);
    raster = newRaster(columns, rows);
    image = new ImageData(new Uint8ClampedArray(raster.pixels.buffer as ArrayBuffer), columns, rows);
    lower.width = columns;
    lower.height = rows;
    lower.style.setProperty('left', `${insets.left}px`);
    lower.style.setProperty('top', `${insets.top}px`);
    lower.style.setProperty('width', `${columns / ratio}px`);
    lower.style.setProperty('height', `${rows / ratio}px`);
  };

  return {
    root: holder,
    canvas,
    frame: () => {
      adapt();
      const { width, ratio } = size;
      // It is printed as its calls: `clearRect` would erase the canvas below, a new size forgets them.
      if (isPrinting) canvas.width = Math.round(width * ratio);
      over.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (!isPrinting) over.clearRect(0, 0, width, height);
      over.font = '11px system-ui, sans-serif';
      over.textBaseline = 'middle';
      over.lineWidth = 1;
      const plot = {
        x: insets.left,
        y: insets.top,
        width: width - insets.left - insets.right,
        height: height - insets.top - insets.bottom,
      };
      return { raster, over, width, height, plot, ratio };
    },
    put: () => {
      if (image !== null) pixels.putImageData(image, 0, 0);
    },
  };
}
