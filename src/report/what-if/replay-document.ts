/** How exactly a trace is replayed, and what keeps a device from being exact. */
import type { ReplayDevice, ReplayResult } from '../../model/results/replay.js';
import * as d from '../document/document.js';
import { wordOf, wordTable } from '../words/fill.js';

const variantName = wordOf('codes', 'replay_variants');

export const replayDocument = ({ schema, snapshots }: ReplayResult): d.Document =>
  d.document(
    schema,
    '',
    snapshots.length > 1 && d.table(snapshots, ['path', 'device', 'status', 'mismatches']),
    ...snapshots.map(deviceSection),
  );

function deviceSection(one: ReplayDevice): d.MaybePart {
  const { path, device, handle, rank, status, reason, settings, flushes, ooms } = one;
  const { segment_events: calls, segment_event_mismatches: differing, reuse_matches: predicted } = one;
  return d.section(
    d.t`${d.as('path', d.code(path))} · device ${d.as('device', d.count(device))}`,
    {
      key: 'snapshots',
      isOneOf: true,
      fields: { handle, rank, address_matches: one.address_matches, address_total: one.address_total },
    },
    d.facts([
      d.fact('status', status, { title: 'replay' }),
      reason !== '' && d.fact('reason', reason),
      d.fact('regime', one.regime, { title: 'start' }),
      d.fact(
        'addresses',
        d.t`${one.address_matches} of ${one.address_total} (${predicted} predicted, the others are the driver's)`,
      ),
      d.fact('driver_calls', differing === 0 ? d.count(calls) : d.t`${calls} (${differing} differ)`),
      d.fact('final_state', one.final_state_equal ? 'equal' : 'differs'),
      d.fact('settings', settings === '' ? 'default' : d.code(settings)),
      d.fact('ties', variantName(one.variant)),
      flushes.forced + flushes.explicit > 0 &&
        d.fact('flushes', d.t`${flushes.forced} forced, ${flushes.explicit} explicit`),
    ]),
    d.items(
      ooms.map(
        (oom) =>
          d.t`OOM at entry ${oom.seq} for ${d.bytes(oom.requested_bytes)}: ${oom.repeated ? 'repeated' : 'not repeated'} (reserved ${d.bytes(oom.reserved_bytes)}, active ${d.bytes(oom.active_bytes)})`,
      ),
      { key: 'ooms' },
    ),
    recordedSection(one),
    mismatchSection(one),
  );
}

function recordedSection({ from_record: from }: ReplayDevice): d.MaybePart {
  const { settings, pool_orders: orders, garbage_segments: garbage, inferred_pools: inferred } = from;
  const texts = [
    settings && 'the file contains no settings: these were found by what they do',
    garbage > 0 &&
      d.t`${d.counted(garbage, 'segment')} freed by garbage collection as recorded: its limit is not in the file`,
    inferred > 0 && d.t`${d.counted(inferred, 'private pool')} that no entry names: known by the flush that freed it`,
    orders > 0 && d.t`${d.counted(orders, 'flush', 'flushes')} of several private pools in the recorded order`,
  ];
  return d.itemSection(
    'Taken from the record',
    'from_record',
    texts.filter((text) => text !== false),
  );
}

function mismatchSection({ first_mismatch: first, mismatches }: ReplayDevice): d.MaybePart {
  if (first === null) return null;
  const { kind, seq, requested_bytes: size, recorded_address: recorded, predicted_address: predicted, context } = first;
  return d.section(
    d.joined(
      [
        d.t`First of ${d.as('mismatches', d.count(mismatches))} mismatches: entry ${d.as('seq', d.count(seq))}${size === null ? '' : d.t` (${d.bytes(size)})`}: ${wordTable('codes', 'mismatch_kinds')[kind] ?? kind}`,
        recorded !== null && d.t`recorded at ${d.code(`0x${recorded}`)}`,
        predicted !== null && d.t`predicted at ${d.code(`0x${predicted}`)}`,
      ],
      ', ',
    ),
    { key: 'first_mismatch', fields: { kind } },
    d.table(
      context,
      [
        d.column('is_first', (entry) => (entry.seq === seq ? '>' : ''), { title: '' }),
        ...(['seq', 'action', 'size_bytes'] as const),
        d.column('address', ({ address }) => (address === null ? null : `0x${address}`)),
      ],
      { key: 'context' },
    ),
  );
}
