/**
 * Whether a statement is of the SQL that DuckDB, Spark and Polars read alike, and give equal rows for: a parser of
 * exactly that. What it does not know is refused, with the form that all three have where there is one.
 */
import { loadData } from '../../knowledge/load-data.js';
import { MbfError } from '../../model/errors.js';
import { type Token, tokensOf } from './tokens.js';

export interface PortableStatement {
  /** Names of tables that the statement does not define itself. */
  readonly tables: readonly string[];
  readonly parameters: readonly string[];
  /** Whether the order of its rows is given. */
  readonly isOrdered: boolean;
}

/** MBF1014 with the construct, its line, and what to write instead. */
export function checkPortable(statement: string, file?: string): PortableStatement {
  return new Parser(statement, file).statement();
}

type Form = readonly [construct: string, portable: string];

/** `src/knowledge/portable-sql.yaml`. */
interface Known {
  readonly functions: Readonly<Record<string, readonly [least: number, most: number]>>;
  readonly types: readonly string[];
  readonly reserved: readonly string[];
  readonly refused: Readonly<
    Record<'clauses' | 'joins' | 'comparisons' | 'starts' | 'signs', Readonly<Record<string, Form>>>
  >;
  readonly other_functions: Readonly<Record<string, string>>;
  readonly other_types: Readonly<Record<string, string>>;
}
const KNOWN = loadData('portable-sql') as Known;
const { clauses: CLAUSES, joins: JOINS, comparisons: COMPARISONS, starts: STARTS, signs: SIGNS } = KNOWN.refused;
const FUNCTIONS = KNOWN.functions;
const TYPES: ReadonlySet<string> = new Set(KNOWN.types);
const RESERVED: ReadonlySet<string> = new Set(KNOWN.reserved);
const AGGREGATES = new Set(['COUNT', 'SUM', 'MIN', 'MAX']);
const WINDOW_ONLY = new Set(['ROW_NUMBER', 'RANK', 'DENSE_RANK', 'LAG', 'LEAD']);

/** What an expression is, as far as a rule asks. */
interface Expression {
  readonly isName: boolean;
  readonly isWhole?: boolean;
  /** NULLIF(…), which a division may have below it. */
  readonly isNullif?: boolean;
  /** SUM(…), which is cast. */
  readonly sum?: { readonly at: Token; readonly ofBytes: boolean; readonly isWindow: boolean } | undefined;
}

const PLAIN: Expression = { isName: false };

class Parser {
  private readonly tokens: readonly Token[];
  private readonly file: string | undefined;
  private next = 0;
  private readonly tables = new Set<string>();
  private readonly parameters = new Set<string>();
  /** Token that the last CAST begins with: a SUM is there or nowhere. */
  private castAt = -1;
  /** Names that a WITH has defined so far. */
  private readonly defined = new Set<string>();

  constructor(statement: string, file: string | undefined) {
    this.tokens = tokensOf(statement);
    this.file = file;
  }

  statement(): PortableStatement {
    const isOrdered = this.query();
    const isEnded = this.accept(';');
    if (this.peek().kind !== 'end') this.refuseHere(isEnded ? ['a second statement', 'one statement'] : undefined);
    return { tables: [...this.tables].sort(), parameters: [...this.parameters], isOrdered };
  }

  // ---- clauses

  /** Whether it ends in ORDER BY. */
  private query(): boolean {
    if (this.accept('WITH')) {
      if (this.is('RECURSIVE')) this.refuseHere(['WITH RECURSIVE', 'a fixed number of joins']);
      do {
        const name = this.name('a name of a WITH');
        if (this.is('(')) this.refuseHere(['names of columns at a WITH', 'AS name in its SELECT']);
        this.expect('AS');
        if (this.is('MATERIALIZED') || this.is('NOT')) this.refuseHere(['MATERIALIZED', 'name AS (…)']);
        this.expect('(');
        this.query();
        this.expect(')');
        this.defined.add(name);
      } while (this.accept(','));
    }
    this.operand();
    while (this.accept('UNION')) {
      this.accept('ALL');
      if (this.is('BY')) this.refuseHere(['UNION BY NAME', 'columns in the same order on both sides']);
      this.operand();
    }
    const isOrdered = this.accept('ORDER');
    if (isOrdered) this.order();
    if (this.accept('LIMIT') && !this.acceptKind('number') && !this.parameter()) this.refuseHere();
    return isOrdered;
  }

