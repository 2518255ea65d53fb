/**
 * Secrets in texts: passwords, tokens, keys. They are recognised by the name that the value is assigned to, or by the
 * shape of the value; both are in secrets.yaml. The one place that decides this: what ingest stores, what screens quote
 * of a source, and `redact` ask here.
 */
import { loadData } from './load-data.js';

/** UTF-16 offsets; `end` is exclusive. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

interface Stored {
  readonly names: {
    readonly certain: readonly string[];
    readonly probable: readonly string[];
    readonly key_owners: readonly string[];
    readonly text_tokens: readonly string[];
    readonly not_before: readonly string[];
    readonly qualifiers: readonly string[];
    readonly sections: readonly string[];
    readonly together: string;
    readonly anchors: readonly string[];
  };
  readonly shapes: readonly {
    readonly kind: string;
    readonly anchors: readonly string[];
    readonly pattern: string;
  }[];
}

/** `certain`: any value is a secret; `probable`: one that looks like a credential. */
type Strength = 'certain' | 'probable';

interface Detector {
  readonly certain: ReadonlySet<string>;
  readonly probable: ReadonlySet<string>;
  readonly keyOwners: ReadonlySet<string>;
  readonly textTokens: ReadonlySet<string>;
  readonly notBefore: ReadonlySet<string>;
  readonly qualifiers: ReadonlySet<string>;
  readonly sections: ReadonlySet<string>;
  readonly together: RegExp;
  /** Which three letters, of 32 kinds each, begin an anchor. */
  readonly beginnings: Uint8Array;
  /** Every anchor. One of them is in every text with a secret, except for a line of a key. */
  readonly anchors: RegExp;
  readonly nameAnchor: RegExp;
  readonly shapes: readonly {
    readonly kind: string;
    /** Undefined: a line of a key. */
    readonly anchor: RegExp | undefined;
    readonly pattern: RegExp;
  }[];
}

let built: Detector | undefined;

function detector(): Detector {
  if (built !== undefined) return built;
  const { names, shapes } = loadData('secrets') as Stored;
  const anyOf = (literals: readonly string[]): string =>
    [...new Set(literals)].map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)).join('|');
  const anchors = [...names.anchors, ...shapes.flatMap((shape) => shape.anchors)];
  const beginnings = new Uint8Array(1 << 15);
  for (const anchor of anchors)
    beginnings[[0, 1, 2].reduce((code, at) => (code << 5) | (anchor.charCodeAt(at) & 31), 0)] = 1;
  built = {
    certain: new Set(names.certain),
    probable: new Set(names.probable),
    keyOwners: new Set(names.key_owners),
    textTokens: new Set(names.text_tokens),
    notBefore: new Set(names.not_before),
    qualifiers: new Set(names.qualifiers),
    sections: new Set(names.sections),
    together: new RegExp(names.together),
    ...{ beginnings, anchors: new RegExp(anyOf(anchors), 'iy') },
    nameAnchor: new RegExp(anyOf(names.anchors), 'gi'),
    shapes: shapes.map((shape) => ({
      kind: shape.kind,
      anchor: shape.anchors.length === 0 ? undefined : new RegExp(anyOf(shape.anchors), 'i'),
      pattern: new RegExp(shape.pattern, 'dg'),
    })),
  };
  return built;
}

/** The replacement of a secret of `length` characters. */
export function secretText(length: number): string {
  return `<secret: ${length} ${length === 1 ? 'character' : 'characters'}>`;
}

/** `--hf-token`, `hubToken`, `logger.wandb_api_key` → its lower-case parts. */
function partsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '');
}

/** Longest name that is looked at. */
const MOST_NAME = 128;

/** By name: files repeat the names of their settings. */
const strengths = new Map<string, Strength | undefined>();
const NAMES_KEPT = 10_000;

function strengthOf(name: string): Strength | undefined {
  if (name === '' || name.length > MOST_NAME) return undefined;
  if (strengths.has(name)) return strengths.get(name);
  if (strengths.size >= NAMES_KEPT) strengths.clear();
  const strength = strengthOfName(name);
  strengths.set(name, strength);
  return strength;
}

