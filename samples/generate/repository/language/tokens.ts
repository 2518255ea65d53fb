/** Tokens of the part of Python that training code in these repositories is written in. Upstream: Python's `tokenize`. */
import { PythonSyntaxError } from './syntax-error.js';

export type TokenKind = 'name' | 'number' | 'string' | 'operator' | 'newline' | 'indent' | 'dedent' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** Of a string: its content. */
  readonly text: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?/y;
const STRING = /[rRbBfF]{0,2}("""|'''|"|')/y;
const OPERATOR = /\*\*|\/\/|->|==|!=|<=|>=|\+=|-=|\*=|\/=|[-+*/%@=<>()[\]{}.,:]/y;
const OPENING = '([{';
const CLOSING = ')]}';

export function tokenize(text: string, file: string): Token[] {
  const lines = text.split('\n');
  const tokens: Token[] = [];
  const indents = [0];
  const open: Token[] = [];
  const fail = (message: string, line: number, column: number, type = 'SyntaxError'): never => {
    throw new PythonSyntaxError(type, message, { file, line, column, text: lines[line - 1] ?? '' });
  };
  for (let number = 1; number <= lines.length; number += 1) {
    const source = lines[number - 1]!;
    let at = source.length - source.trimStart().length;
    if (at === source.length || source[at] === '#') continue;
    if (open.length === 0) indentTo(at, number);
    while (at < source.length) {
      const char = source[at]!;
      if (char === ' ') {
        at += 1;
        continue;
      }
      if (char === '#') break;
      const take = (kind: TokenKind, pattern: RegExp): boolean => {
        pattern.lastIndex = at;
        const match = pattern.exec(source);
        if (match === null) return false;
        tokens.push({ kind, text: match[0], line: number, column: at });
        at += match[0].length;
        return true;
      };
      STRING.lastIndex = at;
      const quote = STRING.exec(source);
      if (quote !== null) {
        const mark = quote[1]!;
        const begin = { line: number, column: at };
        at += quote[0].length;
        let content = '';
        let current = source;
        for (;;) {
          const end = current.indexOf(mark, at);
          if (end >= 0) {
            content += current.slice(at, end);
            at = end + mark.length;
            break;
          }
          if (mark.length === 1) fail('unterminated string literal', begin.line, begin.column);
          content += `${current.slice(at)}\n`;
          if (number === lines.length) fail('unterminated triple-quoted string literal', begin.line, begin.column);
          number += 1;
          current = lines[number - 1]!;
          at = 0;
        }
        tokens.push({ kind: 'string', text: content, ...begin });
        // The rest of the line that closes a long string holds nothing in these files.
        if (current !== source) break;
        continue;
      }
      if (take('name', NAME) || take('number', NUMBER)) continue;
      if (!take('operator', OPERATOR)) fail('invalid syntax', number, at);
      const token = tokens.at(-1)!;
      if (OPENING.includes(token.text)) open.push(token);
      if (!CLOSING.includes(token.text)) continue;
      const opened = open.pop();
      if (opened === undefined) fail(`unmatched '${token.text}'`, number, token.column);
      else if (OPENING.indexOf(opened.text) !== CLOSING.indexOf(token.text)) {
        fail(
          `closing parenthesis '${token.text}' does not match opening parenthesis '${opened.text}'`,
          number,
          token.column,
        );
      }
    }
    if (open.length === 0) tokens.push({ kind: 'newline', text: '', line: number, column: source.length });
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) fail(`'${unclosed.text}' was never closed`, unclosed.line, unclosed.column);
  const last = lines.length;
  while (indents.length > 1) {
    indents.pop();
    tokens.push({ kind: 'dedent', text: '', line: last, column: 0 });
  }
  tokens.push({ kind: 'end', text: '', line: last, column: 0 });
  return tokens;

  function indentTo(column: number, line: number): void {
    if (column > indents.at(-1)!) {
      indents.push(column);
      tokens.push({ kind: 'indent', text: '', line, column });
    }
    while (column < indents.at(-1)!) {
      indents.pop();
      tokens.push({ kind: 'dedent', text: '', line, column });
    }
    if (column !== indents.at(-1)!) {
      fail('unindent does not match any outer indentation level', line, column, 'IndentationError');
    }
  }
}
