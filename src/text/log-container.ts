/**
 * Logs inside another notation: lines of JSON or a JSON document, a table with a column of lines, a page, a recording
 * of a terminal. Their bytes are turned into those of the log alone, in one pass, and each line of it knows its line of
 * the file.
 */
import { loadData } from '../knowledge/load-data.js';
import type { ByteSource, Head } from '../model/parser.js';
import { mostAre, precededBy, readHead } from './stream-head.js';

const DATA = loadData('inputs/log-containers') as {
  readonly names: readonly string[];
  readonly lineEnds: readonly string[];
  readonly cells: readonly string[];
  readonly unseen: readonly string[];
  readonly entities: Readonly<Record<string, string>>;
};

const LF = 10;
const CR = 13;
const BACKSPACE = 8;
const ESCAPE = 27;
const SPACE = 32;
const QUOTE = 34;
const AMPERSAND = 38;
const COMMA = 44;
const LESS = 60;
const GREATER = 62;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const OPEN = 123;
const CHUNK_BYTES = 256 * 1024;
/** Nested deeper, nothing is taken. */
const MOST_DEPTH = 64;
const LONGEST_NAME = 64;

export interface Container {
  /** `lines of JSON with the text in "log"`. */
  readonly what: string;
  readonly kind: 'data' | 'page' | 'terminal';
  /** The times of its records descend, so that the log is backwards. */
  readonly isNewestFirst: boolean;
  unwrap(): Unwrap;
}

/** From `line` of the log on, each line is `stride` lines of the file further on. */
interface Places {
  readonly line: number;
  readonly fileLine: number;
  stride: number | null;
}

/** Takes the bytes of a file and holds those of the log. */
export abstract class Unwrap {
  private out = Buffer.allocUnsafe(2 * CHUNK_BYTES);
  private filled = 0;
  private given = 0;
  private line = 1;
  private fileLine = 1;
  private readonly places: Places[] = [];
  /** The last line of the log has text. */
  private isOpen = false;
  /** Line ends before the next byte of text. */
  private breaks = 0;
  /** Bytes of the line of the file. */
  private taken = 0;
  /** The line of the file has a text, perhaps an empty one. */
  protected hasText = false;
  /** The head is not of this notation. */
  isFaulty = false;

  protected abstract byte(byte: number): void;

  take(bytes: Uint8Array): void {
    this.out.copyWithin(0, this.given, this.filled);
    this.filled -= this.given;
    this.given = 0;
    // What comes out is never longer than what went in, of which a tag or an entity may be held back.
    const need = this.filled + bytes.length + 2 * LONGEST_NAME;
    if (need > this.out.length) this.out = Buffer.concat([this.out.subarray(0, this.filled)], need);
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (byte === LF) this.lineEnd();
      else {
        this.taken += 1;
        this.byte(byte);
      }
    }
  }

  get size(): number {
    return this.filled - this.given;
  }

  give(target: Uint8Array, start: number): number {
    const count = this.out.copy(target, start, this.given, Math.min(this.filled, this.given + target.length - start));
    this.given += count;
    return count;
  }

  /** The line of the file that holds a line of the log. */
  lineOf(line: number): number {
    let low = 0;
    for (let high = this.places.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (this.places[middle]!.line <= line) low = middle;
      else high = middle - 1;
    }
    const { line: first, fileLine, stride } = this.places[low] ?? { line: 1, fileLine: 1, stride: 1 };
    return fileLine + (line - first) * (stride ?? 0);
  }

  private begin(): void {
    this.isOpen = true;
    const { line, fileLine } = this;
    const last = this.places.at(-1);
    if (last !== undefined) {
      last.stride ??= (fileLine - last.fileLine) / (line - last.line);
      if (last.fileLine + (line - last.line) * last.stride === fileLine) return;
    }
    this.places.push({ line, fileLine, stride: null });
  }

  private put(byte: number): void {
    this.out[this.filled] = byte;
    this.filled += 1;
  }

  private close(): void {
    if (!this.isOpen) this.begin();
    this.put(LF);
    this.line += 1;
    this.isOpen = false;
  }

  protected lineEnd(): void {
    // A line that had nothing to do with the log is none; one whose text is empty is a blank line.
    if (this.isOpen || this.hasText || this.taken === 0) this.close();
    this.fileLine += 1;
    this.taken = 0;
    this.breaks = 0;
    this.hasText = false;
  }

  protected text(byte: number): void {
    for (; this.breaks > 0; this.breaks -= 1) this.close();
    if (!this.isOpen) this.begin();
    this.put(byte);
  }

  protected character(code: number): void {
    if (code === LF || code === CR) this.innerEnd();
    else if (code < 0x80) this.text(code);
    else for (const byte of Buffer.from(String.fromCodePoint(code))) this.text(byte);
  }

  /** A line end in the text; the last one of a text is the end of its last line. */
  protected innerEnd(): void {
    this.breaks += 1;
  }

  /** A text that is a line, or some, of its own. */
  protected beginText(): void {
    if (this.hasText) this.breaks += 1;
    this.hasText = true;
  }

  protected endText(hasEnd: boolean): void {
    if (hasEnd) this.breaks -= 1;
  }

  protected blank(): void {
    if (this.isOpen && this.breaks === 0) this.text(SPACE);
  }

  /** What follows is another line than what the line of the file has so far. */
  protected separate(): void {
    this.breaks = Math.max(this.breaks, this.isOpen ? 1 : 0);
  }

  /** Takes the last character back. */
  protected back(): void {
    for (let isFirst = false; this.isOpen && this.breaks === 0 && !isFirst && this.filled > this.given; ) {
      const byte = this.out[this.filled - 1]!;
      if (byte === LF) return;
      isFirst = (byte & 0xc0) !== 0x80;
      this.filled -= 1;
    }
  }
}

