/**
 * Shell text taken into words, as far as settings need it: quotes, escapes, line continuations, comments, redirections,
 * here-documents, arrays, parameter expansion. Nothing is run: command substitutions stay text. Linear in the text.
 * Grammar: POSIX.1-2017 "Shell Command Language" 2.2–2.7; arrays and `$'…'` as in bash.
 */

/** A text of which every character's place in the file is known, though it was put together from several places. */
export interface MappedText {
  readonly text: string;
  /** Index in `text` and place in the source of each piece, ascending. */
  readonly pieces: readonly (readonly [index: number, at: number])[];
}

export function mapped(text: string, at: number): MappedText {
  return { text, pieces: [[0, at]] };
}

/**
 * Empty parts add no piece, and what continues in the source stays one piece: `V2=$V1`, `V3=$V2`, … would otherwise
 * each have one piece more than the one before, which is quadratic.
 */
export function joinMapped(parts: readonly MappedText[]): MappedText {
  if (parts.length === 1) return parts[0]!;
  const pieces: (readonly [number, number])[] = [];
  let length = 0;
  let shift = Number.NaN;
  for (const part of parts) {
    if (part.text === '') continue;
    for (const [index, at] of part.pieces) {
      if (at - (length + index) === shift) continue;
      shift = at - (length + index);
      pieces.push([length + index, at]);
    }
    length += part.text.length;
  }
  const text = parts.map((part) => part.text).join('');
  return { text, pieces: pieces.length > 0 ? pieces : [[0, parts[0] === undefined ? 0 : placeOf(parts[0], 0)]] };
}

/** The source position of character `index` of the text. */
export function placeOf(text: MappedText, index: number): number {
  const [start, at] = text.pieces[pieceAt(text, index)] ?? [0, 0];
  return at + (index - start);
}

