/** What is in a snapshot. */
import type { SnapshotDevice, SnapshotInfo, SnapshotResult } from '../../model/results/common.js';
import * as d from '../document/document.js';
import { pinnedText } from '../pinned-text.js';
import { noteText } from '../run/notes-text.js';
import { afterEntry } from '../text-pieces.js';

export const snapshotDocument = ({ schema, snapshots }: SnapshotResult): d.Document =>
  d.document(schema, '', ...snapshots.map(snapshotSection));

function snapshotSection(snapshot: SnapshotInfo): d.MaybePart {
  const { handle, path, rank, protocol, features, torch_at_least: torch, pinned_host_memory: pinned } = snapshot;
  const settings = Object.entries(snapshot.settings)
    .filter(([key, value]) => !(key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1')))
    .map(([key, value]) => d.code(`${key}=${value}`));
  return d.section(
    d.t`${d.as('path', d.code(path))}${rank === null ? '' : d.t` · rank ${rank}`} · ${protocol === null ? 'JSON' : `pickle protocol ${protocol}`}${torch === null ? '' : ` · torch ≥ ${torch}`}`,
    { key: 'snapshots', isOneOf: true, fields: { handle, rank, protocol, torch_at_least: torch } },
    d.facts([
      d.fact('features', features.join(' ')),
      settings.length > 0 && d.fact('settings', d.joined(settings, ' ')),
      pinned !== null && d.fact('host', pinnedText(pinned)),
    ]),
    ...snapshot.devices.map(deviceSection),
    d.section('Notes', {}, d.items(snapshot.notes.map(noteText), { key: 'notes' })),
  );
}

const STARTS: Readonly<Record<NonNullable<SnapshotDevice['start']>, string>> = {
  cold: ', from an empty allocator on',
  late: ', began with live memory',
  overwritten: ', oldest entries overwritten',
};

function deviceSection(device: SnapshotDevice): d.MaybePart {
  const { events, start, ooms, largest_inactive_block_bytes: largest } = device;
  const actions = Object.entries(device.actions ?? {}).map(([action, n]) => d.t`${action} ${n}`);
  return d.section(
    d.t`Device ${d.as('device', d.count(device.device))}: ${d.counted(device.segments, 'segment', 'segments', 'segments')}, ${d.counted(device.blocks, 'block', 'blocks', 'blocks')} at the dump`,
    { key: 'devices', isOneOf: true, fields: { start } },
    d.facts([
      d.fact(
        'reserved',
        d.t`${d.as('reserved_bytes', d.bytes(device.reserved_bytes))} = allocated ${d.as('allocated_bytes', d.bytes(device.allocated_bytes))} + pending free ${d.as('pending_bytes', d.bytes(device.active_bytes - device.allocated_bytes))} + inactive ${d.as('inactive_bytes', d.bytes(device.inactive_bytes))}${largest === null ? '' : d.t` (largest block ${d.bytes(largest)})`}`,
      ),
      events === null
        ? d.fact('trace', 'none recorded')
        : d.fact(
            'trace',
            d.t`${d.counted(events, 'entry', 'entries', 'entries')}${start === null ? '' : STARTS[start]}: ${d.joined(actions, ', ')}`,
          ),
      events !== null && d.fact('peak', peakText(device)),
      (ooms ?? []).length > 0 &&
        d.fact(
          'OOM',
          d.joined(
            ooms!.map(
              (oom) =>
                d.t`entry ${oom.seq}: ${d.bytes(oom.requested_bytes)} requested, ${d.bytes(oom.device_free_bytes)} free on the device`,
            ),
            '; ',
          ),
        ),
      walkFact(device),
    ]),
    d.table(
      device.pools,
      [
        d.names('pool', ({ pool }) => `(${pool.join(', ')})`),
        ...d.fieldsOf(device.pools, ['segment_type', 'class']),
        d.names('stream', ({ stream }) => stream && `0x${stream.toString(16)}`),
        ...d.fieldsOf(device.pools, 'expandable', 'segments', 'reserved_bytes', 'active_bytes'),
      ],
      { key: 'pools' },
    ),
  );
}

function peakText(device: SnapshotDevice): d.Text {
  const active = device.peak_active_bytes;
  const peak =
    active === null
      ? d.t`unknown in actual sizes; requested sizes anchored at the end: ${d.bytes(device.peak_anchored_bytes)}`
      : d.t`active ${d.as('active_bytes', d.bytes(active))}`;
  return d.t`${peak}, ${afterEntry(device.peak_seq)}; reserved ${d.as('reserved_bytes', d.bytes(device.peak_reserved_bytes))}`;
}

function walkFact({ events, walk_violations: violations, uncertain_blocks: uncertain }: SnapshotDevice) {
  if (events === null) return null;
  if ((violations ?? 0) > 0)
    return d.fact(
      'walk',
      d.t`${d.counted(violations!, 'entry contradicts', 'entries contradict')} the allocator's rules: states in between are not exact`,
    );
  return (uncertain ?? 0) > 0
    ? d.fact('walk', d.t`holds; the size of ${d.counted(uncertain!, 'early block')} is uncertain by up to 1 MiB each`)
    : null;
}
