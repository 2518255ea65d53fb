/**
 * YAML as configurations mostly have it: block mappings and lists, scalars of one line, lists of scalars in brackets.
 * The result is that of `parsers/config/yaml.ts`, or null for any text it does not fully understand (anchors, tags,
 * texts over several lines, keys in quotes or set twice, tabs, damage), which the library then reads. The library takes
 * a third of the time in which one configuration is read and judged.
 */
import type { Literal, LiteralEntry } from '../knowledge/literal.js';
import { MIB } from '../model/units.js';

/** An irregularity that does not prevent reading. */
export interface TreeNote {
  readonly kind: string;
  readonly text: string;
  readonly at: number;
}

export interface Trees {
  readonly trees: readonly Literal[];
  readonly notes: readonly TreeNote[];
}

interface Line {
  readonly indent: number;
  /** Index of the first character after the indentation, and the text from there. */
  readonly at: number;
  readonly text: string;
}

/** What is deeper or longer is for the library to judge. */
const MOST_DEPTH = 50;
const MOST_CHARS = 4 * MIB;

const KEY = /^([A-Za-z_][\w./-]*):(?: +([^ ].*|))?$/;
/** What may follow a value. */
const COMMENT = ' *(?: #.*)?$';
const DOUBLE = new RegExp(`^"([^"\\\\]*)"${COMMENT}`);
const SINGLE = new RegExp(`^'([^']*)'${COMMENT}`);
const EMPTY = new RegExp(`^(?:\\[ *\\]|\\{ *\\})${COMMENT}`);
const COMMENT_ONLY = new RegExp(`^${COMMENT}`);
/** The first character is not an indicator. */
const PLAIN = /^(?:-?[A-Za-z0-9_./~]|[+($<=^;\\])/;
const ITEM = / *(?:"([^"\\]*)"|'([^']*)'|(-?[A-Za-z0-9_./][\w./+-]*(?: [\w./+][\w./+-]*)*)) *([,\]])/y;

export function readPlainYaml(text: string): Trees | null {
  const lines = text.length > MOST_CHARS ? null : linesOf(text);
  if (lines === null || lines.length === 0 || lines[0]!.indent !== 0) return null;
  const reader = new Reader(text, lines);
  const tree = reader.block(0, 0);
  return tree === null || !reader.isDone ? null : { trees: [tree], notes: [] };
}

/**
 * Lines other than blank ones and comments. Null if the text contains a character that may shift columns (a tab, a
 * control character, …).
 */
function linesOf(text: string): Line[] | null {
  if (/[^\n\u0020-\u007e\u00a0-\u2027\u2030-\ud7ff]/.test(text)) return null;
  const lines: Line[] = [];
  let isStarted = false;
  for (let from = 0; from < text.length; ) {
    const feed = text.indexOf('\n', from);
    const end = feed < 0 ? text.length : feed;
    let at = from;
    while (at < end && text.charCodeAt(at) === 32) at += 1;
    const line = text.slice(at, end).trimEnd();
    const indent = at - from;
    from = end + 1;
    if (line === '' || line.startsWith('#')) continue;
    if (indent === 0 && /^(?:---|\.\.\.|%)/.test(line)) {
      if (isStarted || line !== '---') return null;
      isStarted = true;
      continue;
    }
    isStarted = true;
    lines.push({ indent, at, text: line });
  }
  return lines;
}

const isItem = (line: Line): boolean => line.text.startsWith('- ');

class Reader {
  private readonly source: string;
  private readonly lines: Line[];
  private next = 0;

  constructor(source: string, lines: Line[]) {
    this.source = source;
    this.lines = lines;
  }

  get isDone(): boolean {
    return this.next === this.lines.length;
  }

  block(indent: number, depth: number): Literal | null {
    if (depth > MOST_DEPTH) return null;
    return isItem(this.lines[this.next]!) ? this.list(indent, depth) : this.map(indent, depth);
  }

