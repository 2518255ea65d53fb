/**
 * A configuration as nested sections, and as YAML in the style of PyYAML's block dump: keys sorted, lists at their
 * key's indent.
 */
import type { PyBare } from './python-text.js';

export type ConfigValue = string | number | boolean | null | PyBare | readonly ConfigValue[] | ConfigTree;
export interface ConfigTree {
  [key: string]: ConfigValue;
}

export function isTree(value: ConfigValue): value is ConfigTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isBareValue(value);
}

function isBareValue(value: object): value is PyBare {
  return 'python' in value && Object.keys(value).length === 1;
}

/** Sets `section.key` (any depth), making the sections it lacks. `[a, b]` is a list. */
export function setKey(tree: ConfigTree, path: string, value: string | number | boolean | null): void {
  const parts = path.split('.');
  let section = tree;
  for (const part of parts.slice(0, -1)) {
    const inner = section[part];
    if (inner !== undefined && isTree(inner)) section = inner;
    else {
      const made: ConfigTree = {};
      section[part] = made;
      section = made;
    }
  }
  section[parts.at(-1)!] = typeof value === 'string' ? listOrText(value) : value;
}

function listOrText(text: string): ConfigValue {
  const list = /^\[(.*)\]$/.exec(text);
  if (list === null) return text;
  return list[1]!
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => (/^-?\d+$/.test(item) ? Number(item) : item.replace(/^'(.*)'$/, '$1')));
}

export function yaml(tree: ConfigTree): string {
  return `${block(tree, 0).join('\n')}\n`;
}

function block(tree: ConfigTree, indent: number): string[] {
  const space = ' '.repeat(indent);
  return Object.keys(tree)
    .sort((a, b) => (a < b ? -1 : 1))
    .flatMap((key) => {
      const value = tree[key]!;
      if (Array.isArray(value)) {
        if (value.length === 0) return [`${space}${key}: []`];
        return [`${space}${key}:`, ...value.map((item) => `${space}- ${scalar(item)}`)];
      }
      if (isTree(value)) {
        return Object.keys(value).length === 0
          ? [`${space}${key}: {}`]
          : [`${space}${key}:`, ...block(value, indent + 2)];
      }
      return [`${space}${key}: ${scalar(value)}`];
    });
}

/** YAML 1.1 as PyYAML reads it: a text that would be read as something else is quoted. */
function scalar(value: ConfigValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return yamlNumber(String(value));
  if (typeof value === 'string') return needsQuotes(value) ? `'${value.replaceAll("'", "''")}'` : value;
  if (!Array.isArray(value) && !isTree(value)) return yamlNumber((value as PyBare).python);
  throw new Error('lists in lists do not occur in these configurations');
}

/** PyYAML takes `5e-06` for a text: a float needs its point. */
function yamlNumber(text: string): string {
  return text.replace(/^(-?\d+)e/, '$1.0e').replace(/e([+-])(\d)$/, 'e$10$2');
}

function needsQuotes(text: string): boolean {
  return (
    text === '' ||
    /^(?:true|false|yes|no|on|off|null|~)$/i.test(text) ||
    /^[-+.]?\d/.test(text) ||
    /^[\s&*!|>%@`"'#,[\]{}?:-]/.test(text) ||
    /:\s|\s#|\s$|:$/.test(text)
  );
}
