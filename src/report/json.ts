import { visibleJson } from '../model/escape-controls.js';

/**
 * JSON for machines: one document, big integers as numbers while they are exact and as text beyond 2^53. Invisible
 * characters have the form `\u009b`.
 */
export function toJson(value: unknown): string {
  const text = JSON.stringify(
    value,
    (_key, part: unknown) => {
      if (typeof part !== 'bigint') return part;
      const number = Number(part);
      return Number.isSafeInteger(number) ? number : part.toString();
    },
    2,
  );
  return `${visibleJson(text)}\n`;
}
