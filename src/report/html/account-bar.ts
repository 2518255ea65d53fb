/** Parts of a device's memory as a bar with its legend, and the request that failed to the same scale. Pure. */
import { sumOf } from '../../model/lists.js';
import { formatBytes } from '../../model/units.js';
import type { Bar, BarPart } from '../document/document.js';
import { shareText } from '../document/values.js';
import { type Child, element, type SafeHtml, text, textElement } from './html.js';

const HEIGHT = 52;
const REQUEST = 22;
/** Pixels of a bar on a usual screen, and of a character. Parts too narrow for their name are in the legend only. */
const USUAL_WIDTH = 1_150;
const CHARACTER = 7.5;

const percent = (value: number, scale: number): string => `${Number(((100 * value) / scale).toFixed(3))}%`;

export function barDrawing(bar: Bar): Child {
  // Parts below 0 are not drawn: the others may then be a little more than the total.
  const scale = Math.max(bar.total, sumOf(bar.parts.map(({ bytes }) => Math.max(0, bytes))), 1);
  return [
    partsSvg(bar, scale),
    bar.request !== null && bar.request !== undefined && requestSvg(bar, scale),
    legend(bar),
  ];
}

function partsSvg({ when, total, parts }: Bar, scale: number): SafeHtml {
  let start = 0;
  const drawn = parts.map((part) => {
    const width = Math.max(0, part.bytes);
    const at = start;
    start += width;
    const isLabelled = (USUAL_WIDTH * width) / scale > 20 + CHARACTER * Math.max(9, part.name.length);
    return element(
      'svg',
      {
        ...{ x: percent(at, scale), width: percent(width, scale), height: HEIGHT },
        ...{ 'data-part': part.part, 'data-bytes': part.bytes },
      },
      textElement('title', `${part.name}: ${formatBytes(part.bytes)}`),
      element('rect', { class: `part ${partClass(part.part)}`, width: '100%', height: '100%' }),
      isHatched(part, parts) && element('rect', { width: '100%', height: '100%', fill: 'url(#hatch)' }),
      isLabelled && [
        textElement('text', part.name, { class: `on-${partClass(part.part)}`, x: 10, y: 21 }),
        textElement('text', formatBytes(part.bytes), { class: `on-${partClass(part.part)} size`, x: 10, y: 40 }),
      ],
    );
  });
  const label = parts.map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`).join(', ');
  return element(
    'svg',
    {
      ...{ class: 'bar', width: '100%', height: HEIGHT, role: 'img', 'data-total': total },
      'aria-label': `Memory ${when}, ${formatBytes(total)}: ${label}`,
    },
    drawn,
  );
}

/** Below the free memory that was too small for it. */
function requestSvg({ parts, request }: Bar, scale: number): SafeHtml {
  const { bytes, site } = request!;
  const width = Math.min(1, bytes / scale);
  const firstFree = Math.max(
    0,
    parts.findIndex(({ part }) => isFree(part)),
  );
  const before = sumOf(parts.slice(0, firstFree).map((part) => Math.max(0, part.bytes)));
  const start = Math.min(1 - width, before / scale);
  const label = `requested ${formatBytes(bytes)}${site === null ? '' : ` in ${site}`}`;
  const isLeft = start < 0.5;
  return element(
    'svg',
    { class: 'bar request', width: '100%', height: REQUEST, role: 'img', 'aria-label': label },
    element('rect', { class: 'wanted', x: percent(start, 1), y: 3, width: percent(width, 1), height: REQUEST - 6 }),
    textElement('text', label, {
      ...{ x: percent(isLeft ? start + width : start, 1), dx: isLeft ? 8 : -8, y: 15 },
      ...{ 'text-anchor': isLeft ? 'start' : 'end', 'data-bytes': bytes },
    }),
  );
}

function legend({ total, parts }: Bar): SafeHtml {
  const entries = parts.map((part) =>
    element(
      'li',
      {},
      swatch(partClass(part.part), isHatched(part, parts)),
      text(`${part.name} `),
      textElement('b', formatBytes(part.bytes), { 'data-bytes': part.bytes }),
      textElement('span', ` ${shareText(part.bytes / Math.max(1, total))}`, { class: 'muted' }),
    ),
  );
  return element('ul', { class: 'legend' }, entries);
}

function swatch(className: string, hatched: boolean): SafeHtml {
  return element(
    'svg',
    { class: 'swatch', width: 12, height: 12, 'aria-hidden': 'true' },
    element('rect', { class: className, width: 12, height: 12 }),
    hatched && element('rect', { width: 12, height: 12, fill: 'url(#hatch)' }),
  );
}

/** The pattern that distinguishes parts of one hue; the page holds it once. */
export const HATCH: SafeHtml = element(
  'svg',
  { class: 'defs', width: 0, height: 0, 'aria-hidden': 'true', focusable: 'false' },
  element(
    'defs',
    {},
    element(
      'pattern',
      { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      element('rect', { class: 'hatch', width: 2, height: 6 }),
    ),
  ),
);

const isFree = (part: string): boolean => part === 'device_free' || /^(?:free|headroom)_/.test(part);

function partClass(part: string): string {
  if (part === 'allocated' || part === 'this_process') return 'p-live';
  if (part === 'pending_free') return 'p-pending';
  if (part.startsWith('private_pools')) return 'p-pools';
  if (part.startsWith('cached') || part.startsWith('reserved')) return 'p-cached';
  if (part.startsWith('outside_pytorch')) return 'p-outside';
  if (part.startsWith('other_processes')) return 'p-foreign';
  return isFree(part) ? 'p-free' : 'p-rest';
}

/** Every second part of a hue. */
function isHatched({ part }: BarPart, parts: readonly BarPart[]): boolean {
  const members = parts.filter((one) => partClass(one.part) === partClass(part));
  return members.findIndex((one) => one.part === part) % 2 === 1;
}
