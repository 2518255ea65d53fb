/** Text of a file on its way to a terminal. Control characters would move the cursor or worse: they become `\x1b`. */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    if (/\s/.test(character)) return ' ';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** Characters without a glyph, marks of direction, halves of surrogate pairs, and line separators. */
const INVISIBLE = /[\p{C}\u2028\u2029]/gu;

/**
 * A text for a picture or a page: such characters are shown as `\u{202e}`, except those in `kept`. Marks of direction
 * would reorder what follows; XML and HTML cannot hold a NUL or half of a surrogate pair.
 */
export function visibleText(text: string, kept = ''): string {
  return text.replace(INVISIBLE, (character) =>
    kept.includes(character) ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
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
