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
  const { width, height, pixels } = raster;
  const left = Math.max(0, Math.floor(x0));
  const right = Math.min(width, Math.floor(x1));
  const top = Math.max(0, Math.floor(y0));
  const bottom = Math.min(height, Math.floor(y1));
  if (left >= right) return;
  if (!hatched) {
    for (let y = top; y < bottom; y += 1) {
      const end = y * width + right;
      // A call of `fill` costs more than a few assignments.
      if (right - left > 16) pixels.fill(color, y * width + left, end);
      else for (let at = y * width + left; at < end; at += 1) pixels[at] = color;
    }
    return;
  }
  const dark = darker(color);
  for (let y = top; y < bottom; y += 1) {
    const row = y * width;
    for (let x = left; x < right; x += 1) pixels[row + x] = ((x + y) & 4) === 0 ? color : dark;
  }
}
