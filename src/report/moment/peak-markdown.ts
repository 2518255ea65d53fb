/** What was live at a moment as Markdown: groups in sight, stacks and figures of peers folded away. */

import type { PeakDevice, PeakResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { mdCode, mdDetails, mdFence, mdTable, mdText } from '../markdown.js';
import { momentTitle } from '../store/export/speedscope.js';
import { left, right } from '../table.js';
import { counted, rankName } from '../text-pieces.js';
import { groupColumns, TITLES } from './peak-text.js';
import { bridgeText, memoryVizText, mosaicText } from './peer-text.js';

export function peakMarkdown(result: PeakResult): string {
  const lines = result.snapshots.flatMap((snapshot) => {
    const { bridge, mosaic, memory_viz: viz, devices_without_moment: without = [] } = snapshot;
    return [
      `## mbforensics peak: ${mdText(snapshot.path)}, ${rankName(snapshot.rank)}`,
      ...snapshot.devices.flatMap(deviceLines),
      ...(without.length === 0 ? [] : ['', `No such moment on device ${without.join(', ')}`]),
      ...peerLines('Megatron Bridge', bridge === undefined ? '' : bridgeText(bridge)),
      ...peerLines('mosaic', mosaic === undefined ? '' : mosaicText(mosaic)),
      ...peerLines('memory\\_viz', viz === undefined ? '' : memoryVizText(viz)),
      '',
    ];
  });
  return `${lines.join('\n').trimEnd()}\n`;
}

function peerLines(title: string, text: string): string[] {
  return text === '' ? [] : mdDetails(`as ${title} counts`, mdFence(text.trimEnd().split('\n'), 'text'));
}

function deviceLines(device: PeakDevice): string[] {
  const { groups, other_groups: others, active_bytes: active } = device;
  const { titles, row, share } = groupColumns(device);
  const rows = groups.map((group) => row(group, mdCode(group.key)));
  if (others.groups > 0) rows.push(row(others, `${formatCount(others.groups)} more`));
  const column = device.by === 'stage' ? 'annotation' : TITLES[device.by];
  return [
    '',
    `### device ${device.device} ${mdText(momentTitle(device))}: ${formatBytes(active)} live`,
    '',
    `In ${counted(device.blocks, 'block')}, of ${formatBytes(device.reserved_bytes)} reserved`,
    '',
    ...mdTable(
      [...titles.map((title) => right(title)), left(column)],
      rows.map((cells) => cells.map((cell) => cell ?? '')),
    ),
    ...stackLines(device, share),
  ];
}

function stackLines({ by, stacks, other_stacks: others }: PeakDevice, share: (bytes: number) => string): string[] {
  if (by !== 'site' && by !== 'stack') return [];
  const lines = stacks.flatMap((stack, i) => {
    const origin = stack.origin === 'free_event' ? ' (stack of its free)' : '';
    const frames = stack.frames.length === 0 ? ['no stack recorded'] : stack.frames;
    return [
      ...(i === 0 ? [] : ['']),
      `${i + 1}. ${formatBytes(stack.bytes)}, ${share(stack.bytes)}, ${counted(stack.count, 'block')}${origin}`,
      '',
      ...mdFence(frames, 'text', '   '),
    ];
  });
  const more = others.groups > 0 ? ['', `${formatCount(others.groups)} more with ${formatBytes(others.bytes)}`] : [];
  return mdDetails(`the ${counted(stacks.length, 'largest stack')}`, [...lines, ...more]);
}
