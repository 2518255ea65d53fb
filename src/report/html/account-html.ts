/**
 * Whose every byte of the device is: at the OOM and at the peak as bars on one scale, with the request that failed, and
 * as tables. The parts of a bar add up to its total to the byte. Pure.
 */
import { maxOf, sumOf } from '../../model/lists.js';
import type { AccountingPart, AccountingTotal, VerdictResult } from '../../model/results/common.js';
import { DRIVER_OWNER_WORDS, DRIVER_OWNERS } from '../../model/results/nsys.js';
import { formatBytes } from '../../model/units.js';
import { shownSites } from '../start/diagnosis-parts.js';

import { type EvidenceNames, evidenceLink } from './evidence-link.js';
import { type Child, element, type SafeHtml, text, textElement } from './html.js';
import { bytes, code, counts, htmlTable, share, shareText, words } from './html-table.js';
import { type PageSection, section, twin } from './page-pieces.js';

/** An account with what it is of. */
export interface Account {
  /** `at the OOM`. */
  readonly when: string;
  readonly total: AccountingTotal;
  readonly parts: readonly AccountingPart[];
}

const PEAKS = { peak: 'at the peak', dump: 'at the dump', lines: 'largest figures of the memory lines' } as const;

export function accountsOf({ accounting_total: total, accounting, accounting_peak: peak }: VerdictResult): Account[] {
  return [
    ...(total === null ? [] : [{ when: 'at the OOM', total, parts: accounting }]),
    ...(peak === null ? [] : [{ when: PEAKS[peak.moment], total: peak.total, parts: peak.parts }]),
  ];
}

export function memorySection(verdict: VerdictResult | undefined, names: EvidenceNames): PageSection | null {
  if (verdict === undefined) return null;
  const accounts = accountsOf(verdict);
  return section(
    'memory',
    {
      name: 'Memory',
      title: 'Memory of the device',
      about: accounts.length === 0 ? null : 'Every byte in parts that add up to the total. Bars have one scale.',
    },
    accountBars(accounts, verdict.request),
    sitesTable(verdict, names),
    accounts.length > 0 && twin('Table: parts of the account', accounts.map(accountTable)),
  );
}

// ---- bars

const BAR = 52;
const REQUEST = 22;
/** Pixels of a bar on a usual screen, and of a character. Parts too narrow for their name are in the legend only. */
const USUAL_WIDTH = 1_150;
const CHARACTER = 7.5;

function accountBars(accounts: readonly Account[], request: VerdictResult['request']): Child {
  const scale = maxOf(accounts.map(scaleOf));
  return accounts.map((account, i) => [
    element(
      'div',
      { class: 'account' },
      element(
        'p',
        { class: 'account-title' },
        textElement('b', account.when),
        text(' '),
        textElement('span', formatBytes(account.total.bytes), { 'data-bytes': account.total.bytes }),
        textElement('span', ` ${account.total.text}`, { class: 'muted' }),
      ),
      accountBar(account, scale),
      i === 0 && account.when === 'at the OOM' && request !== null && requestBar(account, request, scale),
      legend(account),
    ),
  ]);
}

/** Parts below 0 (the rounding of a message) are not drawn: the others may then be a little more than the total. */
const scaleOf = ({ total, parts }: Account): number =>
  Math.max(total.bytes, sumOf(parts.map((part) => Math.max(0, part.bytes))), 1);

const percent = (value: number, scale: number): string => `${Number(((100 * value) / scale).toFixed(3))}%`;

function accountBar({ when, total, parts }: Account, scale: number): SafeHtml {
  let start = 0;
  const drawn = parts.map((part) => {
    const width = Math.max(0, part.bytes);
    const at = start;
    start += width;
    const isLabelled = (USUAL_WIDTH * width) / scale > 20 + CHARACTER * Math.max(9, partName(part.part).length);
    return element(
      'svg',
      {
        x: percent(at, scale),
        width: percent(width, scale),
        height: BAR,
        'data-part': part.part,
        'data-bytes': part.bytes,
      },
      textElement('title', `${partName(part.part)}: ${formatBytes(part.bytes)}`),
      element('rect', { class: `part ${partClass(part.part)}`, width: '100%', height: '100%' }),
      isHatched(part, parts) && element('rect', { width: '100%', height: '100%', fill: 'url(#hatch)' }),
      isLabelled && [
        textElement('text', partName(part.part), { class: `on-${partClass(part.part)}`, x: 10, y: 21 }),
        textElement('text', formatBytes(part.bytes), { class: `on-${partClass(part.part)} size`, x: 10, y: 40 }),
      ],
    );
  });
  const label = parts.map((part) => `${partName(part.part)} ${formatBytes(part.bytes)}`).join(', ');
  return element(
    'svg',
    {
      class: 'bar',
      width: '100%',
      height: BAR,
      role: 'img',
      'aria-label': `Memory ${when}, ${formatBytes(total.bytes)}: ${label}`,
      'data-total': total.bytes,
    },
    drawn,
  );
}

