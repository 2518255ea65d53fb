/** The allocator at one moment, as a screen. */

import { pushAll } from '../../model/lists.js';
import { poolWords } from '../../model/pool-words.js';
import type { AtResult, PinnedSegment, PoolAt, ReserveShare } from '../../model/results/at.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { nvtxLines } from '../run/nvtx-lines.js';
import { keepEnd, printable, table, wrap } from '../table.js';
import { WIDTH } from '../text-pieces.js';

export function atText(result: AtResult): string {
  const lines = [
    `${printable(result.path)} · ${result.rank === null ? 'rank unknown' : `rank ${result.rank}`} · device ${result.device} · ${momentWords(result)}`,
    ...wrap(
      `  reserved   ${formatBytes(result.reserved_bytes)} = allocated ${formatBytes(result.allocated_bytes)} + pending free ${formatBytes(result.pending_bytes)} + inactive ${formatBytes(result.inactive_bytes)}${basis(result)}`,
      WIDTH,
      '             ',
    ),
    ...wrap(
      `  inside     ${formatCount(result.segments)} segments, ${formatCount(result.blocks)} live blocks, ${formatCount(result.holes)} holes (largest ${formatBytes(result.largest_hole_bytes)}); a flush would give back ${formatBytes(result.releasable_bytes)}; rounding ${formatBytes(result.rounding_bytes)}`,
      WIDTH,
      '             ',
    ),
    ...wrap(`  fragments  ${fragments(result)}`, WIDTH, '             '),
  ];
  if (result.entry !== null) pushAll(lines, wrap(`  entry      ${entryWords(result.entry)}`, WIDTH, '             '));
  pushAll(lines, nvtxLines(result.nvtx));
  pushAll(lines, [...wrap(`  start      ${startWords(result)}`, WIDTH, '             '), '']);
  lines.push(poolTable(result.pools));
  if (result.streams.length > 1 || result.streams.some((stream) => stream.stream !== 0))
    lines.push('', streamTable(result));
  lines.push('', siteTable(result));
  if (result.largest_holes.length > 0) lines.push('', holeTable(result));
  if (result.pinned_segments.length > 0) pushAll(lines, ['', ...pinnedLines(result)]);
  return `${lines.join('\n')}\n`;
}

/** `at its peak, after entry 421 of 595`, `before the first entry`, `at the dump`. */
export function momentWords(result: {
  readonly moment: string;
  readonly seq: number | null;
  readonly last_seq?: number | null;
}): string {
  const moment = result.moment.startsWith('seq:') || result.moment === 'end' ? '' : `${result.moment}, `;
  if (result.seq === null)
    return result.last_seq === null ? 'at the dump (no trace recorded)' : `${moment}before the first entry`;
  const last = result.last_seq === undefined || result.last_seq === null ? '' : ` of ${formatCount(result.last_seq)}`;
  return `${moment}after entry ${formatCount(result.seq)}${last}`;
}

function basis(result: AtResult): string {
  if (result.basis === 'approximate') return ' (approximate: the trace contradicts itself)';
  if (result.uncertain_blocks === 0) return '';
  return ` (up to ${formatBytes(result.uncertain_bytes)} more allocated: ${formatCount(result.uncertain_blocks)} ${result.uncertain_blocks === 1 ? 'block' : 'blocks'} of uncertain size)`;
}

function fragments({ fragmentation }: AtResult): string {
  const share = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);
  return `inactive ÷ reserved ${share(fragmentation.inactive_of_reserved)} · largest hole ÷ inactive ${share(fragmentation.largest_hole_of_inactive)} · Σ hole² ÷ reserved² ${fragmentation.squared_gap_index === null ? '–' : fragmentation.squared_gap_index.toPrecision(3)}`;
}

function entryWords(entry: NonNullable<AtResult['entry']>): string {
  const address = entry.address === null ? '' : ` at 0x${entry.address}`;
  const size = entry.size_bytes === 0 ? '' : ` of ${formatBytes(entry.size_bytes)}`;
  return `${entry.action}${size}${address}${entry.site === null ? '' : ` by ${printable(entry.site)}`}`;
}

