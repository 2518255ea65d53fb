/** Bars of segments in pixels: blocks in the colours of their components, what is free in a light colour. Pure. */
import type { PageBlocks } from '../../../model/picture/page-data.js';
import { mix } from '../flame/ramp.js';
import type { Palette } from '../palette.js';
import { fillRect, type Raster } from '../raster.js';
import type { LayoutAt } from './holes-at.js';
import { BAR_HEIGHT, type Piece, type SegmentRows } from './segment-layout.js';

/** Narrower blocks are drawn without a line to the next. */
const LEAST_WITH_LINE = 4;

/** `ratio`: device pixels in a CSS pixel. */
export function drawSegmentRows(
  raster: Raster,
  blocks: PageBlocks,
  at: LayoutAt,
  { pieces, bytesPerPixel }: SegmentRows,
  palette: Palette,
  stack: number | null,
  ratio: number,
): void {
  raster.pixels.fill(palette.background);
  const lines = palette.component.map((color) => mix(color, palette.background, 0.55));
  for (const piece of pieces) {
    const { isPrivate } = at.segments[piece.segment]!;
    const top = Math.round(piece.y * ratio);
    const bottom = Math.round((piece.y + BAR_HEIGHT) * ratio);
    const left = piece.x * ratio;
    const right = Math.max(left + 1, (piece.x + piece.width) * ratio);
    fillRect(raster, left, top, right, bottom, isPrivate ? palette.privateFree : palette.free, isPrivate);
    const perByte = ratio / bytesPerPixel;
    const [first, end] = blocksOf(blocks, at, piece);
    // A block narrower than a pixel must be seen, and must not hide a wide one.
    for (const isNarrow of [true, false])
      for (let i = first; i < end; i += 1) {
        const block = at.live.blocks[i]!;
        const from = blocks.place[block]! - at.segments[piece.segment]!.place - piece.from;
        const x0 = Math.floor(left + Math.max(0, from) * perByte);
        const x1 = Math.floor(left + Math.min(piece.to - piece.from, from + blocks.bytes[block]!) * perByte);
        if (x1 - x0 < 1 !== isNarrow) continue;
        const component = blocks.component[block]!;
        const isPending = blocks.pending[block]! <= at.live.seq;
        const color = isPending ? palette.pending : palette.component[component]!;
        const isHatched = isPending || palette.hatched[component] === 1;
        fillRect(raster, x0, top, Math.max(x0 + 1, x1), bottom, color, isHatched);
        if (x1 - x0 >= LEAST_WITH_LINE) fillRect(raster, x1 - 1, top, x1, bottom, lines[component]!);
        if (stack !== null && blocks.stack[block] === stack) {
          const thick = Math.max(2, Math.round(2.5 * ratio));
          fillRect(raster, x0, top, Math.max(x0 + 1, x1), top + thick, palette.selected);
          fillRect(raster, x0, bottom - thick, Math.max(x0 + 1, x1), bottom, palette.selected);
        }
      }
  }
}

/** The range of `live.blocks` that a piece shows. */
function blocksOf({ place, bytes }: PageBlocks, { live, segments }: LayoutAt, piece: Piece): readonly [number, number] {
  const segment = segments[piece.segment]!;
  const firstWhere = (low: number, is: (block: number) => boolean): number => {
    let high = segment.endBlock;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (is(live.blocks[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const first = firstWhere(segment.firstBlock, (block) => place[block]! + bytes[block]! > segment.place + piece.from);
  return [first, firstWhere(first, (block) => place[block]! >= segment.place + piece.to)];
}
