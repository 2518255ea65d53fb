/** What the colours of blocks mean in the address map. Pure. */

import { mix, rampColor } from '../flame/ramp.js';
import type { Palette } from '../palette.js';
import type { LayoutAt } from '../segments/holes-at.js';
import type { Loaded } from '../view-state.js';
import type { BlockColors } from './map-raster.js';

export type MapMode = 'component' | 'age' | 'life' | 'pins' | 'stack';

export const MAP_MODES: readonly (readonly [MapMode, string])[] = [
  ['component', 'component'],
  ['age', 'age at the cursor'],
  ['life', 'lifetime'],
  ['pins', 'pins a hole'],
  ['stack', 'selected stack'],
];

/** Blocks that a mode is not about. */
export const mutedOf = ({ free, ink }: Palette): number => mix(free, ink, 0.2);

/** Modes whose colours change with the cursor. */
export const followsCursor = (mode: MapMode): boolean => mode === 'age' || mode === 'pins';

/** How much of the colour of free memory is in blocks of other stacks while one is selected. */
const DIMMED = 0.7;

/** `state`: at the cursor, read by modes that follow it. With a selected stack, blocks of other stacks are pale. */
export function blockColors(
  mode: MapMode,
  loaded: Loaded,
  state: () => LayoutAt,
  stack: number | null,
  palette: Palette,
  ramp: Uint32Array,
): BlockColors {
  const { blocks } = loaded.columns;
  const colors = colorsOf(mode, loaded, state, palette, ramp);
  if (stack === null && mode !== 'stack') return colors;
  const { color, hatched } = colors;
  const dimmed = new Map<number, number>();
  for (let i = 0; i < blocks.count; i += 1) {
    if (blocks.stack[i] === stack) continue;
    const plain = color[i]!;
    let pale = dimmed.get(plain);
    if (pale === undefined) {
      pale = mode === 'stack' ? mutedOf(palette) : mix(plain, palette.free, DIMMED);
      dimmed.set(plain, pale);
    }
    color[i] = pale;
    hatched[i] = 0;
  }
  return colors;
}

function colorsOf(
  mode: MapMode,
  { page, columns }: Loaded,
  state: () => LayoutAt,
  palette: Palette,
  ramp: Uint32Array,
): BlockColors {
  const { count, from, to, component } = columns.blocks;
  const color = new Uint32Array(count);
  const hatched = new Uint8Array(count);
  const { pending } = palette;
  if (mode === 'component' || mode === 'stack') {
    for (let i = 0; i < count; i += 1) {
      color[i] = palette.component[component[i]!]!;
      hatched[i] = palette.hatched[component[i]!]!;
    }
    return { color, hatched, pending: mode === 'stack' ? null : pending };
  }
  if (mode === 'life') {
    const most = page.lastSeq - page.firstSeq + 1;
    for (let i = 0; i < count; i += 1) {
      const begin = Math.max(from[i]!, page.firstSeq);
      color[i] = to[i]! > page.lastSeq ? palette.ink : rampColor(ramp, to[i]! - begin, most);
    }
    return { color, hatched, pending };
  }
  color.fill(mutedOf(palette));
  const { live, pins } = state();
  if (mode === 'age') {
    const most = Math.max(2, live.seq - page.firstSeq + 1);
    for (const i of live.blocks) color[i] = rampColor(ramp, live.seq - Math.max(from[i]!, page.firstSeq) + 1, most);
  } else
    for (const { first, end } of pins) for (let at = first; at < end; at += 1) color[live.blocks[at]!] = palette.pin;
  return { color, hatched, pending: null };
}
