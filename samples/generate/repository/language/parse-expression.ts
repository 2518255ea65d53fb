/** Expressions, by descent. The statements in `parse.ts` build on it. */
import type { Argument, BinaryOperator, CompareOperator, Expression } from './ast.js';
import { PythonSyntaxError } from './syntax-error.js';
import type { Token } from './tokens.js';

const KEYWORDS = new Set(
  'and as assert class def del elif else for from if import in is lambda not or pass raise return with while'.split(
    ' ',
  ),
);
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '>', '<=', '>=']);

export class ExpressionParser {
  private readonly tokens: readonly Token[];
  private readonly file: string;
  private readonly lines: readonly string[];
  private at = 0;
  /** Of the last token that stood in the text. */
  protected lastLine = 0;

  constructor(tokens: readonly Token[], file: string, lines: readonly string[]) {
    this.tokens = tokens;
    this.file = file;
    this.lines = lines;
  }

  protected peek(): Token {
    return this.tokens[this.at]!;
  }

  protected next(): Token {
    const token = this.tokens[this.at]!;
    this.at += 1;
    if (token.kind !== 'dedent' && token.kind !== 'end') this.lastLine = token.line;
    return token;
  }

  protected fail(message: string, { line, column }: Token, type = 'SyntaxError'): never {
    throw new PythonSyntaxError(type, message, { file: this.file, line, column, text: this.lines[line - 1] ?? '' });
  }

  protected accept(operator: string): boolean {
    const token = this.peek();
    if (token.kind !== 'operator' || token.text !== operator) return false;
    this.next();
    return true;
  }

  protected expect(operator: string): void {
    if (!this.accept(operator)) this.fail('invalid syntax', this.peek());
  }

  protected acceptWord(word: string): boolean {
    const token = this.peek();
    if (token.kind !== 'name' || token.text !== word) return false;
    this.next();
    return true;
  }

  protected expectWord(word: string): void {
    if (!this.acceptWord(word)) this.fail('invalid syntax', this.peek());
  }

  protected expectName(): string {
    const token = this.peek();
    if (token.kind !== 'name' || KEYWORDS.has(token.text)) this.fail('invalid syntax', token);
    return this.next().text;
  }

  protected expectNewline(): void {
    if (this.peek().kind !== 'newline') this.fail('invalid syntax', this.peek());
    this.next();
  }

  /** `a, b` is a tuple; a single expression stands for itself. */
  protected expressionList(): Expression {
    return this.listOf(() => this.expression());
  }

  protected targetList(): Expression {
    return this.listOf(() => this.postfix());
  }

  private listOf(one: () => Expression): Expression {
    const first = one();
    if (this.peek().text !== ',' || this.peek().kind !== 'operator') return first;
    const items = [first];
    while (this.accept(',')) {
      if (this.peek().kind === 'newline' || this.peek().text === '=') break;
      items.push(one());
    }
    return { kind: 'tuple', items, line: first.line };
  }

  protected expression(): Expression {
    const yes = this.either();
    if (!this.acceptWord('if')) return yes;
    const test = this.either();
    this.expectWord('else');
    return { kind: 'choice', test, yes, no: this.expression(), line: yes.line };
  }

  private either(): Expression {
    let left = this.both();
    while (this.acceptWord('or')) left = { kind: 'logical', operator: 'or', left, right: this.both(), line: left.line };
    return left;
  }

  private both(): Expression {
    let left = this.negation();
    while (this.acceptWord('and')) {
      left = { kind: 'logical', operator: 'and', left, right: this.negation(), line: left.line };
    }
    return left;
  }

  private negation(): Expression {
    const { line } = this.peek();
    if (this.acceptWord('not')) return { kind: 'unary', operator: 'not', operand: this.negation(), line };
    return this.comparison();
  }

  private comparison(): Expression {
    const left = this.sum();
    const operator = this.comparisonOperator();
    return operator === undefined ? left : { kind: 'compare', operator, left, right: this.sum(), line: left.line };
  }

  private comparisonOperator(): CompareOperator | undefined {
    const token = this.peek();
    if (token.kind === 'operator' && COMPARISONS.has(token.text)) return this.next().text as CompareOperator;
    if (this.acceptWord('in')) return 'in';
    if (this.acceptWord('is')) return this.acceptWord('not') ? 'is not' : 'is';
    if (token.kind === 'name' && token.text === 'not' && this.tokens[this.at + 1]?.text === 'in') {
      this.next();
      this.next();
      return 'not in';
    }
    return undefined;
  }

