import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { Literal, LiteralEntry } from '../../src/knowledge/literal.js';
import type { TreeNote, Trees } from '../../src/text/plain-yaml.js';
import { YamlWalk, yamlDocuments } from '../../src/text/yaml.js';

/**
 * Reads YAML as data. Tags (`!!python/object`, `!!python/tuple`) name types and are ignored. Scalars keep their text.
 * All duplicate keys are read (the last one wins, as in PyYAML). Anchors and `<<` are resolved within limits. A damaged
 * text yields what precedes the damage.
 */
export function readYaml(text: string): Trees {
  const documents = yamlDocuments(text, 'MBF2201');
  const notes: TreeNote[] = [];
  const conversion = new Conversion(text, notes);
  const trees: Literal[] = [];
  for (const document of documents) {
    const fault = document.errors[0];
    if (fault !== undefined) {
      const [at] = fault.pos;
      notes.push({ kind: 'yaml_error', text: `Not valid YAML: ${describeFault(fault.message)}.`, at });
    }
    if (document.contents !== null) trees.push(conversion.document(document.contents as Node));
  }
  return { trees, notes };
}

/** Its first line; the library quotes a whole block of text where it did not expect one. */
function describeFault(message: string): string {
  const [first = ''] = message.split('\n');
  return first.length <= MOST_FAULT_CHARS ? first : `${first.slice(0, MOST_FAULT_CHARS)}…`;
}
const MOST_FAULT_CHARS = 200;

class Conversion {
  private readonly notes: TreeNote[];
  private readonly text: string;
  private readonly walk = new YamlWalk('MBF2201');
  private duplicates = 0;

  constructor(text: string, notes: TreeNote[]) {
    this.text = text;
    this.notes = notes;
  }

  document(node: Node): Literal {
    this.walk.begin();
    return this.node(node, 0);
  }

  private node(node: Node | null | undefined, depth: number, place = 0): Literal {
    this.walk.enter(node, depth);
    const at = node?.range?.[0] ?? place;
    if (isAlias(node))
      return this.walk.aliased(node.source, (target) => this.node(target, depth + 1, at)) ?? nothing(at);
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

  /** A key that is a collection or an alias, as it is in the text. */
  private written(node: Node | null): string {
    const [from, to] = node?.range ?? [0, 0];
    return this.text.slice(from, Math.min(to, from + 200)).trim();
  }

  private entries(items: readonly { key: unknown; value: unknown }[], depth: number): LiteralEntry[] {
    const result: LiteralEntry[] = [];
    const keys = new Map<string, number>();
    for (const item of items) {
      const keyNode = item.key as Node | null;
      const at = keyNode?.range?.[0] ?? 0;
      const key = isScalar(keyNode) ? String(keyNode.value ?? '') : this.written(keyNode);
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