function strengthOfName(name: string): Strength | undefined {
  const { certain, probable, keyOwners, textTokens, notBefore, qualifiers, sections, together } = detector();
  const sectionEnd = Math.max(name.lastIndexOf('.'), name.lastIndexOf('/'));
  if (
    sectionEnd > 0 &&
    name
      .slice(0, sectionEnd)
      .split(/[./]/)
      .some((section) => sections.has(section.toLowerCase()))
  )
    return 'probable';
  const parts = partsOf(name.slice(sectionEnd + 1));
  while (parts.length > 1 && (/^\d+$/.test(parts.at(-1)!) || qualifiers.has(parts.at(-1)!))) parts.pop();
  const endings = [3, 2, 1].filter((count) => count <= parts.length).map((count) => parts.slice(-count).join('_'));
  if (endings.some((ending) => certain.has(ending))) return 'certain';
  if (endings.some((ending) => probable.has(ending)) && parts.at(-1) !== 'token') return 'probable';
  const last = parts.at(-1) ?? '';
  if (notBefore.has(last)) return undefined;
  // The working directory is PWD.
  if (last === 'pwd' || last === 'pass')
    return parts.length > 1 && certain.has(endings.at(-2) ?? '') ? 'certain' : undefined;
  const before = parts.at(-2);
  if (last === 'token') return before !== undefined && textTokens.has(before) ? undefined : 'probable';
  if (last === 'key') {
    const isOwner = endings.some((ending) => keyOwners.has(ending.slice(0, -'_key'.length)));
    return isOwner ? 'probable' : undefined;
  }
  if (together.test(last)) return /(?:pass|secret)/.test(last) ? 'certain' : 'probable';
  return parts.some((part) => part === 'secret' || part === 'password') ? 'certain' : undefined;
}

/** Whether the value of a setting, flag or variable of this name is a secret. */
export function isSecretName(name: string): boolean {
  return strengthOf(name) !== undefined;
}

/** Values that are not a secret whatever they are assigned to. */
const NO_VALUE =
  /^(?:true|false|none|null|nil|undefined|yes|no|on|off|auto|default|unset|required|optional|n\/a|~|str|string|bool|int|bytes|[*xX•.…_?-]+|<[^<>]{0,80}>|\(not kept\))$/i;
