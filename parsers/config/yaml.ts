import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments } from 'yaml';
import { MbfError } from '../../src/model/errors.js';
import type { Literal, LiteralEntry } from '../../src/model/literal.js';

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

/** Nodes of one text, aliases resolved; and how deep it may nest. A billion laughs end here. */
const MOST_NODES = 500_000;
const MOST_DEPTH = 100;
/** Brackets open at one place; the library composes nested nodes by recursion. */
const MOST_OPEN = 200;

/**
 * Reads YAML as data. Tags (`!!python/object`, `!!python/tuple`) name types and are ignored. Scalars keep their text.
 * All duplicate keys are read (the last one wins, as in PyYAML). Anchors and `<<` are resolved within limits. A damaged
 * text yields what precedes the damage.
 */
export function readYaml(text: string): Trees {
  refuseDeepNesting(text);
  const notes: TreeNote[] = [];
  let documents: readonly Document.Parsed[];
  try {
    const parsed = parseAllDocuments(text, {
      schema: 'failsafe',
      uniqueKeys: false,
      strict: false,
      prettyErrors: false,
      logLevel: 'silent',
      keepSourceTokens: false,
    });
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    if (error instanceof RangeError) throw new MbfError('MBF2201', 'nests deeper than any configuration', {}, error);
    throw new MbfError('MBF2202', 'is not valid YAML', {}, error);
  }
  const conversion = new Conversion(notes);
  const trees: Literal[] = [];
  for (const document of documents) {
    const fault = document.errors[0];
    if (fault !== undefined) {
      const [at] = fault.pos;
      notes.push({ kind: 'yaml_error', text: `Not valid YAML: ${fault.message.split('\n')[0]}.`, at });
    }
    if (document.contents !== null) trees.push(conversion.document(document.contents as Node));
  }
  return { trees, notes };
}

/**
 * Flow brackets and block indentation that only an attacker writes. Quotes are not looked at: it is a bound, not a
 * parser.
 */
function refuseDeepNesting(text: string): void {
  let open = 0;
  let dashes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 91 || code === 123) open += 1;
    else if (code === 93 || code === 125) open = Math.max(0, open - 1);
    else if (code === 10) {
      // An unclosed bracket in a plain text is prose.
      if (text.charCodeAt(index + 1) > 32) open = 0;
      dashes = 0;
    }
    // `- - - -`, `? ? ?`: nested block sequences in one line.
    else if ((code === 45 || code === 63) && text.charCodeAt(index + 1) === 32) dashes += 1;
    if (open > MOST_OPEN || dashes > MOST_OPEN) throw new MbfError('MBF2201', 'nests deeper than any configuration');
  }
}

class Conversion {
  private readonly notes: TreeNote[];
  private nodes = 0;
  private duplicates = 0;
  private readonly anchors = new Map<string, Node>();

  constructor(notes: TreeNote[]) {
    this.notes = notes;
  }

  document(node: Node): Literal {
    this.anchors.clear();
    return this.node(node, 0);
  }

  private node(node: Node | null | undefined, depth: number, place = 0): Literal {
    this.nodes += 1;
    if (this.nodes > MOST_NODES || depth > MOST_DEPTH) {
      throw new MbfError('MBF2201', `repeats or nests itself beyond ${MOST_NODES} values or ${MOST_DEPTH} levels`);
    }
    const at = node?.range?.[0] ?? place;
    if (isAlias(node)) {
      // `Alias.resolve` walks the document once for every alias.
      const target = this.anchors.get(node.source);
      return target === undefined ? nothing(at) : this.node(target, depth + 1, at);
    }
    const anchor = (node as { anchor?: string } | null | undefined)?.anchor;
    if (node && anchor !== undefined) this.anchors.set(anchor, node);
    if (isMap(node)) return { kind: 'map', entries: this.entries(node.items, depth), at };
    if (isSeq(node)) {
      return { kind: 'list', items: node.items.map((item) => this.node(item as Node, depth + 1, at)), at };
    }
    if (isScalar(node)) {
      const text = typeof node.value === 'string' ? node.value : String(node.value ?? '');
      return { kind: 'scalar', text, isQuoted: node.type !== undefined && node.type !== 'PLAIN', at };
    }
    return nothing(at);
  }

  private entries(items: readonly { key: unknown; value: unknown }[], depth: number): LiteralEntry[] {
    const result: LiteralEntry[] = [];
    const keys = new Map<string, number>();
    for (const item of items) {
      const keyNode = item.key as Node | null;
      const at = keyNode?.range?.[0] ?? 0;
      const key = isScalar(keyNode) ? String(keyNode.value ?? '') : String(keyNode ?? '').slice(0, 200);
      const value = this.node(item.value as Node | null, depth + 1, at);
      if (key === '<<') {
        const merged = value.kind === 'list' ? value.items : [value];
        for (const part of merged) {
          if (part.kind !== 'map') continue;
          for (const entry of part.entries) if (!keys.has(entry.key)) result.push(entry);
        }
        continue;
      }
      if (keys.has(key)) {
        this.duplicates += 1;
        if (this.duplicates <= 20) {
          this.notes.push({ kind: 'duplicate_key', text: `"${key}" is set twice; the last one wins.`, at });
        }
        result[keys.get(key)!] = { key, at, value };
        continue;
      }
      keys.set(key, result.length);
      result.push({ key, at, value });
    }
    return result;
  }
}

function nothing(at: number): Literal {
  return { kind: 'scalar', text: 'null', isQuoted: false, at };
}
