/**
 * The elements of a list inside a large JSON document (`items` of a Kubernetes list, `jobs` of sacct, `data.result` of
 * Prometheus), one at a time and each with its place. Only brackets and quotes are tracked here; JSON.parse reads the
 * text between them.
 */
import { type ErrorCode, MbfError } from '../model/errors.js';
import type { ByteSource, RowSink } from '../model/parser.js';

const CHUNK_BYTES = 256 * 1024;
/**
 * Of one element, or of a document around its list. A pod has 10 KB, a job with its steps 100, a series of Prometheus'
 * 11,000 points 300.
 */
export const MOST_VALUE_BYTES = 16 * 1024 * 1024;
/** JSON.parse and what walks its result stay far below their stacks' limits. */
const MOST_DEPTH = 128;
const MOST_KEY_BYTES = 256;

export interface JsonPlace {
  /** 1-based line and byte offset of the value's first character. */
  readonly line: number;
  readonly offset: number;
}

export interface JsonTaker {
  /** An element of the list. */
  item(value: unknown, place: JsonPlace): void;
  /** A document without the elements that were given: its list is empty here. */
  document(value: unknown, place: JsonPlace): void;
}

/** Where a text stopped being what it ought to be. */
export interface JsonDamage extends JsonPlace {
  readonly what: string;
  /** Bytes from there to the end. */
  readonly lostBytes: number;
}

/** Notes that the rest of a text was not read. `isEmpty`: nothing was read before it, and it throws `code`. */
export function noteDamage(
  damage: JsonDamage | null,
  isEmpty: boolean,
  code: ErrorCode,
  kind: string,
  sink: Pick<RowSink, 'note'>,
): void {
  if (damage === null) return;
  const { what, line, offset, lostBytes } = damage;
  if (isEmpty) throw new MbfError(code, what, { line, offset });
  const text = `${what}; the ${lostBytes} bytes from there on were not read`;
  sink.note({ kind, severity: 'warning', text, line, offset });
}

/**
 * Reads all documents of a text, one behind the other. `paths` name lists by the keys that lead there (`items`,
 * `data.result`); the list that is a document itself is `''`.
 *
 * @returns the damage at which reading ended, or null. Everything before it was given.
 */
export async function readJsonItems(
  source: ByteSource,
  paths: readonly string[],
  taker: JsonTaker,
  progress?: (bytes: number) => void,
): Promise<JsonDamage | null> {
  const reader = new Reader(new Set(paths), taker);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = 0;
  for (;;) {
    const count = await source.read(buffer, 0);
    if (count === 0) break;
    if (reader.damage === null) reader.chunk(buffer.subarray(0, count), at);
    at += count;
    progress?.(at);
  }
  const damage = reader.damage ?? reader.end();
  return damage === null ? null : { ...damage, lostBytes: at - damage.offset };
}

class Reader {
  damage: (JsonPlace & { readonly what: string }) | null = null;
  private readonly paths: ReadonlySet<string>;
  private readonly taker: JsonTaker;
  private line = 1;
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  /** Keys that led to each open bracket, joined. */
  private readonly path: string[] = [];
  private key = '';
  private keyBytes: number[] | null = null;
  /** Depth of the list whose elements are given; 0 outside. */
  private listDepth = 0;
  /** Beginning of the value that is collected: an element, or the document where none is open. */
  private itemAt: JsonPlace | null = null;
  private documentAt: JsonPlace | null = null;
  private item: Buffer[] = [];
  private itemBytes = 0;
  private document: Buffer[] = [];
  private documentBytes = 0;

  constructor(paths: ReadonlySet<string>, taker: JsonTaker) {
    this.paths = paths;
    this.taker = taker;
  }

