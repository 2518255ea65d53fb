/** An account as a sum that a reader can check: one unit, two decimals, and the shown figures add up exactly. */

import type { AccountingPart, AccountingTotal } from '../../model/results/common.js';
import { DRIVER_OWNER_WORDS, DRIVER_OWNERS } from '../../model/results/nsys.js';
import { formatBytes, GIB, KIB, MIB } from '../../model/units.js';
import type { LiveComponents } from '../../model/verdict.js';

/** Parts that a reader takes together; what is not listed keeps its own name. */
const TAKEN_TOGETHER: Readonly<Record<string, string>> = {
  private_pools_free: 'private pools, free',
  outside_pytorch_this_process: 'outside PyTorch',
  outside_pytorch: 'outside PyTorch',
  device_free: 'free',
  above_limit: 'free above the limit',
  free_or_outside_pytorch: 'free or outside PyTorch',
  headroom_and_outside_pytorch: 'headroom or outside PyTorch',
  reserved_beyond: 'reserved beyond it',
};

/** Their figures differ from exact ones by less than a message prints: shown as what is left of the shown figures. */
const ROUNDING = 'rounding_of_message';

interface Unit {
  readonly name: string;
  readonly bytes: number;
}

function unitOf(total: number): Unit {
  if (total >= GIB) return { name: 'GiB', bytes: GIB };
  if (total >= MIB) return { name: 'MiB', bytes: MIB };
  return { name: 'KiB', bytes: KIB };
}

/** Hundredths of the unit. */
const hundredths = (bytes: number, unit: Unit): number => Math.round((100 * bytes) / unit.bytes);
const shown = (value: number): string => (Math.abs(value) / 100).toFixed(2);

/**
 * `79.11 GiB = allocated 55.08 + cached 18.82 + outside PyTorch 3.91 + free 1.31 - rounding 0.01`. Cached parts are one
 * summand; {@link detailsOf} lists them separately.
 */
export function sumText(total: Pick<AccountingTotal, 'bytes'>, parts: readonly AccountingPart[]): string {
  const { unit, value, terms } = summands(total, parts);
  const sum = terms.map((term, i) => {
    const sign = term.value < 0 ? '- ' : i === 0 ? '' : '+ ';
    return `${sign}${term.name} ${shown(term.value)}`;
  });
  return `${shown(value)} ${unit.name} = ${sum.join(' ')}`;
}

interface Summands {
  readonly unit: Unit;
  /** Hundredths of the unit; those of the terms add up to it. */
  readonly value: number;
  readonly terms: readonly { readonly name: string; readonly value: number }[];
}

function summands(total: Pick<AccountingTotal, 'bytes'>, parts: readonly AccountingPart[]): Summands {
  const unit = unitOf(total.bytes);
  const groups = new Map<string, number>();
  for (const { part, bytes } of parts) {
    if (part === ROUNDING) continue;
    const name = part.startsWith('cached') ? 'cached' : (TAKEN_TOGETHER[part] ?? part.replaceAll('_', ' '));
    groups.set(name, (groups.get(name) ?? 0) + bytes);
  }
  const value = hundredths(total.bytes, unit);
  const terms = [...groups].map(([name, bytes]) => ({ name, value: hundredths(bytes, unit) }));
  const left = terms.reduce((sum, term) => sum - term.value, value);
  const taker = takerOf(terms, left);
  if (taker !== undefined) taker.value += left;
  else if (left !== 0) terms.push({ name: 'rounding', value: left });
  return { unit, value, terms };
}

/** What no term can show is the rounding of two digits: at most so many hundredths. */
const MOST_HIDDEN = 5;
/** Parts that are subtracted from printed figures: no message prints them. */
const SUBTRACTED = [
  'outside PyTorch',
  'free or outside PyTorch',
  'headroom or outside PyTorch',
  'other processes or driver',
  'reserved beyond it',
];

/** The term that takes what rounding to two digits leaves over. */
function takerOf<Term extends { readonly name: string; readonly value: number }>(
  terms: readonly Term[],
  left: number,
): Term | undefined {
  if (left === 0 || Math.abs(left) > MOST_HIDDEN) return undefined;
  const able = terms.filter(({ value }) => value + left > 0 && value > 0);
  const subtracted = SUBTRACTED.flatMap((name) => able.filter((term) => term.name === name));
  return subtracted[0] ?? able.toSorted((a, b) => b.value - a.value)[0];
}

