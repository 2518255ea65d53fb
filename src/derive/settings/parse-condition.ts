/**
 * The notation of conditions in data files, parsed to the conditions of `condition.ts`:
 *
 *     cpu_offloading and pipeline_model_parallel_size > 1      a setting is on; a number is larger
 *     cuda_graph_impl = local|transformer_engine               one of several values (`≠`: none of them)
 *     x off   x set   x not set   x empty   x has a|b   x has other than a|b
 *     NCCL_X ≠ 0   NCCL_X not set   NCCL_X = unset|0   NCCL_X has part     a variable of the environment
 *     torch < 2.9   megatron_core ≥ 0.14   capability < 10   framework = nemo
 *     {seq_length % (2 · context_parallel_size) ≠ 0}           arithmetic; `key?1`: 1 where the key is None
 *     {b, a: a % b ≠ 0}                                        the same, with the order of the facts reported
 *     explicit(key)   known(condition)   not_known(condition)      terms: `terms.ts` and `knowledge/terms.yaml`
 *     {…} as 'text for people'
 *
 * `not` binds more tightly than `and`, and `and` more tightly than `or`. `!=`, `>=`, `<=`, `*` and `-` may be written
 * for `≠`, `≥`, `≤`, `·` and `−`.
 */
import { VERSION_NAMES, type VersionName } from '../../model/results/log.js';
import * as c from './condition.js';
import { asList, asNumber, isOn, plainWord } from './values.js';

type Condition = c.Condition;

/** A named condition; the arguments are what its brackets hold, `a` or `a|b`. */
export type Term = (...args: readonly string[]) => Condition;

export interface ConditionContext {
  /** For messages: file and rule. */
  readonly place: string;
  /** Named conditions. Undefined: no such term. */
  readonly term: (name: string) => Term | undefined;
  /** Whether a name is that of a setting. Without it every name is taken for one. */
  readonly isSetting?: ((name: string) => boolean) | undefined;
}

interface Token {
  readonly kind: 'word' | 'quoted' | 'sign' | 'end';
  readonly text: string;
  /** From 1. */
  readonly column: number;
}

const TOKEN = /\s*(?:'([^']*)'|(-?[\w.]+(?:[:-][\w.]+)*)|(!=|<=|>=|[(){},|?:<>≤≥=≠·*/%+−-]))/y;
const SYNONYMS: Readonly<Record<string, string>> = { '!=': '≠', '<=': '≤', '>=': '≥', '*': '·', '-': '−' };
const ENV = /^[A-Z][A-Z0-9_]+$/;

type Row = ReadonlyMap<string, number>;
type Keys = Map<string, number | undefined>;
type Figure = (row: Row) => number | boolean;

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number | boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '≤': (a, b) => a <= b,
  '≥': (a, b) => a >= b,
  '=': (a, b) => a === b,
  '≠': (a, b) => a !== b,
  '+': (a, b) => a + b,
  '−': (a, b) => a - b,
  '·': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};
/** Binary operations, from the loosest. */
const LEVELS = [
  ['<', '>', '≤', '≥', '=', '≠'],
  ['+', '−'],
  ['·', '/', '%'],
] as const;

/** Throws an `Error` that names the place, the column and what was expected. */
export function parseCondition(text: string, context: ConditionContext): Condition {
  return new Parser(text, context).whole();
}

class Parser {
  private readonly text: string;
  private readonly context: ConditionContext;
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(text: string, context: ConditionContext) {
    this.text = text;
    this.context = context;
    this.tokens = this.split();
  }

  whole(): Condition {
    const condition = this.or();
    if (this.next.kind !== 'end') this.fail('and, or');
    return condition;
  }

