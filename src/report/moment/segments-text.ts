/** The allocator drawn as text: a line a segment, a character a cell. */

import { maxOf, pushAll } from '../../model/lists.js';
import { poolWords } from '../../model/pool-words.js';
import type { SegmentDrawing, SegmentGroup, SegmentsResult } from '../../model/results/at.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { printable } from '../table.js';
import { counted, rankName } from '../text-pieces.js';
import { momentWords } from './at-text.js';

export interface DrawingStyle {
  /** Digits and letters instead of block characters, for terminals without Unicode. */
  readonly ascii: boolean;
}

/** Eighths of a cell that are allocated; a cell that is mostly waiting for a free shows as pending. */
const BLOCKS = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const ASCII = ['.', '1', '2', '3', '4', '5', '6', '7', '#'] as const;

export function segmentsText(result: SegmentsResult, style: DrawingStyle): string {
  const rank = rankName(result.rank);
  const glyphs = style.ascii ? ASCII : BLOCKS;
  const pending = style.ascii ? 'p' : '░';
  const lines = [
    `${printable(result.path)} · ${rank} · device ${result.device} · ${momentWords(result)}`,
    `  ${formatBytes(result.active_bytes)} live of ${formatBytes(result.reserved_bytes)} reserved in ${formatCount(result.segments)} segments${result.basis === 'approximate' ? ' (approximate: the trace contradicts itself)' : ''}`,
    `  ${glyphs[8]} full  ${glyphs[4]} half  ${glyphs[0]} free  ${pending} pending free`,
  ];
  for (const group of result.groups) pushAll(lines, ['', ...groupLines(group, glyphs, pending)]);
  return `${lines.join('\n')}\n`;
}

function groupLines(group: SegmentGroup, glyphs: readonly string[], pending: string): string[] {
  const stream = group.stream === null ? 'stream unknown' : `stream ${group.stream}`;
  const lines = [
    `  ${poolWords(group.pool)}, ${group.segment_type}, ${stream}: ${formatBytes(group.active_bytes)} live of ${formatBytes(group.reserved_bytes)} in ${counted(group.segments, 'segment')}; a character is ${formatBytes(group.cell_bytes)}`,
  ];
  const sizeWidth = maxOf(group.drawings.map((drawing) => formatBytes(drawing.total_bytes).length));
  for (const drawing of group.drawings) lines.push(drawingLine(drawing, glyphs, pending, sizeWidth));
  const otherSegments = group.other_segments;
  if (otherSegments.segments > 0)
    lines.push(
      `    ${formatCount(otherSegments.segments)} more with ${formatBytes(otherSegments.active_bytes)} live of ${formatBytes(otherSegments.total_bytes)} (--limit 0 draws all)`,
    );
  return lines;
}

function drawingLine(drawing: SegmentDrawing, glyphs: readonly string[], pending: string, sizeWidth: number): string {
  const bar = drawing.cells
    .map(([allocated, waiting]) => {
      if (waiting > allocated) return pending;
      // Neither full nor free unless it is: one live block in a page is what pins it.
      const level = Math.round((allocated + waiting) * 8);
      if (allocated + waiting > 0 && level === 0) return glyphs[1];
      return allocated + waiting < 1 && level === 8 ? glyphs[7] : glyphs[level];
    })
    .join('');
  const live = Math.floor((100 * drawing.active_bytes) / drawing.total_bytes);
  const holes = drawing.holes === 0 ? '' : `, largest hole ${formatBytes(drawing.largest_hole_bytes)}`;
  return `    ${drawing.address}${drawing.expandable ? 'e' : ' '} ${formatBytes(drawing.total_bytes).padStart(sizeWidth)} ${bar} ${live} %${holes}`;
}
