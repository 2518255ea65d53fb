/**
 * Pixels of stacked memory: one column per pixel, from the bottom components, then free memory of private pools, then
 * cached memory up to what is reserved. Pure.
 */
import type { Level } from '../../../model/picture/levels.js';
import type { Palette } from '../palette.js';
import type { Picks } from '../pick.js';
import { darker, fillRect, type Raster } from '../raster.js';

export interface StackLook {
  readonly palette: Palette;
  /** Bytes at the lower and upper edge. */
  readonly low: number;
  readonly high: number;
  /** Device pixels of a line. */
  readonly line: number;
  readonly hasSeparators: boolean;
}

/** A component that is lower than this many lines is drawn without a separator: little of it would be left. */
const LEAST_LINES = 3;

/** One vertical run of a pixel column, from `top` to before `bottom`. */
type Paint = (raster: Raster, x: number, top: number, bottom: number, color: number) => void;

const plain: Paint = ({ width, pixels }, x, top, bottom, color) => {
  for (let at = top * width + x, y = top; y < bottom; y += 1, at += width) pixels[at] = color;
};

const hatched: Paint = ({ width, pixels }, x, top, bottom, color) => {
  const dark = darker(color);
  for (let at = top * width + x, y = top; y < bottom; y += 1, at += width) {
    pixels[at] = ((x + y) & 4) === 0 ? color : dark;
  }
};

/** Stripes in the other direction; what is between them stays. */
const overlaid: Paint = ({ width, pixels }, x, top, bottom, color) => {
  for (let at = top * width + x, y = top; y < bottom; y += 1, at += width) {
    if (((x - y) & 7) < 3) pixels[at] = color;
  }
};

/** The state of each pixel column in absolute bytes. `low` of the look is 0. */
export function drawStack(raster: Raster, levels: readonly Level[], picks: Picks, look: StackLook): void {
  const { width, height } = raster;
  const { palette, line } = look;
  const { component, hatched: isHatched, background } = palette;
  const perByte = height / look.high;
  const rowOf = (bytes: number): number => {
    const row = height - Math.round(bytes * perByte);
    return Math.max(0, Math.min(row, height));
  };
  for (let x = 0; x < width; x += 1) {
    const index = picks.level[x]!;
    if (index < 0) {
      plain(raster, x, 0, height, background);
      continue;
    }
    const level = levels[index]!;
    const column = picks.column[x]!;
    let bottom = height;
    let sum = 0;
    for (let c = 0; c < component.length; c += 1) {
      const bytes = level.components[c]![column]!;
      if (bytes === 0) continue;
      sum += bytes;
      const top = rowOf(sum);
      const paint = isHatched[c] === 1 ? hatched : plain;
      const isCut = look.hasSeparators && bottom < height && bottom - top >= LEAST_LINES * line;
      if (isCut) plain(raster, x, bottom - line, bottom, background);
      paint(raster, x, top, isCut ? bottom - line : bottom, component[c]!);
      bottom = top;
    }
    const active = level.active[column]!;
    const pending = level.pending[column]!;
    if (pending > 0) overlaid(raster, x, rowOf(active), rowOf(active - pending), palette.pending);
    const privateFree = Math.max(0, level.privateReserved[column]! - level.privateActive[column]!);
    const reserved = Math.max(active, level.reserved[column]!);
    const above = rowOf(Math.min(reserved, active + privateFree));
    hatched(raster, x, above, bottom, palette.privateFree);
    const top = rowOf(reserved);
    plain(raster, x, top, above, palette.free);
    plain(raster, x, 0, top, background);
  }
}

/** How each component differs from what it was at the first pixel: growth above the line of zero, the rest below it. */
export function drawChange(raster: Raster, levels: readonly Level[], picks: Picks, look: StackLook): void {
  const { width, height } = raster;
  const { component, hatched: isHatched, background, ink } = look.palette;
  const base = baseOf(levels, picks);
  const perByte = height / (look.high - look.low);
  const rowOf = (bytes: number): number => {
    const row = Math.round((look.high - bytes) * perByte);
    return Math.max(0, Math.min(row, height));
  };
  const zero = rowOf(0);
  for (let x = 0; x < width; x += 1) {
    plain(raster, x, 0, height, background);
    const index = picks.level[x]!;
    if (index < 0 || base === null) continue;
    const level = levels[index]!;
    const column = picks.column[x]!;
    let more = 0;
    let less = 0;
    for (let c = 0; c < component.length; c += 1) {
      const change = level.components[c]![column]! - base.components[c]!;
      const paint = isHatched[c] === 1 ? hatched : plain;
      if (change > 0) {
        paint(raster, x, rowOf(more + change), rowOf(more), component[c]!);
        more += change;
      } else if (change < 0) {
        paint(raster, x, rowOf(less), rowOf(less + change), component[c]!);
        less += change;
      }
    }
  }
  fillRect(raster, 0, zero, width, zero + look.line, ink);
  if (base === null) return;
  const { active } = base;
  drawLine(raster, look, ink, (x) => activeAt(levels, picks, x) - active);
}

/** Most of all growth and of all decline of the pixel columns in bytes, as {@link drawChange} stacks them. */
export function changeExtent(levels: readonly Level[], picks: Picks): { readonly low: number; readonly high: number } {
  const base = baseOf(levels, picks);
  let low = 0;
  let high = 0;
  for (let x = 0; x < picks.width && base !== null; x += 1) {
    if (picks.level[x]! < 0) continue;
    const level = levels[picks.level[x]!]!;
    let more = 0;
    let less = 0;
    for (let c = 0; c < base.components.length; c += 1) {
      const change = level.components[c]![picks.column[x]!]! - base.components[c]!;
      if (change > 0) more += change;
      else less += change;
    }
    high = Math.max(high, more);
    low = Math.min(low, less);
  }
  return { low, high };
}

/** Active bytes of a pixel column; not a number outside the trace. */
export function activeAt(levels: readonly Level[], picks: Picks, x: number): number {
  return picks.level[x]! < 0 ? Number.NaN : levels[picks.level[x]!]!.active[picks.column[x]!]!;
}

function baseOf(
  levels: readonly Level[],
  picks: Picks,
): { readonly active: number; readonly components: Float64Array } | null {
  if (picks.width === 0 || picks.level[0]! < 0) return null;
  const level = levels[picks.level[0]!]!;
  const column = picks.column[0]!;
  return { active: level.active[column]!, components: Float64Array.from(level.components, (of) => of[column]!) };
}

/** A line of bytes by pixel column with vertical parts between unlike ones; none where the bytes are not a number. */
export function drawLine(
  raster: Raster,
  { low, high, line }: StackLook,
  color: number,
  bytesAt: (x: number) => number,
): void {
  const { width, height } = raster;
  let before = Number.NaN;
  for (let x = 0; x < width; x += 1) {
    const row = Math.round(((high - bytesAt(x)) / (high - low)) * height);
    if (!Number.isNaN(row)) {
      const start = Number.isNaN(before) ? row : before;
      fillRect(raster, x, Math.min(row, start), x + 1, Math.max(row, start) + line, color);
    }
    before = row;
  }
}
