import { describe, expect, it } from 'vitest';
import { OPEN_SEQ } from '../../../src/model/picture/levels.js';
import type { DeviceColumns, PageDevice } from '../../../src/model/picture/page-data.js';
import { axisOf } from '../../../src/report/page/axis.js';
import { rampOf } from '../../../src/report/page/flame/ramp.js';
import { blockColors } from '../../../src/report/page/map/map-colors.js';
import {
  type Boxes,
  boxAt,
  drawBoxes,
  drawSegments,
  layoutBoxes,
  type MapFilter,
  newBoxes,
  type Rows,
} from '../../../src/report/page/map/map-raster.js';
import { movedRows, zoomedRows } from '../../../src/report/page/map/map-rows.js';
import { paletteOf } from '../../../src/report/page/palette.js';
import { newRaster } from '../../../src/report/page/raster.js';
import { holesAt } from '../../../src/report/page/segments/holes-at.js';
import type { Loaded, ViewState } from '../../../src/report/page/view-state.js';
import { randomOf, syntheticDevice } from './synthetic-device.js';

const GIB = 1024 ** 3;
const SIZE = { width: 150, height: 90 };
const { page, columns } = syntheticDevice({ seed: 7, layers: 8, steps: 12, limitBytes: 5.5 * GIB, expandable: false });
const total = columns.bands.at(-1)!.place + columns.bands.at(-1)!.bytes;
const wholeView: ViewState = { device: 0, from: 0, to: page.lastSeq + 1, axis: 'entry', cursor: 0, stack: null };
const all: MapFilter = { leastBytes: 0, aliveAt: null, stack: null };

/** Blocks anywhere, overlapping each other and the edges of the view. */
function randomDevice(count: number): { page: PageDevice; columns: DeviceColumns } {
  const random = randomOf(99);
  const column = (of: () => number): Float64Array => Float64Array.from({ length: count }, of);
  const from = Int32Array.from(column(() => Math.floor(random() * 1000) - 1)).sort();
  return {
    page: { ...page, firstSeq: 0, lastSeq: 999, blocks: count, allBlocks: count },
    columns: {
      ...columns,
      blocks: {
        ...{
          count,
          from,
          to: from.map((seq) => (random() < 0.1 ? OPEN_SEQ : seq + 1 + Math.floor(random() ** 4 * 400))),
        },
        pending: from.map(() => OPEN_SEQ),
        bytes: column(() => 512 * Math.ceil(random() ** 6 * 40_000)),
        place: column(() => 512 * Math.floor(random() * 200_000)),
        component: new Uint8Array(count),
        isPrivate: new Uint8Array(count),
        stack: Int32Array.from(column(() => Math.floor(random() * 5) - 1)),
      },
    },
  };
}

function laid(of: Loaded, state: ViewState, rows: Rows, filter: MapFilter): Boxes {
  const boxes = newBoxes(of.columns.blocks.count);
  layoutBoxes(boxes, of, axisOf(of.page, of.columns, state), rows, SIZE, filter);
  return boxes;
}

/** The raster with each block's index, plus one, as its colour. */
function idsOf(boxes: Boxes, count: number): Uint32Array {
  const raster = newRaster(SIZE.width, SIZE.height);
  const color = Uint32Array.from({ length: count }, (_, i) => i + 1);
  drawBoxes(raster, boxes, { color, hatched: new Uint8Array(count), pending: null });
  return raster.pixels;
}

