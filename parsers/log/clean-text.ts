const ESCAPE = String.fromCharCode(27);
/** CSI sequences (colours, cursor), OSC (titles, links) and the two-character escapes. Bounded, so no line can stall it. */
const ANSI = new RegExp(
  `${ESCAPE}(?:\\[[0-?]{0,32}[ -/]{0,4}[@-~]|\\][^${ESCAPE}${String.fromCharCode(7)}]{0,512}(?:${String.fromCharCode(7)}|${ESCAPE}\\\\)|[@-Z\\\\-_])`,
  'g',
);
const NUL = String.fromCharCode(0);

/** Decodes bytes of a log: invalid UTF-8 becomes U+FFFD, terminal escapes and NULs (holes of network file systems) go away. */
export function cleanText(bytes: Buffer, start: number, end: number): string {
  let text = bytes.toString('utf8', start, end);
  if (text.includes(ESCAPE)) text = text.replace(ANSI, '');
  if (text.includes(NUL)) text = text.replaceAll(NUL, '');
  return text;
}
