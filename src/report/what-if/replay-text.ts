/** `replay` as text: one line a device, and beneath it what keeps it from being exact. */
import { pushAll } from '../../model/lists.js';
import type { ReplayDevice, ReplayResult } from '../../model/results/replay.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, printable, table, wrap } from '../table.js';
import { WIDTH } from '../text-pieces.js';

const VARIANTS: Readonly<Record<ReplayDevice['variant'], string>> = {
  address: 'address (torch ≤ 2.11)',
  block_counter: 'block counter (torch 2.12)',
  segment_counter: 'segment counter (torch ≥ 2.13)',
};

const KINDS: Readonly<Record<string, string>> = {
  address: 'the model puts it elsewhere',
  reuse_predicted: 'the model reuses a free block, torch asked the driver',
  growth_predicted: 'the model asks the driver, torch reused a free block',
  growth_differs: 'the model asks the driver for something else',
  oom_predicted: 'the model runs out of memory, torch did not',
  oom_not_predicted: 'torch ran out of memory, the model does not',
  release_differs: 'other segments or pages are given back',
  stray_growth: 'memory from the driver that no request is for',
};

export function replayText(result: ReplayResult): string {
  const rows = result.snapshots.map((device) => [
    keepEnd(printable(device.path), 36),
    device.device,
    device.regime,
    device.status,
    `${formatCount(device.address_matches)} of ${formatCount(device.address_total)}`,
    `${formatCount(device.segment_events)}${device.segment_event_mismatches > 0 ? ` (${formatCount(device.segment_event_mismatches)} differ)` : ''}`,
    device.final_state_equal ? 'equal' : 'differs',
  ]);
  const lines = [
    table(
      [
        { title: 'snapshot' },
        { title: 'device', align: 'right' },
        { title: 'start' },
        { title: 'replay' },
        { title: 'addresses', align: 'right' },
        { title: 'driver calls', align: 'right' },
        { title: 'final state' },
      ],
      rows,
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
  for (const oom of device.ooms) {
    facts.push(
      `OOM at entry ${formatCount(oom.seq)} for ${formatBytes(oom.requested_bytes)}: ${oom.repeated ? 'repeated' : 'not repeated'} (reserved ${formatBytes(oom.reserved_bytes)}, active ${formatBytes(oom.active_bytes)})`,
    );
  }
  pushAll(lines, ['', name, ...facts.flatMap((fact) => wrap(`  ${fact}`, WIDTH, '    '))]);
  if (device.reason !== '') pushAll(lines, wrap(`  ${device.status}: ${printable(device.reason)}`, WIDTH, '    '));
  const { first_mismatch: first } = device;
  if (first === null) return lines;
  const size = first.requested_bytes === null ? '' : ` (${formatBytes(first.requested_bytes)})`;
  const places = [
    first.recorded_address === null ? '' : `, recorded at 0x${first.recorded_address}`,
    first.predicted_address === null ? '' : `, predicted at 0x${first.predicted_address}`,
  ].join('');
  pushAll(
    lines,
    wrap(
      `  first of ${formatCount(device.mismatches)} mismatches: entry ${formatCount(first.seq)}${size}: ${KINDS[first.kind] ?? first.kind}${places}`,
      WIDTH,
      '    ',
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
