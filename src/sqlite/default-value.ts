/**
 * The DEFAULT of a column, for rows written before the column was added: ALTER TABLE ADD COLUMN leaves them as they
 * are. Upstream: sqlite.org/lang_altertable.html 4, `sqlite3ValueFromExpr` in vdbemem.c; affinities:
 * sqlite.org/datatype3.html 3.
 */
import { CELL } from '../model/table-source.js';
import type { Token } from './sql-tokens.js';

/** What a column turns its values into before they are stored. */
export type Affinity = 'integer' | 'text' | 'blob' | 'real' | 'numeric';

export interface DefaultValue {
  readonly kind: (typeof CELL)[keyof typeof CELL];
  /** Of an integer; a real's IEEE 754 bits. */
  readonly bits: bigint;
  readonly text: string;
}

const NULL: DefaultValue = { kind: CELL.null, bits: 0n, text: '' };
const BLOB: DefaultValue = { kind: CELL.blob, bits: 0n, text: '' };
const NUMERIC_TEXT = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;
const INTEGER_TEXT = /^\s*[+-]?\d+\s*$/;
/** Deeper, and SQLite's own parser gives up. */
const MAX_PARENTHESES = 100;

/** The type names decide by what they contain, in this order (3.1). */
export function affinityOf(type: string): Affinity {
  if (/int/i.test(type)) return 'integer';
  if (/char|clob|text/i.test(type)) return 'text';
  if (type === '' || /blob/i.test(type)) return 'blob';
  if (/real|floa|doub/i.test(type)) return 'real';
  return 'numeric';
}

/**
 * The value of the tokens after DEFAULT; undefined if they are an expression, which SQLite allows only where no row can
 * lack the column. Without tokens: NULL.
 */
export function defaultValue(tokens: readonly Token[], affinity: Affinity): DefaultValue | undefined {
  let items = tokens;
  let isBare = true;
  for (let i = 0; i < MAX_PARENTHESES && items[0]?.text === '(' && items.at(-1)?.text === ')'; i++) {
    items = items.slice(1, -1);
    isBare = false;
  }
  let sign = '';
  while (items.length > 1 && items[0]!.kind === 'sign' && /[+-]/.test(items[0]!.text)) {
    if (items[0]!.text === '-') sign = sign === '-' ? '' : '-';
    items = items.slice(1);
  }
  const token = items[0];
  if (token === undefined) return isBare ? NULL : undefined;
  if (items.length > 1) return undefined;
  switch (token.kind) {
    case 'number':
      return ofNumber(sign, token.text.replaceAll('_', ''), affinity);
    case 'string':
    case 'name':
      return sign === '' && (isBare || token.kind === 'string') ? converted(token.text, affinity) : undefined;
    case 'blob':
      return sign === '' ? BLOB : undefined;
    case 'word':
      return sign === '' ? ofWord(token.text, affinity, isBare) : undefined;
    default:
      return undefined;
  }
}

/** Outside parentheses a word that is not a keyword is its own value. */
function ofWord(word: string, affinity: Affinity, isBare: boolean): DefaultValue | undefined {
  const upper = word.toUpperCase();
  if (upper === 'NULL') return NULL;
  if (upper === 'TRUE' || upper === 'FALSE')
    return converted(upper === 'TRUE' ? '1' : '0', affinity === 'blob' ? 'numeric' : affinity);
  if (upper.startsWith('CURRENT_') || !isBare) return undefined;
  return converted(word, affinity);
}

/**
 * Small integers are numbers to SQLite, all others the text that was written until an affinity makes a number of it.
 */
function ofNumber(sign: string, number: string, affinity: Affinity): DefaultValue {
  const isHex = /^0x/i.test(number);
  if (!isHex && !/^\d+$/.test(number)) {
    return affinity === 'blob' ? ofReal(Number(sign + number)) : converted(sign + number, affinity);
  }
  const value = BigInt(number);
  const integer = isHex ? BigInt.asIntN(64, value) : value;
  const isSmall = isHex || value <= 0x7fffffffn;
  const text = isSmall ? String(sign === '-' ? -integer : integer) : sign + number;
  return converted(text, affinity === 'blob' ? 'numeric' : affinity);
}

function ofReal(value: number): DefaultValue {
  return { kind: CELL.real, bits: new BigInt64Array(Float64Array.of(value).buffer)[0]!, text: '' };
}

/** A text with the affinity applied: what looks like a number becomes one where numbers are preferred. */
function converted(text: string, affinity: Affinity): DefaultValue {
  if (affinity === 'text' || affinity === 'blob' || !NUMERIC_TEXT.test(text))
    return { kind: CELL.text, bits: 0n, text };
  if (INTEGER_TEXT.test(text) && affinity !== 'real') {
    const integer = BigInt(text.trim().replace(/^\+/, ''));
    if (BigInt.asIntN(64, integer) === integer) return { kind: CELL.integer, bits: integer, text: '' };
  }
  const real = Number(text);
  if (affinity !== 'real' && Number.isInteger(real) && Math.abs(real) < 2 ** 63) {
    return { kind: CELL.integer, bits: BigInt(real), text: '' };
  }
  // Tried as an integer first, which lacks −0.
  return ofReal(real + 0);
}