/** The piece that holds character `index`. */
function pieceAt({ pieces }: MappedText, index: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pieces[middle]![0] <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function sliceMapped(text: MappedText, from: number, to: number): MappedText {
  const pieces: [number, number][] = [[0, placeOf(text, from)]];
  // A text of many pieces is cut into as many slices: looking at all pieces for each would be quadratic.
  for (let piece = pieceAt(text, from) + 1; piece < text.pieces.length; piece += 1) {
    const [index, at] = text.pieces[piece]!;
    if (index >= to) break;
    if (index > from) pieces.push([index - from, at]);
  }
  return { text: text.text.slice(from, to), pieces };
}

export type WordPart =
  | { readonly kind: 'text'; readonly value: MappedText; readonly isQuoted: boolean }
  | {
      readonly kind: 'variable';
      readonly name: string;
      /** As written, `${X:-1}`: what stays where it cannot be resolved. */
      readonly raw: MappedText;
      /** Of `${X:-default}`; null without one. */
      readonly fallback: MappedText | null;
      /** `${X[@]}` */
      readonly isArray: boolean;
      readonly isQuoted: boolean;
    }
  /** `$((expression))` */
  | { readonly kind: 'arithmetic'; readonly expression: string; readonly raw: MappedText; readonly isQuoted: boolean };

export interface ShellWord {
  readonly parts: readonly WordPart[];
  readonly at: number;
  /** Of `NAME=( … )`. */
  readonly array: readonly ShellWord[] | null;
}

/** The words up to an operator. */
export interface ShellStatement {
  readonly words: readonly ShellWord[];
  /** The operator that ends it; empty at the end of the text. */
  readonly operator: string;
  /** Index in the source from which words were left out, because there were too many; -1 if all are here. */
  readonly cutAt: number;
}

const BLANK = new Set([' ', '\t', '\r']);
const OPERATORS = new Set(['\n', ';', '&', '|', '(', ')', '<', '>']);
/** Brackets and quotes inside a substitution are followed this deep; deeper ones are taken as they come. */
const MOST_NESTED = 32;

/** Words of one statement and their parts together. The longest launch commands have a few thousand. */
export const MOST_WORDS = 100_000;

/** Statements of a shell text, one at a time: a text of 4 MiB can have two million words. */
export function shellStatements(source: MappedText): Generator<ShellStatement> {
  return new Lexer(source).statements();
}

class Lexer {
  private readonly source: MappedText;
  private readonly text: string;
  private at = 0;
  /** Words and parts of the statement so far, and where the first was left out. */
  private size = 0;
  private cutAt = -1;
  /** Bounds of the last word that was kept. */
  private wordFrom = -1;
  private wordTo = -1;
  private readonly heredocs: { readonly end: string; readonly tabs: boolean }[] = [];

  constructor(source: MappedText) {
    this.source = source;
    this.text = source.text;
  }

  *statements(): Generator<ShellStatement> {
    const { text } = this;
    let words: ShellWord[] = [];
    const ended = (operator: string): ShellStatement => {
      const statement = { words, operator, cutAt: this.cutAt };
      words = [];
      this.size = 0;
      this.cutAt = -1;
      this.wordTo = -1;
      return statement;
    };
    while (this.at < text.length) {
      const char = text[this.at]!;
      if (BLANK.has(char)) this.at += 1;
      else if (char === '\\' && this.skipsLineBreak()) continue;
      else if (char === '#') this.skipTo('\n');
      else if (char === '\n') {
        this.at += 1;
        yield ended('\n');
        this.skipHeredocs();
      } else if (char === '<' || char === '>') this.redirection(words);
      else if (OPERATORS.has(char)) {
        const double = text[this.at + 1] === char && (char === '&' || char === '|' || char === ';');
        this.at += double ? 2 : 1;
        yield ended(double ? char + char : char);
      } else {
        const from = this.at;
        this.keep(words, this.word(), from);
        this.wordFrom = from;
        this.wordTo = this.at;
      }
    }
    yield ended('');
  }

  /** Adds a word or a part, unless the statement has too many. */
  private keep<Item>(items: Item[], item: Item, from: number): void {
    if (this.size >= MOST_WORDS) {
      if (this.cutAt < 0) this.cutAt = placeOf(this.source, from);
      return;
    }
    this.size += 1;
    items.push(item);
  }

  private keepText(parts: WordPart[], from: number, to: number, isQuoted = true, at = from): void {
    this.keep(parts, { kind: 'text', value: this.slice(from, to), isQuoted }, at);
  }

  private skipTo(char: string): void {
    const end = this.text.indexOf(char, this.at);
    this.at = end < 0 ? this.text.length : end;
  }

  /** A backslash before the end of a line. */
  private skipsLineBreak(): boolean {
    const { text, at } = this;
    const length = text[at + 1] === '\n' ? 2 : text[at + 1] === '\r' && text[at + 2] === '\n' ? 3 : 0;
    this.at += length;
    return length > 0;
  }

  private slice(from: number, to: number): MappedText {
    return sliceMapped(this.source, from, to);
  }

  private word(): ShellWord {
    const { text } = this;
    const start = this.at;
    const parts: WordPart[] = [];
    let from = this.at;
    const flush = (): void => {
      if (this.at > from) this.keepText(parts, from, this.at, false);
    };
    while (this.at < text.length) {
      const char = text[this.at]!;
      if (BLANK.has(char)) break;
      if (char === '(' && this.at > start && text[this.at - 1] === '=' && parts.length === 0) {
        flush();
        this.at += 1;
        return { parts, at: placeOf(this.source, start), array: this.arrayWords() };
      }
      if (OPERATORS.has(char)) break;
      if (char === '\\') {
        flush();
        if (!this.skipsLineBreak()) {
          this.keepText(parts, this.at + 1, this.at + 2, true, this.at);
          this.at = Math.min(this.at + 2, text.length);
        }
        from = this.at;
      } else if (char === "'") {
        flush();
        from = this.at + 1;
        const end = text.indexOf("'", from);
        this.at = end < 0 ? text.length : end + 1;
        this.keepText(parts, from, end < 0 ? text.length : end);
        from = this.at;
      } else if (char === '"') {
        flush();
        this.at += 1;
        this.doubleQuoted(parts);
        from = this.at;
      } else if (char === '$' || char === '`') {
        flush();
        this.expansion(parts, false);
        from = this.at;
      } else this.at += 1;
    }
    flush();
    return { parts, at: placeOf(this.source, start), array: null };
  }

  private arrayWords(): ShellWord[] {
    const words: ShellWord[] = [];
    const { text } = this;
    while (this.at < text.length) {
      const char = text[this.at]!;
      if (char === ')') {
        this.at += 1;
        break;
      }
      if (BLANK.has(char) || char === '\n') this.at += 1;
      else if (char === '\\' && this.skipsLineBreak()) continue;
      else if (char === '#') this.skipTo('\n');
      else if (OPERATORS.has(char)) this.at += 1;
      else this.keep(words, this.word(), this.at);
    }
    return words;
  }

  /** Behind the opening quote. */
  private doubleQuoted(parts: WordPart[]): void {
    const { text } = this;
    let from = this.at;
    const flush = (): void => this.keepText(parts, from, this.at);
    while (this.at < text.length) {
      const char = text[this.at]!;
      if (char === '"') {
        flush();
        this.at += 1;
        return;
      }
      if (char === '\\') {
        flush();
        if (!this.skipsLineBreak()) {
          const isEscape = '$`"\\'.includes(text[this.at + 1] ?? '');
          this.keepText(parts, this.at + (isEscape ? 1 : 0), this.at + 2, true, this.at);
          this.at = Math.min(this.at + 2, text.length);
        }
        from = this.at;
      } else if (char === '$' || char === '`') {
        flush();
        this.expansion(parts, true);
        from = this.at;
      } else this.at += 1;
    }
    flush();
  }

  /** At `$` or a backquote. */
  private expansion(parts: WordPart[], isQuoted: boolean): void {
    const { text } = this;
    const start = this.at;
    const opaque = (): void => this.keepText(parts, start, this.at);
    if (text[start] === '`') {
      const end = text.indexOf('`', start + 1);
      this.at = end < 0 ? text.length : end + 1;
      opaque();
      return;
    }
    const next = text[start + 1] ?? '';
    if (next === "'" && !isQuoted) {
      let end = start + 2;
      while (end < text.length && text[end] !== "'") end += text[end] === '\\' ? 2 : 1;
      this.at = Math.min(end + 1, text.length);
      this.keepText(parts, start + 2, Math.min(end, text.length), true, start);
      return;
    }
    if (next === '(' || next === '{') {
      this.at = this.closing(start + 1);
      const raw = this.slice(start, this.at);
      if (raw.text.startsWith('$((') && raw.text.endsWith('))')) {
        this.keep(parts, { kind: 'arithmetic', expression: raw.text.slice(3, -2), raw, isQuoted }, start);
        return;
      }
      const match =
        next === '(' ? null : /^([A-Za-z_]\w{0,99})(\[[@*]\])?(?:(:?[-=])([\s\S]*))?$/.exec(raw.text.slice(2, -1));
      if (match === null) {
        opaque();
        return;
      }
      const [, name, array, operator, fallback] = match;
      const offset = raw.text.length - 1 - (fallback ?? '').length;
      const fallbackText = operator === undefined ? null : sliceMapped(raw, offset, raw.text.length - 1);
      const isArray = array !== undefined;
      this.keep(parts, { kind: 'variable', name: name!, raw, fallback: fallbackText, isArray, isQuoted }, start);
      return;
    }
    const name = /^[A-Za-z_]\w{0,99}/.exec(text.slice(start + 1, start + 101))?.[0];
    if (name === undefined) {
      this.at = start + (/[\d@*#?$!-]/.test(next) ? 2 : 1);
      opaque();
      return;
    }
    this.at = start + 1 + name.length;
    const raw = this.slice(start, this.at);
    this.keep(parts, { kind: 'variable', name, raw, fallback: null, isArray: false, isQuoted }, start);
  }

  /** Index behind the bracket that closes the one at `open`. */
  private closing(open: number): number {
    const { text } = this;
    const stack: string[] = [];
    for (let index = open; index < text.length; index += 1) {
      const char = text[index]!;
      if (char === '\\') index += 1;
      else if (char === "'" && !stack.includes('"')) {
        const end = text.indexOf("'", index + 1);
        index = end < 0 ? text.length : end;
      } else if (char === stack.at(-1)) {
        stack.pop();
        if (stack.length === 0) return index + 1;
      } else if (stack.length < MOST_NESTED) {
        if (char === '(') stack.push(')');
        else if (char === '{') stack.push('}');
        else if (char === '"') stack.push('"');
      }
    }
    return text.length;
  }

  private redirection(words: ShellWord[]): void {
    const { text } = this;
    // The number of a file descriptor belongs to the redirection.
    const { wordFrom, wordTo } = this;
    if (wordTo === this.at && wordTo - wordFrom === 1 && /^\d$/.test(text[wordFrom]!)) words.pop();
    const match = /^(<<-?(?!<)|<<<|[<>]\(|[<>]{1,2}[&|]?)/.exec(text.slice(this.at, this.at + 4))![0];
    if (match.endsWith('(')) {
      this.at = this.closing(this.at + 1);
      return;
    }
    this.at += match.length;
    while (BLANK.has(text[this.at] ?? '')) this.at += 1;
    if (this.at >= text.length || OPERATORS.has(text[this.at]!)) return;
    const word = this.word();
    if (match.startsWith('<<') && match !== '<<<') {
      this.heredocs.push({ end: wordText(word), tabs: match.endsWith('-') });
    }
  }

  /** Bodies of here-documents begin behind the line that opens them. */
  private skipHeredocs(): void {
    for (const { end, tabs } of this.heredocs.splice(0)) {
      while (this.at < this.text.length) {
        const from = this.at;
        this.skipTo('\n');
        const line = this.text.slice(from, this.at);
        this.at += 1;
        if ((tabs ? line.replace(/^\t{1,64}/, '') : line).trimEnd() === end) break;
      }
      this.at = Math.min(this.at, this.text.length);
    }
  }
}

/** A word without expanding anything. */
export function wordText(word: ShellWord): string {
  return word.parts.map((part) => (part.kind === 'text' ? part.value.text : part.raw.text)).join('');
}