  private sum(): Expression {
    return this.chain(['+', '-'], () => this.product());
  }

  private product(): Expression {
    return this.chain(['*', '/', '//', '%'], () => this.sign());
  }

  private chain(operators: readonly BinaryOperator[], one: () => Expression): Expression {
    let left = one();
    for (;;) {
      const operator = operators.find((candidate) => this.accept(candidate));
      if (operator === undefined) return left;
      left = { kind: 'binary', operator, left, right: one(), line: left.line };
    }
  }

  private sign(): Expression {
    const { line } = this.peek();
    if (this.accept('-')) return { kind: 'unary', operator: '-', operand: this.sign(), line };
    const base = this.postfix();
    return this.accept('**') ? { kind: 'binary', operator: '**', left: base, right: this.sign(), line } : base;
  }

  protected postfix(): Expression {
    let value = this.atom();
    for (;;) {
      const { line } = value;
      if (this.accept('.')) value = { kind: 'attribute', of: value, name: this.expectName(), line };
      else if (this.accept('(')) value = { kind: 'call', callee: value, arguments: this.callArguments(), line };
      else if (this.accept('[')) {
        value = { kind: 'subscript', of: value, index: this.expression(), line };
        this.expect(']');
      } else return value;
    }
  }

  private callArguments(): Argument[] {
    const list: Argument[] = [];
    while (!this.accept(')')) {
      const isStarred = this.accept('*');
      const after = this.tokens[this.at + 1];
      const name =
        !isStarred && this.peek().kind === 'name' && after?.kind === 'operator' && after.text === '='
          ? this.expectName()
          : null;
      if (name !== null) this.expect('=');
      const value = this.expression();
      list.push({ name, isStarred, value: this.peek().text === 'for' ? this.comprehension(value) : value });
      if (this.accept(',')) continue;
      this.expect(')');
      break;
    }
    return list;
  }

  private comprehension(item: Expression): Expression {
    this.expectWord('for');
    const target = this.targetList();
    this.expectWord('in');
    const iterable = this.either();
    const condition = this.acceptWord('if') ? this.either() : null;
    return { kind: 'comprehension', item, target, iterable, condition, line: item.line };
  }

  private atom(): Expression {
    const token = this.peek();
    const { line } = token;
    if (token.kind === 'number') {
      this.next();
      return { kind: 'constant', value: Number(token.text.replaceAll('_', '')), line };
    }
    if (token.kind === 'string') {
      let value = this.next().text;
      while (this.peek().kind === 'string') value += this.next().text;
      return { kind: 'constant', value, line };
    }
    if (token.kind === 'name' && !KEYWORDS.has(token.text)) {
      this.next();
      const constants: Readonly<Record<string, boolean | null>> = { True: true, False: false, None: null };
      const constant = constants[token.text];
      if (constant !== undefined) return { kind: 'constant', value: constant, line };
      return { kind: 'name', name: token.text, line };
    }
    if (this.accept('(')) return this.inParentheses(line);
    if (this.accept('[')) return this.inBrackets(line);
    if (this.accept('{')) return this.inBraces(line);
    return this.fail('invalid syntax', token);
  }

  private inParentheses(line: number): Expression {
    if (this.accept(')')) return { kind: 'tuple', items: [], line };
    const first = this.expression();
    if (this.accept(')')) return first;
    const items = [first];
    while (this.accept(',')) {
      if (this.peek().text === ')') break;
      items.push(this.expression());
    }
    this.expect(')');
    return { kind: 'tuple', items, line };
  }

  private inBrackets(line: number): Expression {
    const items: Expression[] = [];
    while (this.peek().text !== ']') {
      const item = this.expression();
      if (this.peek().kind === 'name' && this.peek().text === 'for') {
        const all = this.comprehension(item);
        this.expect(']');
        return all;
      }
      items.push(item);
      if (!this.accept(',')) break;
    }
    this.expect(']');
    return { kind: 'list', items, line };
  }

  private inBraces(line: number): Expression {
    const entries: [Expression, Expression][] = [];
    while (this.peek().text !== '}') {
      const key = this.expression();
      this.expect(':');
      entries.push([key, this.expression()]);
      if (!this.accept(',')) break;
    }
    this.expect('}');
    return { kind: 'dict', entries, line };
  }
}
