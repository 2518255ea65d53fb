/**
 * Text of the values without a column: settings, unknown keys. A pickle shares and nests objects at no cost: 60 bytes
 * make a list of 2^60 leaves, a list that contains itself, or a million levels. So every walk here has a budget, and
 * marks where it stopped.
 */
import { Ref, STACK } from './value-stack.js';

/** Longest JSON text kept of one value, in characters. torch's longest setting stays below 1 KiB. */
export const MAX_JSON_CHARS = 16_384;
const MAX_DEPTH = 64;
/** torch writes about 30, vLLM and others a few more. */
const MAX_SETTINGS = 10_000;
/** Keys are repeated in notes and rows. */
const MAX_KEY_CHARS = 200;

interface Budget {
  chars: number;
}

/**
 * JSON text of a generic value; big integers in full, rows by their kind. Beyond the limits a string in angle brackets
 * replaces the remainder.
 */
export function toJson(value: unknown, maxChars = MAX_JSON_CHARS): string {
  const parts: string[] = [];
  write(value, parts, { chars: maxChars }, 0);
  return parts.join('');
}

function write(value: unknown, parts: string[], budget: Budget, depth: number): void {
  const put = (text: string): void => {
    parts.push(text);
    budget.chars -= text.length;
  };
  if (typeof value === 'bigint') put(value.toString());
  else if (typeof value === 'string') put(JSON.stringify(clip(value, Math.max(budget.chars, MAX_KEY_CHARS))));
  else if (value instanceof Ref) put(`"<${value.kind === STACK ? 'stack' : 'rows'} ${value.payload}>"`);
  else if (Array.isArray(value) || value instanceof Map) {
    if (depth === MAX_DEPTH) {
      put(`"<nested deeper than ${MAX_DEPTH}>"`);
      return;
    }
    const isMap = value instanceof Map;
    put(isMap ? '{' : '[');
    let count = 0;
    for (const item of isMap ? (value as ReadonlyMap<string, unknown>) : (value as readonly unknown[])) {
      if (count > 0) put(',');
      if (budget.chars <= 0) {
        const left = `<${(isMap ? value.size : value.length) - count} more>`;
        put(isMap ? `"${left}":null` : `"${left}"`);
        break;
      }
      if (isMap) {
        const [key, part] = item as readonly [string, unknown];
        put(`${JSON.stringify(clip(key))}:`);
        write(part, parts, budget, depth + 1);
      } else write(item, parts, budget, depth + 1);
      count += 1;
    }
    put(isMap ? '}' : ']');
  } else put(JSON.stringify(value) ?? 'null');
}

/** The key of a generic dict as text; Python allows any hashable object. */
export function keyText(key: unknown): string {
  return typeof key === 'string' ? key : toJson(key, MAX_KEY_CHARS);
}

export function clip(text: string, maxChars = MAX_KEY_CHARS): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`;
}

/**
 * Nested settings as `key.subkey` → text. Python's spellings of constants are kept (`True`), numbers are printed in
 * full.
 *
 * @returns whether all of them fit.
 */
export function flattenSettings(value: unknown, prefix: string, into: Map<string, string>): boolean {
  return flatten(value, prefix, into, { chars: MAX_SETTINGS * 100 }, 0);
}

function flatten(value: unknown, prefix: string, into: Map<string, string>, budget: Budget, depth: number): boolean {
  if (value instanceof Map) {
    if (depth === MAX_DEPTH) return false;
    let complete = true;
    for (const [key, part] of value as ReadonlyMap<string, unknown>) {
      if (into.size >= MAX_SETTINGS || budget.chars <= 0) return false;
      budget.chars -= 1;
      const name = clip(key);
      complete = flatten(part, prefix === '' ? name : `${prefix}.${name}`, into, budget, depth + 1) && complete;
    }
    return complete;
  }
  if (prefix === '' || value === undefined || value === null) return true;
  if (into.size >= MAX_SETTINGS || budget.chars <= 0) return false;
  const text =
    typeof value === 'boolean'
      ? value
        ? 'True'
        : 'False'
      : typeof value === 'string'
        ? clip(value, MAX_JSON_CHARS)
        : toJson(value);
  budget.chars -= text.length;
  into.set(prefix, text);
  return true;
}
