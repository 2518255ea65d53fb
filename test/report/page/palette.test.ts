import { describe, expect, it } from 'vitest';
import { COMPONENTS, STACKING_ORDER } from '../../../src/model/vocabulary.js';
import { cssOf, paletteOf, word } from '../../../src/report/page/palette.js';

type Linear = readonly [red: number, green: number, blue: number];

function linear(color: number): Linear {
  const channel = (shift: number): number => {
    const value = ((color >>> shift) & 0xff) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(0), channel(8), channel(16)];
}

/** Machado, Oliveira and Fernandes 2009, severity 1. */
const DEUTERANOPIA: readonly Linear[] = [
  [0.367322, 0.860646, -0.227968],
  [0.280085, 0.672501, 0.047413],
  [-0.01182, 0.04294, 0.968881],
];
const PROTANOPIA: readonly Linear[] = [
  [0.152286, 1.052583, -0.204868],
  [0.114503, 0.786281, 0.099216],
  [-0.003882, -0.048116, 1.051998],
];
const NONE: readonly Linear[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

const seenAs = (matrix: readonly Linear[], [r, g, b]: Linear): Linear => {
  const [red, green, blue] = matrix.map(([x, y, z]) => Math.min(1, Math.max(0, x * r + y * g + z * b)));
  return [red!, green!, blue!];
};

/** WCAG 2: (lighter + 0.05) / (darker + 0.05). */
function contrast(one: number, other: number): number {
  const [low, high] = [one, other]
    .map((color) => {
      const [r, g, b] = linear(color);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    })
    .sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

/** CIE 1976 distance. */
function distance(one: Linear, other: Linear): number {
  const lab = ([r, g, b]: Linear): Linear => {
    const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
    const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
    const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  const [a, b] = [lab(one), lab(other)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

describe.each([
  ['light', false],
  ['dark', true],
])('palette of the %s page', (_name, dark) => {
  const palette = paletteOf(STACKING_ORDER, dark);

  it('has a contrast of 3 : 1 between each component and the background, which separates neighbours', () => {
    for (const [i, color] of palette.component.entries())
      expect(contrast(color, palette.background), STACKING_ORDER[i]).toBeGreaterThanOrEqual(3);
    for (const color of [palette.oom, palette.pin, palette.selected, palette.pending])
      expect(contrast(color, palette.background)).toBeGreaterThanOrEqual(3);
    for (const color of [palette.ink, palette.muted])
      expect(contrast(color, palette.background)).toBeGreaterThanOrEqual(4.5);
  });

  // Components that a trace lacks make any two neighbours, so all pairs count.
  it.each([
    ['all colours', NONE],
    ['deuteranopia', DEUTERANOPIA],
    ['protanopia', PROTANOPIA],
  ])('tells any two components apart by colour or hatching: %s', (_sight, matrix) => {
    const seen = [...palette.component].map((color) => seenAs(matrix, linear(color)));
    for (const [i, one] of STACKING_ORDER.entries())
      for (const [j, other] of STACKING_ORDER.entries()) {
        if (i >= j || palette.hatched[i] !== palette.hatched[j]) continue;
        expect(distance(seen[i]!, seen[j]!), `${one} and ${other}`).toBeGreaterThan(9);
      }
  });
});

describe('paletteOf', () => {
  it('gives a component the same look in every page', () => {
    const all = paletteOf(COMPONENTS, false);
    const some = paletteOf(['activation', 'parameter'], false);
    expect(some.css).toEqual([all.css[COMPONENTS.indexOf('activation')], all.css[COMPONENTS.indexOf('parameter')]]);
    expect(paletteOf(['constructor'], false).css).toEqual(paletteOf(['unattributed'], false).css);
    const looks = COMPONENTS.map((_, i) => `${all.css[i]} ${all.hatched[i]}`);
    expect(new Set(looks).size).toBe(COMPONENTS.length);
  });

  it('writes words of pixels in the order of their bytes', () => {
    expect([...new Uint8Array(Uint32Array.of(word('#123456')).buffer)]).toEqual([0x12, 0x34, 0x56, 0xff]);
    expect(cssOf(word('#123456'), 0.5)).toBe('rgb(18 52 86 / 0.5)');
  });
});
