/** Whose every byte of a device is: a bar of its parts, and tables that add up. */

import { sumOf } from '../../model/lists.js';
import type { AccountingPart, AccountingTotal, VerdictResult as Verdict } from '../../model/results/common.js';
import { DRIVER_OWNERS } from '../../model/results/nsys.js';
import type { LiveComponents } from '../../model/verdict.js';
import { type Bar, type BarPart, column, type MaybePart, section, table } from '../document/document.js';
import { driverOwner, wordTable } from '../words/fill.js';

/** What two printed digits of a message hide. */
const ROUNDING = 'rounding_of_message';

const barName = (part: string): string => (part.startsWith('cached') ? 'cached' : partName(part));

/** `cached, too small`. */
function partName(part: string): string {
  const owner = DRIVER_OWNERS.find((one) => part === `driver_${one}`);
  if (owner !== undefined) return driverOwner(owner);
  const name = wordTable('codes', 'account_parts')[part] ?? part.replace(/^private_pools_/, '').replaceAll('_', ' ');
  return name.startsWith('cached ') ? `cached, ${name.slice('cached '.length)}` : name;
}

/** An account with the moment that it is of. */
export interface Account {
  readonly total: AccountingTotal;
  readonly parts: readonly AccountingPart[];
  /** `at the peak`; empty at the OOM. */
  readonly when: string;
}

const PEAKS = { peak: 'at the peak', dump: 'at the dump', lines: 'largest figures of the memory lines' } as const;

/** That of the OOM first. */
export function accountsOf({ accounting_total: total, accounting, accounting_peak: peak }: Verdict): Account[] {
  return [
    ...(total === null ? [] : [{ total, parts: accounting, when: '' }]),
    ...(peak === null ? [] : [{ total: peak.total, parts: peak.parts, when: PEAKS[peak.moment] }]),
  ];
}

/** Of an OOM, else of the peak or the dump; null where nothing adds up. */
export const shownAccount = (verdict: Verdict): Account | null => accountsOf(verdict)[0] ?? null;

/** Cached parts are one. */
export function accountBar({ total, parts, when }: Account, request: Verdict['request'] = null): Bar {
  const groups = new Map<string, BarPart>();
  for (const { part, bytes } of parts) {
    if (part === ROUNDING) continue;
    const name = barName(part);
    groups.set(name, { part: name === 'cached' ? name : part, name, bytes: (groups.get(name)?.bytes ?? 0) + bytes });
  }
  const isPartial = total.kind === 'reserved' || total.kind === 'reserved_and_free';
  const caveat = isPartial ? '(size of the device unknown)' : '';
  const shown = [...groups.values()].filter(({ bytes }) => bytes !== 0);
  const words = [when, caveat].filter((text) => text !== '').join(' ');
  return { type: 'bar', key: 'memory', total: total.bytes, parts: shown, when: words, request };
}

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly share: number | null;
  readonly source: string;
  readonly kind?: 'sum' | 'group';
}

/** Each part with its shares; the last row is their sum. */
export function accountTable({ total, parts, when }: Account, key: string): MaybePart {
  const of = (bytes: number): number => bytes / Math.max(1, total.bytes);
  const rows: Row[] = [
    ...parts.flatMap(({ part, bytes, source, of: shares = [] }): Row[] => [
      { name: partName(part), bytes, share: of(bytes), source },
      ...shares.map((one) => ({ ...one, name: `of it ${partName(one.part)}`, share: null, kind: 'group' as const })),
    ]),
    { name: total.text, bytes: total.bytes, share: null, source: total.source, kind: 'sum' },
  ];
  return section(
    when === '' ? 'Memory' : `Memory ${when}`,
    { isFolded: true },
    table(
      rows,
      [
        column('part', ({ name }) => name),
        column('bytes', ({ bytes }) => bytes, { title: 'size' }),
        column('share', ({ share }) => share, { title: 'of the total' }),
        column('source', ({ source }) => source),
      ],
      { key, kind: ({ kind }) => kind },
    ),
  );
}

/** Components below this share of what is live are summed up. */
const SMALL_COMPONENT = 0.01;

/** What is live by component; the rows add up. */
export function componentTable({ moment, total_bytes: total, parts }: LiveComponents): MaybePart {
  const large = parts.filter(({ bytes }) => bytes >= SMALL_COMPONENT * total);
  const small = parts.filter((part) => !large.includes(part));
  const rows = large.map(({ component, bytes }) => ({ name: component.replaceAll('_', ' '), bytes }));
  if (small.length > 0) rows.push({ name: `${small.length} others`, bytes: sumOf(small.map(({ bytes }) => bytes)) });
  return section(
    moment === 'oom' ? 'Live' : `Live at the ${moment}`,
    {},
    table(
      rows,
      [
        column('component', ({ name }) => name),
        column('live_bytes', ({ bytes }) => bytes),
        column('share', ({ bytes }) => bytes / Math.max(1, total)),
      ],
      { key: 'components' },
    ),
  );
}