/** The request that failed, to scale, below the free memory that was too small for it. */
function requestBar({ parts }: Account, request: NonNullable<VerdictResult['request']>, scale: number): SafeHtml {
  const width = Math.min(1, request.bytes / scale);
  const before = parts.slice(
    0,
    Math.max(
      0,
      parts.findIndex(({ part }) => isFree(part)),
    ),
  );
  const start = Math.min(1 - width, sumOf(before.map((part) => Math.max(0, part.bytes))) / scale);
  const label = `requested ${formatBytes(request.bytes)}${request.site === null ? '' : ` in ${request.site}`}`;
  const isLeft = start < 0.5;
  return element(
    'svg',
    { class: 'bar request', width: '100%', height: REQUEST, role: 'img', 'aria-label': label },
    element('rect', { class: 'wanted', x: percent(start, 1), y: 3, width: percent(width, 1), height: REQUEST - 6 }),
    textElement('text', label, {
      x: percent(isLeft ? start + width : start, 1),
      dx: isLeft ? 8 : -8,
      y: 15,
      'text-anchor': isLeft ? 'start' : 'end',
      'data-bytes': request.bytes,
    }),
  );
}

function legend({ total, parts }: Account): SafeHtml {
  const items = parts.map((part) =>
    element(
      'li',
      {},
      swatch(partClass(part.part), isHatched(part, parts)),
      text(`${partName(part.part)} `),
      textElement('b', formatBytes(part.bytes), { 'data-bytes': part.bytes }),
      textElement('span', ` ${shareText(part.bytes / Math.max(1, total.bytes))}`, { class: 'muted' }),
    ),
  );
  return element('ul', { class: 'legend' }, items);
}

export function swatch(className: string, hatched = false): SafeHtml {
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

// ---- parts

const NAMES: Readonly<Record<string, string>> = {
  pending_free: 'freed, pending',
  private_pools_free: 'private pools, free',
  outside_pytorch: 'outside PyTorch',
  outside_pytorch_this_process: 'outside PyTorch',
  device_free: 'free',
  free_or_outside_pytorch: 'free or outside PyTorch',
  headroom_and_outside_pytorch: 'headroom or outside PyTorch',
  reserved_beyond: 'reserved beyond it',
  rounding_of_message: 'rounding of the message',
  driver_not_seen: 'not seen by the profiler',
};

/** The name of a part for a reader: `cached, too small`. */
export function partName(part: string): string {
  const known = NAMES[part];
  if (known !== undefined) return known;
  const owner = DRIVER_OWNERS.find((one) => part === `driver_${one}`);
  if (owner !== undefined) return DRIVER_OWNER_WORDS[owner];
  const plain = part.replaceAll('_', ' ');
  return plain.startsWith('cached ') ? `cached, ${plain.slice('cached '.length)}` : plain;
}

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
function isHatched({ part }: AccountingPart, parts: readonly AccountingPart[]): boolean {
  const members = parts.filter((one) => partClass(one.part) === partClass(part));
  return members.findIndex((one) => one.part === part) % 2 === 1;
}

// ---- tables

interface Row {
  readonly part: AccountingPart;
  readonly kind: 'part' | 'share' | 'sum';
}

function accountTable({ when, total, parts }: Account): Child {
  const rows: Row[] = [
    ...parts.flatMap((part): Row[] => [
      { part, kind: 'part' },
      ...(part.of ?? []).map((one): Row => ({ part: one, kind: 'share' })),
    ]),
    { part: { part: total.text, bytes: total.bytes, source: total.source }, kind: 'sum' },
  ];
  return htmlTable(
    rows,
    [
      words('part', ({ part, kind }) =>
        kind === 'share' ? `of it ${partName(part.part)}` : kind === 'sum' ? `= ${part.part}` : partName(part.part),
      ),
      bytes('size', ({ part }) => part.bytes),
      bytes('bytes', ({ part }) => part.bytes, { exact: true }),
      share('of the total', ({ part, kind }) => (kind === 'share' ? null : part.bytes / Math.max(1, total.bytes))),
      words('source', ({ part }) => part.source),
    ],
    { caption: `Account ${when}`, rowClass: ({ kind }) => (kind === 'part' ? null : kind) },
  );
}

function sitesTable(verdict: VerdictResult, names: EvidenceNames): Child {
  const entry = verdict.evidence.find(({ kind }) => kind === 'live_sites');
  if (entry === undefined || shownSites(verdict).length === 0) return null;
  const live = verdict.components?.total_bytes ?? null;
  return htmlTable(
    entry.items ?? [],
    [
      code('call site', ({ name }) => name),
      bytes('live', ({ numbers }) => numbers['bytes'] ?? null),
      live !== null && share('of live memory', ({ numbers }) => (numbers['bytes'] ?? 0) / Math.max(1, live)),
      counts('blocks', ({ numbers }) => numbers['blocks'] ?? null),
    ],
    { caption: 'Largest live call sites ', link: evidenceLink(entry.id, 1, names) },
  );
}
