/**
 * How large blocks are and how long they live: a table of powers of two, darker where there is more. Blocks that are
 * live at the end have a column of their own.
 */
import { visibleText } from '../../../model/escape-controls.js';
import { maxOf, minOf } from '../../../model/lists.js';
import type { LifetimeCell } from '../../../model/picture/page-data.js';
import { counted, formatBytes, formatCount } from '../../../model/units.js';
import { isDark, newSurface } from '../canvas.js';
import { choice, element } from '../dom.js';
import { showLegend } from '../legend.js';

import { cssOf, paletteOf } from '../palette.js';
import { attachTip } from '../tip.js';
import type { Loaded, Shared, View, ViewState } from '../view-state.js';
import { mix, rampColor, rampGradient, rampOf } from './ramp.js';

const CELL_HEIGHT = 20;
const INSETS = { left: 84, right: 16, top: 4, bottom: 40 };
/** CSS pixels between the last column of lives and that of blocks which are live at the end. */
const END_GAP = 14;
const MOST_CELL_WIDTH = 64;

type Measure = 'bytes' | 'blocks';

export function mountLifetimes(root: HTMLElement, { page }: Loaded, shared: Shared): View {
  const cells = page.lifetimes;
  let measure: Measure = 'bytes';
  const measures = choice(
    'Colour',
    [
      ['bytes', 'bytes'],
      ['blocks', 'blocks'],
    ] as const,
    (value) => {
      measure = value;
      draw(shared.get());
    },
  );
  const tools = element('div', 'tools');
  tools.append(measures.root);
  root.append(tools);
  const sizes = cells.map(({ size }) => size);
  const least = minOf(sizes);
  const rows = cells.length === 0 ? 1 : maxOf(sizes) - least + 1;
  const columns = Math.max(1, maxOf(cells.map(({ life }) => life + 1)));
  const surface = newSurface(
    root,
    rows * CELL_HEIGHT + INSETS.top + INSETS.bottom,
    INSETS,
    sentenceOf(page.title, cells),
  );
  const legend = element('div', 'legend');
  root.append(legend);

  const widthOf = (plot: number): number => Math.min(MOST_CELL_WIDTH, (plot - END_GAP) / (columns + 1));
  const xOf = (life: number, width: number): number => (life < 0 ? columns * width + END_GAP : life * width);
  const yOf = (size: number): number => (rows - 1 - (size - least)) * CELL_HEIGHT;

  attachTip(surface.canvas, surface.root, (event) => {
    const width = widthOf(surface.canvas.clientWidth - INSETS.left - INSETS.right);
    const x = event.offsetX - INSETS.left;
    const y = event.offsetY - INSETS.top;
    const cell = cells.find(({ size, life }) => {
      const left = xOf(life, width);
      return x >= left && x < left + width && y >= yOf(size) && y < yOf(size) + CELL_HEIGHT;
    });
    return { lines: cell === undefined ? [] : cellLines(cell) };
  });

  function draw(_state: ViewState): void {
    measures.show(measure);
    const { raster, over, plot } = surface.frame();
    const palette = paletteOf(page.components, isDark());
    const ramp = rampOf(isDark());
    raster.pixels.fill(palette.background);
    surface.put();
    showLegend(legend, [
      { kind: 'ramp', from: `fewer ${measure}`, to: `more ${measure}`, gradient: rampGradient(ramp) },
    ]);
    const most = cells.reduce((sum, cell) => Math.max(sum, cell[measure]), 1);
    const width = widthOf(plot.width);
    const faint = cssOf(mix(palette.background, palette.free, 0.55));
    for (let life = -1; life < columns; life += 1)
      for (let row = 0; row < rows; row += 1) {
        over.fillStyle = faint;
        over.fillRect(plot.x + xOf(life, width), plot.y + row * CELL_HEIGHT, width - 1, CELL_HEIGHT - 1);
      }
    for (const cell of cells) {
      // Of bytes, cells differ by powers of ten: the scale distinguishes those above a millionth of the largest.
      const value = measure === 'bytes' ? Math.max(1, (cell.bytes / most) * 1e6) : cell.blocks;
      over.fillStyle = cssOf(rampColor(ramp, value, measure === 'bytes' ? 1e6 : Math.max(2, most)));
      over.fillRect(plot.x + xOf(cell.life, width), plot.y + yOf(cell.size), width - 1, CELL_HEIGHT - 1);
    }
    over.fillStyle = cssOf(palette.muted);
    over.textAlign = 'right';
    for (let size = least; size < least + rows; size += 1)
      if ((size - least) % 2 === 0)
        over.fillText(
          formatBytes(512 * 2 ** size).replace('.00', ''),
          plot.x - 8,
          plot.y + yOf(size) + CELL_HEIGHT / 2,
        );
    over.textAlign = 'center';
    const bottom = plot.y + rows * CELL_HEIGHT;
    for (let life = 0; life < columns; life += Math.max(1, Math.ceil(44 / width)))
      over.fillText(formatCount(2 ** life), plot.x + xOf(life, width) + width / 2, bottom + 10);
    over.fillText('at the end', plot.x + xOf(-1, width) + width / 2, bottom + 10);
    over.fillText('size', plot.x - 24, bottom + 10);
    over.fillText('entries that a block lives, at least', plot.x + (columns * width) / 2, bottom + 28);
  }

  return { draw };
}

function cellLines({ size, life, blocks, bytes }: LifetimeCell): string[] {
  const lives =
    life < 0 ? 'live at the end' : `live for ${formatCount(2 ** life)} to ${formatCount(2 ** (life + 1) - 1)} entries`;
  return [
    `${counted(blocks, 'block')}, ${formatBytes(bytes)}`,
    `${size === 0 ? '' : `${formatBytes(512 * 2 ** size)} or more, `}below ${formatBytes(512 * 2 ** (size + 1))}`,
    lives,
  ];
}

function sentenceOf(title: string, cells: readonly LifetimeCell[]): string {
  const sum = (of: readonly LifetimeCell[], key: Measure): number => of.reduce((total, cell) => total + cell[key], 0);
  const atEnd = cells.filter(({ life }) => life < 0);
  return (
    `Sizes and lifetimes of ${counted(sum(cells, 'blocks'), 'block')} of ${visibleText(title)}. ` +
    `${counted(sum(atEnd, 'blocks'), 'block')} with ${formatBytes(sum(atEnd, 'bytes'))} are live at the end.`
  );
}
