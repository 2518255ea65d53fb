/** Words that look random: keys and tokens of a form that no list knows. */
import { decodedText } from './rewriter.js';

const LONG = /(?<![\w+/=-])[A-Za-z0-9+/_-]{20,200}={0,2}(?![\w+/=-])/g;
/** Bits a character; English and identifiers have under 3.6, random base64 of 32 characters 4.4 and more. */
const LEAST_ENTROPY = 4.2;

export function suspiciousWords(line: string, known: ReadonlySet<string>): string[] {
  const result: string[] = [];
  for (const [word] of line.matchAll(LONG)) {
    if (!/[a-z]/.test(word) || !/[A-Z]/.test(word) || !/\d/.test(word)) continue;
    // Mangled names of C++, and paths.
    if (word.startsWith('_Z') || (word.match(/[_/-]/g) ?? []).length > word.length / 12) continue;
    // Identifiers: `KthvalueBackward0_apply_functional`.
    if ((word.match(/[a-z]{4,}/g) ?? []).join('').length > word.length / 2) continue;
    // What base64 encodes is looked at as text.
    if (!known.has(word) && decodedText(word) === undefined && entropy(word) >= LEAST_ENTROPY) result.push(word);
  }
  return result;
}

function entropy(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
