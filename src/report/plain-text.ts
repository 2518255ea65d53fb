/**
 * Words and lines of any screen. Separate from `table.ts`, so that a screen without tables does not load its library.
 */

import { screen } from './screen.js';

export { escapeControls as printable } from '../model/escape-controls.js';

/** Shortens to `width` columns, on a screen that is limited, and keeps the end, the more specific part of a name. */
export function keepEnd(text: string, width: number): string {
  return screen.isLossless || text.length <= width ? text : `…${text.slice(text.length - width + 1)}`;
}

/** The same, and keeps both ends. */
export function keepEnds(text: string, width: number): string {
  return screen.isLossless ? text : cutMiddle(text, width);
}

/** Shortens to `width` characters wherever the text is read: for pictures. */
export function cutMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}

/**
 * Labels of one table, each shortened to `width` columns, or to a width of its own: by default those with a place in a
 * file keep its end, others both ends. Two different labels stay different: where they would not, they show what is
 * around their first difference, and if even that is equal, a number.
 */
export function fitLabels(
  labels: readonly string[],
  width: number | readonly number[],
  shorten: (label: string, width: number) => string = shortLabel,
): string[] {
  if (screen.isLossless) return [...labels];
  // By what is shown: its label.
  const taken = new Map<string, string>();
  const shown: string[] = [];
  const widthOf = (i: number): number => (typeof width === 'number' ? width : width[i]!);
  labels.forEach((label, i) => {
    if (label.length <= widthOf(i)) taken.set(label, label);
  });
  const isFree = (text: string, label: string): boolean => (taken.get(text) ?? label) === label;
  labels.forEach((label, i) => {
    const most = widthOf(i);
    if (label.length <= most) {
      shown.push(label);
      return;
    }
    const short = shorten(label, most);
    const rival = taken.get(short);
    const choices = [
      short,
      keepEnds(label, most),
      ...(rival === undefined ? [] : [aroundDifference(label, rival, most)]),
    ];
    const text = choices.find((one) => isFree(one, label)) ?? numbered(short, most, (one) => isFree(one, label));
    taken.set(text, label);
    shown.push(text);
  });
  return shown;
}

function shortLabel(label: string, width: number): string {
  return ENDS_IN_PLACE.test(label) ? keepEnd(label, width) : keepEnds(label, width);
}

/** `…/model.py:12` */
const ENDS_IN_PLACE = /\.\w+(?::\d+)?$/;

function aroundDifference(label: string, rival: string, width: number): string {
  let shared = 0;
  while (shared < label.length && label[shared] === rival[shared]) shared += 1;
  const from = Math.max(0, Math.min(shared - Math.floor(width / 3), label.length - width + 1));
  const text = from === 0 ? label : `…${label.slice(from)}`;
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

function numbered(text: string, width: number, isFree: (text: string) => boolean): string {
  for (let number = 2; ; number += 1) {
    const mark = ` #${number}`;
    const shown = `${text.slice(0, width - mark.length)}${mark}`;
    if (isFree(shown)) return shown;
  }
}

/**
 * Breaks at blanks so that no line is longer than `width`; blanks inside a line stay, continuation lines get `indent`.
 */
export function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  let words = 0;
  for (const [, blanks = '', word = ''] of text.matchAll(/(?<! )( *)([^ ]+)/g)) {
    if (words > 0 && line.length + blanks.length + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else line += blanks + word;
    words += 1;
  }
  lines.push(line);
  return lines;
}