/** The character of each summand, the same on every screen; the densest for what is allocated, or held as a whole. */
const FILLS: Readonly<Record<string, string>> = {
  allocated: '█',
  reserved: '█',
  'this process': '█',
  'reserved at peak': '█',
  'reserved at dump': '█',
  cached: '▒',
  'reserved beyond it': '▒',
  'pending free': '╱',
  'private pools': '▓',
  'private pools, free': '╲',
  'outside PyTorch': '░',
  'other processes': '─',
  'other processes or driver': '═',
  free: '·',
  'free or outside PyTorch': ':',
  'headroom or outside PyTorch': ':',
};
/** Of parts that should not be: a contradiction, more than the total. */
const ODD_FILL = '?';

/**
 * An account as a bar with its legend: `[██████▒▒▒░·] 79.11 GiB`, then `█ allocated 55.08 + ▒ cached 18.81 + …`. Cells
 * are in proportion to the bytes; a summand that rounds to none gets one, taken from the longest.
 */
export function accountBar(
  total: Pick<AccountingTotal, 'bytes'>,
  parts: readonly AccountingPart[],
  width: number,
): { readonly bar: string; readonly legend: string } {
  const { unit, value, terms } = summands(total, parts);
  const size = `${shown(value)} ${unit.name}`;
  const columns = Math.max(10, width - size.length - 3);
  const bars = filled(terms).map((term) => ({
    ...term,
    cells: Math.max(1, Math.round((columns * term.value) / Math.max(1, value))),
  }));
  for (;;) {
    const extra = bars.reduce((sum, { cells }) => sum + cells, 0) - columns;
    if (extra === 0 || bars.length === 0) break;
    const longest = bars.reduce((best, one) => (one.cells > best.cells ? one : best));
    longest.cells -= Math.sign(extra);
  }
  const fillOf = new Map(bars.map(({ name, fill }) => [name, fill]));
  const legend = terms.map((term, i) => {
    const fill = fillOf.get(term.name);
    const sign = term.value < 0 ? '- ' : i === 0 ? '' : '+ ';
    return `${sign}${fill === undefined ? '' : `${fill} `}${term.name} ${shown(term.value)}`;
  });
  return { bar: `[${bars.map(({ fill, cells }) => fill.repeat(cells)).join('')}] ${size}`, legend: legend.join(' ') };
}

type Term = Summands['terms'][number];

/** The summands that a bar has cells for, each with its character. */
function filled(terms: readonly Term[]): (Term & { readonly fill: string })[] {
  return terms
    .filter((term) => term.value > 0 && term.name !== 'rounding')
    .map((term) => ({ ...term, fill: FILLS[term.name] ?? ODD_FILL }));
}

/** The summands as rows with the characters of {@link accountBar}; the last row is their sum. */
export function accountRows(
  total: Pick<AccountingTotal, 'bytes'>,
  parts: readonly AccountingPart[],
): { readonly fill: string; readonly name: string; readonly size: string }[] {
  const { unit, value, terms } = summands(total, parts);
  const fillOf = new Map(filled(terms).map(({ name, fill }) => [name, fill]));
  return [
    ...terms.map((term) => ({
      fill: fillOf.get(term.name) ?? '',
      name: term.name,
      size: `${term.value < 0 ? '-' : ''}${shown(term.value)} ${unit.name}`,
    })),
    { fill: '', name: 'sum', size: `${shown(value)} ${unit.name}` },
  ];
}

/** Components below this share of what is live are summed up. */
const SMALL_COMPONENT = 0.01;
const LEAST_TERMS = 2;

