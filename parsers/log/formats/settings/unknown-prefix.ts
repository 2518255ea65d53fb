/** Longest prefix that is learned; a longer piece before a heading is a sentence. */
const MOST_CHARS = 120;

/**
 * Removes the prefix of further lines of a writer whose prefix matches no rule. The prefix is learned from the text
 * before the heading of its block: the same words, other digits (times, line numbers). Lines without it are returned
 * unchanged.
 */
export function prefixRemover(before: string): (text: string) => string {
  if (before === '' || before.length > MOST_CHARS) return (text) => text;
  const shape = before.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll(/\d{1,20}/g, '\\d{1,20}');
  const pattern = new RegExp(`^${shape}`);
  return (text) => text.replace(pattern, '');
}