  private map(indent: number, depth: number): Literal | null {
    const entries: LiteralEntry[] = [];
    const keys = new Set<string>();
    const { at } = this.lines[this.next]!;
    for (let line = this.lines[this.next]; line !== undefined && line.indent >= indent; line = this.lines[this.next]) {
      const match = line.indent === indent ? KEY.exec(line.text) : null;
      if (match === null) return null;
      const key = match[1]!;
      const valueText = match[2] ?? '';
      if (keys.has(key)) return null;
      keys.add(key);
      const value =
        valueText === '' || valueText.startsWith('#')
          ? this.below(indent, depth, line.at + key.length + 1)
          : this.inline(valueText, line.at + line.text.length - valueText.length, indent);
      if (value === null) return null;
      entries.push({ key, at: line.at, value });
    }
    return { kind: 'map', entries, at };
  }

  /** The value below a key: a deeper block, a list at the indent of the key, or null. */
  private below(indent: number, depth: number, at: number): Literal | null {
    this.next += 1;
    const line = this.lines[this.next];
    if (line !== undefined && line.indent > indent) return this.block(line.indent, depth + 1);
    if (line !== undefined && line.indent === indent && isItem(line)) return this.list(indent, depth + 1);
    // The library's place for it: where a value would begin.
    let from = at;
    while (this.source[from] === ' ') from += 1;
    return { kind: 'scalar', text: '', isQuoted: false, at: from };
  }

  private list(indent: number, depth: number): Literal | null {
    if (depth > MOST_DEPTH) return null;
    const items: Literal[] = [];
    const { at } = this.lines[this.next]!;
    for (let line = this.lines[this.next]; line !== undefined && line.indent >= indent; line = this.lines[this.next]) {
      if (line.indent > indent) return null;
      // The next key; the list was at the same indent.
      if (!isItem(line)) break;
      const itemText = line.text.slice(2).trimStart();
      const inset = line.text.length - itemText.length;
      let item: Literal | null;
      if (KEY.test(itemText)) {
        this.lines[this.next] = { indent: indent + inset, at: line.at + inset, text: itemText };
        item = this.map(indent + inset, depth + 1);
      } else item = this.inline(itemText, line.at + inset, indent);
      if (item === null) return null;
      items.push(item);
    }
    return { kind: 'list', items, at };
  }

  /** A value that ends with its line. */
  private inline(rest: string, at: number, indent: number): Literal | null {
    this.next += 1;
    const following = this.lines[this.next];
    if (following !== undefined && following.indent > indent) return null;
    const quoted = DOUBLE.exec(rest) ?? SINGLE.exec(rest);
    if (quoted !== null) return { kind: 'scalar', text: quoted[1]!, isQuoted: true, at };
    if (EMPTY.test(rest))
      return rest.startsWith('[') ? { kind: 'list', items: [], at } : { kind: 'map', entries: [], at };
    if (rest.startsWith('[')) return flowList(rest, at);
    if (!PLAIN.test(rest)) return null;
    const comment = rest.indexOf(' #');
    const text = (comment < 0 ? rest : rest.slice(0, comment)).trimEnd();
    if (text.includes(': ') || text.endsWith(':')) return null;
    return { kind: 'scalar', text, isQuoted: false, at };
  }
}

function flowList(rest: string, at: number): Literal | null {
  const items: Literal[] = [];
  for (ITEM.lastIndex = 1; ; ) {
    const from = ITEM.lastIndex;
    const match = ITEM.exec(rest);
    if (match === null) return null;
    const [whole, double, single, plain] = match;
    const text = double ?? single ?? plain!;
    const before = whole.length - whole.trimStart().length;
    items.push({ kind: 'scalar', text, isQuoted: plain === undefined, at: at + from + before });
    if (match[4] === ']') break;
  }
  return COMMENT_ONLY.test(rest.slice(ITEM.lastIndex)) ? { kind: 'list', items, at } : null;
}