interface Level {
  readonly isObject: boolean;
  /** Of a list: its texts are wanted. Of an object: the value of its present member is. */
  isWanted: boolean;
  /** A list in a list, whose first item is the time of the second. */
  readonly isPair: boolean;
  index: number;
}
/** Bytes of numbers, `true`, `false`, `null`, `NaN`, `Infinity`. */
const LITERALS = Buffer.from('-+.0123456789eEINaflnrstuiy');
const SIMPLE: Readonly<Record<string, number>> = { b: BACKSPACE, f: 12, t: 9 };

/** Texts of one member of the objects in a JSON text. */
class JsonText extends Unwrap {
  private readonly name: string;
  private readonly isOfLines: boolean;
  private levels: Level[] = [];
  private isKey = false;
  private state: 'between' | 'text' | 'name' | 'other' | 'plain' = 'between';
  private isEscaped = false;
  private hex = '';
  private isHex = false;
  private high = 0;
  /** Letter of the escape of a line end that came last. */
  private last = '';
  private captured = '';
  private key = '';
  private field = '';
  /** Blanks at the start of a line that may be of another writer. */
  private indent = 0;

  constructor(name: string, isOfLines: boolean) {
    super();
    this.name = name;
    this.isOfLines = isOfLines;
  }

  protected override lineEnd(): void {
    super.lineEnd();
    // Whatever was cut off, the next line begins anew.
    if (!this.isOfLines) return;
    this.levels.length = 0;
    this.state = 'between';
    this.indent = 0;
  }

  protected byte(byte: number): void {
    if (this.state === 'between') this.between(byte);
    else if (this.state === 'plain') this.text(byte);
    else if (this.isHex) this.hexDigit(byte);
    else if (this.isEscaped) this.escaped(byte);
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.stringEnd();
    else this.inString(byte);
  }

  private between(byte: number): void {
    const top = this.levels.at(-1);
    if (top === undefined && this.isOfLines && byte !== OPEN) {
      this.aside(byte);
      return;
    }
    switch (byte) {
      case QUOTE:
        if (top?.isObject === true && this.isKey) this.state = 'name';
        else this.state = this.isWanted(top) ? 'text' : 'other';
        this.captured = '';
        this.last = '';
        if (this.state === 'text') this.beginText();
        return;
      case OPEN:
      case OPEN_LIST: {
        const isObject = byte === OPEN;
        const isWanted = !isObject && this.isWanted(top);
        if (this.levels.length < MOST_DEPTH)
          this.levels.push({ isObject, isWanted, isPair: top?.isObject === false, index: 0 });
        this.isKey = isObject;
        return;
      }
      case 0x7d:
      case 0x5d:
        this.levels.pop();
        this.isKey = false;
        return;
      case COMMA:
        if (top !== undefined) top.index += 1;
        this.isKey = top?.isObject === true;
        return;
      case 0x3a:
        this.isKey = false;
        if (top?.isObject === true) {
          const isPair = this.key === 'value' && this.field === this.name;
          top.isWanted = this.key === this.name || isPair;
        }
        return;
      default:
        if (byte > SPACE && !(top !== undefined && LITERALS.includes(byte))) this.isFaulty = true;
    }
  }

