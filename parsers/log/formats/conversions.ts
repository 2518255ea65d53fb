/** The named functions by which data formats (`data-format.ts`) turn printed text into values of rows: a closed set. */
import { canonicalConfigKey, normaliseConfigValue } from '../../../src/knowledge/config-keys.js';
import { kindOfXid } from '../../../src/text/program-xids.js';
import { pythonNumber } from './field-list.js';
import { plainNumber } from './system/findings.js';
import { GB, GIB, MIB, millisecondsOf } from './units.js';

/** Bytes of a unit, by what its producer means: a `GB` that is 1024-based is `unit: GB, means: GiB`. */
export const SIZES: Readonly<Record<string, number>> = { bytes: 1, KiB: 1024, MiB: MIB, GiB: GIB, MB: 1e6, GB };

/** Powers of 1000 by their letter; `B` is a billion. */
const DECIMAL: Readonly<Record<string, number>> = {
  '': 1,
  ...{ k: 1e3, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15, E: 1e18 },
};
const LEADING = /^-?\d[\d,]{0,15}(?:\.\d{1,8})?(?:e[+-]?\d{1,3})?/i;
const BINARY = ['', 'K', 'M', 'G', 'T', 'P'];

/** What a conversion gives where the text holds nothing of the kind; of a setting, `null` is a value too. */
export type Converted = string | number | null | undefined;

export const CONVERSIONS: Readonly<Record<string, (text: string) => Converted>> = {
  /** `weight and optimizer` → `weight_and_optimizer`, `in-flight` → `in_flight`. */
  snake: (text) => snake(text),
  /** `Avg Reward (%)` → `avg_reward`. */
  words: (text) =>
    text
      .trim()
      .replaceAll(/[^A-Za-z0-9]{1,8}/g, '_')
      .replace(/_$/, '')
      .toLowerCase(),
  lower: (text) => text.toLowerCase(),
  trim: (text) => text.trim(),
  /** `1,234.50` → `1234.50`, as printed otherwise. */
  plain: (text) => text.replaceAll(',', ''),
  /** `1,234` → 1234. */
  commas: plainNumber,
  /** The same, of what is a number at all. */
  finite: (text) => (Number.isFinite(plainNumber(text)) ? plainNumber(text) : undefined),
  /** The number that the text begins with: `40.66%` → 40.66. */
  leading: (text) => {
    const value = plainNumber(LEADING.exec(text)?.[0] ?? 'none');
    return Number.isFinite(value) ? value : undefined;
  },
  /** `nan` and `inf` included. */
  python: pythonNumber,
  /** `67.4M` → 67400000, decimal. */
  human: (text) => human(text)?.value,
  /** Seconds in milliseconds. */
  ms_of_s: (text) => millisecondsOf(Number(text)),
  /** `0.25s` → 250. */
  ms_behind_s: (text) =>
    /^\d{1,9}(?:\.\d{1,9})?s$/.test(text) ? millisecondsOf(Number(text.slice(0, -1))) : undefined,
  /** So many a second: milliseconds of one, to four digits. */
  ms_each: (text) => each(text, 1000),
  /** The same in seconds. */
  s_each: (text) => each(text, 1),
  /** All decimal numbers of the text. */
  sum: (text) => [...text.matchAll(/(?<!\w)\d{1,9}\.\d{1,6}/g)].reduce((sum, [part]) => sum + Number(part), 0),
  /** `4*8` → 32, `2*100-100+5` → 105. */
  calculate: (text) =>
    text
      .split(/\+|(?=-)/)
      .reduce((sum, term) => sum + term.split('*').reduce((product, part) => product * Number(part), 1), 0),
  /** No device draws that many watts: `torch.cuda.power_draw` gives milliwatts, which Megatron-LM labels W. */
  watts: (text) => (Number(text) > 5000 ? Number(text) / 1000 : Number(text)),
  abs: (text) => Math.abs(Number(text)),
  negative: (text) => -Math.abs(Number(text)),
  /** `1.5 gb` → bytes, 1024-based. */
  bytes: (text) => {
    const [figure = '', unit = ''] = text.split(' ');
    return Math.round(Number(figure) * binary(unit));
  },
  /** `[days:][hours:]minutes:seconds` in seconds. */
  clock: (text) => {
    const [seconds = 0, minutes = 0, hours = 0, days = 0] = text.split(':').map(Number).reverse();
    return Number((((days * 24 + hours) * 60 + minutes) * 60 + seconds).toFixed(2));
  },
  /** A list with commas alone between its items. */
  list: (text) =>
    text
      .split(/[\s,]+/)
      .filter(Boolean)
      .join(','),
  /** Its number in words like `before save_checkpoint for iteration 500`, `\tIteration: 500`. */
  iteration: (text) => /\b(?:iteration|Iteration:) (\d{1,12})/.exec(text)?.[1],
  /** Items of a list with commas. */
  items: (text) => text.split(',').length,
  /** `12040` → `12.4`. */
  cuda_version: (text) => `${Math.floor(Number(text) / 1000)}.${Math.floor((Number(text) % 1000) / 10)}`,
  /** Factors of a unit by its first letter. */
  decimal: (text) => decimal(text),
  /** Bytes of a unit of {@link SIZES}. */
  size: (text) => SIZES[text],
  binary: (text) => binary(text),
  /** Key and value of a setting as the dictionary has them. */
  canonical: canonicalConfigKey,
  config: normaliseConfigValue,
  xid: (text) => kindOfXid(Number(text)),
};

const each = (text: string, scale: number): number | undefined =>
  Number(text) > 0 ? Number((scale / Number(text)).toPrecision(4)) : undefined;

export const decimal = (unit: string): number => DECIMAL[unit.slice(0, 1)] ?? Number.NaN;
const binary = (unit: string): number => 1024 ** Math.max(0, BINARY.indexOf(unit.slice(0, 1).toUpperCase()));

export const snake = (words: string): string => words.trim().toLowerCase().replaceAll(/[ -]+/g, '_');

const HUMAN = /^(-?\d{1,4}(?:\.\d{1,6})?(?:e[-+]?\d{1,3})?)([KMGBTPE]?)$/;

export interface Human {
  readonly text: string;
  readonly scale: string;
  readonly value: number;
}

/** A number with a decimal letter, as nanotron's `human_format` prints it. */
export function human(text: string): Human | null {
  const [, number = '', scale = ''] = HUMAN.exec(text) ?? [];
  // Not `1.31 * 1e6`, which is 1310000.0000000002 for some.
  const value = Number((Number(number) * decimal(scale)).toPrecision(15));
  return number === '' || !Number.isFinite(value) ? null : { text: number, scale, value };
}

/** In a table of an entry. */
export function lookUp(table: Readonly<Record<string, string | number>>, text: string): string | number | undefined {
  if (Object.hasOwn(table, text)) return table[text];
  return table['*'] === '*' ? text : table['*'];
}
