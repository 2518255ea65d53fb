/**
 * A snapshot in the many spellings that converters give it: every choice comes from `pick`, so that a failing one can
 * be had again.
 */
import { PyFloat, PyText, PyTuple, type PyValue, Raw } from '../../samples/generate/write/pickle-writer.js';

/** A whole number from 0 to `below` − 1. */
export type Pick = (below: number) => number;

/** Keys that hold an integer. Only there may a number be written as a text. */
const NUMERIC =
  /^(?:addr|size|stream|time_us|line|address|requested_size|total_size|allocated_size|active_size|device|device_free)$/;
const BLANKS = ['', '', '', ' ', '\n', '\t', '\r\n  '];

/** With `pick` always 0: as `json.dumps` without blanks. */
export function spellJson(value: PyValue, pick: Pick): string {
  const blank = (): string => BLANKS[pick(BLANKS.length)]!;
  const write = (part: PyValue, key: string): string => {
    if (part === null) return 'null';
    if (typeof part === 'boolean') return String(part);
    if (typeof part === 'string') return spellText(part, pick);
    if (typeof part === 'number' || typeof part === 'bigint')
      return spellInteger(BigInt(part), NUMERIC.test(key), pick);
    if (part instanceof PyFloat) {
      if (Number.isFinite(part.value)) return Number.isInteger(part.value) ? `${part.value}.0` : String(part.value);
      return Number.isNaN(part.value) ? 'NaN' : part.value > 0 ? 'Infinity' : '-Infinity';
    }
    if (part instanceof Raw || part instanceof PyText) throw new Error('no JSON for that');
    const items = part instanceof PyTuple ? part.items : part;
    if (Array.isArray(items)) {
      const list = items as readonly PyValue[];
      return `[${blank()}${list.map((item) => write(item, '')).join(`${blank()},${blank()}`)}${blank()}]`;
    }
    const entries: (readonly [string, PyValue])[] =
      items instanceof Map
        ? [...(items as ReadonlyMap<string, PyValue>)]
        : Object.entries(items as Record<string, PyValue>);
    for (let i = entries.length - 1; i > 0; i--) {
      const swap = i - pick(i + 1);
      [entries[i], entries[swap]] = [entries[swap]!, entries[i]!];
    }
    const written = entries.map(([name, item]) => `${spellText(name, pick)}${blank()}:${blank()}${write(item, name)}`);
    return `{${blank()}${written.join(`${blank()},${blank()}`)}${blank()}}`;
  };
  return `${blank()}${write(value, '')}${blank()}`;
}

function spellText(text: string, pick: Pick): string {
  const plain = JSON.stringify(text);
  if (pick(8) !== 1) return plain;
  // Every unit as an escape: pairs of surrogates included.
  return `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
}

function spellInteger(value: bigint, isNumeric: boolean, pick: Pick): string {
  if (!isNumeric) return String(value);
  const isSmall = value >= 0n && value < 2n ** 53n;
  switch (pick(8)) {
    case 1:
      return `"${value}"`;
    case 2:
      return value < 0n || value >= 2n ** 64n ? String(value) : `"0x${value.toString(16)}"`;
    case 3:
      return `${value}.0`;
    case 4:
      return isSmall ? `${Number(value).toExponential()}` : String(value);
    case 5:
      return `"${value}.0"`;
    case 6:
      return value < 0n || value >= 2n ** 64n ? String(value) : `"0X${value.toString(16).toUpperCase()}"`;
    default:
      return String(value);
  }
}