  /** A line of another writer between those of JSON: the traceback of an uncaught exception. */
  private aside(byte: number): void {
    if (byte === SPACE) this.indent += 1;
    else if (byte > SPACE && byte !== COMMA) {
      for (; this.indent > 0; this.indent -= 1) this.text(SPACE);
      this.state = 'plain';
      this.text(byte);
    }
  }

  private isWanted(top: Level | undefined): boolean {
    return top?.isWanted === true && !(top.isPair && top.index === 0);
  }

  private inString(byte: number): void {
    if (this.state === 'text') this.text(byte);
    else if (this.captured.length < LONGEST_NAME) this.captured += String.fromCharCode(byte);
    this.last = '';
  }

  private escaped(byte: number): void {
    this.isEscaped = false;
    const letter = String.fromCharCode(byte);
    if (letter === 'u') this.isHex = true;
    else if (this.state === 'text' && (letter === 'n' || letter === 'r')) {
      if (letter === 'r' || this.last !== 'r') this.innerEnd();
      this.last = letter;
    } else this.inString(SIMPLE[letter] ?? byte);
  }

  private hexDigit(byte: number): void {
    this.hex += String.fromCharCode(byte);
    if (this.hex.length < 4) return;
    const unit = Number.parseInt(this.hex, 16);
    this.hex = '';
    this.isHex = false;
    if (this.state !== 'text' || !(unit > 0)) return;
    if (unit >= 0xd800 && unit < 0xdc00) this.high = unit;
    else if (unit >= 0xdc00 && unit < 0xe000 && this.high > 0) {
      this.character(0x10000 + ((this.high - 0xd800) << 10) + (unit - 0xdc00));
      this.high = 0;
    } else if (unit < 0xd800 || unit >= 0xe000) this.character(unit);
  }

  private stringEnd(): void {
    const text = this.captured.toLowerCase();
    if (this.state === 'text') this.endText(this.last !== '');
    else if (this.state === 'name') this.key = text;
    // A query of CloudWatch answers with the name and the value of each field.
    else if (this.key === 'field') this.field = text;
    this.state = 'between';
  }
}

/** The fields of one column of a table. */
class ColumnText extends Unwrap {
  private readonly column: number;
  private readonly delimiter: number;
  private index = 0;
  private row = 0;
  private isStart = true;
  private isQuoted = false;
  private isClosing = false;

  constructor(column: number, delimiter: number) {
    super();
    this.column = column;
    this.delimiter = delimiter;
  }

  protected override lineEnd(): void {
    if (this.isQuoted && !this.isClosing) {
      super.lineEnd();
      return;
    }
    this.hasText = this.row > 0 && this.index >= this.column;
    super.lineEnd();
    this.row += 1;
    this.index = 0;
    this.isStart = true;
    this.isQuoted = false;
    this.isClosing = false;
  }

  protected byte(byte: number): void {
    const isOurs = this.index === this.column && this.row > 0;
    if (this.isQuoted && !this.isClosing) {
      if (byte === QUOTE) this.isClosing = true;
      else if (isOurs && byte !== CR) this.text(byte);
    } else if (this.isClosing && byte === QUOTE) {
      this.isClosing = false;
      if (isOurs) this.text(byte);
    } else if (byte === this.delimiter) {
      this.index += 1;
      this.isStart = true;
      this.isQuoted = false;
      this.isClosing = false;
    } else if (this.isStart && byte === QUOTE) {
      this.isQuoted = true;
      this.isStart = false;
    } else {
      this.isStart = false;
      if (isOurs && byte !== CR) this.text(byte);
    }
  }
}

/** What a reader of a page sees. */
class PageText extends Unwrap {
  private state: 'text' | 'open' | 'tag' | 'comment' | 'entity' = 'text';
  private name = '';
  private quote = 0;
  /** Element whose content is not seen. */
  private unseen = '';

  protected byte(byte: number): void {
    switch (this.state) {
      case 'text':
        if (byte === LESS) {
          this.state = 'open';
          this.name = '';
        } else if (this.unseen !== '') return;
        else if (byte === AMPERSAND) {
          this.state = 'entity';
          this.name = '';
        } else if (byte !== CR) this.text(byte);
        return;
      case 'open':
        this.tagName(byte);
        return;
      case 'comment':
        this.name = (this.name + String.fromCharCode(byte)).slice(-3);
        if (this.name === '-->') this.state = 'text';
        return;
      case 'tag':
        if (this.quote !== 0) {
          if (byte === this.quote) this.quote = 0;
        } else if (byte === QUOTE || byte === 39) this.quote = byte;
        else if (byte === GREATER) this.tag();
        return;
      default:
        this.entity(byte);
    }
  }

