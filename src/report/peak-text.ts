/** What was live at the peak, by call site and by stack. */
import type { PeakDevice, PeakResult } from '../model/results.js';
import { formatBytes, formatCount } from '../model/units.js';
import { keepEnd, printable, table, wrap } from './table.js';

export function peakText(result: PeakResult): string {
  return `${result.snapshots
    .map((snapshot) => {
      const rank = snapshot.rank === null ? 'rank unknown' : `rank ${snapshot.rank}`;
      return [`${printable(snapshot.path)} · ${rank}`, ...snapshot.devices.map(deviceText)].join('\n');
    })
    .join('\n\n')}\n`;
}

function deviceText(device: PeakDevice): string {
  const after = device.seq === null ? 'before the first entry' : `after entry ${formatCount(device.seq)}`;
  const moment = device.moment === 'dump' ? 'at the dump (no trace recorded)' : `at its peak, ${after}`;
  const basis = device.basis === 'actual' ? 'actual block sizes' : 'approximate: the trace contradicts itself';
  const lines = [
    '',
    ...wrap(
      `device ${device.device} ${moment}: ${formatBytes(device.active_bytes)} live in ${blocks(device.blocks)} of ${formatBytes(device.reserved_bytes)} reserved (${basis})`,
      100,
      '  ',
    ),
  ];
  const share = (bytes: number): string =>
    device.active_bytes === 0 ? '–' : `${((100 * bytes) / device.active_bytes).toFixed(1)} %`;
  const rows: (string | null)[][] = device.sites.map((site) => [
    formatBytes(site.bytes),
    share(site.bytes),
    formatCount(site.count),
    keepEnd(printable(site.site), 66),
  ]);
  const rest = device.other_sites;
  if (rest.groups > 0)
    rows.push([
      formatBytes(rest.bytes),
      share(rest.bytes),
      formatCount(rest.count),
      `${formatCount(rest.groups)} more sites (--limit 0 shows all)`,
    ]);
  lines.push(
    table(
      [
        { title: 'bytes', align: 'right' },
        { title: 'share', align: 'right' },
        { title: 'blocks', align: 'right' },
        { title: 'call site' },
      ],
      rows,
      '  ',
    ),
  );
  device.stacks.forEach((stack, i) => {
    const origin = stack.origin === 'free_event' ? ' (stack of its free: it was allocated before the recording)' : '';
    lines.push('', `  #${i + 1}  ${formatBytes(stack.bytes)}  ${share(stack.bytes)}  ${blocks(stack.count)}${origin}`);
    if (stack.frames.length === 0) lines.push('      no stack recorded');
    for (const frame of stack.frames) lines.push(`      ${keepEnd(printable(frame), 92)}`);
  });
  const more = device.other_stacks;
  if (more.groups > 0)
    lines.push('', `  ${formatCount(more.groups)} more stacks with ${formatBytes(more.bytes)} (--limit 0 shows all)`);
  return lines.join('\n');
}

function blocks(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'block' : 'blocks'}`;
}
