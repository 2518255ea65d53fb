/** Rectangles in an array of pixels, without a canvas: the same input gives the same pixels everywhere. */

/** `pixels` are 0xAABBGGRR words in rows from the top: those of an `ImageData` on a little-endian machine. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
}

export function newRaster(width: number, height: number): Raster {
  return { width, height, pixels: new Uint32Array(width * height) };
}

/** The other colour of hatching: three quarters of each channel. */
export const darker = (color: number): number => (color - ((color >>> 2) & 0x3f3f3f)) >>> 0;

/**
 * Pixels from (x0, y0) to before (x1, y1), rounded down, clipped to the raster. Hatching alternates the colour with a
 * darker one in diagonal stripes of four pixels that continue from one rectangle to the next.
 */
export function fillRect(
  raster: Raster,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  color: number,
  hatched = false,
): void {
  const { width, height } = raster;
  const left = Math.max(0, Math.floor(x0));
  const right = Math.min(width, Math.floor(x1));
  const top = Math.max(0, Math.floor(y0));
  const bottom = Math.min(height, Math.floor(y1));
  if (left < right) (hatched ? hatch : fill)(raster, left, top, right, bottom, color);
}

/** {@link fillRect} for integers within the raster. */
export function fill({ width, pixels }: Raster, x0: number, y0: number, x1: number, y1: number, color: number): void {
  const isWide = x1 - x0 > 16;
  for (let row = y0 * width; row < y1 * width; row += width) {
    // A call of `fill` costs more than a few assignments.
    if (isWide) pixels.fill(color, row + x0, row + x1);
    else for (let at = row + x0; at < row + x1; at += 1) pixels[at] = color;
  }
}

/** Pixels after which hatching repeats. */
const PERIOD = 8;
/** Pixels of a row that are drawn one by one before they are copied: a multiple of {@link PERIOD}. */
const DRAWN = 64;

/** The pixels of a hatched {@link fillRect}, for integers within the raster. */
export function hatch({ width, pixels }: Raster, x0: number, y0: number, x1: number, y1: number, color: number): void {
  const dark = darker(color);
  const drawn = Math.min(x1, x0 + DRAWN);
  for (let y = y0; y < y1; y += 1) {
    const row = y * width;
    const end = row + x1;
    // Of wide blocks most pixels are copies.
    if (y >= y0 + PERIOD && drawn < x1) {
      pixels.copyWithin(row + x0, row + x0 - PERIOD * width, end - PERIOD * width);
      continue;
    }
    for (let x = x0; x < drawn; x += 1) pixels[row + x] = ((x + y) & 4) === 0 ? color : dark;
    const start = row + x0;
    for (let at = row + drawn; at < end; ) {
      const length = Math.min(at - start, end - at);
      pixels.copyWithin(at, start, start + length);
      at += length;
    }
  }
}