/** The value is elsewhere: `$X`, `${X}`, `$(cmd)`, `%X%`, `{x}`, `{{ x }}`, `%s`, `env:X`. */
const REFERENCE =
  /^(?:\$\w{1,80}$|\$\{[^{}]{0,120}\}$|\$\(|`|%\w{1,80}%$|%[sdr]$|%\(|\{\{|\{[\w.]{0,80}\}$|\[[A-Z_]{1,20}\]$|<\||oc\.env:|env:)/;
const NUMBER = /^[-+]?\d{1,40}(?:\.\d{0,40})?(?:e[-+]?\d{1,4})?$/i;
const PATH = /^(?:~|\.{1,2})?\/[\w.-]{1,80}(?:\/[\w.-]{1,80}){0,20}\/?$/;
/** Source code that computes it. */
const CODE =
  /^(?:(?:os|self|args|cfg|config|env|environ|settings|kwargs|opts|options|getpass|params|hparams)\b[.([]|[A-Za-z_][\w.]{0,80}[([])/;

function isSecretValue(value: string, strength: Strength, isQuoted: boolean): boolean {
  if (value === '' || NO_VALUE.test(value) || REFERENCE.test(value) || matchAt(HIDDEN, value, 0) !== null) return false;
  if (!isQuoted && (CODE.test(value) || (/^[A-Za-z_]\w*$/.test(value) && strengthOf(value) !== undefined)))
    return false;
  if (strength === 'certain') return true;
  if (NUMBER.test(value) || PATH.test(value)) return false;
  // Prose: `invalid token: unexpected end`.
  return isQuoted || !/^[A-Z]?[a-z]{1,15}[.!?]?$/.test(value);
}

/** The value of a setting or variable as it may be kept: hidden as a whole by its name, or with the secrets in it. */
export function hideSettingValue(name: string, value: string): string {
  const strength = strengthOf(name);
  if (strength === undefined || !isSecretValue(value, strength, true)) return hideSecrets(value);
  return secretText(value.length);
}

const KEY_LINE = 64;
const KEY_LINES = /^[A-Za-z0-9+/]{64}/m;

/**
 * All texts take this time, and hardly one has a secret. A regular expression of all anchors takes 50 ns a character.
 */
function hasAnyAnchor(text: string): boolean {
  const { beginnings, anchors } = detector();
  let code = 0;
  for (let at = 0; at < text.length; at++) {
    code = ((code << 5) | (text.charCodeAt(at) & 31)) & 0x7fff;
    if (beginnings[code] === 1 && at >= 2) {
      anchors.lastIndex = at - 2;
      if (anchors.test(text)) return true;
    }
  }
  return false;
}

/** Secrets in a text. Sorted and disjoint. Takes linear time. */
export function findSecrets(text: string): readonly SecretSpan[] {
  const hasAnchor = hasAnyAnchor(text);
  const hasKeyLine = text.length >= KEY_LINE && KEY_LINES.test(text);
  if (!hasAnchor && !hasKeyLine) return [];
  const spans = hasAnchor ? assignedSecrets(text) : [];
  for (const { kind, anchor, pattern } of detector().shapes) {
    if (anchor === undefined ? !hasKeyLine : !hasAnchor || !anchor.test(text)) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [start, end] = match.indices!.groups?.['secret'] ?? match.indices![0]!;
      if (end === start) {
        pattern.lastIndex += 1;
        continue;
      }
      const value = text.slice(start, Math.min(end, start + 200));
      if (!NO_VALUE.test(value) && !REFERENCE.test(value) && matchAt(HIDDEN, text, start) === null)
        spans.push({ start, end, kind });
      pattern.lastIndex = Math.max(end, match.index + 1);
    }
  }
  return merged(spans);
}

/** The text with `<secret: 40 characters>` for each secret; the same string if it has none. Idempotent. */
export function hideSecrets(text: string): string {
  const spans = findSecrets(text);
  if (spans.length === 0) return text;
  let hidden = '';
  let at = 0;
  for (const { start, end } of spans) {
    hidden += text.slice(at, start) + secretText(end - start);
    at = end;
  }
  return hidden + text.slice(at);
}

/** The names of a value in rows of settings. */
const NAME_FIELDS = ['rawKey', 'raw_key', 'key', 'name'];

/** A document or row with each of its texts as {@link hideSecrets}; what has none of them is the same object. */
export function hideSecretsIn<T>(value: T): T {
  return hiddenIn(value) as T;
}

function hiddenIn(value: unknown): unknown {
  if (typeof value === 'string') return hideSecrets(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const first = value.findIndex((item) => hiddenIn(item) !== item);
    return first < 0 ? value : value.map(hiddenIn);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const record = value as Readonly<Record<string, unknown>>;
  const settingName = NAME_FIELDS.map((field) => record[field]).find((name) => typeof name === 'string');
  let changed: Record<string, unknown> | undefined;
  for (const [key, old] of Object.entries(record)) {
    const isSetting = key === 'value' && typeof old === 'string' && typeof settingName === 'string';
    const hidden = isSetting ? hideSettingValue(settingName, old) : hiddenIn(old);
    if (hidden === old) continue;
    changed ??= { ...record };
    changed[key] = hidden;
  }
  return changed ?? value;
}

/** Lines that follow each other. There are as many as before, also where a key had several. */
export function hideSecretsInLines(lines: readonly string[]): readonly string[] {
  const text = lines.join('\n');
  const spans = findSecrets(text);
  if (spans.length === 0) return lines;
  let hidden = '';
  let at = 0;
  for (const { start, end } of spans) {
    const breaks = text.slice(start, end).split('\n').length - 1;
    hidden += text.slice(at, start) + secretText(end - start) + '\n'.repeat(breaks);
    at = end;
  }
  return (hidden + text.slice(at)).split('\n');
}

function merged(spans: readonly SecretSpan[]): SecretSpan[] {
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const kept: SecretSpan[] = [];
  for (const span of sorted) {
    const last = kept.at(-1);
    if (last === undefined || span.start >= last.end) kept.push(span);
    else if (span.end > last.end) kept[kept.length - 1] = { ...last, end: span.end };
  }
  return kept;
}

const isNameUnit = (unit: number): boolean =>
  (unit >= 97 && unit <= 122) ||
  (unit >= 65 && unit <= 90) ||
  (unit >= 48 && unit <= 57) ||
  unit === 95 ||
  unit === 45 ||
  unit === 46;

/** What {@link secretText} writes. */
const HIDDEN = /<secret: \d{1,16} characters?>/y;
/** What may be between a name and its value; a bracket closes `environ["X"]`, and dots fill Megatron's `arguments`. */
const ASSIGNED =
  /(?:\\{0,3}["'`])?\]?[ \t]{0,8}(?::[ \t]{0,4}(?:Optional\[)?str\]?(?: \| None)?[ \t]{0,4}=|[:=!]?={1,3}>?|:-?|%3[DA]|[ \t]\.{3,80}(?=[ \t]))[ \t]{0,8}/iy;