  private operand(): void {
    if (this.accept('(')) {
      this.query();
      this.expect(')');
    } else this.select();
  }

  private select(): void {
    this.expect('SELECT');
    if (this.accept('DISTINCT') && this.is('ON'))
      this.refuseHere(['DISTINCT ON', 'ROW_NUMBER() in a WITH, and WHERE on it']);
    do this.item();
    while (this.accept(','));
    this.expect('FROM');
    this.table();
    while (this.join());
    if (this.is(',')) this.refuseHere(['a comma between tables', 'JOIN … ON, or CROSS JOIN']);
    if (this.accept('WHERE')) this.expression();
    if (this.accept('GROUP')) this.groups();
    if (this.accept('HAVING')) this.expression();
  }

  private item(): void {
    const start = this.peek();
    const isQualified = start.kind === 'word' && this.peek(1).text === '.' && this.peek(2).text === '*';
    if (this.is('*') || isQualified) {
      const after = this.peek(isQualified ? 3 : 1).upper;
      const changed = after === 'EXCLUDE' || after === 'EXCEPT' || after === 'REPLACE' || after === 'RENAME';
      this.refuse(start, [changed ? `* ${after}` : '*', 'names of the columns']);
    }
    const { isName } = this.expression();
    if (this.accept('AS')) {
      this.name('a name of a column');
      return;
    }
    if (this.peek().kind === 'word' && !RESERVED.has(this.peek().upper) && CLAUSES[this.peek().upper] === undefined)
      this.refuseHere(['a name without AS', 'expression AS name']);
    if (!isName && CLAUSES[this.peek().upper] === undefined)
      this.refuse(start, ['a column without a name', 'expression AS name']);
  }

  private table(): void {
    if (this.accept('(')) {
      this.query();
      this.expect(')');
      if (!this.is('AS')) this.refuseHere(['a query in FROM without a name', '(SELECT …) AS name']);
    } else {
      const name = this.name('a name of a table');
      if (this.is('(')) this.refuse(this.peek(-1), ['a function in FROM', 'a table of the lake']);
      if (this.is('.')) this.refuse(this.peek(-1), ['a schema', 'the name of the table alone']);
      if (!this.defined.has(name)) this.tables.add(name);
    }
    if (this.accept('AS')) {
      this.name('a name of a table');
      if (this.is('(')) this.refuseHere(['names of columns at a table', 'AS name in a SELECT']);
    } else if (this.peek().kind === 'word' && !this.startsClause())
      this.refuseHere(['a name without AS', 'table AS name']);
  }

  private startsClause(): boolean {
    const { upper } = this.peek();
    return RESERVED.has(upper) || CLAUSES[upper] !== undefined || JOINS[upper] !== undefined;
  }

  private join(): boolean {
    const form = JOINS[this.peek().upper];
    if (form !== undefined) this.refuseHere(form);
    if (this.accept('CROSS')) {
      this.expect('JOIN');
      this.table();
      return true;
    }
    const isOuter = this.accept('LEFT') || this.accept('FULL');
    const start = this.peek();
    if (isOuter) {
      const side = JOINS[start.upper];
      if (side !== undefined) this.refuseHere(side);
      this.accept('OUTER');
    } else this.accept('INNER');
    if (!this.accept('JOIN')) {
      if (isOuter || start.upper === 'INNER') this.refuseHere();
      return false;
    }
    this.table();
    if (this.accept('USING')) {
      this.expect('(');
      do this.name('a name of a column');
      while (this.accept(','));
      this.expect(')');
      return true;
    }
    if (!this.is('ON')) this.refuseHere(['a JOIN without ON', 'JOIN … ON a.column = b.column']);
    this.expect('ON');
    do this.equality();
    while (this.accept('AND'));
    return true;
  }

