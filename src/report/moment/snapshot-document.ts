/** What is in a snapshot. */

import type { SnapshotDevice, SnapshotInfo, SnapshotResult } from '../../model/results/common.js';
import * as d from '../document/document.js';
import { pinnedText } from '../pinned-text.js';
import { noteText } from '../run/notes-text.js';
import { isUnusedDivision } from '../run/unused-division.js';
import { afterEntry } from '../text-pieces.js';
import { factsOf, textMaker } from '../words/fill-pieces.js';

export const snapshotDocument = ({ schema, snapshots }: SnapshotResult): d.Document =>
  d.document(schema, '', ...snapshots.map(snapshotSection));

const textOf = textMaker('moment', 'snapshot');

function snapshotSection(snapshot: SnapshotInfo): d.MaybePart {
  const { handle, rank, protocol, torch_at_least, notes, pinned_host_memory: pinned } = snapshot;
  const settings = Object.entries(snapshot.settings)
    .filter(([key, value]) => !isUnusedDivision(key, value))
    .map(([key, value]) => d.code(`${key}=${value}`));
  const about = {
    settings: d.joined(settings, ' '),
    host: pinned && pinnedText(pinned),
  };
  return d.section(
    textOf('title', snapshot),
    {
      key: 'snapshots',
      isOneOf: true,
      fields: { handle, rank, protocol, torch_at_least, features: snapshot.features },
    },
    d.facts(factsOf('moment', 'snapshot_facts', about)),
    ...snapshot.devices.map(deviceSection),
    d.section('Notes', {}, d.items(notes.map(noteText), { key: 'notes' })),
  );
}

function deviceSection(device: SnapshotDevice): d.MaybePart {
  const { start, ooms, pools } = device;
  const figures = {
    pending_bytes: device.active_bytes - device.allocated_bytes,
    counts: d.joined(
      Object.entries(device.actions ?? {}).map(([action, n]) => d.t`${action} ${n}`),
      ', ',
    ),
    failed: d.joined(
      (ooms ?? []).map((oom) => textOf('oom', oom)),
      '; ',
    ),
    after: afterEntry(device.peak_seq),
  };
  return d.section(
    textOf('device', device),
    { key: 'devices', isOneOf: true, fields: { start } },
    d.facts(factsOf('moment', 'snapshot_device', device, figures)),
    d.table(
      pools,
      [
        d.names('pool', ({ pool }) => `(${pool.join(', ')})`),
        ...d.fieldsOf(pools, ['segment_type', 'class']),
        d.names('stream', ({ stream }) => stream && `0x${stream.toString(16)}`),
        ...d.fieldsOf(pools, 'expandable', 'segments', 'reserved_bytes', 'active_bytes'),
      ],
      { key: 'pools' },
    ),
  );
}
