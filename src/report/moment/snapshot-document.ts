/** What is in a snapshot. */
import type { SnapshotDevice, SnapshotInfo, SnapshotResult } from '../../model/results/common.js';
import {
  as,
  bytes,
  code,
  count,
  counted,
  type Document,
  document,
  fact,
  facts,
  fieldsOf,
  items,
  joined,
  type MaybePart,
  names,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';
import { pinnedText } from '../pinned-text.js';
import { noteText } from '../run/notes-text.js';
import { afterEntry } from '../text-pieces.js';

export const snapshotDocument = ({ schema, snapshots }: SnapshotResult): Document =>
  document(schema, '', ...snapshots.map(snapshotSection));

function snapshotSection(snapshot: SnapshotInfo): MaybePart {
  const { handle, path, rank, protocol, features, torch_at_least: torch, pinned_host_memory: pinned } = snapshot;
  const settings = Object.entries(snapshot.settings)
    .filter(([key, value]) => !(key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1')))
    .map(([key, value]) => code(`${key}=${value}`));
  return section(
    t`${as('path', code(path))}${rank === null ? '' : t` · rank ${rank}`} · ${protocol === null ? 'JSON' : `pickle protocol ${protocol}`}${torch === null ? '' : ` · torch ≥ ${torch}`}`,
    { key: 'snapshots', isOneOf: true, fields: { handle, rank, protocol, torch_at_least: torch } },
    facts([
      fact('features', features.join(' ')),
      settings.length > 0 && fact('settings', joined(settings, ' ')),
      pinned !== null && fact('host', pinnedText(pinned)),
    ]),
    ...snapshot.devices.map(deviceSection),
    section('Notes', {}, items(snapshot.notes.map(noteText), { key: 'notes' })),
  );
}

const STARTS: Readonly<Record<NonNullable<SnapshotDevice['start']>, string>> = {
  cold: ', from an empty allocator on',
  late: ', began with live memory',
  overwritten: ', oldest entries overwritten',
};

function deviceSection(device: SnapshotDevice): MaybePart {
  const { events, start, ooms, largest_inactive_block_bytes: largest } = device;
  const actions = Object.entries(device.actions ?? {}).map(([action, n]) => t`${action} ${n}`);
  return section(
    t`Device ${as('device', count(device.device))}: ${counted(device.segments, 'segment', 'segments', 'segments')}, ${counted(device.blocks, 'block', 'blocks', 'blocks')} at the dump`,
    { key: 'devices', isOneOf: true, fields: { start } },
    facts([
      fact(
        'reserved',
        t`${as('reserved_bytes', bytes(device.reserved_bytes))} = allocated ${as('allocated_bytes', bytes(device.allocated_bytes))} + pending free ${as('pending_bytes', bytes(device.active_bytes - device.allocated_bytes))} + inactive ${as('inactive_bytes', bytes(device.inactive_bytes))}${largest === null ? '' : t` (largest block ${bytes(largest)})`}`,
      ),
      events === null
        ? fact('trace', 'none recorded')
        : fact(
            'trace',
            t`${counted(events, 'entry', 'entries', 'entries')}${start === null ? '' : STARTS[start]}: ${joined(actions, ', ')}`,
          ),
      events !== null && fact('peak', peakText(device)),
      (ooms ?? []).length > 0 &&
        fact(
          'OOM',
          joined(
            ooms!.map(
              (oom) =>
                t`entry ${oom.seq}: ${bytes(oom.requested_bytes)} requested, ${bytes(oom.device_free_bytes)} free on the device`,
            ),
            '; ',
          ),
        ),
      walkFact(device),
    ]),
    table(
      device.pools,
      [
        names('pool', ({ pool }) => `(${pool.join(', ')})`),
        ...fieldsOf(device.pools, ['segment_type', 'class']),
        names('stream', ({ stream }) => stream && `0x${stream.toString(16)}`),
        ...fieldsOf(device.pools, 'expandable', 'segments', 'reserved_bytes', 'active_bytes'),
      ],
      { key: 'pools' },
    ),
  );
}

function peakText(device: SnapshotDevice): Text {
  const active = device.peak_active_bytes;
  const peak =
    active === null
      ? t`unknown in actual sizes; requested sizes anchored at the end: ${bytes(device.peak_anchored_bytes)}`
      : t`active ${as('active_bytes', bytes(active))}`;
  return t`${peak}, ${afterEntry(device.peak_seq)}; reserved ${as('reserved_bytes', bytes(device.peak_reserved_bytes))}`;
}

function walkFact({ events, walk_violations: violations, uncertain_blocks: uncertain }: SnapshotDevice) {
  if (events === null) return null;
  if ((violations ?? 0) > 0)
    return fact(
      'walk',
      t`${counted(violations!, 'entry contradicts', 'entries contradict')} the allocator's rules: states in between are not exact`,
    );
  return (uncertain ?? 0) > 0
    ? fact('walk', t`holds; the size of ${counted(uncertain!, 'early block')} is uncertain by up to 1 MiB each`)
    : null;
}
