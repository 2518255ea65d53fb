/** Text of a file on its way to a terminal. Control characters would move the cursor or worse: they become `\x1b`. */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    if (/\s/.test(character)) return ' ';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
