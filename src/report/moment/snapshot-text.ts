/** What is in a snapshot, one block a file. */

import { pushAll } from '../../model/lists.js';
import type { SnapshotDevice, SnapshotInfo, SnapshotResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { pinnedText } from '../pinned-text.js';
import { noteLines } from '../run/notes-text.js';
import { left, printable, right, tableOf, wrap } from '../table.js';
import { afterEntry, counted, hanging, rankName } from '../text-pieces.js';

export function snapshotText(result: SnapshotResult): string {
  return `${result.snapshots.map(oneSnapshot).join('\n\n')}\n`;
}

function oneSnapshot(snapshot: SnapshotInfo): string {
  const rank = rankName(snapshot.rank);
  const torch = snapshot.torch_at_least === null ? '' : ` · torch ≥ ${snapshot.torch_at_least}`;
  const encoding = snapshot.protocol === null ? 'JSON' : `pickle protocol ${snapshot.protocol}`;
  const lines = [
    `${printable(snapshot.path)} · ${rank} · ${encoding}${torch}`,
    ...hanging(`features  ${snapshot.features.join(' ')}`),
  ];
  const settings = Object.entries(snapshot.settings)
    .filter(([key, value]) => !(key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1')))
    .map(([key, value]) => `${key}=${value}`);
  if (settings.length > 0) pushAll(lines, hanging(`settings  ${printable(settings.join(' '))}`));
  if (snapshot.pinned_host_memory !== null)
    pushAll(lines, hanging(`host      ${pinnedText(snapshot.pinned_host_memory)}`));
  for (const device of snapshot.devices) pushAll(lines, ['', ...deviceLines(device)]);
  if (snapshot.notes.length > 0) pushAll(lines, ['', ...noteLines(snapshot.notes)]);
  return lines.join('\n');
}

function deviceLines(device: SnapshotDevice): string[] {
  const size = (bytes: number | null): string => (bytes === null ? 'unknown' : formatBytes(bytes));
  const largest = device.largest_inactive_block_bytes;
  const lines = [
    `device ${device.device}   ${formatCount(device.segments)} segments, ${formatCount(device.blocks)} blocks at the dump`,
    ...wrap(
      `  reserved ${size(device.reserved_bytes)} = allocated ${size(device.allocated_bytes)} + pending free ${size(
        device.active_bytes - device.allocated_bytes,
      )} + inactive ${size(device.inactive_bytes)}${largest === null ? '' : ` (largest block ${size(largest)})`}`,
      100,
      '           ',
    ),
  ];
  if (device.events === null) lines.push('  no trace recorded');
  else {
    const actions = Object.entries(device.actions ?? {}).map(([action, count]) => `${action} ${formatCount(count)}`);
    const start = {
      cold: 'from an empty allocator on',
      late: 'began with live memory',
      overwritten: 'oldest entries overwritten',
    };
    const regime = device.start === null ? '' : `, ${start[device.start]}`;
    pushAll(lines, hanging(`  trace    ${counted(device.events, 'entry', 'entries')}${regime}: ${actions.join(', ')}`));
    const peak =
      device.peak_active_bytes === null
        ? `unknown in actual sizes; requested sizes anchored at the end: ${size(device.peak_anchored_bytes)}`
        : `active ${size(device.peak_active_bytes)}`;
    const after = afterEntry(device.peak_seq);
    lines.push(`  peak     ${peak}, ${after}; reserved ${size(device.peak_reserved_bytes)}`);
    for (const oom of device.ooms ?? []) {
      lines.push(
        `  OOM      entry ${formatCount(oom.seq)}: ${size(oom.requested_bytes)} asked, ${size(oom.device_free_bytes)} free on the device`,
      );
    }
    if (device.walk_violations !== null && device.walk_violations > 0) {
      lines.push(
        `  walk     ${formatCount(device.walk_violations)} entries contradict the allocator's rules: states in between are not exact`,
      );
    } else if (device.uncertain_blocks !== null && device.uncertain_blocks > 0) {
      lines.push(
        `  walk     holds; the size of ${formatCount(device.uncertain_blocks)} early ${device.uncertain_blocks === 1 ? 'block' : 'blocks'} is uncertain by up to 1 MiB each`,
      );
    }
  }
  if (device.pools.length > 0) {
    lines.push(
      tableOf(device.pools, [
        left('pool', (pool) => `(${pool.pool.join(', ')})`),
        left('class', (pool) => pool.segment_type),
        left('stream', (pool) => (pool.stream === null ? null : `0x${pool.stream.toString(16)}`)),
        left('expandable', (pool) => (pool.expandable === null ? null : pool.expandable ? 'yes' : 'no')),
        right('segments', (pool) => formatCount(pool.segments)),
        right('reserved', (pool) => formatBytes(pool.reserved_bytes)),
        right('active', (pool) => formatBytes(pool.active_bytes)),
      ]),
    );
  }
  return lines;
}
