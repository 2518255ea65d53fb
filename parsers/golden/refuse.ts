import { type JsonValue, kindOf } from './python-json.js';

/** Ends the reading; the fact is about the file (`has …`, `holds …`). */
export type Refuse = (fact: string) => never;

/**
 * Keys come from the file: long ones are cut, and quoted as JSON does, so that no control character reaches a terminal.
 */
export const quote = (key: string): string => JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key);

/** A step as Python's `int` reads it; undefined: no whole number, or one that no run reaches. */
export function stepOf(key: string): number | undefined {
  if (!/^\s{0,9}[+-]?\d{1,16}\s{0,9}$/.test(key)) return undefined;
  const step = Number(key);
  return Number.isSafeInteger(step) ? step : undefined;
}

export function wholeNumber(value: JsonValue | undefined, what: string, refuse: Refuse): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  return refuse(`has ${kindOf(value)} where ${what} belongs`);
}
