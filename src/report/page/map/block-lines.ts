/** A block or a free range in a few lines, for the box next to the pointer. Pure. */
import { visibleText } from '../../../model/escape-controls.js';
import { counted, formatBytes, formatCount } from '../../../model/units.js';
import { addressOf, componentName } from '../names.js';
import type { Loaded } from '../view-state.js';

/** Frames of a stack that are shown, the innermost first. */
const MOST_FRAMES = 7;

export function blockLines({ page, columns }: Loaded, block: number): string[] {
  const { blocks } = columns;
  const from = blocks.from[block]!;
  const to = blocks.to[block]!;
  const pending = blocks.pending[block]!;
  const component = componentName(page.components[blocks.component[block]!] ?? 'unattributed');
  const begin = from < page.firstSeq ? 'before the trace' : `entry ${formatCount(from)}`;
  const end = to > page.lastSeq ? 'live at the end' : `freed at entry ${formatCount(to)}`;
  const life = to > page.lastSeq ? '' : ` (${counted(to - Math.max(from, page.firstSeq), 'entry', 'entries')})`;
  return [
    `${formatBytes(blocks.bytes[block]!)} · ${component}${blocks.isPrivate[block] === 1 ? ' · private pool' : ''}`,
    ...stackLines({ page, columns }, blocks.stack[block]!),
    ...(page.isDump ? [] : [`${begin}: allocated · ${end}${life}`]),
    ...(pending < to && pending <= page.lastSeq
      ? [`free requested at entry ${formatCount(pending)}, then pending`]
      : []),
    addressOf(columns, blocks.place[block]!),
  ];
}

function stackLines({ columns }: Loaded, stack: number): string[] {
  const frames = columns.stacks[stack] ?? [];
  if (frames.length === 0) return ['no stack recorded'];
  const lines = frames.slice(0, MOST_FRAMES).map((frame) => visibleText(columns.frames[frame]!));
  if (frames.length > MOST_FRAMES) lines.push(`… ${counted(frames.length - MOST_FRAMES, 'more frame')}`);
  return lines;
}

/** What memory without a block may be: some pages leave blocks out. */
export const freeWords = (isWhole: boolean): string => (isWhole ? 'free' : 'free, or a block that is not in this page');

/** `large pool, stream 0, expandable`. */
export function poolOf(segment: {
  readonly isSmall: boolean;
  readonly isPrivate: boolean;
  readonly isExpandable: boolean;
  readonly stream: number;
}): string {
  const { isSmall, isPrivate, isExpandable, stream } = segment;
  return [
    `${isSmall ? 'small' : 'large'} pool`,
    ...(isPrivate ? ['private'] : []),
    stream < 0 ? 'stream unknown' : `stream ${stream > 0xffff ? `0x${stream.toString(16)}` : stream}`,
    ...(isExpandable ? ['expandable'] : []),
  ].join(', ');
}
