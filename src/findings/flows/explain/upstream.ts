/**
 * Names of upstream, of whatever data mentions them: settings, variables, options of the allocator, modules of lists.
 * One index, made from the data.
 */
import type { LintRule } from '../../../derive/lint/rule.js';
import { LINT_TOPICS, lintRecords, lintRules } from '../../../derive/lint/rules.js';
import { defaults } from '../../../derive/settings/defaults.js';
import { textTerms } from '../../../derive/settings/terms.js';
import {
  canonicalConfigKey,
  configKeys,
  invertedKeys,
  isKnownConfigKey,
  negatedFlags,
} from '../../../knowledge/config-keys.js';
import { keepsEnv, keptEnv } from '../../../knowledge/env-keys.js';
import { spellingsOf } from '../../../knowledge/find-knob.js';
import { KNOBS } from '../../../knowledge/knobs/index.js';
import { loadData } from '../../../knowledge/load-data.js';
import { EXPERIMENTS } from '../../../knowledge/measured.js';
import { moduleLists } from '../../../knowledge/module-lists.js';
import { releaseText, upstreamName, upstreamNames } from '../../../knowledge/upstream-names.js';
import type { ExplainedName, RuleReference } from '../../../model/results/knowledge.js';
import { fixTexts } from '../../advice/fix.js';
import { KNOB_EFFECTS } from '../../settings/knob-effects.js';
import { withoutValues } from './rule-words.js';

type Options = Readonly<Record<string, { readonly since?: string; readonly does: string }>>;
export const allocatorOptions = (): Options => loadData('allocator-options') as Options;

/** Names that are compared whole, with dashes as underscores. */
const IDENTIFIER = /(?<![\w./-])[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,12}(?![\w(]|\.py)/g;

const identifiersOf = (text: string): string[] => text.match(IDENTIFIER) ?? [];

/** Texts of a rule that are about settings; terms in its condition are written out. */
function textOfRule({ when, message, fix, error }: LintRule): string {
  return `${when.text}\n${message}\n${fix}\n${error ?? ''}`;
}

let index: ReadonlySet<string> | undefined;

/** Every name that some data has. */
export function mentionedNames(): ReadonlySet<string> {
  index ??= new Set([
    ...[...configKeys()].flatMap(([key, aliases]) => [key, ...aliases.map((alias) => alias.replace(/^\^/, ''))]),
    ...[negatedFlags(), invertedKeys(), ...Object.values(moduleLists()).map(({ modules }) => modules)].flatMap(
      Object.keys,
    ),
    ...[upstreamNames(), defaults().byKey, KNOB_EFFECTS].flatMap((map) => [...map.keys()]),
    ...keptEnv().filter((name) => !name.endsWith('*')),
    ...[allocatorOptions(), moduleLists()].flatMap(Object.keys),
    ...EXPERIMENTS.flatMap(({ settings }) => Object.keys(settings)),
    ...lintRules().flatMap((rule) => identifiersOf(textOfRule(rule))),
    ...LINT_TOPICS.flatMap((topic) => lintRecords(topic).flatMap(({ when }) => identifiersOf(when))),
    ...Object.values(textTerms()).flatMap(identifiersOf),
    ...[...fixTexts().values()].flatMap(identifiersOf),
    ...KNOBS.flatMap((knob) => identifiersOf(JSON.stringify(knob))),
  ]);
  return index;
}

/** `--a-b`, `cfg.model.a_b` and `a_b=1` are `a_b`. Empty: nothing has that name. */
export function explainNames(asked: string): readonly ExplainedName[] {
  const path = asked
    .split(/[=:]/, 1)[0]!
    .trim()
    .replace(/^[-+~]+/, '')
    .replaceAll('-', '_');
  const last = path.split(/[./]/).at(-1) ?? '';
  const name = [path, last, path.toLowerCase()].find((one) => mentionedNames().has(one));
  if (name !== undefined) return [explainName(name)];
  return last !== '' && last === last.toUpperCase() && keepsEnv(last) ? [explainName(last)] : [];
}

function explainName(name: string): ExplainedName {
  const canonical = isKnownConfigKey(name) ? canonicalConfigKey(name) : name;
  const spelt = new Set([
    name,
    canonical,
    ownValue(negatedFlags(), name) ?? name,
    ownValue(invertedKeys(), name) ?? name,
  ]);
  const option = Object.hasOwn(allocatorOptions(), name) ? allocatorOptions()[name] : undefined;
  const lists = Object.entries(moduleLists()).flatMap(([list, { what, modules }]) =>
    Object.hasOwn(modules, name)
      ? [{ list, what, does: modules[name]!.does, since: modules[name]!.since ?? null }]
      : [],
  );
  const upstream = upstreamName(name) ?? upstreamName(canonical);
  const mentions = wholeWords([...spelt]);
  const isVariable = /^[A-Z][A-Z0-9_]*$/.test(name);
  const flag = upstream?.flag ?? null;
  return {
    is: 'name',
    id: name,
    kind:
      option !== undefined
        ? 'allocator option'
        : isVariable
          ? 'variable'
          : upstream !== undefined || lists.length === 0
            ? 'setting'
            : 'module',
    does: option?.does ?? null,
    of: upstream?.of ?? null,
    versions:
      option?.since === undefined
        ? textOrNull(upstream === undefined ? '' : releaseText(upstream))
        : `torch ≥ ${option.since}`,
    source: upstream?.source ?? null,
    also: [canonical, ...(configKeys().get(canonical) ?? [])]
      .map((one) => one.replace(/^\^/, ''))
      .filter((one) => one !== name),
    spellings: {
      nemo: [],
      megatron_bridge: upstream?.bridge == null ? [] : [upstream.bridge],
      megatron_lm: flag === null ? [] : [flag],
    },
    lists,
    defaults: (defaults().byKey.get(canonical) ?? []).map(({ value, source }) => ({ value, source })),
    rules: rulesThat(mentions),
    knobs: KNOBS.filter((knob) =>
      mentions.test([...spellingsOf(knob), knob.values, ...knob.requires, ...knob.conflicts].join('\n')),
    ).map(({ id }) => id),
    fixes: fixesThatMention([...spelt]),
    measured: EXPERIMENTS.filter(({ settings }) => mentions.test(JSON.stringify(settings))).map(
      ({ id, title, result }) => ({ id, text: `${title}: ${result}` }),
    ),
  };
}

const textOrNull = (text: string): string | null => (text === '' ? null : text);

const ownValue = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

function wholeWords(names: readonly string[]): RegExp {
  return new RegExp(`(?<![\\w.])(?:${names.map((name) => name.replaceAll('.', '\\.')).join('|')})(?!\\w)`);
}

export function rulesThat(mentions: RegExp): RuleReference[] {
  return lintRules()
    .filter((rule) => mentions.test(textOfRule(rule)))
    .map(({ id, severity, message }) => ({ id, severity, text: withoutValues(message) }));
}

export function fixesThatMention(names: readonly string[]): string[] {
  const mentions = wholeWords(names);
  return [...fixTexts()].filter(([, text]) => mentions.test(text)).map(([id]) => id);
}
