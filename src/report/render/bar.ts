/** A bar of parts in characters, the same character for a part on every screen. */
import { maxOf } from '../../model/lists.js';
import { formatBytes } from '../../model/units.js';
import type { Bar } from '../document/document.js';
import { wrap } from '../plain-text.js';
import { wordTable } from '../words/fill.js';

/** Of parts that should not be: a contradiction, more than the total. */
const ODD_SIGN = '?';
const LEAST_CELLS = 10;

export const signOf = (name: string): string => wordTable('codes', 'bar_signs')[name] ?? ODD_SIGN;

/** `[██████▒▒▒░·] 79.11 GiB`, then `█ allocated 55.08 GiB  ▒ cached 18.81 GiB  …`. */
export function barLines({ total, parts, when }: Bar, width: number): string[] {
  const size = ` ${formatBytes(total)}`;
  const suffix = when === '' || size.length + when.length + LEAST_CELLS + 3 > width ? '' : ` ${when}`;
  const cells = Math.max(LEAST_CELLS, width - size.length - suffix.length - 2);
  const drawn = parts.filter(({ bytes }) => bytes > 0);
  const lengths = drawn.map(({ bytes }) => Math.max(1, Math.round((cells * bytes) / Math.max(1, total))));
  for (let extra = lengths.reduce((a, b) => a + b, 0) - cells; extra !== 0 && drawn.length > 0; ) {
    const longest = lengths.indexOf(maxOf(lengths));
    lengths[longest]! -= Math.sign(extra);
    extra -= Math.sign(extra);
  }
  const bar = drawn.map(({ name }, i) => signOf(name).repeat(lengths[i]!)).join('');
  const legend = parts
    .map(({ name, bytes }) =>
      `${bytes > 0 ? `${signOf(name)} ` : ''}${name} ${formatBytes(bytes)}`.replaceAll(' ', '\u00a0'),
    )
    .join('  ');
  const below = suffix === '' && when !== '' ? [when] : [];
  return [
    `[${bar}]${size}${suffix}`,
    ...[...below, legend].flatMap((text) => wrap(text, width)).map((line) => line.replaceAll('\u00a0', ' ')),
  ];
}
