/**
 * Logs inside another notation: lines of JSON, a JSON document, a table with columns of lines, a page. Their bytes are
 * turned into those of the log alone, in one pass, and each line of it knows its line of the file.
 */
import { loadData } from '../knowledge/load-data.js';
import type { ByteSource, Head } from '../model/parser.js';
import { mostAre, precededBy, readHead } from './stream-head.js';
import { CHUNK_BYTES, CR, LF, MOST_HELD, Numbers, SPACE, Unwrap } from './unwrap.js';

const DATA = loadData('inputs/log-containers') as {
  readonly names: readonly string[];
  readonly lineEnds: readonly string[];
  readonly cells: readonly string[];
  readonly unseen: readonly string[];
  readonly entities: Readonly<Record<string, string>>;
};

const NAMES = new Set(DATA.names);
const QUOTE = 34;
const AMPERSAND = 38;
const COMMA = 44;
const LESS = 60;
const GREATER = 62;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const OPEN = 123;
/** Nested deeper, nothing is taken. */
const MOST_DEPTH = 64;
const LONGEST_NAME = 64;
/** Docker's json-file driver writes a longer line as several records (moby daemon/logger/copier.go, defaultBufSize). */
const DOCKER_BYTES = 16 * 1024;
/** Of a file that is newest first, which is turned round in memory. */
const MOST_REVERSED = 64 * 1024 * 1024;

export interface Container {
  /** `lines of JSON with text in "log"`. */
  readonly what: string;
  readonly kind: 'data' | 'page';
  /** A record is a line, or a row, of the file. */
  readonly isOfRecords: boolean;
  /** The times of its records descend, so that the log is backwards. */
  readonly isNewestFirst: boolean;
  unwrap(): Unwrap;
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
const SIMPLE: Readonly<Record<string, number>> = { b: 8, f: 12, t: 9 };

/** Texts of the members of objects in a JSON text that carry lines, each as lines of its own. */
class JsonText extends Unwrap {
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
  /** Bytes of the text of a member. */
  private textBytes = 0;
  /** Blanks at the start of a line that may be of another writer. */
  private indent = 0;

  constructor(isOfLines: boolean) {
    super();
    this.isOfLines = isOfLines;
  }

  protected override lineEnd(): void {
    super.lineEnd();
    if (!this.isOfLines) return;
    if (this.state !== 'plain' && !this.isCut) this.endRecord();
    this.isCut = false;
    // Whatever was cut off, the next line begins anew.
    this.levels.length = 0;
    this.state = 'between';
    this.isKey = false;
    this.isEscaped = false;
    this.isHex = false;
    this.hex = '';
    this.high = 0;
    this.key = '';
    this.field = '';
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
        this.textBytes = 0;
        if (this.state === 'text') this.beginText();
        return;
      case OPEN:
      case OPEN_LIST: {
        const isObject = byte === OPEN;
        const isWanted = !isObject && this.isWanted(top);
        if (this.levels.length < MOST_DEPTH)
          this.levels.push({ isObject, isWanted, isPair: !isObject && top?.isObject === false, index: 0 });
        this.isKey = isObject;
        if (isObject) this.field = '';
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
          top.isWanted = NAMES.has(this.key) || (this.key === 'value' && NAMES.has(this.field));
        }
        return;
      default:
        if (byte > SPACE && !(top !== undefined && LITERALS.includes(byte))) this.isFaulty = true;
    }
  }

  /** A line of another writer between those of JSON: the traceback of an uncaught exception. */
  private aside(byte: number): void {
    if (byte === SPACE) this.indent = Math.min(this.indent + 1, MOST_HELD);
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
    this.textBytes += 1;
    if (this.state === 'text') this.text(byte);
    else if (this.captured.length < LONGEST_NAME) this.captured += String.fromCharCode(byte);
    this.last = '';
  }