describe('the block at a pixel', () => {
  const random = randomDevice(1500);
  const run = { page, columns };
  const wide = { low: 0, high: 1e8 };
  const long = { ...wholeView, to: 1000 };
  const views: readonly (readonly [string, Loaded, ViewState, Rows, MapFilter])[] = [
    ['random blocks', random, long, { low: 0, high: 512 * 220_000 }, all],
    ['zoomed', random, { ...wholeView, from: 200.4, to: 300.7 }, { low: 5e6, high: 4e7 }, all],
    ['a selected stack', random, long, wide, { ...all, stack: 2 }],
    ['live ones', random, long, wide, { ...all, aliveAt: 400 }],
    ['a training run over time', run, { ...wholeView, axis: 'time' }, { low: 0, high: total }, all],
  ];
  it.each(views)('is the drawn one: %s', (_, of, state, rows, filter) => {
    const boxes = laid(of, state, rows, filter);
    const ids = idsOf(boxes, of.columns.blocks.count);
    expect(boxes.count).toBeGreaterThan(20);
    let different = 0;
    for (let y = 0; y < SIZE.height; y += 1)
      for (let x = 0; x < SIZE.width; x += 1) {
        const at = boxAt(boxes, x, y);
        if ((at < 0 ? 0 : boxes.block[at]! + 1) !== ids[y * SIZE.width + x]) different += 1;
      }
    expect(different).toBe(0);
  });

  it('is the one of the largest area of those that touch the pixel', () => {
    const boxes = laid(random, long, wide, all);
    const { from, to, bytes, place } = random.columns.blocks;
    const area = (i: number): number => bytes[i]! * (Math.min(to[i]!, 1000) - Math.max(from[i]!, -1));
    for (let y = 0; y < SIZE.height; y += 5)
      for (let x = 0; x < SIZE.width; x += 5) {
        const at = boxAt(boxes, x, y);
        // Edges are rounded down: a pixel is of those that cover its lower right corner.
        const seq = ((x + 1 - 1e-9) / SIZE.width) * 1000;
        const address = (1 - (y + 1 - 1e-9) / SIZE.height) * 1e8;
        const covering = Array.from(from.keys()).filter(
          (i) => from[i]! <= seq && seq < to[i]! && place[i]! <= address && address < place[i]! + bytes[i]!,
        );
        const most = Math.max(0, ...covering.map(area));
        expect(at < 0 ? 0 : area(boxes.block[at]!)).toBeGreaterThanOrEqual(most);
      }
  });

  it('is seen although it is smaller than a pixel, and left out by filters', () => {
    const rows = { low: 0, high: total };
    const boxes = laid(run, wholeView, rows, all);
    expect(boxes.count).toBe(columns.blocks.count);
    for (let at = 0; at < boxes.count; at += 1) {
      expect(boxes.x1[at]! - boxes.x0[at]!).toBeGreaterThan(0);
      expect(boxes.y1[at]! - boxes.y0[at]!).toBeGreaterThan(0);
    }
    const large = laid(run, wholeView, rows, { ...all, leastBytes: 1024 ** 2 });
    expect(large.count).toBe(columns.blocks.bytes.filter((bytes) => bytes >= 1024 ** 2).length);
    const selected = laid(run, wholeView, rows, { ...all, stack: columns.blocks.stack[0]! });
    expect(columns.blocks.stack[selected.block[selected.count - 1]!]).toBe(columns.blocks.stack[0]);
    expect(selected.count).toBe(boxes.count);
  });
});

describe('colours', () => {
  const palette = paletteOf(page.components, false);
  const ramp = rampOf(false);
  const seq = page.lastSeq;
  const state = () => holesAt(page, columns, seq);

  it('mark the blocks that pin free memory at the cursor, and no other', () => {
    const { color } = blockColors('pins', { page, columns }, state, null, palette, ramp);
    const { live, pins } = state();
    const pinning = new Set(pins.flatMap(({ first, end }) => [...live.blocks.subarray(first, end)]));
    expect(pinning.size).toBeGreaterThan(0);
    color.forEach((of, i) => {
      expect(of === palette.pin).toBe(pinning.has(i));
    });
  });

  it('are pale for other stacks than the selected one', () => {
    const stack = columns.blocks.stack[0]!;
    const { color } = blockColors('component', { page, columns }, state, stack, palette, ramp);
    color.forEach((of, i) => {
      const componentColor = palette.component[columns.blocks.component[i]!];
      expect(of === componentColor).toBe(columns.blocks.stack[i] === stack);
    });
  });
});

describe('segments of the map', () => {
  it('are where and while they are reserved', () => {
    const axis = axisOf(page, columns, wholeView);
    const raster = newRaster(SIZE.width, SIZE.height);
    const palette = paletteOf(page.components, false);
    raster.pixels.fill(palette.background);
    drawSegments(raster, page, columns.segments, axis, { low: 0, high: total }, palette);
    const { from, to, place, bytes, count, isPrivate } = columns.segments;
    for (let y = 1; y < SIZE.height; y += 7)
      for (let x = 1; x < SIZE.width; x += 7) {
        const touches = Array.from({ length: count }, (_, i) => i).filter((i) => {
          const at = [axis.xOf(from[i]!) * SIZE.width, axis.xOf(Math.min(to[i]!, page.lastSeq + 1)) * SIZE.width];
          const top = ((total - place[i]! - bytes[i]!) / total) * SIZE.height;
          const bottom = ((total - place[i]!) / total) * SIZE.height;
          return at[0]! < x + 1 && at[1]! > x && top < y + 1 && bottom > y;
        });
        const pixel = raster.pixels[y * SIZE.width + x];
        if (touches.length === 0) expect(pixel).toBe(palette.background);
        if (touches.length === 1 && isPrivate[touches[0]!] === 1) expect(pixel).not.toBe(palette.free);
      }
    expect(raster.pixels.includes(palette.free)).toBe(true);
    expect(raster.pixels.includes(palette.privateFree)).toBe(true);
  });
});

describe('visible rows', () => {
  it('keep what is at the pointer in its place, and stay within the addresses', () => {
    const rows = zoomedRows({ low: 0, high: total }, total, total / 4, 0.5);
    expect((total / 4 - rows.low) / (rows.high - rows.low)).toBeCloseTo(0.25);
    expect(zoomedRows(rows, total, total / 2, 100)).toEqual({ low: 0, high: total });
    expect(movedRows(rows, total, 50).high).toBe(total);
    expect(movedRows(rows, total, -50).low).toBe(0);
  });
});