/** Between a flag and its value, in a command line, in a list of its words, in a process's own (with NULs). */
const FLAG_VALUE = /["']?[,\s\0]{1,12}(?!["']?-)/y;
/** `{name: HF_TOKEN, value: x}` of Kubernetes. */
const NAMED_VALUE = /\\?["']?[\s,]{0,40}\\?["']?value\\?["']?[ \t]{0,8}[:=][ \t]{0,8}/iy;
/** `("HF_TOKEN", "x")` of Python, `ENV HF_TOKEN x` and `setenv HF_TOKEN x`. */
const PAIR_VALUE = /["'][ \t]{0,4},[ \t]{0,4}(?=[bruf]?["'])/y;
const DEFINITION = /(?:^|\s)(?:setenv|ENV)[ \t]{1,4}$/;
const OPENING = /[bruf]{0,2}(\\{0,3})("""|'''|["'`])/iy;
const SCHEME = /(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)[ \t]{1,4}(?=[^\s"'])/iy;
/** A bracket or separator ends a bare value unless the value goes on behind it. */
const BARE =
  /(?:[^\s"'`,;&)\]}<>\\\p{Cc}]|[,;&](?![\s\p{Cc}"'\\]|$|[\w.-]{1,64}[ \t]?[:=]|ALL\b)|[)\]}](?=\w)|\\(?![nrt"'\\])){1,1024}/uy;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  if (at < 0) return null;
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Values of assignments whose names are those of secrets. */
function assignedSecrets(text: string): SecretSpan[] {
  const { nameAnchor } = detector();
  const spans: SecretSpan[] = [];
  nameAnchor.lastIndex = 0;
  for (let hit = nameAnchor.exec(text); hit !== null; hit = nameAnchor.exec(text)) {
    let start = hit.index;
    while (start > 0 && hit.index - start < MOST_NAME && isNameUnit(text.charCodeAt(start - 1))) start -= 1;
    let end = nameAnchor.lastIndex;
    while (end < text.length && isNameUnit(text.charCodeAt(end))) end += 1;
    nameAnchor.lastIndex = end;
    if (matchAt(HIDDEN, text, start - 1) !== null) continue;
    // %26token: the digits belong to the sign.
    if (text[start - 1] === '%') start += 2;
    // `${TOKEN:-value}`: the sign belongs to what follows.
    let word = text.slice(start, Math.min(end, start + 2 * MOST_NAME)).replace(/[-.]{1,200}$/, '');
    const isFlag = /^--?[A-Za-z]/.test(word);
    word = word.replace(/^[-.]+/, '');
    const strength = strengthOf(word);
    if (strength === undefined) continue;
    const nameEnd = start + (end - start);
    const value = valueAfter(text, nameEnd, start, isFlag);
    if (value === undefined) continue;
    const { from, isQuoted } = value;
    let { to } = value;
    if (from < to && isSecretValue(text.slice(from, to), strength, isQuoted)) {
      // A value that is none is read to its first piece only: the names in it would read it to its end again and again.
      if (!isQuoted) for (let more = 1; more > 0; to += more) more = matchAt(BARE, text, to)?.[0].length ?? 0;
      spans.push({ start: from, end: to, kind: `value of ${word}` });
      nameAnchor.lastIndex = Math.max(nameAnchor.lastIndex, to);
    }
  }
  return spans;
}

interface Value {
  readonly from: number;
  readonly to: number;
  readonly isQuoted: boolean;
}

function valueAfter(text: string, nameEnd: number, nameStart: number, isFlag: boolean): Value | undefined {
  const between =
    matchAt(ASSIGNED, text, nameEnd) ??
    (isFlag ? matchAt(FLAG_VALUE, text, nameEnd) : null) ??
    matchAt(NAMED_VALUE, text, nameEnd) ??
    matchAt(PAIR_VALUE, text, nameEnd) ??
    (DEFINITION.test(text.slice(Math.max(0, nameStart - 12), nameStart))
      ? matchAt(/[ \t]{1,8}/y, text, nameEnd)
      : null);
  return between === null ? undefined : valueAt(text, nameEnd + between[0].length);
}

function valueAt(text: string, at: number): Value {
  const opening = matchAt(OPENING, text, at);
  if (opening !== null) {
    const [all, slashes = '', quote = ''] = opening;
    const inside = at + all.length;
    const scheme = matchAt(SCHEME, text, inside)?.[0].length ?? 0;
    return { from: inside + scheme, to: closing(text, inside, slashes + quote), isQuoted: true };
  }
  const from = at + (matchAt(SCHEME, text, at)?.[0].length ?? 0);
  return { from, to: from + (matchAt(BARE, text, from)?.[0].length ?? 0), isQuoted: from > at };
}

/** Where a quoted value ends; one that is cut off ends with its line. */
function closing(text: string, from: number, quote: string): number {
  for (let at = text.indexOf(quote, from); at >= 0; at = text.indexOf(quote, at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\' && at - slashes > from) slashes += 1;
    if (quote.startsWith('\\') ? slashes === 0 : slashes % 2 === 0) return at;
  }
  const lineEnd = text.indexOf('\n', from);
  return lineEnd < 0 ? text.length : lineEnd;
}
