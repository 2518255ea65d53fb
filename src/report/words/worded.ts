/** The sentences of a result: what `--json` prints, and what screens are made of. */
import type { Sentence, Worded } from '../../model/statement.js';
import { sentenceText } from './fill.js';

/** Every sentence of a value made; the rest is as it was. */
export const worded = <Value>(value: Value): Worded<Value> => wordedValue(value) as Worded<Value>;

function wordedValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(wordedValue);
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  if ('sentence' in value && 'of' in value) return sentenceText(value as Sentence);
  let changed: Record<string, unknown> | undefined;
  for (const [key, old] of Object.entries(value)) {
    const text = wordedValue(old);
    if (text === old) continue;
    changed ??= { ...value };
    changed[key] = text;
  }
  return changed ?? value;
}
