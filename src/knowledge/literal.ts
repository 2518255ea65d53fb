/**
 * Values as Python prints them and as JSON writes them, read as data: `[1, 'a', None]`, `{"a": 5.0e+08}`, `Config(k=v,
 * <E.x: 5>)`. Nothing is evaluated. Anything that is not a literal is a word. Linear in the text; deeper nesting than
 * {@link MOST_DEPTH} stays text.
 */
export type Literal =
  | { readonly kind: 'scalar'; readonly text: string; readonly isQuoted: boolean; readonly at: number }
  | { readonly kind: 'list'; readonly items: readonly Literal[]; readonly at: number }
  | { readonly kind: 'map'; readonly entries: readonly LiteralEntry[]; readonly at: number }
  | { readonly kind: 'call'; readonly name: string; readonly entries: readonly LiteralEntry[]; readonly at: number };

export interface LiteralEntry {
  /** Position for a positional argument. */
  readonly key: string;
  /** Index of the key's first character. */
  readonly at: number;
  readonly value: Literal;
}

const MOST_DEPTH = 64;
const MOST_ITEMS = 100_000;
/** Of the text of a call inside a list or map. */
const MOST_CALL = 65_536;
/** Of a key that is a collection. */
const MOST_KEY = 200;
const CLOSES: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}' };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** What is wrong with a text that ought to be a literal, with the index of the character. */
export interface LiteralFault {
  readonly what: string;
  readonly at: number;
}

class Reader {
  readonly text: string;
  at = 0;
  fault: LiteralFault | null = null;
  private items = 0;

  constructor(text: string) {
    this.text = text;
  }

  blame(what: string): void {
    this.fault ??= { what, at: this.at };
  }

  space(): void {
    const { text } = this;
    for (; this.at < text.length; this.at += 1) {
      const code = text.charCodeAt(this.at);
      if (code > 32 && code !== 0xa0 && code !== 0xfeff) return;
    }
  }

  /** `stops`: characters that end a bare word. */
  value(depth: number, stops: string): Literal {
    this.space();
    const { text, at } = this;
    const char = text[at] ?? '';
    if (depth > MOST_DEPTH) {
      this.blame(`nested deeper than ${MOST_DEPTH}`);
      this.at = text.length;
      return { kind: 'scalar', text: '…', isQuoted: true, at };
    }
    if (char === '"' || char === "'") return this.quoted(char);
    if (char === '[' || char === '(') {
      this.at += 1;
      return { kind: 'list', items: this.entries(CLOSES[char]!, depth).map((entry) => entry.value), at };
    }
    if (char === '{') {
      this.at += 1;
      return { kind: 'map', entries: this.entries('}', depth), at };
    }
    return this.word(depth, stops);
  }

  private quoted(quote: string): Literal {
    const { text, at } = this;
    let result = '';
    let from = at + 1;
    let index = from;
    for (; index < text.length && text[index] !== quote; index += 1) {
      if (text[index] !== '\\') continue;
      result += text.slice(from, index);
      index += 1;
      const escaped = text[index] ?? '';
      if (escaped === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(index + 1, index + 5))) {
        result += String.fromCharCode(Number.parseInt(text.slice(index + 1, index + 5), 16));
        index += 4;
      } else result += ESCAPES[escaped] ?? escaped;
      from = index + 1;
    }
    if (index >= text.length) this.blame('a text without its closing quote');
    result += text.slice(from, index);
    this.at = Math.min(index + 1, text.length);
    return { kind: 'scalar', text: result, isQuoted: true, at };
  }

  private word(depth: number, stops: string): Literal {
    const { text, at } = this;
    let index = at;
    // An enum member, `<AttnBackend.auto: 5>`, has separators inside.
    if (text[at] === '<') {
      // Only so far: a text of `<` alone would be searched to its end for each.
      const end = text.slice(at, at + 200).indexOf('>');
      if (end > 0) index = at + end + 1;
    }
    while (index < text.length && !stops.includes(text[index]!) && text[index] !== '(') index += 1;
    const name = text.slice(at, index).trim();
    this.at = index;
    if (text[index] === '(' && /^[A-Za-z_][\w.]{0,200}$/.test(name)) {
      this.at += 1;
      return { kind: 'call', name, entries: this.entries(')', depth), at };
    }
    if (text[index] === '(') {
      // Parentheses in prose belong to the word.
      while (index < text.length && !stops.includes(text[index]!)) index += 1;
      this.at = Math.max(index, at + 1);
      return { kind: 'scalar', text: text.slice(at, this.at).trim(), isQuoted: false, at };
    }
    if (index === at) this.at += 1;
    return { kind: 'scalar', text: name, isQuoted: false, at };
  }

  /** The content of brackets: values, `key: value`, or `key=value`. */
  private entries(close: string, depth: number): LiteralEntry[] {
    const result: LiteralEntry[] = [];
    const { text } = this;
    for (;;) {
      this.space();
      const char = text[this.at];
      if (char === undefined) {
        this.blame(`"${close}" is missing`);
        return result;
      }
      if (char === close) {
        this.at += 1;
        return result;
      }
      if (char === ',') {
        this.at += 1;
        continue;
      }
      if (this.items >= MOST_ITEMS) {
        this.blame(`more than ${MOST_ITEMS} values`);
        this.at = text.length;
        return result;
      }
      this.items += 1;
      const at = this.at;
      const first = this.value(depth + 1, close === '}' ? ',:}' : close === ')' ? ',=)' : ',]');
      const keyEnd = this.at;
      this.space();
      const separator = text[this.at];
      const isPair = (close === '}' && separator === ':') || (close === ')' && separator === '=');
      if (!isPair) {
        if (close === '}') this.blame('a key without a value');
        result.push({ key: String(result.length), at, value: first });
        if (separator !== ',' && separator !== close && separator !== undefined && this.at === at) this.at += 1;
        continue;
      }
      this.at += 1;
      const value = this.value(depth + 1, close === '}' ? ',}' : ',)');
      // A key that is a collection stays as it is written: its text form would double its quotes at every level.
      const key = first.kind === 'scalar' ? first.text : text.slice(at, Math.min(keyEnd, at + MOST_KEY)).trim();
      result.push({ key, at, value });
    }
  }
}