  private split(): Token[] {
    const tokens: Token[] = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < this.text.trimEnd().length) {
      const start = TOKEN.lastIndex;
      const [whole, quoted, word, sign] = TOKEN.exec(this.text) ?? [];
      if (whole === undefined) this.failAt(start + 1, 'a name, a value or a sign', this.text.slice(start).trim());
      const column = start + whole.length - whole.trimStart().length + 1;
      if (quoted !== undefined) tokens.push({ kind: 'quoted', text: quoted, column });
      else if (word !== undefined) tokens.push({ kind: 'word', text: word, column });
      else tokens.push({ kind: 'sign', text: SYNONYMS[sign!] ?? sign!, column });
    }
    return [...tokens, { kind: 'end', text: '', column: this.text.length + 1 }];
  }

  private get next(): Token {
    return this.tokens[this.at]!;
  }

  private failAt(column: number, expected: string, found: string): never {
    throw new Error(
      `${this.context.place}, column ${column}: expected ${expected}, found "${found}" in "${this.text}"`,
    );
  }

  private fail(expected: string, { column, text }: Token = this.next): never {
    return this.failAt(column, expected, text);
  }

  /** Takes these words or signs if they are next. */
  private takes(...texts: readonly string[]): boolean {
    const isNext = texts.every((text, ahead) => {
      const token = this.tokens[this.at + ahead];
      return token?.text === text && token.kind !== 'quoted';
    });
    if (isNext) this.at += texts.length;
    return isNext;
  }

  private needs(text: string): void {
    if (!this.takes(text)) this.fail(text);
  }

  private word(expected: string): string {
    if (this.next.kind !== 'word' && this.next.kind !== 'quoted') this.fail(expected);
    return this.tokens[this.at++]!.text;
  }

  private list(separator: string, expected: string): string[] {
    const words = [this.word(expected)];
    while (this.takes(separator)) words.push(this.word(expected));
    return words;
  }

  private number(): number {
    const token = this.next;
    return asNumber(this.word('a number')) ?? this.fail('a number', token);
  }

  private joined(word: string, part: () => Condition, join: (...parts: readonly Condition[]) => Condition): Condition {
    const parts = [part()];
    while (this.takes(word)) parts.push(part());
    return parts.length === 1 ? parts[0]! : join(...parts);
  }

  private or(): Condition {
    return this.joined('or', () => this.and(), c.any);
  }

  private and(): Condition {
    return this.joined('and', () => this.negated(), c.all);
  }

  private negated(): Condition {
    if (this.takes('not')) return c.not(this.negated());
    const condition = this.primary();
    return this.takes('as') ? { ...c.oneClause(condition), text: this.word('a text in quotes') } : condition;
  }

  private primary(): Condition {
    if (this.takes('(')) return this.closed(')', this.or());
    if (this.takes('{')) return this.closed('}', this.arithmetic());
    const token = this.next;
    const name = this.word('a condition');
    if (this.takes('(')) return this.closed(')', this.term(token));
    const term = this.context.term(name);
    if (term !== undefined) return term();
    if (name === 'capability') return this.capability();
    if (name === 'framework') return this.framework();
    if (ENV.test(name)) return this.variable(name);
    if ((VERSION_NAMES as readonly string[]).includes(name)) return this.version(name as VersionName);
    return this.setting(this.known(token));
  }

  private closed(bracket: string, condition: Condition): Condition {
    this.needs(bracket);
    return condition;
  }

  /** After the name and the bracket. */
  private term(token: Token): Condition {
    if (token.text === 'known') return c.known(this.or());
    if (token.text === 'not_known') return c.notKnown(this.or());
    const term = this.context.term(token.text) ?? this.fail('a term', token);
    const args = [this.list('|', 'an argument').join('|')];
    while (this.takes(',')) args.push(this.list('|', 'an argument').join('|'));
    return term(...args);
  }

  private known(token: Token): string {
    if (this.context.isSetting?.(token.text) === false) this.fail('a setting, a variable or a term', token);
    return token.text;
  }

  /** Of the device: 9 is Hopper, 10 Blackwell. */
  private capability(): Condition {
    this.needs('<');
    const limit = this.number();
    return c.where(`compute capability < ${limit}`, (view) => {
      const { capability } = view.facts.device;
      return [capability === null ? null : capability < limit, view.device()];
    });
  }

  private framework(): Condition {
    this.needs('=');
    const names = this.list('|', 'a framework');
    return c.where(names.join(' or '), (view) => {
      const fact = view.framework();
      return [fact.value === null ? null : names.includes(fact.value), fact];
    });
  }

  private variable(name: string): Condition {
    const is = (words: string, test: (value: string | null) => boolean): Condition =>
      c.onVariable(name, `${name} ${words}`, test);
    const values = (): (string | null)[] =>
      this.list('|', 'a value').map((value) => (value === 'unset' ? null : value));
    if (this.takes('not', 'set')) return is('not set', (value) => value === null);
    if (this.takes('set')) return is('set', (value) => value !== null);
    if (this.takes('=')) {
      const expected = values();
      const words = expected.map((value) => (value === null ? 'not set' : `= ${value}`)).join(' or ');
      return is(words, (value) => expected.includes(value));
    }
    if (this.takes('≠')) {
      const unwanted = values();
      const words = unwanted.map((value) => value ?? 'not set').join(', ');
      return is(`≠ ${words}`, (value) => !unwanted.includes(value));
    }
    this.needs('has');
    const part = this.word('a text');
    return is(`has ${part}`, (value) => value?.includes(part) === true);
  }

  private version(name: VersionName): Condition {
    if (this.takes('<')) return c.before(name, this.word('a version'));
    this.needs('≥');
    return c.since(name, this.word('a version'));
  }

  /** Values are compared without case, `null` means None. Neither None nor a word is above or below a number. */
  private setting(key: string): Condition {
    const is = (words: string, test: (value: string | null) => boolean): Condition =>
      c.onSetting(key, `${key} ${words}`, ({ value }) => test(value));
    const listed = (words: string, test: (items: readonly string[]) => boolean): Condition =>
      is(words, (value) => {
        const items = asList(value);
        return items !== null && test(items);
      });
    if (this.takes('off')) return is('off', (value) => !isOn(value));
    if (this.takes('set')) return is('set', (value) => value !== null);
    if (this.takes('not', 'set')) return is('not set', (value) => value === null);
    if (this.takes('empty')) return listed('empty', (items) => items.length === 0);
    for (const sign of ['=', '≠']) {
      if (!this.takes(sign)) continue;
      const values = this.list('|', 'a value');
      const expected = values.map(plainWord);
      const words = values.join(sign === '=' ? ' or ' : ', ');
      return is(`${sign} ${words}`, (value) => expected.includes(plainWord(value)) === (sign === '='));
    }
    for (const sign of ['>', '<']) {
      if (!this.takes(sign)) continue;
      const limit = this.number();
      return is(`${sign} ${limit}`, (value) => {
        const number = asNumber(value);
        return number !== null && OPERATIONS[sign]!(number, limit) === true;
      });
    }
    if (this.takes('has', 'other', 'than')) {
      const words = this.list('|', 'a word');
      return listed(`has others than ${words.join(', ')}`, (items) => items.some((item) => !words.includes(item)));
    }
    if (this.takes('has')) {
      const words = this.list('|', 'a word');
      return listed(`has ${words.join(' or ')}`, (items) => items.some((item) => words.includes(item)));
    }
    return c.onSetting(key, key, ({ value }) => isOn(value));
  }

  /** After the brace. */
  private arithmetic(): Condition {
    const start = this.at;
    const keys: Keys = new Map();
    do this.figure(keys);
    while (this.takes(','));
    if (!this.takes(':')) {
      this.at = start;
      keys.clear();
    }
    const first = this.next.column;
    const test = this.logical(keys);
    const text = this.text.slice(first - 1, this.next.column - 1).trimEnd();
    return c.arithmetic(text, keys, (row) => test(row) === true);
  }

  /** `a < b and c = d or …`; the keys are noted in the order in which they appear. */
  private logical(keys: Keys): Figure {
    const conjunction = (): Figure => {
      const parts = [this.binary(keys, 0)];
      while (this.takes('and')) parts.push(this.binary(keys, 0));
      return parts.length === 1 ? parts[0]! : (row) => parts.every((part) => part(row) === true);
    };
    const parts = [conjunction()];
    while (this.takes('or')) parts.push(conjunction());
    return parts.length === 1 ? parts[0]! : (row) => parts.some((part) => part(row) === true);
  }

  private binary(keys: Keys, level: number): Figure {
    const signs = LEVELS[level];
    if (signs === undefined) return this.figure(keys);
    let left = this.binary(keys, level + 1);
    for (;;) {
      const sign = signs.find((one) => this.takes(one));
      if (sign === undefined) return left;
      const [a, b, operation] = [left, this.binary(keys, level + 1), OPERATIONS[sign]!];
      left = (row) => operation(Number(a(row)), Number(b(row)));
    }
  }

  private figure(keys: Keys): Figure {
    if (this.takes('(')) {
      const inside = this.logical(keys);
      this.needs(')');
      return inside;
    }
    const token = this.next;
    const word = this.word('a setting or a number');
    const number = asNumber(word);
    if (number !== null) return () => number;
    if (word === 'ceil') {
      const inside = this.figure(keys);
      return (row) => Math.ceil(Number(inside(row)));
    }
    const key = this.known(token);
    if (this.takes('?')) keys.set(key, this.number());
    else if (!keys.has(key)) keys.set(key, undefined);
    return (row) => row.get(key)!;
  }
}