  protected override lineEnd(): void {
    if (this.state === 'entity') this.literally('&');
    else if (this.state === 'open') this.tagName(LF);
    super.lineEnd();
  }

  /** What was taken for more than text. */
  private literally(start: string): void {
    this.state = 'text';
    if (this.unseen === '') for (const byte of Buffer.from(start + this.name, 'latin1')) this.text(byte);
  }

  private tagName(byte: number): void {
    const isName = /[\w!/-]/.test(String.fromCharCode(byte)) && this.name.length < LONGEST_NAME;
    if (isName) this.name += String.fromCharCode(byte).toLowerCase();
    if (this.name === '!--') {
      this.state = 'comment';
      return;
    }
    if (this.unseen !== '' && !`/${this.unseen}`.startsWith(this.name)) {
      this.state = 'text';
      return;
    }
    if (isName) return;
    if (!/^[/!]?[a-z]/.test(this.name)) {
      this.literally('<');
      if (byte !== LF) this.byte(byte);
    } else {
      this.quote = 0;
      this.state = 'tag';
      if (byte === GREATER) this.tag();
    }
  }

  private tag(): void {
    this.state = 'text';
    const isEnd = this.name.startsWith('/');
    const name = isEnd ? this.name.slice(1) : this.name.replace(/\/$/, '');
    if (this.unseen !== '') {
      if (isEnd && name === this.unseen) this.unseen = '';
    } else if (DATA.unseen.includes(name)) this.unseen = isEnd ? '' : name;
    else if (name === 'br') this.innerEnd();
    else if (DATA.lineEnds.includes(name)) this.separate();
    else if (!isEnd && DATA.cells.includes(name)) this.blank();
  }

