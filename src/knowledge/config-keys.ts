/** Canonical names of settings, and rows of configuration with them. The names are in config-keys.yaml. */

import type { ConfigFinding, ConfigOrigin } from '../model/log-rows.js';
import { literalText, readLiteral } from './literal.js';
import { loadData } from './load-data.js';
import { hideSettingValue } from './secrets.js';

interface Stored {
  readonly sections: readonly {
    readonly name: string;
    /** Canonical name → other spellings. */
    readonly aliases?: Readonly<Record<string, readonly string[]>>;
    readonly without_aliases?: readonly string[];
  }[];
  readonly lists: readonly string[];
  readonly negated_flags: Readonly<Record<string, string>>;
  readonly inverted_keys: Readonly<Record<string, string>>;
  readonly other_namespaces: readonly string[];
  readonly overrides: readonly string[];
  readonly generic: readonly string[];
  readonly wrappers: readonly string[];
  readonly names_of_memory: Readonly<Record<'memory' | 'other', readonly string[]>>;
}

const stored = (): Stored => loadData('config-keys') as Stored;

/** Canonical names with their other spellings. */
export const configKeys = (): ReadonlyMap<string, readonly string[]> =>
  new Map(
    stored().sections.flatMap(({ aliases = {}, without_aliases: others = [] }): [string, readonly string[]][] => [
      ...Object.entries(aliases),
      ...others.map((key): [string, readonly string[]] => [key, []]),
    ]),
  );

/** Flags that switch something off, with the argument that they write. */
export const negatedFlags = (): Readonly<Record<string, string>> => stored().negated_flags;

/** Arguments named after what they switch off, with the argument whose opposite they are. */
export const invertedKeys = (): Readonly<Record<string, string>> => stored().inverted_keys;

/** Of settings that the dictionary lacks: names that bear on memory, and those of them that do not after all. */
export function namesOfMemory(): Readonly<Record<'memory' | 'other', RegExp>> {
  const { memory, other } = stored().names_of_memory;
  return { memory: new RegExp(memory.join('|')), other: new RegExp(other.join('|')) };
}

interface Dictionary {
  /** Spelling → canonical name. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Spellings that count only without a path. */
  readonly bare: ReadonlyMap<string, string>;
  readonly lists: ReadonlySet<string>;
  readonly otherNamespaces: ReadonlySet<string>;
  readonly overrides: ReadonlySet<string>;
  readonly generic: ReadonlySet<string>;
  readonly wrappers: ReadonlySet<string>;
}
let built: Dictionary | undefined;

function dictionary(): Dictionary {
  if (built !== undefined) return built;
  const { lists, other_namespaces: otherNamespaces, overrides, generic, wrappers } = stored();
  const keys = configKeys();
  const aliases = new Map([...keys.keys()].map((key) => [key, key]));
  const bare = new Map<string, string>();
  for (const [key, spellings] of keys) {
    for (const alias of spellings) {
      if (alias.startsWith('^')) bare.set(alias.slice(1), key);
      else if (!aliases.has(alias)) aliases.set(alias, key);
    }
  }
  built = {
    ...{ aliases, bare, lists: new Set(lists), otherNamespaces: new Set(otherNamespaces) },
    ...{ overrides: new Set(overrides), generic: new Set(generic), wrappers: new Set(wrappers) },
  };
  return built;
}

/** DeepSpeed prints the section `aio` as `aio_config`. */
const SUFFIX = /(?<=^(?:aio|flops_profiler|activation_checkpointing|amp))_config$/;

/** Longest dotted name of the dictionary. */
const MOST_PARTS = 4;

function pathOf(rawKey: string): string[] {
  return rawKey
    .replace(/^[-+~]{1,4}/, '')
    .replaceAll('-', '_')
    .split(/[./]/)
    .filter((part) => part !== '' && !/^\d+$/.test(part));
}

function known(parts: readonly string[]): string | undefined {
  const { aliases, bare, generic, wrappers } = dictionary();
  for (let count = Math.min(parts.length, MOST_PARTS); count > 1; count -= 1) {
    const found = aliases.get(parts.slice(-count).join('.'));
    if (found !== undefined) return found;
  }
  const last = parts.at(-1) ?? '';
  if (parts.length > 1 && generic.has(last)) return undefined;
  const path = parts.slice(0, -1).filter((part) => !wrappers.has(part.toLowerCase()));
  return (path.length === 0 ? bare.get(last) : undefined) ?? aliases.get(last);
}