/** Reads one value. A text that does not begin with a bracket or a quote is one word, whatever it contains. */
export function readLiteral(text: string): Literal {
  const trimmed = text.trim();
  const scalar: Literal = { kind: 'scalar', text: trimmed, isQuoted: false, at: 0 };
  if (!/^[[({"']/.test(trimmed)) return scalar;
  const reader = new Reader(trimmed);
  const value = reader.value(0, '');
  reader.space();
  return reader.fault === null && reader.at >= trimmed.length ? value : scalar;
}

/** Reads a value that begins at `start`; `end` is the index behind it. */
export function readLiteralAt(
  text: string,
  start: number,
): { readonly value: Literal; readonly end: number; readonly fault: LiteralFault | null } {
  const reader = new Reader(text);
  reader.at = start;
  const value = reader.value(0, ',)]} \t\r\n');
  return { value, end: reader.at, fault: reader.fault };
}

const NOTHING = new Set(['None', 'null', 'NULL', 'Null', '~', '']);
const TRUE = new Set(['True', 'true', 'TRUE']);
const FALSE = new Set(['False', 'false', 'FALSE']);

/** A bare word in the one text form of values; null for None and its like. */
export function wordText(word: string): string | null {
  if (NOTHING.has(word)) return null;
  if (TRUE.has(word)) return 'True';
  if (FALSE.has(word)) return 'False';
  const member =
    /^<(?:[\w.]{1,200}\.)?(\w{1,100}): .{1,100}>$/.exec(word) ??
    /^(?:AttnBackend\.(?=[a-z])|[A-Z]\w{0,40}\.(?=[A-Z][A-Z\d_]{1,60}$))(\w{1,60})$/.exec(word);
  if (member !== null) return member[1]!;
  const dtype = /^torch\.((?:b?float|u?int|float8_|complex)\w{0,20}|half|bool|double)$/.exec(word);
  return dtype === null ? word : dtype[1]!;
}

const NUMBER = /^-?(?:\d{1,15}|\d{1,12}\.\d{1,12})$/;

function asJson(value: Literal): unknown {
  if (value.kind === 'list') return value.items.map(asJson);
  if (value.kind === 'map') return Object.fromEntries(value.entries.map((entry) => [entry.key, asJson(entry.value)]));
  // Its quotes are escaped once more in each list or map around it, which doubles the text at every level.
  if (value.kind === 'call') return literalText(value)?.slice(0, MOST_CALL);
  if (value.isQuoted) return value.text;
  const word = wordText(value.text);
  if (word === 'True' || word === 'False') return word === 'True';
  return word !== null && NUMBER.test(word) ? Number(word) : word;
}

/** The one text form of a value: scalars as {@link wordText}, lists and maps as JSON, calls as `Name(key=value)`. */
export function literalText(value: Literal): string | null {
  if (value.kind === 'scalar') return value.isQuoted ? value.text : wordText(value.text);
  if (value.kind === 'call') {
    const fields = value.entries.map((entry) => `${entry.key}=${literalText(entry.value) ?? 'None'}`);
    return `${value.name}(${fields.join(', ')})`;
  }
  return JSON.stringify(asJson(value));
}
