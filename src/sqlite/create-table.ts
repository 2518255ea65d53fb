/**
 * The facts in a CREATE TABLE text about the records of its table. Upstream: sqlite.org/lang_createtable.html, and
 * `parse.y` for the details.
 *
 * Not a parser of SQL: it finds the end of a column definition, and the constraints that change how rows are stored.
 * SQLite has accepted the text before, so unknown parts are skipped.
 */
import { type Affinity, affinityOf, type DefaultValue, defaultValue } from './default-value.js';
import { sqlTokens, type Token } from './sql-tokens.js';

export interface StoredColumn {
  readonly name: string;
  /** As written; empty if none was. */
  readonly type: string;
  readonly affinity: Affinity;
  /** For rows older than the column; undefined if it is an expression. */
  readonly whenMissing: DefaultValue | undefined;
}

export interface TableDeclaration {
  /** In the order of the values of a record. Generated columns that are not stored are left out. */
  readonly columns: readonly StoredColumn[];
  /** The column that is another name of the rowid, and NULL in the record; −1 if there is none. */
  readonly rowidColumn: number;
  readonly hasRowid: boolean;
}

/** SQLite's own limit of columns. */
const MAX_COLUMNS = 32_767;
/** Tokens are kept; SQLite's limit of a statement is the same unless compiled otherwise. */
const MAX_SQL_LENGTH = 1_000_000;
const TABLE_CONSTRAINTS = new Set(['CONSTRAINT', 'PRIMARY', 'UNIQUE', 'CHECK', 'FOREIGN']);
/** A word that ends the type of a column. GENERATED may belong to a type, and is taken off its end. */
const COLUMN_CONSTRAINTS = new Set([
  ...['CONSTRAINT', 'PRIMARY', 'NOT', 'NULL', 'UNIQUE', 'CHECK', 'DEFAULT', 'COLLATE', 'REFERENCES', 'AS', 'ON'],
  ...['DEFERRABLE'],
]);

/** Undefined if the text is not a readable CREATE TABLE. */
export function parseCreateTable(sql: string): TableDeclaration | undefined {
  if (sql.length > MAX_SQL_LENGTH) return undefined;
  const tokens = sqlTokens(sql);
  if (tokens.at(-1)!.kind === 'bad' || !isWord(tokens[0], 'CREATE')) return undefined;
  const isTable =
    isWord(tokens[1], 'TABLE') || (/^temp(?:orary)?$/i.test(tokens[1]!.text) && isWord(tokens[2], 'TABLE'));
  const open = tokens.findIndex((token) => isSign(token, '('));
  const close = open < 0 ? -1 : closingOf(tokens, open);
  if (!isTable || close < 0) return undefined;

  const options = tokens.slice(close + 1);
  const isStrict = options.some((token) => isWord(token, 'STRICT'));
  const hasRowid = !options.some((token, i) => isWord(token, 'WITHOUT') && isWord(options[i + 1], 'ROWID'));
  const columns: StoredColumn[] = [];
  let key: string | undefined;
  let at = open + 1;
  while (at < close && !isConstraint(tokens[at]!)) {
    const end = definitionEnd(tokens, at, close);
    const column = columnOf(tokens.slice(at, end), sql, isStrict);
    if (column === undefined || columns.length >= MAX_COLUMNS) return undefined;
    if (column.isKey) key = column.name;
    if (column.isStored) columns.push(column);
    at = end + 1;
  }
  key ??= tableKey(tokens.slice(at, close));
  const rowidColumn =
    key === undefined || !hasRowid
      ? -1
      : columns.findIndex(({ name, type }) => sameName(name, key) && sameName(type, 'INTEGER'));
  return columns.length === 0 ? undefined : { columns, rowidColumn, hasRowid };
}

interface ColumnDefinition extends StoredColumn {
  readonly isStored: boolean;
  /** A primary key that may be the rowid's other name; by a quirk kept for old files, a descending one is not. */
  readonly isKey: boolean;
}

