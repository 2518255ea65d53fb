/** The allocator drawn in characters: a line a segment, a character a cell. */

import { maxOf } from '../../model/lists.js';
import { poolWords } from '../../model/pool-words.js';
import type { SegmentDrawing, SegmentGroup, SegmentsResult } from '../../model/results/at.js';
import { formatBytes } from '../../model/units.js';
import * as d from '../document/document.js';
import { textMaker } from '../words/fill-pieces.js';
import { deviceTitle } from './device-title.js';
import { momentWords } from './state-document.js';

export interface DrawingStyle {
  /** Digits and letters instead of block characters, for terminals without Unicode. */
  readonly ascii: boolean;
}

const BLOCKS = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const ASCII = ['.', '1', '2', '3', '4', '5', '6', '7', '#'] as const;

interface Signs {
  /** From free to full. */
  readonly levels: readonly string[];
  readonly pending: string;
}

const textOf = textMaker('moment', 'segments');

export function segmentsDocument(result: SegmentsResult, { ascii }: DrawingStyle): d.Document {
  const { schema, snapshot, rank, device, moment, seq, basis } = result;
  const signs: Signs = ascii ? { levels: ASCII, pending: 'p' } : { levels: BLOCKS, pending: '░' };
  const { levels, pending } = signs;
  return {
    ...d.document(
      schema,
      d.t`${deviceTitle(result)} · ${momentWords(result)}`,
      d.paragraph(textOf('sum', result)),
      d.paragraph(`${levels[8]} full, ${levels[4]} half, ${levels[0]} free, ${pending} pending free`),
      ...result.groups.map((group) => groupSection(group, signs)),
    ),
    fields: { snapshot, rank, device, moment, seq, basis },
  };
}

function groupSection(group: SegmentGroup, signs: Signs): d.MaybePart {
  const { stream, segment_type, drawings, other_segments: others } = group;
  const sizeWidth = maxOf(drawings.map((drawing) => formatBytes(drawing.total_bytes).length));
  return d.section(
    textOf('group', group, { pool: poolWords(group.pool) }),
    { key: 'groups', isOneOf: true, fields: { segment_type, stream } },
    { type: 'drawing', lines: () => drawings.map((drawing) => drawingLine(drawing, signs, sizeWidth)) },
    others.segments > 0 && d.note(textOf('others', others)),
  );
}

function drawingLine(drawing: SegmentDrawing, { levels, pending }: Signs, sizeWidth: number): string {
  const bar = drawing.cells
    .map(([allocated, waiting]) => {
      if (waiting > allocated) return pending;
      // Neither full nor free unless it is: one live block in a page is what pins it.
      const level = Math.round((allocated + waiting) * 8);
      if (allocated + waiting > 0 && level === 0) return levels[1];
      return allocated + waiting < 1 && level === 8 ? levels[7] : levels[level];
    })
    .join('');
  const live = Math.floor((100 * drawing.active_bytes) / drawing.total_bytes);
  const holes = drawing.holes === 0 ? '' : `, largest hole ${formatBytes(drawing.largest_hole_bytes)}`;
  return `  ${drawing.address}${drawing.expandable ? 'e' : ' '} ${formatBytes(drawing.total_bytes).padStart(sizeWidth)} ${bar} ${live} %${holes}`;
}
