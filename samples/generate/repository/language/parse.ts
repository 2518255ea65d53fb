/** Parses the part of Python that training code in these repositories is written in. Throws {@link PythonSyntaxError}. */
import type { ClassDefinition, Expression, FunctionDefinition, Module, Parameter, Statement } from './ast.js';
import { ExpressionParser } from './parse-expression.js';
import { tokenize } from './tokens.js';

export function parseModule(text: string, file: string): Module {
  const lines = text.split('\n');
  return { file, lines, body: new Parser(tokenize(text, file), file, lines).module() };
}

class Parser extends ExpressionParser {
  module(): Statement[] {
    const body: Statement[] = [];
    while (this.peek().kind !== 'end') body.push(this.statement());
    return body;
  }

  private statement(): Statement {
    const token = this.peek();
    if (token.kind === 'indent') return this.fail('unexpected indent', token, 'IndentationError');
    if (token.text === '@' && token.kind === 'operator') return this.decorated();
    if (token.kind === 'name') {
      switch (token.text) {
        case 'def':
          return this.functionDefinition([]);
        case 'class':
          return this.classDefinition();
        case 'if':
          return this.ifStatement();
        case 'for':
          return this.forStatement();
        case 'with':
          return this.withStatement();
      }
    }
    const simple = this.simpleStatement();
    this.expectNewline();
    return simple;
  }

  private simpleStatement(): Statement {
    const { line, kind, text } = this.peek();
    if (kind === 'name') {
      switch (text) {
        case 'import':
          return this.importStatement();
        case 'from':
          return this.fromStatement();
        case 'pass':
          this.next();
          return { kind: 'pass', line };
        case 'return':
          this.next();
          return { kind: 'return', value: this.peek().kind === 'newline' ? null : this.expressionList(), line };
        case 'del':
          return this.deleteStatement();
        case 'raise':
          this.next();
          return { kind: 'raise', value: this.expression(), line };
        case 'assert': {
          this.next();
          const test = this.expression();
          return { kind: 'assert', test, message: this.accept(',') ? this.expression() : null, line };
        }
      }
    }
    const value = this.expressionList();
    if (this.accept('=')) return { kind: 'assign', target: value, value: this.expressionList(), line };
    const operator = /^([-+*/])=$/.exec(this.peek().text)?.[1];
    if (operator !== undefined) {
      this.next();
      const right = this.expressionList();
      const sum: Expression = { kind: 'binary', operator: operator as '+', left: value, right, line };
      return { kind: 'assign', target: value, value: sum, line };
    }
    return { kind: 'expression', value, line };
  }

  private deleteStatement(): Statement {
    const { line } = this.next();
    const targets = [this.expression()];
    while (this.accept(',')) targets.push(this.expression());
    return { kind: 'delete', targets, line };
  }

  private dottedName(): string {
    let name = this.expectName();
    while (this.accept('.')) name += `.${this.expectName()}`;
    return name;
  }

  private importStatement(): Statement {
    const { line } = this.next();
    const module = this.dottedName();
    return { kind: 'import', module, as: this.acceptWord('as') ? this.expectName() : null, line };
  }

  private fromStatement(): Statement {
    const { line } = this.next();
    const module = this.dottedName();
    this.expectWord('import');
    const isWrapped = this.accept('(');
    const names: { name: string; as: string }[] = [];
    do {
      if (isWrapped && this.peek().text === ')') break;
      const name = this.expectName();
      names.push({ name, as: this.acceptWord('as') ? this.expectName() : name });
    } while (this.accept(','));
    if (isWrapped) this.expect(')');
    return { kind: 'from', module, names, line };
  }

  private decorated(): Statement {
    const decorators: string[] = [];
    while (this.accept('@')) {
      decorators.push(this.dottedName());
      this.expectNewline();
    }
    return this.functionDefinition(decorators);
  }

  private functionDefinition(decorators: readonly string[]): FunctionDefinition {
    const { line } = this.next();
    const name = this.expectName();
    this.expect('(');
    const parameters: Parameter[] = [];
    while (this.peek().text !== ')') {
      const isStarred = this.accept('*');
      const parameter = this.expectName();
      if (this.accept(':')) this.expression();
      parameters.push({ name: parameter, isStarred, default: this.accept('=') ? this.expression() : null });
      if (!this.accept(',')) break;
    }
    this.expect(')');
    if (this.accept('->')) this.expression();
    const body = this.block(`function definition on line ${line}`);
    return { kind: 'function', name, parameters, decorators, body, line, endLine: this.lastLine };
  }

  private classDefinition(): ClassDefinition {
    const { line } = this.next();
    const name = this.expectName();
    const bases: Expression[] = [];
    if (this.accept('(')) {
      while (this.peek().text !== ')') {
        bases.push(this.expression());
        if (!this.accept(',')) break;
      }
      this.expect(')');
    }
    return { kind: 'class', name, bases, body: this.block(`class definition on line ${line}`), line };
  }

  private ifStatement(): Statement {
    const { line } = this.next();
    const test = this.expression();
    const body = this.block(`'if' statement on line ${line}`);
    let orElse: Statement[] = [];
    if (this.peek().kind === 'name' && this.peek().text === 'elif') orElse = [this.ifStatement()];
    else if (this.acceptWord('else')) orElse = this.block(`'else' statement on line ${line}`);
    return { kind: 'if', test, body, orElse, line };
  }

  private forStatement(): Statement {
    const { line } = this.next();
    const target = this.targetList();
    this.expectWord('in');
    const iterable = this.expressionList();
    return { kind: 'for', target, iterable, body: this.block(`'for' statement on line ${line}`), line };
  }

  private withStatement(): Statement {
    const { line } = this.next();
    const context = this.expression();
    return { kind: 'with', context, body: this.block(`'with' statement on line ${line}`), line };
  }

  private block(after: string): Statement[] {
    if (!this.accept(':')) this.fail("expected ':'", this.peek());
    if (this.peek().kind !== 'newline') {
      const simple = this.simpleStatement();
      this.expectNewline();
      return [simple];
    }
    this.next();
    if (this.peek().kind !== 'indent') {
      this.fail(`expected an indented block after ${after}`, this.peek(), 'IndentationError');
    }
    this.next();
    const body: Statement[] = [];
    while (this.peek().kind !== 'dedent') body.push(this.statement());
    this.next();
    return body;
  }
}
