/**
 * Numbers in values that W&B writes as JSON: plain, `NaN` and `Infinity` bare or in quotes, or in dictionaries below
 * their key.
 */
import { type Literal, readLiteralAt } from '../../src/knowledge/literal.js';

const NUMBER = /^-?\d[\d.]{0,400}(?:[eE][+-]?\d{1,5})?$/;
const MOST_DEPTH = 16;

/** The number that a text spells; undefined if it is not one. */
export function numberOf(text: string): number | undefined {
  if (NUMBER.test(text)) {
    const value = Number(text);
    return Number.isNaN(value) ? undefined : value;
  }
  switch (text) {
    case 'NaN':
    case '"NaN"':
      return Number.NaN;
    case 'Infinity':
    case '"Infinity"':
      return Number.POSITIVE_INFINITY;
    case '-Infinity':
    case '"-Infinity"':
      return Number.NEGATIVE_INFINITY;
    default:
      return undefined;
  }
}

/**
 * Every number of a value, dictionaries with their keys joined by dots, as the web page names them. Images, tables and
 * histograms (`_type`) give none.
 */
export function eachNumber(tag: string, json: string, emit: (tag: string, value: number) => void): void {
  const plain = numberOf(json);
  if (plain !== undefined) emit(tag, plain);
  else if (json.startsWith('{')) eachNumberOf(tag, readLiteralAt(json, 0).value, emit);
}

export function eachNumberOf(tag: string, value: Literal, emit: (tag: string, value: number) => void, depth = 0): void {
  if (value.kind === 'scalar') {
    const number = numberOf(value.text);
    // In quotes only the values that JSON cannot write otherwise.
    if (number !== undefined && (!value.isQuoted || !Number.isFinite(number))) emit(tag, number);
  } else if (value.kind === 'map' && depth < MOST_DEPTH && !value.entries.some((entry) => entry.key === '_type')) {
    for (const entry of value.entries) {
      eachNumberOf(tag === '' ? entry.key : `${tag}.${entry.key}`, entry.value, emit, depth + 1);
    }
  }
}