  /** Other conditions than equal columns are a product of all rows in one engine, and an error in another. */
  private equality(): void {
    const start = this.peek();
    const isColumn = (): boolean => {
      if (!this.acceptKind('word')) return false;
      return !this.accept('.') || this.acceptKind('word');
    };
    if (!isColumn() || !this.accept('=') || !isColumn())
      this.refuse(start, [
        'a condition of a JOIN that is not a.column = b.column',
        'equal columns in ON, other conditions in WHERE',
      ]);
  }

  private groups(): void {
    this.expect('BY');
    do {
      const { upper } = this.peek();
      if (upper === 'ALL') this.refuseHere(['GROUP BY ALL', 'GROUP BY column, column']);
      if (['ROLLUP', 'CUBE', 'GROUPING'].includes(upper))
        this.refuseHere([`GROUP BY ${upper}`, 'a UNION ALL of queries']);
      const start = this.peek();
      if (this.expression().isWhole) this.refuse(start, ['a number in GROUP BY', 'the name of the column']);
    } while (this.accept(','));
  }

  private order(): void {
    this.expect('BY');
    do {
      const start = this.peek();
      if (this.is('ALL')) this.refuseHere(['ORDER BY ALL', 'ORDER BY column ASC NULLS LAST']);
      if (this.expression().isWhole) this.refuse(start, ['a number in ORDER BY', 'the name of the column']);
      if (!this.accept('ASC')) this.accept('DESC');
      if (!this.accept('NULLS'))
        this.refuse(start, ['ORDER BY without NULLS FIRST or NULLS LAST', 'ORDER BY column ASC NULLS LAST']);
      if (!this.accept('FIRST')) this.expect('LAST');
    } while (this.accept(','));
  }

  // ---- expressions

  private expression(): Expression {
    let first = this.conjunction();
    while (this.accept('OR')) {
      this.conjunction();
      first = PLAIN;
    }
    return first;
  }

  private conjunction(): Expression {
    let first = this.negation();
    while (this.accept('AND')) {
      this.negation();
      first = PLAIN;
    }
    return first;
  }

  private negation(): Expression {
    if (!this.accept('NOT')) return this.comparison();
    this.negation();
    return PLAIN;
  }

  private comparison(): Expression {
    const first = this.sum();
    const sign = this.peek().text;
    if (['=', '<>', '!=', '<', '<=', '>', '>='].includes(sign)) {
      this.next += 1;
      this.sum();
      return PLAIN;
    }
    if (this.accept('IS')) {
      this.accept('NOT');
      if (!this.accept('NULL')) this.refuseHere(['IS with anything but NULL', 'IS NULL, and =']);
      return PLAIN;
    }
    const isNot = this.is('NOT') && this.accept('NOT');
    const form = COMPARISONS[this.peek().upper];
    if (form !== undefined) this.refuseHere(form);
    if (this.accept('BETWEEN')) {
      this.sum();
      this.expect('AND');
      this.sum();
    } else if (this.accept('LIKE')) this.sum();
    else if (this.accept('IN')) {
      this.expect('(');
      if (this.is('SELECT') || this.is('WITH')) this.refuseHere(['a query in IN', 'a JOIN with the distinct keys']);
      this.list();
      this.expect(')');
    } else if (isNot) this.refuseHere();
    else return first;
    return PLAIN;
  }

  private sum(): Expression {
    let first = this.product();
    while (this.accept('+') || this.accept('-') || this.accept('||')) {
      this.product();
      first = PLAIN;
    }
    return first;
  }

  private product(): Expression {
    let first = this.factor();
    for (;;) {
      const at = this.peek();
      if (this.accept('/')) {
        if (!this.factor().isNullif) this.refuse(at, ['/', 'CAST(value AS DOUBLE) / NULLIF(other, 0)']);
      } else if (this.accept('*') || this.accept('%')) this.factor();
      else return first;
      first = PLAIN;
    }
  }

  private factor(): Expression {
    if (!this.accept('-')) return this.primary();
    this.factor();
    return PLAIN;
  }