/**
 * `--tensor-model-parallel-size`, `model.tensor_model_parallel_size` → `tensor_model_parallel_size`. A key the
 * dictionary does not know keeps its last part in snake case, with its section before it where the last part alone says
 * nothing (`tokenizer.type`).
 */
export function canonicalConfigKey(rawKey: string): string {
  const parts = pathOf(rawKey);
  const { generic, otherNamespaces } = dictionary();
  const other = parts.findIndex(
    (part, index) => index < parts.length - 1 && otherNamespaces.has(part.replace(SUFFIX, '')),
  );
  if (other >= 0) {
    const known = dictionary().aliases.get(parts.slice(other).join('.'));
    if (known !== undefined) return known;
    return [parts[other]!.replace(SUFFIX, ''), ...parts.slice(other + 1)].join('.');
  }
  const last = parts.at(-1) ?? rawKey;
  // Tokenizers give the size of their own vocabulary, which the model pads.
  if (last === 'vocab_size' && parts.at(-2) === 'tokenizer') return 'tokenizer.vocab_size';
  const found = known(parts);
  if (found !== undefined) return found;
  return parts.length > 1 && generic.has(last) ? parts.slice(-2).join('.') : last;
}

/** Whether the dictionary knows a key, in whatever spelling. */
export function isKnownConfigKey(rawKey: string): boolean {
  const name = pathOf(rawKey).join('.');
  return (
    own(negatedFlags(), name) !== undefined ||
    own(invertedKeys(), name) !== undefined ||
    known(pathOf(rawKey)) !== undefined
  );
}

/** `constructor` is a key too. */
function own(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Values kept; a tokenizer's chat template or a list of shards is cut here. */
const MOST_VALUE_CHARS = 4096;

/**
 * Python, YAML and JSON scalars in one text form: `True`, `False`, null for None and its like, numbers as printed,
 * lists and dictionaries as JSON text, texts without their quotes, `torch.bfloat16` as `bfloat16`, `<AttnBackend.auto:
 * 5>` and `AttnBackend.auto` as `auto`.
 */
export function normaliseConfigValue(text: string): string | null {
  return shorten(literalText(readLiteral(text)));
}

function shorten(text: string | null): string | null {
  return text !== null && text.length > MOST_VALUE_CHARS ? `${text.slice(0, MOST_VALUE_CHARS)}…` : text;
}

/**
 * A list as JSON. A command line separates its words by white space, also where a launcher has put brackets around it;
 * Python that makes a list has signs that words lack.
 */
function asList(value: string): string {
  const text = /^\["([^"]*)"\]$/.exec(value)?.[1] ?? value;
  if (text.startsWith('[') || text === '') return value;
  const isWords = /^[\w.+-]{1,60}(?:[\s,]{1,8}[\w.+-]{1,60})*$/.test(text);
  if (text !== value && !isWords) return value;
  const items = isWords ? text.split(/[\s,]+/) : text.split(',').map((item) => item.trim());
  return JSON.stringify(items.map((item) => (/^-?\d{1,15}$/.test(item) ? Number(item) : item)));
}

/**
 * A row of configuration. The value of a secret is not kept: only that it is set, and how long it is.
 *
 * @param value normalised already, see {@link normaliseConfigValue}
 */
export function configFinding(rawKey: string, value: string | null, origin: ConfigOrigin): ConfigFinding {
  let canonical = canonicalConfigKey(rawKey);
  const parts = pathOf(rawKey);
  if (value === null && parts.length > 1 && dictionary().overrides.has(parts.at(-2)!))
    canonical = parts.slice(-2).join('.');
  let kept = value === null ? null : shorten(hideSettingValue(rawKey, value));
  const opposite = own(invertedKeys(), canonical);
  if (opposite !== undefined && (kept === 'True' || kept === 'False')) {
    return { row: 'config', key: opposite, rawKey, value: kept === 'True' ? 'False' : 'True', origin };
  }
  if (kept !== null && dictionary().lists.has(canonical)) kept = asList(kept);
  return { row: 'config', key: canonical, rawKey, value: kept, origin };
}

/** A flag of a command line: `value` is null where none follows it. Negated flags set what they negate. */
export function flagFinding(flag: string, value: string | null, origin: ConfigOrigin): ConfigFinding {
  const name = flag.replace(/^-+/, '').replaceAll('-', '_');
  const negated = own(negatedFlags(), name);
  if (negated !== undefined && (value === null || value === 'True')) {
    return { ...configFinding(negated, 'False', origin), rawKey: flag };
  }
  return configFinding(flag, value === null ? 'True' : normaliseConfigValue(value), origin);
}
