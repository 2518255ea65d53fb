/**
 * The only place that calls the `yaml` package. Its time and memory depend on what a text is made of: a scalar takes
 * 5 µs and 1 KB, a bracket that closes nothing 24 µs and 1.6 KB. So {@link checkYaml} counts, in one pass over the
 * characters, what the package would build, and refuses before it starts. Values are taken from its nodes here, never
 * by its `toJS`: that turns keys which are collections into text, once more at each level.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  parseAllDocuments,
  parseDocument,
} from 'yaml';
import type { Literal } from '../knowledge/literal.js';
import { type ErrorCode, MbfError } from '../model/errors.js';
import { readPlainYaml } from './plain-yaml.js';

export const YAML_LIMITS = {
  /** Characters that make the package build something: at most 3 s and 250 MB. A line of a configuration has three. */
  marks: 100_000,
  /** Brackets or indentations open at one place; the package composes nested nodes by recursion. */
  depth: 200,
  /** Values, those of aliases counted at each use; and how deep they nest. A billion laughs end here. */
  values: 500_000,
  valueDepth: 100,
  /** Characters of the scalars that aliases repeat. */
  repeatedChars: 4 * 1024 * 1024,
} as const;

/** What is too much in a text, and where; the text must not be parsed then. */
export interface YamlExcess {
  readonly what: string;
  /** Index of the character. */
  readonly at: number;
}

const DEEP = `nests deeper than ${YAML_LIMITS.depth} levels`;

const [TAB, FEED, RETURN, SPACE, HASH] = [9, 10, 13, 32, 35];
const [DASH, COLON, QUESTION] = [45, 58, 63];
/** `"`, `'`, `,`, `[`, `\`, `]`, `{`, `}` */
const ALWAYS = new Set([34, 39, 44, 91, 92, 93, 123, 125]);
/** `!`, `&`, `*`, `%`, `|`, `>`, `@`, and the backquote, where they begin something. */
const AT_START = new Set([33, 38, 42, 37, 124, 62, 64, 96]);
const isBlank = (code: number): boolean => code === SPACE || code === TAB || code === FEED || code === RETURN;
const isFlow = (code: number): boolean => code === 44 || code === 91 || code === 93 || code === 123 || code === 125;

/** Marks of a text, or what is too much in it. Quotes and comments are not looked at: it is a bound, not a parser. */
export function checkYaml(text: string, mostMarks: number = YAML_LIMITS.marks): YamlExcess | number {
  let marks = 0;
  let open = 0;
  /** `- - -`, `? ? ?`, `: : :` of one line, each a level. */
  let inLine = 0;
  /** Indentations of the lines that the current one is nested in. */
  const indents: number[] = [];
  let isLineStart = true;
  let lineAt = 0;
  let previous = FEED;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === FEED) {
      marks += 1;
      inLine = 0;
      isLineStart = true;
      lineAt = index + 1;
      // An unclosed bracket in a plain text is prose.
      if (text.charCodeAt(index + 1) > SPACE) open = 0;
    } else {
      if (isLineStart && code !== SPACE) {
        isLineStart = false;
        if (code !== HASH && code !== TAB && code !== RETURN && open === 0) {
          while (indents.length > 0 && indents.at(-1)! >= index - lineAt) indents.pop();
          indents.push(index - lineAt);
        }
      }
      if (ALWAYS.has(code)) {
        marks += 1;
        if (code === 91 || code === 123) open += 1;
        else if (code === 93 || code === 125) open = Math.max(0, open - 1);
      } else if (code === DASH || code === QUESTION || code === COLON) {
        const next = index + 1 < text.length ? text.charCodeAt(index + 1) : FEED;
        const isStart = isBlank(previous);
        if (isBlank(next) && isStart) {
          marks += 1;
          if (open === 0) inLine += 1;
        } else if (code === COLON ? isBlank(next) || isFlow(next) || isFlow(previous) : isFlow(previous)) marks += 1;
      } else if (AT_START.has(code) && (isBlank(previous) || isFlow(previous) || AT_START.has(previous))) marks += 1;
      else if (code === TAB && previous !== TAB) marks += 1;
    }
    previous = code;
    if (open > YAML_LIMITS.depth || indents.length + inLine > YAML_LIMITS.depth) return { what: DEEP, at: index };
    if (marks > mostMarks)
      return { what: `holds more than ${mostMarks} lines, keys, commas, quotes and brackets`, at: index };
  }
  return marks;
}

const OPTIONS = { strict: false, prettyErrors: false, logLevel: 'silent', keepSourceTokens: false } as const;

/** All documents of a text, scalars as they are written. Throws `code` with the line, before or while parsing. */
export function yamlDocuments(text: string, code: ErrorCode): readonly Document.Parsed[] {
  return guarded(text, code, () => {
    // Comparing each key with each before it is quadratic.
    const parsed = parseAllDocuments(text, { ...OPTIONS, schema: 'failsafe', uniqueKeys: false });
    return Array.isArray(parsed) ? parsed : [];
  });
}

