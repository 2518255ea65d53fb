/** The allocator at one moment, as a screen. */

import { pushAll } from '../../model/lists.js';
import { poolWords } from '../../model/pool-words.js';
import type { AtResult, PinnedSegment, PoolAt, ReserveShare } from '../../model/results/at.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { nvtxLines } from '../run/nvtx-lines.js';
import { fitLabels, left, printable, right, table, tableOf } from '../table.js';
import { counted, hanging, rankName, wrapped } from '../text-pieces.js';

export function atText(result: AtResult): string {
  const lines = [
    `${printable(result.path)} · ${rankName(result.rank)} · device ${result.device} · ${momentWords(result)}`,
    ...hanging(
      `  reserved   ${formatBytes(result.reserved_bytes)} = allocated ${formatBytes(result.allocated_bytes)} + pending free ${formatBytes(result.pending_bytes)} + inactive ${formatBytes(result.inactive_bytes)}${basis(result)}`,
    ),
    ...hanging(
      `  inside     ${formatCount(result.segments)} segments, ${formatCount(result.blocks)} live blocks, ${formatCount(result.holes)} holes (largest ${formatBytes(result.largest_hole_bytes)}); a flush would give back ${formatBytes(result.releasable_bytes)}; rounding ${formatBytes(result.rounding_bytes)}`,
    ),
    ...hanging(`  fragments  ${fragments(result)}`),
  ];
  const { failed_request: failed } = result;
  if (failed !== null) {
    const site = failed.site === null ? '' : ` in ${printable(failed.site)}`;
    const size = formatBytes(failed.requested_bytes);
    pushAll(lines, hanging(`  failed     ${size} requested${site}, entry ${formatCount(failed.seq)}`));
  }
  if (result.entry !== null) pushAll(lines, hanging(`  entry      ${entryWords(result.entry)}`));
  pushAll(lines, nvtxLines(result.nvtx));
  pushAll(lines, [...hanging(`  start      ${startWords(result)}`), '']);
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
  return ` (up to ${formatBytes(result.uncertain_bytes)} more allocated: ${counted(result.uncertain_blocks, 'block')} of uncertain size)`;
}

function fragments({ fragmentation }: AtResult): string {
  const share = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);
  return `inactive ÷ reserved ${share(fragmentation.inactive_of_reserved)} · largest hole ÷ inactive ${share(fragmentation.largest_hole_of_inactive)}`;
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
      return `the recording began with live memory; its state was reconstructed from the dump${result.ring_note === null ? '' : ` (${printable(result.ring_note)})`}`;
    case 'overwritten':
      return 'the ring lost its oldest entries; the state before the first that is left was walked back from the dump';
    default:
      return 'no trace: only the dumped state is known';
  }
}

const SHARE_COLUMNS = [
  right<ReserveShare>('segments', (share) => formatCount(share.segments)),
  right<ReserveShare>('reserved', (share) => formatBytes(share.reserved_bytes)),
  right<ReserveShare>('active', (share) => formatBytes(share.active_bytes)),
  right<ReserveShare>('pending', (share) => formatBytes(share.pending_bytes)),
  right<ReserveShare>('inactive', (share) => formatBytes(share.inactive_bytes)),
  right<ReserveShare>('largest hole', (share) => formatBytes(share.largest_hole_bytes)),
];

function poolTable(pools: readonly PoolAt[]): string {
  return tableOf(pools, [
    left('pool', (pool) => `${poolWords(pool.pool)} ${pool.segment_type}${pool.expandable ? ' expandable' : ''}`),
    ...SHARE_COLUMNS,
  ]);
}

function streamTable(result: AtResult): string {
  return tableOf(result.streams, [left('stream', ({ stream }) => stream ?? 'unknown'), ...SHARE_COLUMNS]);
}

function siteTable(result: AtResult): string {
  const share = (bytes: number): string =>
    result.active_bytes === 0 ? '–' : `${((100 * bytes) / result.active_bytes).toFixed(1)} %`;
  const names = fitLabels(
    result.sites.map((site) => printable(site.site)),
    66,
  );
  const rows = result.sites.map((site, i) => [
    formatBytes(site.bytes),
    share(site.bytes),
    formatCount(site.count),
    names[i]!,
  ]);
  const remaining = result.other_sites;
  if (remaining.groups > 0)
    rows.push([
      formatBytes(remaining.bytes),
      share(remaining.bytes),
      formatCount(remaining.count),
      `${formatCount(remaining.groups)} more sites (--limit 0 shows all)`,
    ]);
  return table([right('live'), right('share'), right('blocks'), left('call site')], rows, '  ');
}

function holeTable(result: AtResult): string {
  return tableOf(result.largest_holes, [
    right('hole', (hole) => formatBytes(hole.bytes)),
    left('at', (hole) => `0x${hole.address}`),
    left('in segment', (hole) => `0x${hole.segment}`),
    left('pool', (hole) => `${poolWords(hole.pool)} ${hole.segment_type}`),
    left('stream', ({ stream }) => stream ?? 'unknown'),
  ]);
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
  return wrapped(
    `    0x${segment.segment}  ${formatBytes(segment.inactive_bytes)} free of ${formatBytes(segment.total_bytes)}${releasable}: pinned by ${pins.join('; ')}`,
    '        ',
  );
}