/** `77.17 GiB = activation 40.12 + parameter 17.43 + … + 5 others 0.31`, with as many terms as fit into `width`. */
export function componentsText({ moment, total_bytes, parts }: LiveComponents, width: number): string {
  const when = moment === 'oom' ? '' : ` at the ${moment}`;
  const large = parts.filter(({ bytes }) => bytes >= SMALL_COMPONENT * total_bytes).length;
  for (let count = large; ; count -= 1) {
    const terms = parts
      .slice(0, count)
      .map(({ component, bytes }) => ({ part: component as string, bytes, source: '' }));
    const hidden = parts.slice(count);
    const bytes = hidden.reduce((sum, part) => sum + part.bytes, 0);
    const othersName = hidden.length === 1 ? hidden[0]!.component : `${hidden.length} others`;
    if (bytes > 0) terms.push({ part: othersName, bytes, source: '' });
    const text = `${sumText({ bytes: total_bytes }, terms)}${when}`;
    if (text.length <= width || count <= LEAST_TERMS) return text;
  }
}

/** Rounding up from this share of what is allocated on is worth a word; the document has all of it. */
const ROUNDING_SHARE = 0.01;

/**
 * Parts of allocated memory, private pools and the cache, where there is more than one: `cached: 18.80 too small + 0.02
 * other size class`.
 */
export function detailsOf(total: AccountingTotal, parts: readonly AccountingPart[]): string[] {
  const unit = unitOf(total.bytes);
  const details: string[] = [];
  for (const { part, bytes, of } of parts) {
    if (of === undefined || of.length < 2 || part.startsWith('cached_')) continue;
    const rounding = of.find((share) => share.part === 'rounding')?.bytes ?? 0;
    if (part === 'allocated' && rounding < ROUNDING_SHARE * bytes) continue;
    details.push(
      `${TAKEN_TOGETHER[part] ?? part.replaceAll('_', ' ')}: ${shares(of, unit, (name) => shareName(name))}`,
    );
  }
  const cached = parts.filter(({ part }) => part.startsWith('cached_')).flatMap((part) => part.of ?? [part]);
  if (cached.length > 0)
    details.push(`cached: ${shares(cached, unit, (part) => part.slice('cached_'.length).replaceAll('_', ' '))}`);
  return details;
}

/** Most owners listed by name. */
const MOST_OWNERS = 4;

/**
 * The owners of the memory outside PyTorch, where a profile of the driver has them: `NCCL 3.12 + cuBLAS workspaces 0.03
 * + 2 others 0.12 + not seen by the profiler 0.61`.
 */
export function outsideOf(total: AccountingTotal, parts: readonly AccountingPart[]): string[] {
  const unit = unitOf(total.bytes);
  return parts.map(({ of = [] }) => {
    const owners = of.filter(({ part }) => part !== 'driver_not_seen').sort((a, b) => b.bytes - a.bytes);
    const hidden = owners.slice(MOST_OWNERS);
    const listed = [
      ...owners.slice(0, MOST_OWNERS),
      ...(hidden.length === 0
        ? []
        : [{ part: `${hidden.length} others`, bytes: hidden.reduce((sum, { bytes }) => sum + bytes, 0), source: '' }]),
      ...of.filter(({ part }) => part === 'driver_not_seen'),
    ];
    return shares(listed, unit, shareName);
  });
}

function shareName(part: string): string {
  if (part === 'requested') return 'requested';
  if (part === 'rounding') return 'rounding up';
  if (part === 'driver_not_seen') return 'not seen by the profiler';
  const owner = DRIVER_OWNERS.find((one) => part === `driver_${one}`);
  if (owner !== undefined) return DRIVER_OWNER_WORDS[owner];
  return part.replace(/^private_pools_/, '').replaceAll('_', ' ');
}

/**
 * The shown shares add up to the shown sum: the largest takes what rounding leaves over. Shares too small to show are
 * in their own unit.
 */
function shares(parts: readonly AccountingPart[], unit: Unit, nameOf: (part: string) => string): string {
  const values = parts.map(({ bytes }) => hundredths(bytes, unit));
  const sum = hundredths(
    parts.reduce((total, { bytes }) => total + bytes, 0),
    unit,
  );
  const largest = parts.reduce((best, { bytes }, i) => (bytes > parts[best]!.bytes ? i : best), 0);
  values[largest]! += sum - values.reduce((a, b) => a + b, 0);
  return parts
    .map(({ part, bytes }, i) => `${values[i] === 0 ? `(${formatBytes(bytes)})` : shown(values[i]!)} ${nameOf(part)}`)
    .join(' + ');
}
