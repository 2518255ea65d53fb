/**
 * Block YAML read line by line, as PyYAML and OmegaConf print it, so that every setting is emitted on its own line: the
 * log continues after it, and lines of other writers may be inside. Lists are emitted by the line after their last
 * item.
 */
import { normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import { literalText, readLiteral } from '../../../../src/knowledge/literal.js';
import { flattenSettings } from '../../../../src/text/flatten-settings.js';
import { openBrackets } from './emit-settings.js';

interface Frame {
  readonly indent: number;
  readonly key: string;
  /** Of a list whose items are sections. */
  items: number;
  /** `_call_` or `_args_` of an object, seen before its `_target_`. */
  args: string[] | null;
  others: boolean;
}

const KEY =
  /^( {0,200})(- {1,8})?(?:"([^"]{1,200})"|'([^']{1,200})'|([A-Za-z_0-9][\w./+-]{0,200})):(?: +(\S[\s\S]{0,8000}))?$/;
const ITEM = /^( {0,200})-(?: +(\S[\s\S]{0,8000}))?$/;
const MOST_DEPTH = 64;
const MOST_JOINED = 200_000;

export class YamlLines {
  private readonly emit: (path: readonly string[], value: string | null) => void;
  private readonly frames: Frame[] = [];
  private base = -1;
  /** Scalar items of the list under the innermost key. */
  private items: string[] | null = null;
  /** A flow list or a quoted text that goes on. */
  private flow: { path: readonly string[]; text: string } | null = null;
  /** Lines deeper than this belong to a block scalar. */
  private blockScalar = -1;

  constructor(emit: (path: readonly string[], value: string | null) => void) {
    this.emit = emit;
  }

  /** True if the line belongs to the document. */
  line(raw: string): boolean {
    const text = raw.trimEnd();
    if (text === '' || text === '---') return true;
    const indent = text.length - text.trimStart().length;
    if (this.flow !== null) return this.continueFlow(text);
    if (this.blockScalar >= 0) {
      if (indent > this.blockScalar) return true;
      this.blockScalar = -1;
    }
    const match = KEY.exec(text);
    if (match !== null) return this.key(match);
    const item = ITEM.exec(text);
    if (item !== null && this.frames.length > 0) return this.item(item);
    // The rest of a plain text that was folded.
    return this.base >= 0 && indent > this.base && this.frames.length > 0;
  }

  end(): void {
    this.flushItems();
  }

  private path(): string[] {
    return this.frames.flatMap((frame) => (frame.items > 0 ? [frame.key, String(frame.items - 1)] : [frame.key]));
  }

  private flushItems(): void {
    if (this.items === null) return;
    const [parent, frame] = [this.frames.at(-2), this.frames.at(-1)];
    if (frame?.key === '_args_' && parent !== undefined) parent.args = this.items;
    else if (frame !== undefined)
      this.emit(this.path(), literalText(readLiteral(`[${this.items.map(quoteItem).join(', ')}]`)));
    this.items = null;
  }

  private key(match: RegExpExecArray): boolean {
    const dash = match[2];
    const indent = match[1]!.length + (dash?.length ?? 0);
    const key = match[3] ?? match[4] ?? match[5]!;
    const value = match[6];
    if (this.base < 0) this.base = match[1]!.length;
    else if (indent < this.base) return false;
    // Any line at the margin may be another message: only a section or a one-word value is accepted.
    if (indent === this.base && dash === undefined && !isRootSetting(key, value)) return false;
    this.flushItems();
    const margin = dash === undefined ? indent : match[1]!.length;
    // A list may have the indent of its key; its items belong below it.
    while (
      this.frames.length > 0 &&
      (dash === undefined ? this.frames.at(-1)!.indent >= margin : this.frames.at(-1)!.indent > margin)
    )
      this.frames.pop();
    const parent = this.frames.at(-1);
    if (dash !== undefined) {
      if (parent === undefined) return false;
      parent.items += 1;
      parent.args = null;
      parent.others = false;
    }
    if (this.frames.length >= MOST_DEPTH) return true;
    this.setting(key, value, indent, parent);
    return true;
  }

  private setting(key: string, value: string | undefined, indent: number, parent: Frame | undefined): void {
    const bare = value?.replace(/^(?:[&!][^\s]{0,200}\s{0,4}){1,4}(?=\S|$)/, '').trim();
    if (bare === undefined || bare === '') {
      if (parent !== undefined && key !== '_args_') parent.others = true;
      this.frames.push({ indent, key, items: 0, args: null, others: false });
      return;
    }
    if (/^[|>][-+\d]{0,3}$/.test(bare)) {
      this.blockScalar = indent;
      return;
    }
    // The target of an alias was printed before.
    if (/^\*[\w.-]{1,100}$/.test(bare)) return;
    if (parent !== undefined && key === '_call_') {
      parent.args ??= [];
      return;
    }
    const path = [...this.path(), key];
    if (key === '_target_' && parent !== undefined && parent.args !== null && !parent.others) {
      const object = { kind: 'map' as const, at: 0, entries: objectEntries(bare, parent.args) };
      flattenSettings(object, (where, text) => this.emit(where, text), this.path());
      return;
    }
    if (parent !== undefined) parent.others = true;
    if (/^[[{"']/.test(bare) && !isComplete(bare)) {
      this.flow = { path, text: bare };
      return;
    }
    this.emit(path, yamlValue(bare));
  }

  private item(match: RegExpExecArray): boolean {
    const indent = match[1]!.length;
    const value = match[2];
    const frame = this.frames.at(-1)!;
    if (indent < this.base || (this.items === null && indent < frame.indent)) return false;
    if (value === undefined || indent < frame.indent) return true;
    this.items ??= [];
    if (this.items.length < 10_000) this.items.push(value.trim());
    return true;
  }

  private continueFlow(text: string): boolean {
    const flow = this.flow!;
    flow.text += ` ${text.trim()}`;
    if (isComplete(flow.text) || flow.text.length > MOST_JOINED) {
      this.flow = null;
      this.emit(flow.path, yamlValue(flow.text));
    }
    return true;
  }
}

function objectEntries(target: string, args: readonly string[]) {
  const scalar = (text: string) => ({ kind: 'scalar' as const, text, isQuoted: false, at: 0 });
  return [
    { key: '_args_', at: 0, value: { kind: 'list' as const, items: args.map(scalar), at: 0 } },
    { key: '_target_', at: 0, value: scalar(target) },
  ];
}

/** YAML's single quotes double themselves. */
function yamlValue(text: string): string | null {
  if (text.length > 1 && text.startsWith("'") && text.endsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  return normaliseConfigValue(text);
}

function quoteItem(item: string): string {
  return /^["'[{]/.test(item) || /^(?:null|~|true|false|-?\d[\d.]{0,20})$/i.test(item) ? item : JSON.stringify(item);
}

function isComplete(text: string): boolean {
  const quote = text[0]!;
  if (quote === '"' || quote === "'") return text.length > 1 && text.endsWith(quote);
  return openBrackets(text) <= 0;
}

function isRootSetting(key: string, value: string | undefined): boolean {
  if (!/^[a-z_][a-z0-9_]{0,60}$/.test(key)) return false;
  return value === undefined || !/\s/.test(value) || /^["'[{!&]/.test(value);
}
