/** Most texts are plain ASCII and need no closer look. */
const IS_PLAIN = /^[ -~]*$/;
const ARE_PLAIN_LINES = /^[\t\n -~]*$/;
const NOT_PLAIN_LINES = /[^\t\n -~]+/g;

/**
 * Characters that a reader does not see, or that change how others are shown: control characters, marks of direction,
 * blanks without width, tags, fillers, halves of surrogate pairs, private and unassigned code points, line separators.
 * Marks that combine with a letter (\p{M}) stay, among them those that select the form of an emoji.
 */
const INVISIBLE = /(?!\p{M})[\p{C}\p{DI}\u2028\u2029]/gu;
/** The same, except for tabs and line ends. */
const INVISIBLE_IN_LINES = /(?![\p{M}\t\n])[\p{C}\p{DI}\u2028\u2029]/gu;

/** Text of a file in a line of a screen: blanks for white space, and such characters as `\x1b` and `\u{202e}`. */
export function escapeControls(text: string): string {
  if (IS_PLAIN.test(text)) return text;
  return text.replace(INVISIBLE, (character) => {
    if (/[\t-\r]/.test(character)) return ' ';
    const code = character.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/**
 * A text for a picture or a page: such characters are shown as `\u{202e}`. Marks of direction would reorder what
 * follows; XML and HTML cannot hold a NUL or half of a surrogate pair.
 */
export function visibleText(text: string): string {
  return IS_PLAIN.test(text) ? text : text.replace(INVISIBLE, asCodePoint);
}

/** {@link visibleText} of several lines. */
export function visibleLines(text: string): string {
  // A page of 2 MB has some hundred of such characters; classes of Unicode take 10 ns a character.
  return text.replace(NOT_PLAIN_LINES, (characters) => characters.replace(INVISIBLE_IN_LINES, asCodePoint));
}

const asCodePoint = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`;

/** A document of JSON with the same value, and without these characters, which occur only in its strings. */
export function visibleJson(json: string): string {
  if (ARE_PLAIN_LINES.test(json)) return json;
  return json.replace(INVISIBLE_IN_LINES, (character) => {
    const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}

/** One word of a shell. With characters of {@link visibleText} it has the form `$'…'` of bash and zsh. */
export function shellWord(text: string): string {
  if (text.search(INVISIBLE) >= 0) {
    const inside = text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
    return `$'${inside.replace(INVISIBLE, shellEscape)}'`;
  }
  return /^[\w./:#@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `\x` is a byte, so it is right for ASCII only. */
function shellEscape(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x1_0000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
