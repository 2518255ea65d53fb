/**
 * Words and lines of any screen. Separate from `table.ts`, so that a screen without tables does not load its library.
 */

/** Text of a file on its way to a terminal: control characters would move the cursor or worse. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** Shortens to `width` columns and keeps the end, the more specific part of a path or a function name. */
export function keepEnd(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(text.length - width + 1)}`;
}

/**
 * Breaks at blanks so that no line is longer than `width`; blanks inside a line stay, continuation lines get `indent`.
 */
export function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  let words = 0;
  for (const [, blanks = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    if (words > 0 && line.length + blanks.length + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else line += blanks + word;
    words += 1;
  }
  lines.push(line);
  return lines;
}
