/**
 * A message as one string without white space and quotes, so that it reads the same however it was wrapped, indented,
 * quoted or put into a table; with the way back to the text it came from.
 */
export interface Squashed {
  readonly text: string;
  /** Per character of {@link text}, its index in {@link raw}. */
  readonly positions: Int32Array;
  /** The lines, joined by line feeds. */
  readonly raw: string;
  /** Where each line begins in {@link raw}. */
  readonly lineStarts: Int32Array;
}

const SPACE = /\s/;
/** Quotes of every kind of source text and markdown; an apostrophe in `can't` goes the same way in pattern and text. */
const DROPPED = new Set(['"', "'", '`', '*', '\\', '\u2018', '\u2019', '\u201c', '\u201d']);
/** Comment signs, quotes, table and box borders before or after the text of a line. */
const LEFT_EDGE = /^[\s#>|│┃]{1,64}/;
const RIGHT_EDGE = /[\s|│┃]$/;
/** A line at least this long that ends in a digit may have been cut inside the number by a terminal's edge. */
const WRAP_COLUMNS = 60;

/** Between two digits on two lines. */
export const CUT = '\u0001';

const BACKSLASH = 92;
/** Of each ASCII code: 1 for white space, 2 for what is dropped. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return SPACE.test(char) ? 1 : DROPPED.has(char) ? 2 : 0;
});

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/**
 * Removes all white space, but keeps two numbers separate: by a space, or, if a line ends between them, by {@link CUT},
 * because a number may have been cut there: `13.1⏎9 GiB` is neither 9 nor 13.1.
 */
export function squash(lines: readonly string[]): Squashed {
  const raw = lines.join('\n');
  const positions = new Int32Array(raw.length);
  const lineStarts = new Int32Array(lines.length);
  const kept: string[] = [];
  let count = 0;
  let last = 0;
  let separator = '';
  let base = 0;
  lines.forEach((line, index) => {
    lineStarts[index] = base;
    let start = LEFT_EDGE.exec(line)?.[0].length ?? 0;
    let end = line.length;
    while (end > start && RIGHT_EDGE.test(line[end - 1]!)) end -= 1;
    const previous = lines[index - 1] ?? '';
    const wrapped = start === 0 && previous.length >= WRAP_COLUMNS && !SPACE.test(previous.at(-1) ?? ' ');
    if (index > 0 && !wrapped) separator = CUT;
    let runStart = start;
    for (; start <= end; start += 1) {
      const code = start < end ? line.charCodeAt(start) : 32;
      const space = start < end && (code < 128 ? ASCII[code] === 1 : SPACE.test(line[start]!));
      const dropped = start === end || (code < 128 ? ASCII[code] !== 0 : space || DROPPED.has(line[start]!));
      // `\n` and `\t` of a quoted string are white space too.
      const escaped = code === BACKSLASH && 'nrt'.includes(line[start + 1] ?? ' ') && start + 1 < end;
      if (!dropped) {
        if (separator !== '' && isDigit(last) && isDigit(code)) {
          kept.push(line.slice(runStart, start), separator);
          positions[count] = base + start;
          count += 1;
          runStart = start;
        }
        separator = '';
        last = code;
        positions[count] = base + start;
        count += 1;
        continue;
      }
      if (start > runStart) kept.push(line.slice(runStart, start));
      if ((space || escaped) && separator === '') separator = escaped ? CUT : ' ';
      if (escaped) start += 1;
      runStart = start + 1;
    }
    base += line.length + 1;
  });
  return { text: kept.join(''), positions: positions.subarray(0, count), raw, lineStarts };
}

/** Index of the line that holds an index of the raw text. */
export function lineAt(squashed: Squashed, rawIndex: number): number {
  let low = 0;
  let high = squashed.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (squashed.lineStarts[middle]! <= rawIndex) low = middle;
    else high = middle - 1;
  }
  return low;
}
