/**
 * JSON as Python's `json` writes it: `NaN`, `Infinity` and `-Infinity` are numbers, which `JSON.parse` refuses. Objects
 * become maps, so that steps keep the order of the file (engines sort keys that look like indices) and a key
 * `__proto__` is a key like any other. Of a key given twice the last value counts, as in Python.
 */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject extends ReadonlyMap<string, JsonValue> {}

/** Throws with the error and its character position. */
export type RefuseAt = (fact: string, at: number) => never;

/** Golden files nest five deep, our own documents seven. */
const MOST_DEPTH = 64;
/**
 * Upstream keeps at most 10,000 steps of three values; a file of more than this is none, and would not fit into memory.
 */
const MOST_VALUES = 1_000_000;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Reads exactly one value; blanks, and a byte order mark before it, do not matter. Linear in the text. */
export function readPythonJson(text: string, refuse: RefuseAt): JsonValue {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  let values = 0;

  function blanks(): void {
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }

  function value(depth: number): JsonValue {
    blanks();
    values += 1;
    if (values > MOST_VALUES) refuse(`holds more than ${MOST_VALUES} values`, at);
    if (depth > MOST_DEPTH) refuse(`is nested deeper than ${MOST_DEPTH}`, at);
    switch (text[at]) {
      case '{':
        return object(depth);
      case '[':
        return list(depth);
      case '"':
        return quoted();
      case undefined:
        return refuse('ends where a value is expected', at);
    }
    NUMBER.lastIndex = at;
    const digits = NUMBER.exec(text)?.[0];
    if (digits !== undefined) {
      at += digits.length;
      return Number(digits);
    }
    for (const [word, meaning] of WORDS) {
      if (!text.startsWith(word, at)) continue;
      at += word.length;
      return meaning;
    }
    return refuse(`${JSON.stringify(text[at])} is not a JSON value`, at);
  }

  function object(depth: number): JsonObject {
    const entries = new Map<string, JsonValue>();
    at += 1;
    blanks();
    if (ends('}')) return entries;
    for (;;) {
      blanks();
      if (text[at] !== '"') refuse('a key in quotes is expected', at);
      const key = quoted();
      blanks();
      if (text[at] !== ':') refuse('":" is expected', at);
      at += 1;
      entries.set(key, value(depth + 1));
      if (isLast('}')) return entries;
    }
  }

  function list(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    at += 1;
    blanks();
    if (ends(']')) return items;
    for (;;) {
      items.push(value(depth + 1));
      if (isLast(']')) return items;
    }
  }

  function ends(close: string): boolean {
    if (text[at] !== close) return false;
    at += 1;
    return true;
  }

  function isLast(close: string): boolean {
    blanks();
    if (ends(close)) return true;
    if (text[at] !== ',') refuse(`"," or "${close}" is expected`, at);
    at += 1;
    return false;
  }

  function quoted(): string {
    const start = at;
    let isPlain = true;
    for (at += 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        at += 1;
        return isPlain ? text.slice(start + 1, at - 1) : unescaped(start);
      }
      if (code < 0x20) refuse('a text holds a control character', at);
      if (code === BACKSLASH) {
        isPlain = false;
        at += 1;
      }
    }
    return refuse('a text has no closing quote', start);
  }

  function unescaped(start: number): string {
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return refuse('a text has an escape that JSON does not know', start);
    }
  }

  const result = value(0);
  blanks();
  if (at < text.length) refuse('something follows its end', at);
  return result;
}

export const isObject = (value: JsonValue | undefined): value is JsonObject => value instanceof Map;
export const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

/** For messages. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (isObject(value)) return 'an object';
  if (isList(value)) return 'a list';
  if (typeof value === 'string') return 'a text';
  return typeof value === 'number' ? `the number ${value}` : String(value);
}
