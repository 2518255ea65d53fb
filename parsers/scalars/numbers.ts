import { NAN_TEXT } from './plain-json.js';

const NUMBER = /^[+-]?(?:\d{1,40}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][+-]?\d{1,4})?$/;
const WORDS: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['+inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
]);

/** A number as Python, pandas, MLflow and JavaScript write it; undefined if it is none. An empty cell is none. */
export function readNumber(text: string): number | undefined {
  if (text.length > 110) return undefined;
  const trimmed = text.trim();
  return NUMBER.test(trimmed) ? Number(trimmed) : WORDS.get(trimmed.toLowerCase());
}

/** A number, or a text that W&B or Python's JSON writes in place of one that JSON does not have. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (value === NAN_TEXT) return Number.NaN;
  return typeof value === 'string' ? WORDS.get(value.toLowerCase()) : undefined;
}

/** 2001 and 2286 in seconds. */
const LEAST_SECONDS = 1e9;
const MOST_SECONDS = 1e10;

/** Seconds or milliseconds since 1970 as microseconds; null for what is neither. */
export function microseconds(value: number | undefined): number | null {
  if (value === undefined) return null;
  if (value >= LEAST_SECONDS && value < MOST_SECONDS) return Math.round(value * 1e6);
  return value >= LEAST_SECONDS * 1e3 && value < MOST_SECONDS * 1e3 ? Math.round(value * 1e3) : null;
}

/** A step is a whole number; pandas writes `12.0` where a column has gaps. */
export function stepOf(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) ? value : null;
}
