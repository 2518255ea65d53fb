/** Control characters of a file on their way to a terminal, where they would move the cursor or worse: `\x1b`. */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    if (character === '\t') return ' ';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
