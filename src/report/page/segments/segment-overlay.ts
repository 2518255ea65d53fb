/** Titles, the scale and outlines over the bars of segments. */
import { counted, formatBytes } from '../../../model/units.js';
import type { Frame } from '../canvas.js';
import { cssOf, type Palette } from '../palette.js';
import type { Loaded } from '../view-state.js';
import type { Enlargement, Request } from './free-to-fit.js';
import { streamName } from './hole-words.js';
import type { Hole, LayoutAt } from './holes-at.js';
import { BAR_HEIGHT, partsOf, type SegmentRows } from './segment-layout.js';

export function drawTitles(
  { over, plot }: Frame,
  { groups, hidden, hiddenBytes }: SegmentRows,
  palette: Palette,
): void {
  over.textAlign = 'left';
  for (const group of groups) {
    const kind = group.isPrivate ? 'Private pools' : `${group.isSmall ? 'Small' : 'Large'} pool`;
    const title = `${kind} · stream ${streamName(group.stream)}`;
    const y = plot.y + group.y + 11;
    over.font = '600 11px system-ui, sans-serif';
    over.fillStyle = cssOf(palette.ink);
    over.fillText(title, plot.x, y);
    const width = over.measureText(title).width;
    over.font = '11px system-ui, sans-serif';
    over.fillStyle = cssOf(palette.muted);
    const largest = group.freeBytes > 0 ? `, largest hole ${formatBytes(group.largestHoleBytes)}` : '';
    const free = `${formatBytes(group.freeBytes)} free${largest}`;
    over.fillText(
      `${counted(group.segments, 'segment')}, ${formatBytes(group.bytes)} · ${free}`,
      plot.x + width + 10,
      y,
    );
  }
  if (hidden === 0) return;
  over.fillStyle = cssOf(palette.muted);
  over.fillText(`${counted(hidden, 'more segment')}, ${formatBytes(hiddenBytes)}`, plot.x, plot.y + plot.height + 9);
}

/** The failed request as a bar on the scale of the segments, and a bar of a round size. */
export function drawScale(
  { over, plot }: Frame,
  { bytesPerPixel }: SegmentRows,
  palette: Palette,
  request: Request | null,
): void {
  const y = 8;
  let x = plot.x;
  over.textAlign = 'left';
  if (request !== null) {
    const width = Math.max(2, Math.min(plot.width - 240, request.bytes / bytesPerPixel));
    over.fillStyle = cssOf(palette.oom, 0.18);
    over.fillRect(x, y, width, BAR_HEIGHT);
    over.strokeStyle = cssOf(palette.oom);
    over.lineWidth = 1.5;
    over.strokeRect(x + 0.75, y + 0.75, Math.max(1, width - 1.5), BAR_HEIGHT - 1.5);
    over.lineWidth = 1;
    over.fillStyle = cssOf(palette.ink);
    over.font = '600 11px system-ui, sans-serif';
    const text = `the request: ${formatBytes(request.bytes)}`;
    over.fillText(text, x + width + 8, y + BAR_HEIGHT / 2 + 0.5);
    x += width + 8 + over.measureText(text).width;
    over.font = '11px system-ui, sans-serif';
  }
  const bytes = 2 ** Math.floor(Math.log2(bytesPerPixel * Math.min(160, plot.width / 4)));
  const width = bytes / bytesPerPixel;
  const right = plot.x + plot.width;
  if (right - width - 70 < x + 20) return;
  over.strokeStyle = cssOf(palette.muted);
  over.beginPath();
  over.moveTo(right - width, y + 3);
  over.lineTo(right - width, y + BAR_HEIGHT - 3);
  over.moveTo(right - width, y + BAR_HEIGHT / 2);
  over.lineTo(right, y + BAR_HEIGHT / 2);
  over.moveTo(right - 0.5, y + 3);
  over.lineTo(right - 0.5, y + BAR_HEIGHT - 3);
  over.stroke();
  over.fillStyle = cssOf(palette.muted);
  over.textAlign = 'right';
  over.fillText(formatBytes(bytes).replace('.00', ''), right - width - 6, y + BAR_HEIGHT / 2 + 0.5);
}

export function outlineHole(
  frame: Frame,
  at: LayoutAt,
  rows: SegmentRows,
  hole: Hole,
  color: string,
  isDashed: boolean,
): void {
  const start = hole.place - at.segments[hole.segment]!.place;
  outline(frame, partsOf(rows, hole.segment, start, start + hole.bytes), color, isDashed);
}

export function outlineRun(
  frame: Frame,
  { columns }: Loaded,
  at: LayoutAt,
  rows: SegmentRows,
  run: Enlargement,
  palette: Palette,
): void {
  const { place } = at.segments[run.segment]!;
  outline(
    frame,
    partsOf(rows, run.segment, run.place - place, run.place - place + run.holeBytes),
    cssOf(palette.pin),
    true,
  );
  const { over, plot } = frame;
  over.fillStyle = cssOf(palette.pin);
  for (let i = run.first; i < run.end; i += 1) {
    const block = at.live.blocks[i]!;
    const from = columns.blocks.place[block]! - place;
    for (const part of partsOf(rows, run.segment, from, from + columns.blocks.bytes[block]!))
      over.fillRect(plot.x + part.x, plot.y + part.y + BAR_HEIGHT + 1, Math.max(2, part.width), 3);
  }
}

function outline(
  { over, plot }: Frame,
  parts: readonly { readonly x: number; readonly y: number; readonly width: number }[],
  color: string,
  isDashed: boolean,
): void {
  over.strokeStyle = color;
  over.lineWidth = 1.5;
  if (isDashed) over.setLineDash([4, 2]);
  for (const { x, y, width } of parts)
    over.strokeRect(plot.x + x + 0.5, plot.y + y - 0.5, Math.max(1, width - 1), BAR_HEIGHT + 1);
  over.setLineDash([]);
  over.lineWidth = 1;
}
