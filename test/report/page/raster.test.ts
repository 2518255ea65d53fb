import { describe, expect, it } from 'vitest';
import { paletteOf } from '../../../src/report/page/palette.js';
import { newPicks, pickColumns } from '../../../src/report/page/pick.js';
import { darker, fillRect, newRaster } from '../../../src/report/page/raster.js';
import { activeAt, drawChange, drawStack } from '../../../src/report/page/stack/stack-raster.js';
import { syntheticDevice } from './synthetic-device.js';

const RED = 0xff0000ff;

describe('fillRect', () => {
  it('clips at all edges and rounds down', () => {
    const raster = newRaster(40, 5);
    fillRect(raster, -3, -2, 2.9, 1.9, RED);
    fillRect(raster, 38.2, 4, 99, 99, RED);
    fillRect(raster, 10, 3, 5, 9, RED);
    fillRect(raster, 50, 0, 60, 5, RED, true);
    const filled = [...raster.pixels.keys()].filter((i) => raster.pixels[i] !== 0);
    expect(filled).toEqual([0, 1, 4 * 40 + 38, 4 * 40 + 39]);
  });

  it('hatches in diagonal stripes that go on in the next rectangle', () => {
    const raster = newRaster(32, 8);
    fillRect(raster, 0, 0, 13, 8, RED, true);
    fillRect(raster, 13, 0, 32, 8, RED, true);
    expect(darker(RED)).toBe(0xff0000c0);
    for (let y = 0; y < 8; y += 1)
      for (let x = 0; x < 32; x += 1) expect(raster.pixels[y * 32 + x]).toBe((x + y) % 8 < 4 ? RED : darker(RED));
  });
});

const { page, columns } = syntheticDevice({
  ...{ seed: 4, layers: 8, steps: 4, limitBytes: 8 * 1024 ** 3, expandable: false },
});
const level = columns.levels[0]!;
const width = 300;
const height = 200;
const picks = newPicks(width);
pickColumns([level], (x) => x * (page.lastSeq + 1), picks);
const palette = paletteOf(page.components, false);
const high = 9 * 1024 ** 3;

describe('drawStack', () => {
  it('is as high as what is active, free in private pools and reserved', () => {
    const raster = newRaster(width, height);
    drawStack(raster, [level], picks, { palette, low: 0, high, line: 1, hasSeparators: false });
    const rows = (bytes: number): number => Math.round((bytes * height) / high);
    for (let x = 0; x < width; x += 1) {
      const column = picks.column[x]!;
      const counts = new Map<number, number>();
      for (let y = 0; y < height; y += 1) {
        const color = raster.pixels[y * width + x]!;
        counts.set(color, (counts.get(color) ?? 0) + 1);
      }
      const count = (color: number): number => counts.get(color) ?? 0;
      const privateFree = level.privateReserved[column]! - level.privateActive[column]!;
      const top = rows(level.reserved[column]!);
      const middle = rows(level.active[column]! + privateFree);
      expect(count(palette.background)).toBe(height - top);
      expect(count(palette.free)).toBe(top - middle);
      expect(count(palette.privateFree) + count(darker(palette.privateFree))).toBe(
        middle - rows(level.active[column]!),
      );
      // The lowest component, on plain ground.
      expect(count(palette.component[0]!)).toBe(rows(level.components[0]![column]!));
    }
  });
});

describe('drawChange', () => {
  it('draws nothing but the lines where nothing differs', () => {
    const raster = newRaster(width, height);
    drawChange(raster, [level], picks, { palette, low: -high, high, line: 1, hasSeparators: false });
    const column = (x: number): number[] => Array.from({ length: height }, (_, y) => raster.pixels[y * width + x]!);
    expect(new Set(column(0))).toEqual(new Set([palette.background, palette.ink]));
    const later = Array.from({ length: width }, (_, x) => x).find(
      (x) => activeAt([level], picks, x) > activeAt([level], picks, 0) + high / 10,
    )!;
    expect(column(later)).toContain(palette.component[0]);
  });
});
