/** Longest prefix that is learned; a longer piece before a heading is a sentence. */
const MOST_CHARS = 120;

/**
 * Takes the prefix off further lines of a writer whose prefix no rule knows, learned from what stood before the heading
 * of its block: the same words, other digits (times, line numbers). Lines without it come back as they are.
 */
export function prefixRemover(before: string): (text: string) => string {
  if (before === '' || before.length > MOST_CHARS) return (text) => text;
  const shape = before.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll(/\d{1,20}/g, '\\d{1,20}');
  const pattern = new RegExp(`^${shape}`);
  return (text) => text.replace(pattern, '');
}
