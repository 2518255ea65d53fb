/** Tables as plain aligned columns. One wrapper, so that tests own the look and no screen draws boxes of its own. */
import Table from 'cli-table3';

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines without trailing blanks; numbers should come formatted. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | number | null)[])[],
  indent = '',
): string {
  const drawn = new Table({
    head: columns.map((column) => column.title),
    colAligns: columns.map((column) => column.align ?? 'left'),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  for (const row of rows) drawn.push(row.map((cell) => (cell === null ? '–' : printable(String(cell)))));
  return drawn
    .toString()
    .split('\n')
    .map((line) => `${indent}${line}`.trimEnd())
    .join('\n');
}

/** Text of a file on its way to a terminal: control characters would move the cursor or worse. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** Shortens to `width` columns, keeping the end: the end of a path or a function name tells more than its start. */
export function keepEnd(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(text.length - width + 1)}`;
}

/** Breaks at blanks so that no line is longer than `width`; blanks inside a line stay, continuation lines get `indent`. */
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
