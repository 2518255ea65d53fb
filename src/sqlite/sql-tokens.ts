/** Tokens of a statement in SQLite's dialect, as far as a CREATE TABLE needs them. Upstream: `tokenize.c`. */

/**
 * `name` is quoted as an identifier, `string` as a string; SQLite takes either for a column's name. `bad` ends a
 * statement that cannot be read.
 */
export type TokenKind = 'word' | 'name' | 'string' | 'blob' | 'number' | 'sign' | 'end' | 'bad';

export interface Token {
  readonly kind: TokenKind;
  /** Words and numbers as written, names and strings without their quotes, of a blob the hexadecimal digits. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const NUMBER = /0[xX][\dA-Fa-f_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?/y;
const BLOB = /[xX]'([\dA-Fa-f]*)'/y;
const SPACE = /[ \t\n\v\f\r]+/y;
const CLOSING: Readonly<Record<string, string>> = { '"': '"', '`': '`', "'": "'", '[': ']' };

/** All of a statement, ending with `end` or, where it cannot be read on, with `bad`. */
export function sqlTokens(sql: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = skipBlanks(sql, at);
    const token = tokenAt(sql, at);
    tokens.push(token);
    if (token.kind === 'end' || token.kind === 'bad') return tokens;
    at = token.end;
  }
}

/** Skips white space and comments; an unclosed comment ends with the text. */
function skipBlanks(sql: string, at: number): number {
  for (;;) {
    const start = at;
    at += match(SPACE, sql, at)?.[0].length ?? 0;
    if (sql.startsWith('--', at)) {
      const end = sql.indexOf('\n', at);
      at = end < 0 ? sql.length : end;
    } else if (sql.startsWith('/*', at)) {
      const end = sql.indexOf('*/', at + 2);
      at = end < 0 ? sql.length : end + 2;
    }
    if (at === start) return at;
  }
}

function tokenAt(sql: string, start: number): Token {
  const first = sql[start];
  if (first === undefined) return { kind: 'end', text: '', start, end: start };
  const closing = CLOSING[first];
  if (closing !== undefined) return quoted(sql, start, first, closing);
  const blob = match(BLOB, sql, start);
  if (blob !== null) return { kind: 'blob', text: blob[1]!, start, end: start + blob[0].length };
  const word = match(WORD, sql, start);
  if (word !== null) return { kind: 'word', text: word[0], start, end: start + word[0].length };
  const number = match(NUMBER, sql, start);
  if (number !== null) return { kind: 'number', text: number[0], start, end: start + number[0].length };
  return { kind: 'sign', text: first, start, end: start + 1 };
}

/** A quote inside is written twice, except between brackets. */
function quoted(sql: string, start: number, opening: string, closing: string): Token {
  const pieces: string[] = [];
  let at = start + 1;
  for (;;) {
    const close = sql.indexOf(closing, at);
    if (close < 0) return { kind: 'bad', text: '', start, end: sql.length };
    pieces.push(sql.slice(at, close));
    if (closing === ']' || sql[close + 1] !== closing) {
      return { kind: opening === "'" ? 'string' : 'name', text: pieces.join(closing), start, end: close + 1 };
    }
    at = close + 2;
  }
}

function match(pattern: RegExp, sql: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(sql);
}
