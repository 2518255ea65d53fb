/**
 * Lists of `name: value | name: value |`, as the Megatron family prints them, read without a pattern: they are the bulk
 * of a log.
 */

/** A number as Python prints it, `nan` and `inf` included; null for any other word. */
export function pythonNumber(text: string): number | null {
  if (text === '') return null;
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  switch (text.toLowerCase()) {
    case 'nan':
    case '-nan':
      return Number.NaN;
    case 'inf':
    case '+inf':
      return Number.POSITIVE_INFINITY;
    case '-inf':
      return Number.NEGATIVE_INFINITY;
    default:
      return null;
  }
}

/** The number a text begins with, and where it ends; `end` is 0 where it begins with none. */
export function leadingNumber(text: string): { readonly text: string; readonly end: number } {
  const match = LEADING.exec(text);
  return match === null ? { text: '', end: 0 } : { text: match[0], end: match[0].length };
}
const LEADING = /^[+-]?(?:\d{1,24}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,4})?|nan|inf)/i;

/** Longest name of a field; a longer piece is prose. */
const MOST_NAME = 80;
/** Longest value that is kept as a word. */
const MOST_WORD = 64;

const BARE = /^ ([a-z]+(?: [a-z]+){0,4}(?: \([a-z]{1,8}\))?) ([+-]?[\d.]{1,24}(?:E[+-]\d{1,3})?|nan|inf) $/i;

/**
 * Visits the closed fields of a list, in order, up to the first piece that is not a field. Text after the last bar may
 * be cut and is ignored.
 */
export function readFieldList(text: string, mark: ':' | '=', visit: (name: string, value: string) => void): void {
  let from = 0;
  for (;;) {
    const end = text.indexOf('|', from);
    if (end < 0) return;
    const at = text.indexOf(mark, from);
    if (at < 0 || at >= end) {
      // Without a mark, as Megatron-LM of 2019 printed all but the time: `learning rate 1.5E-04 |`.
      const bare = end - from > MOST_NAME ? null : BARE.exec(text.slice(from, end));
      if (bare === null) return;
      visit(bare[1]!, bare[2]!);
      from = end + 1;
      continue;
    }
    if (at - from > MOST_NAME || end - at > MOST_WORD + 1) return;
    const name = text.slice(from, at).trim();
    if (name === '') return;
    visit(name, text.slice(at + 1, end).trim());
    from = end + 1;
  }
}

/**
 * Visits the fields of a list whose last field lacks a bar: numbers only. A number that other text is attached to is
 * read, and ends the list.
 */
export function readOpenList(text: string, visit: (name: string, value: string) => void): void {
  let from = 0;
  while (from < text.length) {
    const bar = text.indexOf('|', from);
    const end = bar < 0 ? text.length : bar;
    const at = text.indexOf(':', from);
    if (at < 0 || at >= end || at - from > MOST_NAME) return;
    const value = text.slice(at + 1, Math.min(end, at + 1 + MOST_WORD)).trim();
    const number = leadingNumber(value);
    if (number.end === 0) return;
    visit(text.slice(from, at).trim(), number.text);
    if (number.end < value.length) return;
    from = end + 1;
  }
}