function startWords(result: AtResult): string {
  switch (result.start) {
    case 'cold':
      return 'the trace begins with an empty allocator: nothing is missing';
    case 'late':
      return `the recording began with live memory, whose state was walked back from the dump${result.ring_note === null ? '' : ` (${printable(result.ring_note)})`}`;
    case 'overwritten':
      return 'the ring lost its oldest entries; the state before the first that is left was walked back from the dump';
    default:
      return 'no trace: only the dumped state is known';
  }
}

const SHARE_COLUMNS = ['segments', 'reserved', 'active', 'pending', 'inactive', 'largest hole'].map((title) => ({
  title,
  align: 'right' as const,
}));

function shareCells(share: ReserveShare): string[] {
  return [
    formatCount(share.segments),
    formatBytes(share.reserved_bytes),
    formatBytes(share.active_bytes),
    formatBytes(share.pending_bytes),
    formatBytes(share.inactive_bytes),
    formatBytes(share.largest_hole_bytes),
  ];
}

function poolTable(pools: readonly PoolAt[]): string {
  return table(
    [{ title: 'pool' }, ...SHARE_COLUMNS],
    pools.map((pool) => [
      `${poolWords(pool.pool)} ${pool.segment_type}${pool.expandable ? ' expandable' : ''}`,
      ...shareCells(pool),
    ]),
    '  ',
  );
}

function streamTable(result: AtResult): string {
  return table(
    [{ title: 'stream' }, ...SHARE_COLUMNS],
    result.streams.map((stream) => [stream.stream === null ? 'unknown' : String(stream.stream), ...shareCells(stream)]),
    '  ',
  );
}

function siteTable(result: AtResult): string {
  const share = (bytes: number): string =>
    result.active_bytes === 0 ? '–' : `${((100 * bytes) / result.active_bytes).toFixed(1)} %`;
  const rows = result.sites.map((site) => [
    formatBytes(site.bytes),
    share(site.bytes),
    formatCount(site.count),
    keepEnd(printable(site.site), 66),
  ]);
  const remaining = result.other_sites;
  if (remaining.groups > 0)
    rows.push([
      formatBytes(remaining.bytes),
      share(remaining.bytes),
      formatCount(remaining.count),
      `${formatCount(remaining.groups)} more sites (--limit 0 shows all)`,
    ]);
  return table(
    [
      { title: 'live', align: 'right' },
      { title: 'share', align: 'right' },
      { title: 'blocks', align: 'right' },
      { title: 'call site' },
    ],
    rows,
    '  ',
  );
}

function holeTable(result: AtResult): string {
  return table(
    [
      { title: 'hole', align: 'right' },
      { title: 'at' },
      { title: 'in segment' },
      { title: 'pool' },
      { title: 'stream' },
    ],
    result.largest_holes.map((hole) => [
      formatBytes(hole.bytes),
      `0x${hole.address}`,
      `0x${hole.segment}`,
      `${poolWords(hole.pool)} ${hole.segment_type}`,
      hole.stream === null ? 'unknown' : String(hole.stream),
    ]),
    '  ',
  );
}

function pinnedLines(result: AtResult): string[] {
  const lines = ['  segments that live blocks keep from going back to the driver'];
  for (const segment of result.pinned_segments) pushAll(lines, pinnedSegmentLines(segment));
  const remaining = result.other_pinned_segments;
  if (remaining.segments > 0)
    lines.push(
      `    ${formatCount(remaining.segments)} more with ${formatBytes(remaining.inactive_bytes)} free in them (--limit 0 shows all)`,
    );
  return lines;
}

function pinnedSegmentLines(segment: PinnedSegment): string[] {
  const pins = segment.pinned_by.map(
    (pin) =>
      `${formatBytes(pin.bytes)}${pin.count > 1 ? ` in ${formatCount(pin.count)}` : ''} ${printable(pin.site)}${pin.label === null ? '' : ` [${pin.label}]`}`,
  );
  const shown = segment.pinned_by.reduce((sum, pin) => sum + pin.count, 0);
  if (shown < segment.blocks) pins.push(`${formatCount(segment.blocks - shown)} more`);
  const releasable =
    segment.releasable_bytes === 0 ? '' : `, ${formatBytes(segment.releasable_bytes)} of it releasable`;
  return wrap(
    `    0x${segment.segment}  ${formatBytes(segment.inactive_bytes)} free of ${formatBytes(segment.total_bytes)}${releasable}: pinned by ${pins.join('; ')}`,
    WIDTH,
    '        ',
  );
}
