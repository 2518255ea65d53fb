/** What was live at the peak, by call site and by stack. */

import { pushAll } from '../../model/lists.js';
import type { PeakDevice, PeakResult } from '../../model/results/common.js';
import type { GroupKey, LifetimeBasis, LifetimeBytes, PeakGroup } from '../../model/results/peak.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { fitLabels, keepEnd, left, printable, right, table, wrap } from '../table.js';
import { afterEntry, counted, paragraph, rankName } from '../text-pieces.js';
import { bridgeText, memoryVizText, mosaicText } from './peer-text.js';

export interface PeakTextOptions {
  /** All devices and frames; else one device in full, with the first frames of its stacks. */
  readonly isWhole: boolean;
}

export function peakText(result: PeakResult, { isWhole }: PeakTextOptions): string {
  return `${result.snapshots
    .map((snapshot) => {
      const rank = rankName(snapshot.rank);
      const without = snapshot.devices_without_moment ?? [];
      return [
        `${printable(snapshot.path)} · ${rank}`,
        ...snapshot.devices.map((device, i) =>
          i === 0 || isWhole ? deviceText(device, isWhole) : `\n${deviceLine(device)}`,
        ),
        ...(without.length > 0 ? ['', `  no such moment on device ${without.join(', ')}`] : []),
        ...(snapshot.bridge === undefined ? [] : ['', bridgeText(snapshot.bridge)]),
        ...(snapshot.mosaic === undefined ? [] : ['', mosaicText(snapshot.mosaic)]),
        ...(snapshot.memory_viz === undefined ? [] : ['', memoryVizText(snapshot.memory_viz)]),
      ].join('\n');
    })
    .join('\n\n')}\n`;
}

export const TITLES: Readonly<Record<GroupKey, string>> = {
  site: 'call site',
  stack: 'call site of the stack',
  module: 'module',
  stage: 'innermost annotation at the allocation',
  compile: 'compiled region',
  metadata: 'user metadata',
  stream: 'stream',
  pool: 'pool',
};
const PLURALS: Readonly<Record<GroupKey, string>> = {
  site: 'sites',
  stack: 'stacks',
  module: 'modules',
  stage: 'stages',
  compile: 'regions',
  metadata: 'texts',
  stream: 'streams',
  pool: 'pools',
};

const headline = (device: PeakDevice): string =>
  `device ${device.device} ${momentWords(device.moment, afterEntry(device.seq))}: ${formatBytes(device.active_bytes)} live in ${blocks(device.blocks)} of ${formatBytes(device.reserved_bytes)} reserved`;

const deviceLine = (device: PeakDevice): string =>
  paragraph(`${headline(device)} (--device ${device.device} shows it)`).join('\n');

/** Columns of figures and the figures of a group; a column that is empty for all groups is left out. */
export function groupColumns({ active_bytes: active, groups, other_groups: others }: PeakDevice) {
  const share = (bytes: number): string => (active === 0 ? '–' : `${((100 * bytes) / active).toFixed(1)} %`);
  const lived = (bytes: number | null): string | null =>
    bytes === null ? null : bytes === 0 ? '0' : formatBytes(bytes);
  const hasUnknown = [...groups, others].some(({ unknown_bytes: bytes }) => (bytes ?? 0) > 0);
  return {
    titles: ['bytes', 'share', 'blocks', 'resident', 'transient', ...(hasUnknown ? ['unknown'] : [])],
    share,
    row: (group: PeakGroup & LifetimeBytes, key: string): (string | null)[] => [
      ...[formatBytes(group.bytes), share(group.bytes), formatCount(group.count)],
      ...[lived(group.resident_bytes), lived(group.transient_bytes)],
      ...(hasUnknown ? [lived(group.unknown_bytes)] : []),
      key,
    ],
  };
}

/** Frames of a stack unless all are wanted; two screens hold three stacks of so many. */
const MOST_FRAMES = 4;
const MOST_STACKS = 3;