  private escaped(byte: number): void {
    this.isEscaped = false;
    const letter = String.fromCharCode(byte);
    if (letter === 'u') this.isHex = true;
    else if (this.state === 'text' && (letter === 'n' || letter === 'r')) {
      // The last byte is the only line end of a record of Docker.
      this.textBytes += letter === 'n' ? Number.NEGATIVE_INFINITY : 1;
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
    this.textBytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (this.state !== 'text' || !(unit > 0)) return;
    if (unit >= 0xd800 && unit < 0xdc00) this.high = unit;
    else if (unit >= 0xdc00 && unit < 0xe000 && this.high > 0) {
      this.character(0x10000 + ((this.high - 0xd800) << 10) + (unit - 0xdc00));
      this.high = 0;
    } else if (unit < 0xd800 || unit >= 0xe000) this.character(unit);
  }

  private stringEnd(): void {
    const text = this.captured.toLowerCase();
    if (this.state === 'text') {
      this.isCut = this.key === 'log' && this.last === '' && this.textBytes >= DOCKER_BYTES;
      this.endText(this.last !== '');
    } else if (this.state === 'name') this.key = text;
    // A query of CloudWatch answers with the name and the value of each field.
    else if (this.key === 'field') this.field = text;
    this.state = 'between';
  }
}

/** The fields of the columns of a table that carry lines, each as lines of its own. */
class ColumnText extends Unwrap {
  private readonly columns: ReadonlySet<number>;
  private readonly first: number;
  private readonly delimiter: number;
  private index = 0;
  private row = 0;
  private isStart = true;
  private isQuoted = false;
  private isClosing = false;

  constructor(columns: readonly number[], delimiter: number) {
    super();
    this.columns = new Set(columns);
    this.first = columns[0]!;
    this.delimiter = delimiter;
  }

  protected override lineEnd(): void {
    if (this.isQuoted && !this.isClosing) {
      super.lineEnd();
      return;
    }
    this.hasText = this.row > 0 && this.index >= this.first;
    super.lineEnd();
    this.endRecord();
    this.row += 1;
    this.index = 0;
    this.isStart = true;
    this.isQuoted = false;
    this.isClosing = false;
  }

