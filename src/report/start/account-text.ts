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
  const unit = unitOf(total.bytes);
  const groups = new Map<string, number>();
  for (const { part, bytes } of parts) {
    if (part === ROUNDING) continue;
    const name = part.startsWith('cached') ? 'cached' : (TAKEN_TOGETHER[part] ?? part.replaceAll('_', ' '));
    groups.set(name, (groups.get(name) ?? 0) + bytes);
  }
  let left = hundredths(total.bytes, unit);
  const terms = [...groups].map(([name, bytes]) => {
    const value = hundredths(bytes, unit);
    left -= value;
    return { name, value };
  });
  if (left !== 0) terms.push({ name: 'rounding', value: left });
  const sum = terms.map(({ name, value }, i) => {
    const sign = value < 0 ? '- ' : i === 0 ? '' : '+ ';
    return `${sign}${name} ${shown(value)}`;
  });
  return `${shown(hundredths(total.bytes, unit))} ${unit.name} = ${sum.join(' ')}`;
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
  if (part === 'requested') return 'asked for';
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