function deviceText(device: PeakDevice, isWhole: boolean): string {
  const basis = device.basis === 'actual' ? 'actual block sizes' : 'approximate: the trace contradicts itself';
  const lines = [
    '',
    ...paragraph(`${headline(device)} (${basis})${device.ran_out ? '; this device ran out of memory' : ''}`),
  ];
  const otherGroups = device.other_groups;
  const { titles, row, share } = groupColumns(device);
  const keys = keyLines(device.groups.map(({ key }) => key));
  const rows = device.groups.flatMap((group, i) => {
    const [first = '', ...more] = keys[i]!;
    const blank = titles.map(() => '');
    return [row(group, first), ...more.map((line) => [...blank, line])];
  });
  if (otherGroups.groups > 0)
    rows.push(row(otherGroups, `${formatCount(otherGroups.groups)} more ${PLURALS[device.by]} (--limit 0 shows all)`));
  pushAll(lines, [
    table([...titles.map((title) => right(title)), left(TITLES[device.by])], rows, '  '),
    ...wrap(lifetimeWords(device.lifetime), 98, '  ').map((line) => `  ${line}`),
  ]);
  // Stacks are shown where the key is a part of them; for streams or stages they would only add lines.
  if (device.by !== 'site' && device.by !== 'stack') return lines.join('\n');
  const stacks = isWhole ? device.stacks : device.stacks.slice(0, MOST_STACKS);
  stacks.forEach((stack, i) => {
    const origin = stack.origin === 'free_event' ? ' (stack of its free: it was allocated before the recording)' : '';
    lines.push('', `  #${i + 1}  ${formatBytes(stack.bytes)}  ${share(stack.bytes)}  ${blocks(stack.count)}${origin}`);
    if (stack.frames.length === 0) lines.push('      no stack recorded');
    const frames = isWhole ? stack.frames : stack.frames.slice(0, MOST_FRAMES);
    for (const frame of frames) lines.push(`      ${keepEnd(printable(frame), screen.width - 8)}`);
    const callers = stack.frames.length - frames.length;
    if (callers > 0) lines.push(`      … ${counted(callers, 'more caller')}`);
  });
  const hidden = device.stacks.slice(stacks.length);
  const bytes = hidden.reduce((sum, stack) => sum + stack.bytes, device.other_stacks.bytes);
  const more = hidden.length + device.other_stacks.groups;
  if (more > 0) lines.push('', `  ${formatCount(more)} more stacks with ${formatBytes(bytes)} (--limit 0 shows all)`);
  return lines.join('\n');
}

/** Keys, each with its callers and its qualifiers, one on each line; a path that is too long keeps its end. */
function keyLines(keys: readonly string[]): string[][] {
  const parts = keys.map((key) => {
    const qualified = / \((?:freed there|autograd engine|no Python frames)[^()]*\)$/.exec(key);
    const frames = (qualified === null ? key : key.slice(0, qualified.index)).split(' \u2190 ');
    return { frames: frames.map(printable), qualified };
  });
  const sites = fitLabels(
    parts.map(({ frames }) => frames[0] ?? ''),
    66,
  );
  const callers = fitLabels(
    parts.flatMap(({ frames }) => frames.slice(1)),
    62,
  );
  let next = 0;
  return parts.map(({ frames, qualified }, i) => [
    sites[i]!,
    ...frames.slice(1).map(() => `  \u2190 ${callers[next++]!}`),
    ...(qualified === null ? [] : [` ${qualified[0]}`]),
  ]);
}

function momentWords(moment: string, after: string): string {
  if (moment === 'dump') return 'at the dump (no trace recorded)';
  if (moment === 'peak') return `at its peak, ${after}`;
  return `at ${moment}, ${after}`;
}

function lifetimeWords({ rule, boundary, boundaries }: LifetimeBasis): string {
  if (rule === 'none') return 'resident or transient: unknown, since no frees were recorded';
  if (rule === 'trace')
    return 'resident: still live when the trace ends; transient: freed in it after this moment (no steps are marked)';
  const marks = `${counted(boundaries, 'boundary', 'boundaries')} of ${printable(boundary ?? '')}`;
  return `resident: outlives its step, or has lived through one; transient: freed before the step ends (${marks})`;
}

function blocks(count: number): string {
  return counted(count, 'block');
}