  private entity(byte: number): void {
    const character = String.fromCharCode(byte);
    if (character === ';') {
      const number = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(this.name);
      const code =
        number === null
          ? DATA.entities[this.name]?.codePointAt(0)
          : Number.parseInt(number[1] ?? number[2]!, number[1] === undefined ? 10 : 16);
      this.name += ';';
      if (code === undefined || !(code > 0 && code < 0x110000)) this.literally('&');
      else {
        this.state = 'text';
        // A blank that does not break a line is a blank.
        this.character(code === 0xa0 ? SPACE : code);
      }
    } else if (/[\w#]/.test(character) && this.name.length < 10) this.name += character;
    else {
      this.literally('&');
      this.byte(byte);
    }
  }
}

/** What a terminal shows: without escape codes, and characters that were typed over. */
class TerminalText extends Unwrap {
  /** Behind an escape: not yet known, a control sequence, a text for the terminal, the rest of another. */
  private state: 'text' | 'escape' | 'control' | 'string' | 'other' = 'text';
  private length = 0;

  protected byte(byte: number): void {
    this.length += 1;
    switch (this.state) {
      case 'text':
        if (byte === ESCAPE) this.enter('escape');
        else if (byte === BACKSPACE) this.back();
        else if (byte === CR) this.separate();
        else if (byte !== 7) this.text(byte);
        return;
      case 'escape':
        if (byte === OPEN_LIST) this.enter('control');
        else if (byte === 0x5d || byte === 0x50) this.enter('string');
        else if (byte < 0x30) this.enter('other');
        else this.state = 'text';
        return;
      case 'string':
        if (byte === 7 || this.length > 512) this.state = 'text';
        else if (byte === ESCAPE) this.enter('escape');
        return;
      default:
        // Parameters, then a final byte.
        if (byte >= (this.state === 'control' ? 0x40 : 0x30) || this.length > LONGEST_NAME) this.state = 'text';
    }
  }

  private enter(state: TerminalText['state']): void {
    this.state = state;
    this.length = 0;
  }

  protected override lineEnd(): void {
    this.state = 'text';
    super.lineEnd();
  }
}

/** The notation of a file, by its first bytes. Null: it is a log as it is, or none. */
export function containerOf({ bytes, sizeBytes }: Pick<Head, 'bytes' | 'sizeBytes'>): Container | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '');
  const start = text.slice(0, 256).trimStart();
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start))
    return { what: 'a web page', kind: 'page', isNewestFirst: false, unwrap: () => new PageText() };
  const lines = text.split('\n');
  if (lines.length > 1 && bytes.length < sizeBytes) lines.pop();
  const filled = lines.filter((line) => line.trim() !== '');
  const content = /^[[{]\s*["[{\]}]/.test(start) ? jsonOf(bytes, text, filled) : columnOf(bytes, filled);
  if (content !== null) return { ...content, kind: 'data', isNewestFirst: descends(text, filled) };
  if (!text.includes('\x1b') && !text.includes('\b')) return null;
  return {
    what: 'text with codes of a terminal',
    kind: 'terminal',
    isNewestFirst: false,
    unwrap: () => new TerminalText(),
  };
}

type Found = Pick<Container, 'what' | 'unwrap'>;

function jsonOf(bytes: Uint8Array, text: string, filled: readonly string[]): Found | null {
  const isOfLines = filled.length > 1 && mostAre(filled, (line) => /^\{.*\},?$/.test(line.trim()));
  const lower = text.toLowerCase();
  const names = DATA.names.filter((name) => lower.includes(`"${name}"`));
  const made = (name: string) => ({
    what: `${isOfLines ? 'lines of ' : ''}JSON with text in "${name}"`,
    unwrap: () => new JsonText(name, isOfLines),
  });
  return longest(bytes, names.map(made));
}

const HEADER = /^"?[@_A-Za-z][\w .@/-]{0,60}"?(?:([,;\t])"?[@_A-Za-z][\w .@/-]{0,60}"?){0,60}\r?$/;

function columnOf(bytes: Uint8Array, filled: readonly string[]): Found | null {
  const header = filled[0];
  if (header === undefined || filled.length < 2) return null;
  const [, delimiter = ','] = HEADER.exec(header) ?? [];
  if (!HEADER.test(header)) return null;
  const columns = header
    .trim()
    .split(delimiter)
    .map((cell) => cell.replaceAll('"', '').toLowerCase());
  // A word alone may be the first line of any text.
  if (columns.length < 2) return null;
  const made = columns.flatMap((name, column) =>
    DATA.names.includes(name)
      ? [{ what: `a table with the column "${name}"`, unwrap: () => new ColumnText(column, delimiter.charCodeAt(0)) }]
      : [],
  );
  return longest(bytes, made);
}

/** The one with most text in the head. */
function longest(bytes: Uint8Array, all: readonly Found[]): Found | null {
  let best: Found | null = null;
  let most = 0;
  for (const reading of all) {
    const reader = reading.unwrap();
    const text = textOf(reader, bytes).filter((byte) => byte > SPACE).length;
    if (reader.isFaulty || text <= most) continue;
    best = reading;
    most = text;
  }
  return best;
}

function textOf(reader: Unwrap, bytes: Uint8Array): Buffer {
  reader.take(bytes);
  const text = Buffer.allocUnsafe(reader.size);
  reader.give(text, 0);
  return text;
}

/** The head of a file as the head of its log. */
export const unwrapHead = (container: Container, bytes: Uint8Array): Buffer => textOf(container.unwrap(), bytes);

const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|(?<!\d)1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?!\d)/;
const LEAST_TIMES = 3;

/** Whether the first times of the records descend, each of them. */
function descends(text: string, filled: readonly string[]): boolean {
  const records = filled.length > LEAST_TIMES ? filled : text.split(/(?<=[\]}]),/);
  const times = records.flatMap((record) => TIME.exec(record)?.[0] ?? []);
  const different = times.filter((time, index) => time !== times[index - 1]);
  return (
    different.length >= LEAST_TIMES && different.every((time, index) => index === 0 || time < different[index - 1]!)
  );
}

/** `source` as its log, the notation it was in, and the line of the file that has a line of the log. */
export async function unwrapSource(
  source: ByteSource,
): Promise<{ readonly source: ByteSource; readonly container: Container | null; lineOf(line: number): number }> {
  const head = await readHead(source);
  const fromStart = precededBy(head, source);
  const container = containerOf({ bytes: head, sizeBytes: source.sizeBytes ?? Number.POSITIVE_INFINITY });
  if (container === null) return { source: fromStart, container, lineOf: (line) => line };
  const reader = container.unwrap();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let isDone = false;
  return {
    container,
    lineOf: (line) => reader.lineOf(line),
    source: {
      sizeBytes: undefined,
      async read(target, start) {
        while (reader.size === 0 && !isDone) {
          const count = await fromStart.read(chunk, 0);
          isDone = count === 0;
          reader.take(chunk.subarray(0, count));
        }
        return reader.give(target, start);
      },
    },
  };
}