  private primary(): Expression {
    const token = this.peek();
    switch (token.kind) {
      case 'number':
        if (!/^\d+$/.test(token.text))
          this.refuseHere(['a fraction', 'whole numbers, such as 15 * bytes > 10 * other']);
        this.next += 1;
        return { isName: false, isWhole: true };
      case 'text':
        if (!token.text.startsWith(`'`))
          this.refuseHere(['a name in quotes', 'a name of lower-case letters, digits and _']);
        if (/['\\]/.test(token.text.slice(1, -1)))
          this.refuseHere(['a quote or backslash in a text', 'LIKE with _ in its place']);
        this.next += 1;
        return PLAIN;
      case 'parameter':
        this.parameter();
        return PLAIN;
      case 'word':
        return this.word(token);
      default:
        if (!this.accept('(')) return this.refuseHere();
        if (this.is('SELECT') || this.is('WITH')) this.refuseHere(['a query as a value', 'a JOIN with a WITH']);
        this.expression();
        this.expect(')');
        return PLAIN;
    }
  }

  private word(token: Token): Expression {
    if (this.peek(1).text === '(' && token.upper !== 'IN') {
      if (token.upper === 'CAST') return this.cast();
      if (token.upper in FUNCTIONS) return this.call(token);
    }
    const form = STARTS[token.upper];
    const follows = this.peek(1);
    if (
      form !== undefined &&
      (follows.text === '(' || follows.kind === 'text' || follows.text === '[' || follows.text === '{')
    )
      this.refuseHere(form);
    if (follows.text === '(')
      this.refuseHere([
        `${token.upper}()`,
        KNOWN.other_functions[token.upper] ?? `one of ${Object.keys(FUNCTIONS).join(', ')}`,
      ]);
    if (this.accept('NULL') || this.accept('TRUE') || this.accept('FALSE')) return PLAIN;
    if (this.accept('CASE')) return this.cases();
    this.name('a value');
    if (!this.accept('.')) return { isName: true };
    this.name('a name of a column');
    if (this.is('.')) this.refuseHere(['a field of a column', 'a column for each field']);
    return PLAIN;
  }

  private cases(): Expression {
    if (!this.is('WHEN')) this.expression();
    while (this.accept('WHEN')) {
      this.expression();
      this.expect('THEN');
      this.expression();
    }
    if (this.accept('ELSE')) this.expression();
    this.expect('END');
    return PLAIN;
  }

  private cast(): Expression {
    this.next += 1;
    this.expect('(');
    this.castAt = this.next;
    const { sum } = this.expression();
    this.expect('AS');
    const at = this.peek();
    this.acceptKind('word');
    let type = at.upper;
    if (this.accept('(')) {
      const numbers: string[] = [];
      do {
        numbers.push(this.peek().text);
        this.acceptKind('number');
      } while (this.accept(','));
      this.expect(')');
      type += `(${numbers.join(',')})`;
    }
    if (!TYPES.has(type))
      this.refuse(at, [
        `the type ${type}`,
        KNOWN.other_types[at.upper] ?? 'STRING, BIGINT, INTEGER, DOUBLE, BOOLEAN or DECIMAL(38, 0)',
      ]);
    if (sum?.ofBytes === true && !sum.isWindow && type !== 'DECIMAL(38,0)')
      this.refuse(sum.at, ['a sum of bytes with another type than DECIMAL', 'CAST(SUM(bytes) AS DECIMAL(38, 0))']);
    this.expect(')');
    return PLAIN;
  }

  private call(token: Token): Expression {
    const name = token.upper;
    const [least, most] = FUNCTIONS[name]!;
    if (name === 'SUM' && this.castAt !== this.next)
      this.refuse(token, ['SUM() without CAST', 'CAST(SUM(value) AS DECIMAL(38, 0))']);
    this.next += 2;
    const from = this.next;
    let count = 0;
    if (name === 'COUNT' && this.accept('*')) count = 1;
    else if (!this.is(')')) {
      if (this.accept('DISTINCT') && name !== 'COUNT')
        this.refuse(token, [`${name}(DISTINCT …)`, 'a WITH of distinct rows']);
      count = this.list();
    }
    if (this.is('ORDER')) this.refuseHere(['ORDER BY in an aggregate', 'ROW_NUMBER() in a WITH, and WHERE on it']);
    const ofBytes = this.tokens
      .slice(from, this.next)
      .some(({ kind, text }) => kind === 'word' && text.endsWith('bytes'));
    this.expect(')');
    if (count < least || count > most)
      this.refuse(token, [`${name}() with ${count} arguments`, least === most ? `${least}` : `${least} to ${most}`]);
    const form = CLAUSES[this.peek().upper];
    if (form !== undefined && ['FILTER', 'WITHIN', 'IGNORE'].includes(this.peek().upper)) this.refuseHere(form);
    const isWindow = this.accept('OVER');
    if (isWindow) this.window(name);
    else if (WINDOW_ONLY.has(name)) this.refuse(token, [`${name}() without OVER`, `${name}() OVER (… ORDER BY …)`]);
    if (name !== 'SUM') return { isName: false, isNullif: name === 'NULLIF' };
    return { isName: false, sum: { at: token, ofBytes, isWindow } };
  }

  private window(name: string): void {
    if (!this.is('(')) this.refuseHere(['a named window', 'OVER (…) at each function']);
    this.expect('(');
    if (this.accept('PARTITION')) {
      this.expect('BY');
      this.list();
    }
    const isOrdered = this.accept('ORDER');
    if (isOrdered) this.order();
    const start = this.peek();
    const frame = 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW';
    if (!this.is(')')) {
      for (const word of frame.split(' '))
        if (!this.accept(word)) this.refuse(start, ['another frame of a window', frame]);
    } else if (isOrdered && AGGREGATES.has(name))
      this.refuse(start, [`${name}() OVER (ORDER BY …) without a frame`, frame]);
    if (!isOrdered && WINDOW_ONLY.has(name))
      this.refuse(start, [`${name}() OVER without ORDER BY`, 'ORDER BY in its OVER']);
    this.expect(')');
  }

  private list(): number {
    let count = 0;
    do {
      this.expression();
      count += 1;
    } while (this.accept(','));
    return count;
  }

  // ---- tokens

  private peek(ahead = 0): Token {
    return this.tokens[Math.min(this.next + ahead, this.tokens.length - 1)]!;
  }

  private is(word: string): boolean {
    const { kind, upper } = this.peek();
    return (kind === 'word' || kind === 'sign') && upper === word;
  }

  private accept(word: string): boolean {
    if (!this.is(word)) return false;
    this.next += 1;
    return true;
  }

  private acceptKind(kind: Token['kind']): boolean {
    if (this.peek().kind !== kind) return false;
    this.next += 1;
    return true;
  }

  private expect(word: string): void {
    if (!this.accept(word)) this.refuseHere(undefined, word);
  }

  private parameter(): boolean {
    const { kind, text } = this.peek();
    if (kind !== 'parameter') return false;
    this.parameters.add(text);
    this.next += 1;
    return true;
  }

  private name(what: string): string {
    const { kind, text, upper } = this.peek();
    if (kind === 'text' && !text.startsWith(`'`))
      this.refuseHere(['a name in quotes', 'a name of lower-case letters, digits and _']);
    if (kind !== 'word') this.refuseHere(undefined, what);
    if (RESERVED.has(upper)) this.refuseHere(STARTS[upper] ?? CLAUSES[upper], what);
    if (text !== text.toLowerCase()) this.refuseHere(['a name with capital letters', text.toLowerCase()]);
    this.next += 1;
    return text;
  }

  /** The next token: by the form that is given, by what is known of it, or as what it is. */
  private refuseHere(form?: Form, expected?: string): never {
    const token = this.peek();
    const { kind, text, upper } = token;
    if (form !== undefined) this.refuse(token, form);
    const known = kind === 'sign' ? SIGNS[text] : (CLAUSES[upper] ?? COMPARISONS[upper] ?? STARTS[upper]);
    if (known !== undefined) this.refuse(token, known);
    const awaited = expected === undefined ? 'what docs/lake.md lists' : expected;
    this.refuse(token, [kind === 'end' ? 'the end of the statement' : JSON.stringify(text), awaited]);
  }

  private refuse({ line }: Token, [construct, portable]: Form): never {
    const where = this.file === undefined ? {} : { file: this.file };
    throw new MbfError('MBF1014', `line ${line}: ${construct} is not in the shared SQL; write: ${portable}`, where);
  }
}
