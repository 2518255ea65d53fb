const ESCAPE = String.fromCharCode(27);
/**
 * CSI sequences (colours, cursor), OSC (titles, links), and escapes of one more character or a few (character sets).
 * Bounded, so no line can stall it.
 */
const ANSI = new RegExp(
  `${ESCAPE}(?:\\[[0-?]{0,32}[ -/]{0,4}[@-~]|\\][^${ESCAPE}${String.fromCharCode(7)}]{0,512}(?:${String.fromCharCode(7)}|${ESCAPE}\\\\)|[ -/]{0,4}[0-Z\\\\-~])`,
  'g',
);
/**
 * Colours of a log copied out of a terminal or a browser: the escape character is lost, or written out. `[12m` alone
 * may be minutes.
 */
const BARE_COLOUR =
  /(?:\^\[|\u241b|\\x1b|\\033|#033)?\[(?:(?:[0-4]|7|22|[349]\d|[34]8;[\d;]{3,14})(?:;\d{1,3}){0,4})?m/g;
const LEAST_COLOURS = 2;
/** One of these ends a colour; looking for them is cheap. */
const RESETS = ['[0m', '[39m', '[m'] as const;
const NUL = String.fromCharCode(0);

/**
 * Decodes bytes of a log: invalid UTF-8 becomes U+FFFD; terminal escapes, characters that were typed over and NULs
 * (holes of network file systems) go away.
 */
export function cleanText(bytes: Buffer, start: number, end: number): string {
  let text = bytes.toString('utf8', start, end);
  if (text.includes(ESCAPE)) text = text.replace(ANSI, '');
  else if (RESETS.some((reset) => text.includes(reset)) && (text.match(BARE_COLOUR)?.length ?? 0) >= LEAST_COLOURS)
    text = text.replace(BARE_COLOUR, '');
  if (text.includes('\b')) text = typedOver(text);
  if (text.includes(NUL)) text = text.replaceAll(NUL, '');
  return text;
}

/** Each backspace takes back one character of its line. */
function typedOver(text: string): string {
  const shown: string[] = [];
  for (const character of text) {
    if (character !== '\b') shown.push(character);
    else if (!['\n', '\r', undefined].includes(shown.at(-1))) shown.pop();
  }
  return shown.join('');
}
