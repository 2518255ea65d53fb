/** Words and lines of any screen. */
import { escapeControls } from '../model/escape-controls.js';
import { screen } from './screen.js';

export { escapeControls as printable };

/** Shortens to `width` columns, on a screen that is limited, and keeps the end, the more specific part of a name. */
export function keepEnd(text: string, width: number): string {
  return screen.isLossless || text.length <= width ? text : `…${text.slice(text.length - width + 1)}`;
}

/** Shortens to `width` characters wherever the text is read: for pictures. */
export function cutMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
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

/** Longer words (paths, symbols) keep their end where a format has a short line for them. */
const LONGEST_WORD = 64;

/** On one line, without control characters, no word longer than a line can bear. */
export function tidy(text: string): string {
  return escapeControls(text.replaceAll(/\s+/g, ' ').trim())
    .split(' ')
    .map((word) => keepEnd(word, LONGEST_WORD))
    .join(' ');
}
