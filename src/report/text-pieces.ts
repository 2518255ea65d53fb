/** Small pieces that several screens write alike. */
import { maxOf, minOf } from '../model/lists.js';
import { counted, formatBytes, formatCount } from '../model/units.js';
import { excerpt, figure, grouped, UNKNOWN } from './document/values.js';
import { printable, wrap } from './plain-text.js';
import { screen } from './screen.js';

export { counted, figure, grouped, UNKNOWN };

/** `out of memory` of `out_of_memory`. */
export const plain = (code: string): string => code.replaceAll('_', ' ');

/** `0-3, 8, 10-11`; null is a line that no rank is known of. Long lists end in a count. */
export function rankList(ranks: readonly (number | null)[], mostRanges = 8): string {
  const numbers = [...new Set(ranks.filter((rank): rank is number => rank !== null))].sort((a, b) => a - b);
  const ranges: string[] = [];
  for (let i = 0; i < numbers.length; ) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end]! + 1) end += 1;
    ranges.push(i === end ? `${numbers[i]}` : `${numbers[i]}-${numbers[end]}`);
    i = end + 1;
  }
  const shown = ranges.slice(0, mostRanges);
  if (ranges.length > mostRanges) shown.push(`… (${formatCount(numbers.length)} ranks)`);
  if (numbers.length < ranks.length && ranks.includes(null)) shown.push('unknown');
  return shown.length === 0 ? UNKNOWN : shown.join(', ');
}

/** `rank 3`, `ranks 0-3, 8`, `rank unknown`. */
export function rankWords(ranks: readonly (number | null)[], mostRanges = 8): string {
  const known = new Set(ranks.filter((rank) => rank !== null));
  if (known.size === 0) return 'rank unknown';
  return `${known.size === 1 ? 'rank' : 'ranks'} ${rankList(ranks, mostRanges)}`;
}

/** `rank 3`, `rank unknown`. */
export function rankName(rank: number | null): string {
  return rank === null ? 'rank unknown' : `rank ${rank}`;
}

/** The moment after an entry of a trace; null is the state that the trace begins with. */
export function afterEntry(seq: number | null): string {
  return seq === null ? 'before the first entry' : `after entry ${formatCount(seq)}`;
}

/** `+1.50 GiB`, `-3 B`, `0 B`. */
export function signedBytes(bytes: number): string {
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

export function countOr(count: number | null | undefined): string {
  return count === null || count === undefined ? UNKNOWN : formatCount(count);
}

/** `2,366.6 ms`, `12.3 s`: four or five digits that matter. */
export function stepTime(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return UNKNOWN;
  return `${grouped(ms, ms < 100 ? 2 : 1)} ms`;
}

/** Lines of at most the screen's width; all but the first get `indent`, by default the blanks before the text. */
export function wrapped(text: string, indent = ' '.repeat(text.search(/[^ ]|$/))): string[] {
  return wrap(text, screen.width, indent);
}

/** The beginning of a text of a file, on one line; what is left out is counted. */
export const shortText = (text: string, most: number): string =>
  excerpt(printable(text.replaceAll(/\s+/g, ' ').trim()), most);

/** The least and the greatest: `1.00 GiB`, or `1.00 – 2.00 GiB` where they print differently. */
export function byteRange(values: readonly number[]): string {
  if (values.length === 0) return UNKNOWN;
  const least = formatBytes(minOf(values));
  const greatest = formatBytes(maxOf(values));
  if (least === greatest) return least;
  const [number, unit] = least.split(' ');
  return greatest.endsWith(` ${unit}`) ? `${number} – ${greatest}` : `${least} – ${greatest}`;
}

/** Of failure messages that a very long log repeats. */
export const droppedTexts = (messages: number): string[] =>
  messages === 0
    ? []
    : [`${formatCount(messages)} further ${messages === 1 ? 'message is' : 'messages are'} counted and not kept`];
