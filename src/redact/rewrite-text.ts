/** Text with one character a byte, to text of equal length. */
export type Rewrite = (text: string) => string;

/** Whether bytes of unknown meaning can be text. */
export function isText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they distinguish bytes from text
  return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text);
}
