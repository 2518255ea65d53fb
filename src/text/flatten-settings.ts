/** Nested settings as rows: values by path, for any source format. */
import { configFinding } from '../knowledge/config-keys.js';
import { envFinding } from '../knowledge/env-keys.js';
import { type Literal, literalText, wordText } from '../knowledge/literal.js';
import { isSecretName, secretText } from '../knowledge/secrets.js';
import type { ConfigFinding, ConfigOrigin, EnvFinding } from '../model/log-rows.js';

/** Rows of one text; a configuration has a few hundred. */
const MOST_ROWS = 20_000;

/**
 * Members of Megatron-Core's `AttnBackend` (`transformer/enums.py`), which a Bridge YAML writes as a call with the
 * number.
 */
const ATTENTION_BACKENDS = ['flash', 'fused', 'unfused', 'local', 'auto'];

/**
 * Receives one setting: the path's parts, the value in the one text form, and the index of the key (or a list's item).
 */
export type EmitSetting = (path: readonly string[], value: string | null, at: number) => void;

/**
 * Lists of scalars are one value; lists of sections put their position into the path; an object that represents a
 * function, a type or an enum member (`_target_` with `_call_` or `_args_`, as Bridge and Hydra write them) is one
 * value.
 */
export function flattenSettings(value: Literal, emit: EmitSetting, path: readonly string[] = []): void {
  let rows = 0;
  const give: EmitSetting = (where, text, at) => {
    if (rows < MOST_ROWS) emit(where, text, at);
    rows += 1;
  };
  const walk = (node: Literal, where: readonly string[], at: number): void => {
    if (rows >= MOST_ROWS) return;
    if (node.kind === 'scalar') {
      if (where.length > 0) give(where, literalText(node), at);
      return;
    }
    if (node.kind === 'list') {
      if (!node.items.some((item) => item.kind === 'map' || item.kind === 'call')) {
        if (where.length > 0) give(where, literalText(node), at);
        return;
      }
      let index = 0;
      for (const item of node.items) {
        walk(item, [...where, String(index)], item.at);
        index += 1;
      }
      return;
    }
    const object = objectText(node);
    if (object !== undefined && where.length > 0) {
      give(where, object, at);
      return;
    }
    if (node.entries.length === 0 && where.length > 0) give(where, literalText(node), at);
    const secret = node.kind === 'map' ? secretEntry(node.entries) : undefined;
    for (const entry of node.entries) {
      if (entry === secret) give([...where, entry.key], secretText(literalText(entry.value)?.length ?? 0), entry.at);
      else walk(entry.value, [...where, entry.key], entry.at);
    }
  };
  walk(value, path, value.at);
}

type Entries = Extract<Literal, { kind: 'map' }>['entries'];

/** The value of `{name: HF_TOKEN, value: x}`, as Kubernetes lists variables. */
function secretEntry(entries: Entries): Entries[number] | undefined {
  const textOf = (key: string): string | null | undefined => {
    const value = entries.find((entry) => entry.key === key)?.value;
    return value?.kind === 'scalar' ? literalText(value) : undefined;
  };
  const name = textOf('name') ?? textOf('key');
  const isSecret = typeof name === 'string' && isSecretName(name) && typeof textOf('value') === 'string';
  return isSecret ? entries.find((entry) => entry.key === 'value') : undefined;
}

function objectText(node: Extract<Literal, { kind: 'map' | 'call' }>): string | undefined {
  // `PosixPath('/x')`, `timedelta(0)`: positional arguments name no settings.
  if (node.kind === 'call') {
    return node.entries.every((entry, index) => entry.key === String(index))
      ? (literalText(node) ?? undefined)
      : undefined;
  }
  const fields = new Map(node.entries.map((entry) => [entry.key, entry.value]));
  const target = fields.get('_target_');
  if (target?.kind !== 'scalar') return undefined;
  if ([...fields.keys()].some((key) => !/^_(?:target|args|call|partial|name)_$/.test(key))) return undefined;
  const name = target.text.slice(target.text.lastIndexOf('.') + 1);
  const args = fields.get('_args_');
  if (args?.kind === 'list' && args.items.length > 0) {
    const texts = args.items.map((item) => literalText(item) ?? 'None');
    const member = name === 'AttnBackend' ? ATTENTION_BACKENDS[Number(texts[0]) - 1] : undefined;
    return member ?? `${name}(${texts.join(', ')})`;
  }
  if (!fields.has('_call_') && !fields.has('_args_')) return undefined;
  const word = wordText(target.text);
  return word === target.text ? name : (word ?? name);
}

/** A section of environment variables: Bridge's `env_vars`, the `ENV_VARS` of Megatron-LM's test cases. */
function isEnvironment(part: string | undefined): boolean {
  return part !== undefined && /^(?:env_vars|environment_variables)$/i.test(part);
}

/** The row for one setting of a tree; null for an environment variable that is not kept. */
export function settingFinding(
  path: readonly string[],
  value: string | null,
  origin: ConfigOrigin,
): ConfigFinding | EnvFinding | null {
  if (isEnvironment(path.at(-2))) return envFinding(path.at(-1)!, value, 'config file');
  return configFinding(path.join('.'), value, origin);
}
