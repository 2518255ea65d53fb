/** `replay` as text: one line a device, and beneath it what keeps it from being exact. */
import { pushAll } from '../../model/lists.js';
import type { ReplayDevice, ReplayResult } from '../../model/results/replay.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, tableOf } from '../table.js';
import { counted, paragraph } from '../text-pieces.js';

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

export function replayText(result: ReplayResult): string {
  const lines = [
    tableOf(
      result.snapshots,
      [
        left('snapshot', (device) => keepEnd(printable(device.path), 36)),
        right('device', (device) => device.device),
        left('start', (device) => device.regime),
        left('replay', (device) => device.status),
        right(
          'addresses',
          (device) => `${formatCount(device.address_matches)} of ${formatCount(device.address_total)}`,
        ),
        right(
          'driver calls',
          (device) =>
            `${formatCount(device.segment_events)}${device.segment_event_mismatches > 0 ? ` (${formatCount(device.segment_event_mismatches)} differ)` : ''}`,
        ),
        left('final state', (device) => (device.final_state_equal ? 'equal' : 'differs')),
      ],
      '',
    ),
  ];
  for (const device of result.snapshots) pushAll(lines, details(device));
  return `${lines.join('\n')}\n`;
}

function details(device: ReplayDevice): string[] {
  const lines: string[] = [];
  const name = `${keepEnd(printable(device.path), 60)} · device ${device.device}`;
  const facts = [
    `settings ${device.settings === '' ? 'default' : device.settings}`,
    `ties by ${VARIANTS[device.variant]}`,
    `${formatCount(device.reuse_matches)} addresses predicted, the others are the driver's`,
  ];
  if (device.flushes.forced + device.flushes.explicit > 0)
    facts.push(
      `flushes: ${formatCount(device.flushes.forced)} forced, ${formatCount(device.flushes.explicit)} explicit`,
    );
  const { settings, pool_orders: orders, garbage_segments: garbage, inferred_pools: inferred } = device.from_record;
  if (settings) facts.push('the file contains no settings: these were found by what they do');
  if (garbage > 0)
    facts.push(`${counted(garbage, 'segment')} freed by garbage collection as recorded: its limit is not in the file`);
  if (inferred > 0)
    facts.push(`${counted(inferred, 'private pool')} that no entry names: known by the flush that freed it`);
  if (orders > 0) facts.push(`${counted(orders, 'flush', 'flushes')} of several private pools in the recorded order`);
  for (const oom of device.ooms) {
    facts.push(
      `OOM at entry ${formatCount(oom.seq)} for ${formatBytes(oom.requested_bytes)}: ${oom.repeated ? 'repeated' : 'not repeated'} (reserved ${formatBytes(oom.reserved_bytes)}, active ${formatBytes(oom.active_bytes)})`,
    );
  }
  pushAll(lines, ['', name, ...facts.flatMap((fact) => paragraph(`  ${fact}`))]);
  if (device.reason !== '') pushAll(lines, paragraph(`  ${device.status}: ${printable(device.reason)}`));
  const { first_mismatch: first } = device;
  if (first === null) return lines;
  const size = first.requested_bytes === null ? '' : ` (${formatBytes(first.requested_bytes)})`;
  const places = [
    first.recorded_address === null ? '' : `, recorded at 0x${first.recorded_address}`,
    first.predicted_address === null ? '' : `, predicted at 0x${first.predicted_address}`,
  ].join('');
  pushAll(
    lines,
    paragraph(
      `  first of ${formatCount(device.mismatches)} mismatches: entry ${formatCount(first.seq)}${size}: ${KINDS[first.kind] ?? first.kind}${places}`,
    ),
  );
  for (const entry of first.context) {
    const mark = entry.seq === first.seq ? '>' : ' ';
    const address = entry.address === null ? '' : ` at 0x${entry.address}`;
    lines.push(
      `   ${mark} ${formatCount(entry.seq)}  ${entry.action} ${formatCount(entry.size_bytes)} bytes${address}`,
    );
  }
  return lines;
}