/** The one document of a text, scalars typed. Its errors are the caller's to look at. */
export function yamlDocument(text: string, code: ErrorCode, lineCounter?: LineCounter): Document.Parsed {
  return guarded(text, code, () =>
    parseDocument(text, { ...OPTIONS, uniqueKeys: false, ...(lineCounter === undefined ? {} : { lineCounter }) }),
  );
}

function guarded<Result>(text: string, code: ErrorCode, parse: () => Result): Result {
  const excess = checkYaml(text);
  if (typeof excess !== 'number') throw new MbfError(code, excess.what, { line: lineOf(text, excess.at) });
  try {
    return withoutStacks(parse);
  } catch (error) {
    if (error instanceof RangeError) throw new MbfError(code, DEEP, {}, error);
    throw new MbfError(code, 'is not valid YAML', {}, error);
  }
}

/** A text may have an error at each character; the library makes an object of each, and its stack takes the time. */
function withoutStacks<Result>(work: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let feed = text.indexOf('\n'); feed >= 0 && feed < at; feed = text.indexOf('\n', feed + 1)) line += 1;
  return line;
}

/** Counts the values of a document against the limits, with the nodes that anchors name. */
export class YamlWalk {
  private values = 0;
  private repeated = 0;
  private aliases = 0;
  private readonly anchors = new Map<string, Node>();
  private readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    this.code = code;
  }

  /** Before a further document: anchors are of one. */
  begin(): void {
    this.anchors.clear();
  }

  /** To be called with every node, before those in it. */
  enter(node: Node | null | undefined, depth: number): void {
    this.values += 1;
    const { values, valueDepth, repeatedChars } = YAML_LIMITS;
    if (this.values > values || depth > valueDepth)
      throw new MbfError(this.code, `repeats or nests itself beyond ${values} values or ${valueDepth} levels`);
    const anchor = (node as { anchor?: string } | null | undefined)?.anchor;
    if (node && anchor !== undefined) this.anchors.set(anchor, node);
    if (this.aliases === 0 || !isScalar(node) || typeof node.value !== 'string') return;
    this.repeated += node.value.length;
    if (this.repeated > repeatedChars)
      throw new MbfError(this.code, `repeats texts of more than ${repeatedChars} characters`);
  }

  /** Calls back with what an alias names; undefined if nothing. `Alias.resolve` walks the document for every alias. */
  aliased<Result>(name: string, read: (target: Node) => Result): Result | undefined {
    const target = this.anchors.get(name);
    if (target === undefined) return undefined;
    this.aliases += 1;
    const result = read(target);
    this.aliases -= 1;
    return result;
  }
}

/** What {@link yamlValue} found wrong, and where. */
export type YamlFault = (what: string, at: number | undefined) => never;

/** A document as plain values. Keys are texts and unique. `hasAliases` is false where none are allowed. */
export function yamlValue(
  document: Document.Parsed,
  code: ErrorCode,
  fault: YamlFault,
  hasAliases: boolean = true,
): unknown {
  const walk = new YamlWalk(code);
  const value = (node: Node | null | undefined, depth: number): unknown => {
    walk.enter(node, depth);
    if (isAlias(node)) {
      const at = node.range?.[0];
      if (!hasAliases) return fault('aliases are not read', at);
      return walk.aliased(node.source, (target) => value(target, depth + 1)) ?? fault(`*${node.source} is unknown`, at);
    }
    if (isSeq(node)) return node.items.map((item) => value(item as Node | null, depth + 1));
    if (!isMap(node)) return isScalar(node) ? node.value : null;
    const result = {};
    for (const pair of node.items) {
      const key = pair.key as Node | null;
      const at = key?.range?.[0];
      if (!isScalar(key)) return fault('a key must be a text', at);
      const name = String(key.value);
      if (Object.hasOwn(result, name)) fault('Map keys must be unique', at);
      put(result, name, value(pair.value as Node | null, depth + 1));
    }
    return result;
  };
  return value(document.contents as Node | null, 0);
}

/** Plain values of a text of block mappings and scalars of one line, without the package; undefined for others. */
export function plainYamlValue(text: string): unknown {
  const trees = readPlainYaml(text);
  return trees === null ? undefined : plainValue(trees.trees[0]!);
}

function plainValue(literal: Literal): unknown {
  if (literal.kind === 'list') return literal.items.map(plainValue);
  if (literal.kind === 'scalar') {
    if (literal.isQuoted) return literal.text;
    const { text } = literal;
    if (/^(?:~|null|Null|NULL|)$/.test(text)) return null;
    if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(text)) return /^t/i.test(text);
    return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?$/.test(text) ? Number(text) : text;
  }
  const result = {};
  for (const { key, value } of literal.entries) put(result, key, plainValue(value));
  return result;
}

/** `__proto__` is a key like any other. */
function put(target: object, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true });
  else (target as Record<string, unknown>)[key] = value;
}