  chunk(bytes: Buffer, base: number): void {
    /** Where what is not yet kept begins. */
    let kept = 0;
    for (let i = 0; i < bytes.length; i += 1) {
      const byte = bytes[i]!;
      if (this.isInString) {
        if (this.isEscaped) this.isEscaped = false;
        else if (byte === 0x5c) this.isEscaped = true;
        else if (byte === 0x22) this.stringEnds();
        if (this.isInString && this.keyBytes !== null && this.keyBytes.length < MOST_KEY_BYTES)
          this.keyBytes.push(byte);
        continue;
      }
      switch (byte) {
        case 0x0a:
          this.line += 1;
          continue;
        case 0x20:
        case 0x09:
        case 0x0d:
          continue;
        case 0x22: {
          if (this.depth === 0) {
            this.damaged('a text outside any object', base + i);
            return;
          }
          this.isInString = true;
          // Only keys on the way to a list are of interest.
          this.keyBytes = this.listDepth === 0 && this.depth <= 3 ? [] : null;
          continue;
        }
        case 0x7b:
        case 0x5b: {
          if (this.depth === MOST_DEPTH) {
            this.damaged(`nested deeper than ${MOST_DEPTH}`, base + i);
            return;
          }
          if (this.depth === 0) {
            this.documentAt = { line: this.line, offset: base + i };
            kept = i;
          }
          this.path[this.depth] = this.depth === 0 ? '' : this.joined(this.path[this.depth - 1]!, this.key);
          if (this.isBetweenItems() && this.depth === this.listDepth) {
            kept = i;
            this.itemAt = { line: this.line, offset: base + i };
          }
          this.depth += 1;
          if (byte === 0x5b && this.listDepth === 0 && this.depth <= 4 && this.paths.has(this.path[this.depth - 1]!)) {
            this.listDepth = this.depth;
            this.keep(bytes, kept, i + 1);
          }
          this.key = '';
          continue;
        }
        case 0x7d:
        case 0x5d: {
          if (this.depth === 0) {
            this.damaged('a bracket that closes nothing', base + i);
            return;
          }
          this.depth -= 1;
          if (this.itemAt !== null && this.depth === this.listDepth) {
            this.keep(bytes, kept, i + 1);
            kept = i + 1;
            if (!this.give('item')) return;
          } else if (this.depth < this.listDepth) {
            this.listDepth = 0;
            kept = i;
          }
          if (this.depth === 0) {
            this.keep(bytes, kept, i + 1);
            kept = i + 1;
            if (!this.give('document')) return;
          }
          this.key = '';
          continue;
        }
        // Between documents commas are tolerated: lists that were cut out of their brackets have them.
        case 0x2c:
          continue;
        default:
          if (this.depth === 0) {
            if (base + i < 3 && byte >= 0xbb) continue; // byte order mark
            this.damaged('text outside any object', base + i);
            return;
          }
      }
    }
    if (this.depth > 0 && !this.isBetweenItems()) this.keep(bytes, kept, bytes.length);
    const most = Math.max(this.itemBytes, this.documentBytes);
    if (most > MOST_VALUE_BYTES) {
      const place = this.itemAt ?? this.documentAt!;
      this.damage = { ...place, what: `a value of more than ${MOST_VALUE_BYTES / 1024 / 1024} MiB` };
    }
  }

  /** What is wrong with a text that ends here. */
  end(): (JsonPlace & { readonly what: string }) | null {
    if (this.depth === 0) return null;
    return { ...(this.itemAt ?? this.documentAt!), what: 'it ends in the middle of a value that begins there' };
  }

  /** In the list, and in no element of it: nothing there is kept. */
  private isBetweenItems(): boolean {
    return this.listDepth > 0 && this.itemAt === null;
  }

  private joined(path: string, key: string): string {
    return path === '' ? key : `${path}.${key}`;
  }

  private stringEnds(): void {
    this.isInString = false;
    // A value overwrites the key before it; the next key overwrites the value.
    if (this.keyBytes !== null) this.key = Buffer.from(this.keyBytes).toString('utf8');
    this.keyBytes = null;
  }

  private keep(bytes: Buffer, from: number, to: number): void {
    if (to <= from) return;
    const copy = Buffer.from(bytes.subarray(from, to));
    if (this.itemAt !== null) {
      this.item.push(copy);
      this.itemBytes += copy.length;
    } else {
      this.document.push(copy);
      this.documentBytes += copy.length;
    }
  }

  /** Parses and emits the collected text; false for invalid JSON. */
  private give(what: 'item' | 'document'): boolean {
    const place = what === 'item' ? this.itemAt! : this.documentAt!;
    const text = Buffer.concat(what === 'item' ? this.item : this.document).toString('utf8');
    if (what === 'item') {
      this.itemAt = null;
      this.item = [];
      this.itemBytes = 0;
    } else {
      this.documentAt = null;
      this.document = [];
      this.documentBytes = 0;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      // The message quotes the text, which may be anything.
      const reason = error instanceof SyntaxError ? 'the text between its brackets is not valid JSON' : String(error);
      this.damage = { ...place, what: reason };
      return false;
    }
    this.taker[what](value, place);
    return true;
  }

  private damaged(what: string, offset: number): void {
    this.damage = { line: this.line, offset, what };
  }
}

/** A member of what ought to be an object; undefined for anything else. Own members only: the text may name any. */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key))
    return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

/** The same, several keys deep. */
export function memberAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(member, value);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
