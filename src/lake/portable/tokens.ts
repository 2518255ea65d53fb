/** Words and signs of a statement, with their places. */

export type TokenKind = 'word' | 'number' | 'text' | 'parameter' | 'sign' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** As written. */
  readonly text: string;
  /** By which words of SQL are compared. */
  readonly upper: string;
  /** Offset in the statement. */
  readonly at: number;
  /** From 1. */
  readonly line: number;
}

/** Longer signs first. What no engine has is a sign of one character, for the parser to refuse. */
const TOKEN =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[A-Za-z_]\w*)|(?<number>\d[\w.]*|\.\d[\w.]*)|(?<text>'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`)|\$(?<parameter>[A-Za-z_]\w*)|(?<sign>::|==|!=|<>|<=|>=|\|\||->|=>|\*\*|\/\/|[\s\S])/gy;

/** The last one is of the kind `end`. */
export function tokensOf(statement: string): readonly Token[] {
  const tokens: Token[] = [];
  let line = 1;
  const add = (kind: TokenKind, text: string, at: number): void => {
    tokens.push({ kind, text, upper: text.toUpperCase(), at, line });
  };
  for (const match of statement.matchAll(TOKEN)) {
    const { word, number, text, parameter, sign } = match.groups!;
    if (word !== undefined) add('word', word, match.index);
    else if (number !== undefined) add('number', number, match.index);
    else if (text !== undefined) add('text', text, match.index);
    else if (parameter !== undefined) add('parameter', parameter, match.index);
    else if (sign !== undefined) add('sign', sign, match.index);
    line += match[0].split('\n').length - 1;
  }
  add('end', '', statement.length);
  return tokens;
}