function columnOf(tokens: readonly Token[], sql: string, isStrict: boolean): ColumnDefinition | undefined {
  const [first] = tokens;
  if (first === undefined || !isName(first)) return undefined;
  let at = typeEnd(tokens);
  let type = typeText(tokens.slice(1, at), sql);
  const isGenerated = /(?:^|\s)generated\s+always$/i.test(type) && isWord(tokens[at], 'AS');
  if (isGenerated) type = type.replace(/generated\s+always$/i, '').trimEnd();

  let isStored = true;
  let isKey = false;
  let literal: readonly Token[] = [];
  while (at < tokens.length) {
    const token = tokens[at]!;
    if (isWord(token, 'AS') && isSign(tokens[at + 1], '(')) {
      at = closingOf(tokens, at + 1) + 1;
      isStored = isWord(tokens[at], 'STORED');
    } else if (isWord(token, 'PRIMARY')) {
      isKey = !isWord(tokens[at + 2], 'DESC');
      at += 2;
    } else if (isWord(token, 'DEFAULT')) {
      const end = literalEnd(tokens, at + 1);
      literal = tokens.slice(at + 1, end);
      at = end;
    } else if (isWord(token, 'CONSTRAINT') || isWord(token, 'COLLATE')) at += 2;
    else at = isSign(token, '(') ? closingOf(tokens, at) + 1 : at + 1;
  }
  const affinity = isStrict && sameName(type, 'ANY') ? 'blob' : affinityOf(type);
  return { name: first.text, type, affinity, whenMissing: defaultValue(literal, affinity), isStored, isKey };
}

/** The type of a column: names, and numbers in parentheses after them. Returns the index after it. */
function typeEnd(tokens: readonly Token[]): number {
  let at = 1;
  while (at < tokens.length && isName(tokens[at]!) && !isColumnConstraint(tokens[at]!)) at += 1;
  return at > 1 && isSign(tokens[at], '(') ? closingOf(tokens, at) + 1 : at;
}

/** As written, but a single name without its quotes. */
function typeText(tokens: readonly Token[], sql: string): string {
  const [first] = tokens;
  if (first === undefined) return '';
  return tokens.length === 1 ? first.text : sql.slice(first.start, tokens.at(-1)!.end);
}

function literalEnd(tokens: readonly Token[], at: number): number {
  while (isSign(tokens[at], '+') || isSign(tokens[at], '-')) at += 1;
  return Math.min(isSign(tokens[at], '(') ? closingOf(tokens, at) + 1 : at + 1, tokens.length);
}

/** The only column of a PRIMARY KEY among the table constraints, which need no commas between them. */
function tableKey(tokens: readonly Token[]): string | undefined {
  for (let at = 0; at < tokens.length; at++) {
    if (isSign(tokens[at], '(')) at = closingOf(tokens, at);
    else if (isWord(tokens[at], 'CONSTRAINT')) at += 1;
    else if (isWord(tokens[at], 'PRIMARY') && isSign(tokens[at + 2], '(')) {
      const list = tokens.slice(at + 3, closingOf(tokens, at + 2));
      return list.some((token) => token.kind === 'sign') ? undefined : list[0]?.text;
    }
  }
  return undefined;
}

/** The comma after a column definition, or the end of the list. */
function definitionEnd(tokens: readonly Token[], at: number, close: number): number {
  while (at < close && !isSign(tokens[at], ',')) at = isSign(tokens[at], '(') ? closingOf(tokens, at) + 1 : at + 1;
  return Math.min(at, close);
}

/**
 * The parenthesis that closes the one at `open`; the last token before the end if none does, which `parseCreateTable`
 * has ruled out for what is within its list.
 */
function closingOf(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (isSign(tokens[at], '(')) depth += 1;
    else if (isSign(tokens[at], ')')) depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

function isConstraint(token: Token): boolean {
  return token.kind === 'word' && TABLE_CONSTRAINTS.has(token.text.toUpperCase());
}

function isColumnConstraint(token: Token): boolean {
  return token.kind === 'word' && COLUMN_CONSTRAINTS.has(token.text.toUpperCase());
}

function isName({ kind }: Token): boolean {
  return kind === 'word' || kind === 'name' || kind === 'string';
}

function isSign(token: Token | undefined, sign: string): boolean {
  return token?.kind === 'sign' && token.text === sign;
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word;
}

/** SQLite's names differ by more than the case of ASCII letters. */
function sameName(one: string, other: string): boolean {
  return asciiLower(one) === asciiLower(other);
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