  protected byte(byte: number): void {
    const isOurs = this.row > 0 && this.columns.has(this.index);
    if (this.isQuoted && !this.isClosing) {
      if (byte === QUOTE) this.isClosing = true;
      else if (isOurs && byte !== CR) this.text(byte);
    } else if (this.isClosing && byte === QUOTE) {
      this.isClosing = false;
      if (isOurs) this.text(byte);
    } else if (byte === this.delimiter) {
      this.index += 1;
      this.separate();
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
  /** No text has come in this row of a table. */
  private isEmptyRow = false;

  protected override text(byte: number): void {
    this.isEmptyRow = false;
    super.text(byte);
  }

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
    // A forge shows each line of a file as a row: one without text is a blank line.
    else if (name === 'tr' && isEnd && this.isEmptyRow) this.emptyLine();
    else if (DATA.lineEnds.includes(name)) this.separate();
    else if (!isEnd && DATA.cells.includes(name)) this.blank();
    if (name === 'tr') this.isEmptyRow = !isEnd;
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

/** The notation of a file, by its first bytes. Null: it is a log as it is, or none. */
export function containerOf({ bytes, sizeBytes }: Pick<Head, 'bytes' | 'sizeBytes'>): Container | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '');
  const start = text.slice(0, 256).trimStart();
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start))
    return {
      ...{ what: 'a web page', kind: 'page', isOfRecords: false, isNewestFirst: false },
      unwrap: () => new PageText(),
    };
  const lines = text.split('\n');
  if (lines.length > 1 && bytes.length < sizeBytes) lines.pop();
  const filled = lines.filter((line) => line.trim() !== '');
  const content = /^[[{]\s*["[{\]}]/.test(start) ? jsonOf(text, filled) : columnsOf(filled);
  if (content === null) return null;
  const reader = content.unwrap();
  if (!textOf(reader, bytes).some((byte) => byte > SPACE) || reader.isFaulty) return null;
  return { ...content, kind: 'data', isNewestFirst: descends(text, filled) };
}

type Found = Pick<Container, 'what' | 'isOfRecords' | 'unwrap'>;
const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

function jsonOf(text: string, filled: readonly string[]): Found | null {
  const lower = text.toLowerCase();
  const names = DATA.names.filter((name) => lower.includes(`"${name}"`));
  if (names.length === 0) return null;
  const isOfRecords = filled.length > 1 && mostAre(filled, (line) => /^\{.*\},?$/.test(line.trim()));
  return {
    what: `${isOfRecords ? 'lines of ' : ''}JSON with text in ${list(names)}`,
    isOfRecords,
    unwrap: () => new JsonText(isOfRecords),
  };
}

const HEADER = /^"?[@_A-Za-z][\w .@/-]{0,60}"?(?:([,;\t])"?[@_A-Za-z][\w .@/-]{0,60}"?){0,60}\r?$/;

function columnsOf(filled: readonly string[]): Found | null {
  const header = filled[0] ?? '';
  // A word alone may be the first line of any text.
  const delimiter = HEADER.exec(header)?.[1];
  if (delimiter === undefined || filled.length < 2) return null;
  const names = header.trim().split(delimiter);
  const columns = names.flatMap((cell, column) => {
    const name = cell.replaceAll('"', '').toLowerCase();
    return NAMES.has(name) ? [{ name, column }] : [];
  });
  if (columns.length === 0) return null;
  const indexes = columns.map(({ column }) => column);
  return {
    what: `a table with text in ${list(columns.map(({ name }) => name))}`,
    isOfRecords: true,
    unwrap: () => new ColumnText(indexes, delimiter.charCodeAt(0)),
  };
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

/**
 * `source` as its log, the notation it is in by `notationOf`, the line of the file that has a line of the log, and
 * whether a log that was newest first was turned round.
 */
export async function unwrapSource(
  source: ByteSource,
  notationOf: (head: Pick<Head, 'bytes' | 'sizeBytes'>) => Container | null,
): Promise<{
  readonly source: ByteSource;
  readonly container: Container | null;
  readonly isReversed: boolean;
  lineOf(line: number): number;
}> {
  const head = await readHead(source);
  const fromStart = precededBy(head, source);
  const { sizeBytes = Number.POSITIVE_INFINITY } = source;
  const container = notationOf({ bytes: head, sizeBytes });
  if (container === null) return { source: fromStart, container, isReversed: false, lineOf: (line) => line };
  const reader = container.unwrap();
  const isReversed = container.isNewestFirst && container.isOfRecords && sizeBytes <= MOST_REVERSED;
  if (isReversed) return { container, isReversed, ...(await reversed(reader, fromStart)) };
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let isDone = false;
  return {
    container,
    isReversed,
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

/** The records of a log in the opposite order, each with its lines in their own. */
async function reversed(
  reader: Unwrap,
  source: ByteSource,
): Promise<{ readonly source: ByteSource; lineOf(line: number): number }> {
  const { bytes, lines } = { bytes: new Numbers(), lines: new Numbers() };
  reader.records = { bytes, lines };
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let count = await source.read(chunk, 0); count > 0; count = await source.read(chunk, 0))
    reader.take(chunk.subarray(0, count));
  // The last record may lack its line end.
  reader.take(Uint8Array.of(LF));
  const text = textOf(reader, new Uint8Array(0));
  const turned: Buffer[] = [];
  const fileLines = new Numbers();
  for (let record = bytes.length - 1; record >= 0; record -= 1) {
    turned.push(text.subarray(record === 0 ? 0 : bytes.at(record - 1), bytes.at(record)));
    const end = lines.at(record);
    for (let line = record === 0 ? 1 : lines.at(record - 1); line < end; line += 1) fileLines.push(reader.lineOf(line));
  }
  return {
    source: precededBy(Buffer.concat(turned), { sizeBytes: 0, read: () => Promise.resolve(0) }),
    lineOf: (line) => fileLines.at(Math.min(line, fileLines.length) - 1),
  };
}
