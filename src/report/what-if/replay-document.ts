/** How exactly a trace is replayed, and what keeps a device from being exact. */
import type { ReplayDevice, ReplayResult } from '../../model/results/replay.js';
import {
  as,
  bytes,
  code,
  column,
  count,
  counted,
  type Document,
  document,
  fact,
  facts,
  itemSection,
  items,
  joined,
  type MaybePart,
  section,
  t,
  table,
} from '../document/document.js';

const VARIANTS: Readonly<Record<ReplayDevice['variant'], string>> = {
  address: 'address (torch ≤ 2.11)',
  block_counter: 'block counter (torch 2.12)',
  segment_counter: 'segment counter (torch ≥ 2.13)',
};

const KINDS: Readonly<Record<string, string>> = {
  address: 'the model puts it elsewhere',
  reuse_predicted: 'the model reuses a free block, torch called the driver',
  growth_predicted: 'the model calls the driver, torch reused a free block',
  growth_differs: 'the model requests something else from the driver',
  oom_predicted: 'the model runs out of memory, torch did not',
  oom_not_predicted: 'torch ran out of memory, the model does not',
  release_differs: 'other segments or pages are given back',
  stray_growth: 'memory from the driver that no request is for',
};

export const replayDocument = ({ schema, snapshots }: ReplayResult): Document =>
  document(
    schema,
    '',
    snapshots.length > 1 && table(snapshots, ['path', 'device', 'status', 'mismatches']),
    ...snapshots.map(deviceSection),
  );

function deviceSection(one: ReplayDevice): MaybePart {
  const { path, device, handle, rank, status, reason, settings, flushes, ooms } = one;
  const { segment_events: calls, segment_event_mismatches: differing, reuse_matches: predicted } = one;
  return section(
    t`${as('path', code(path))} · device ${as('device', count(device))}`,
    {
      key: 'snapshots',
      isOneOf: true,
      fields: { handle, rank, address_matches: one.address_matches, address_total: one.address_total },
    },
    facts([
      fact('status', status, { title: 'replay' }),
      reason !== '' && fact('reason', reason),
      fact('regime', one.regime, { title: 'start' }),
      fact(
        'addresses',
        t`${one.address_matches} of ${one.address_total} (${predicted} predicted, the others are the driver's)`,
      ),
      fact('driver_calls', differing === 0 ? count(calls) : t`${calls} (${differing} differ)`),
      fact('final_state', one.final_state_equal ? 'equal' : 'differs'),
      fact('settings', settings === '' ? 'default' : code(settings)),
      fact('ties', VARIANTS[one.variant]),
      flushes.forced + flushes.explicit > 0 &&
        fact('flushes', t`${flushes.forced} forced, ${flushes.explicit} explicit`),
    ]),
    items(
      ooms.map(
        (oom) =>
          t`OOM at entry ${oom.seq} for ${bytes(oom.requested_bytes)}: ${oom.repeated ? 'repeated' : 'not repeated'} (reserved ${bytes(oom.reserved_bytes)}, active ${bytes(oom.active_bytes)})`,
      ),
      { key: 'ooms' },
    ),
    recordedSection(one),
    mismatchSection(one),
  );
}

function recordedSection({ from_record: from }: ReplayDevice): MaybePart {
  const { settings, pool_orders: orders, garbage_segments: garbage, inferred_pools: inferred } = from;
  const texts = [
    settings && 'the file contains no settings: these were found by what they do',
    garbage > 0 &&
      t`${counted(garbage, 'segment')} freed by garbage collection as recorded: its limit is not in the file`,
    inferred > 0 && t`${counted(inferred, 'private pool')} that no entry names: known by the flush that freed it`,
    orders > 0 && t`${counted(orders, 'flush', 'flushes')} of several private pools in the recorded order`,
  ];
  return itemSection(
    'Taken from the record',
    'from_record',
    texts.filter((text) => text !== false),
  );
}

function mismatchSection({ first_mismatch: first, mismatches }: ReplayDevice): MaybePart {
  if (first === null) return null;
  const { kind, seq, requested_bytes: size, recorded_address: recorded, predicted_address: predicted, context } = first;
  return section(
    joined(
      [
        t`First of ${as('mismatches', count(mismatches))} mismatches: entry ${as('seq', count(seq))}${size === null ? '' : t` (${bytes(size)})`}: ${KINDS[kind] ?? kind}`,
        recorded !== null && t`recorded at ${code(`0x${recorded}`)}`,
        predicted !== null && t`predicted at ${code(`0x${predicted}`)}`,
      ],
      ', ',
    ),
    { key: 'first_mismatch', fields: { kind } },
    table(
      context,
      [
        column('is_first', (entry) => (entry.seq === seq ? '>' : ''), { title: '' }),
        ...(['seq', 'action', 'size_bytes'] as const),
        column('address', ({ address }) => (address === null ? null : `0x${address}`)),
      ],
      { key: 'context' },
    ),
  );
}
