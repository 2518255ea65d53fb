/** Attribution rules of the user's own: a YAML file of the same shape as the built-in ones, checked key by key before any of it is used. */
import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from 'yaml';
import { MbfError } from '../../../model/errors.js';
import { PHASES, type Phase } from '../../../model/log-rows.js';
import { COMPONENTS } from '../../../model/vocabulary.js';
import { compilePatterns, listOf } from './frame-pattern.js';
import type { AttributionRule, BlockConditions, FramePattern, RuleSample } from './rule.js';

const RULE_KEYS = [
  'id',
  'component',
  'sub_component',
  'at',
  'within',
  'through',
  'without',
  'when',
  'phase',
  'source',
  'samples',
];
const CONDITION_KEYS = ['pool', 'lifetime', 'bytes', 'min_bytes', 'max_bytes'];
const SAMPLE_KEYS = ['frames', 'from', 'pool', 'lifetime', 'bytes', 'component', 'phase'];

/** Throws MBF2601 with the line of the first thing that is wrong. */
export function parseRules(text: string, file: string): AttributionRule[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const fail = (message: string, offset?: number): never => {
    const line = offset === undefined ? '' : `line ${lines.linePos(offset).line}: `;
    throw new MbfError('MBF2601', `${line}${message}`, { file });
  };
  const [error] = document.errors;
  if (error !== undefined) return fail(error.message.split('\n', 1)[0]!.replace(/ at line \d+.*$/, ''), error.pos[0]);
  const root = document.contents;
  const list = isMap(root) ? root.get('rules', true) : undefined;
  if (!isMap(root) || root.items.length !== 1 || list === undefined) return fail('the file must hold one key, rules');
  const rules: unknown = document.toJS({ maxAliasCount: 100 }) as unknown;
  const found = (rules as { rules: unknown }).rules;
  if (!Array.isArray(found) || found.length === 0) return fail('rules must be a list of at least one rule');
  const ids = new Set<string>();
  return found.map((rule: unknown, i) => {
    const node = document.getIn(['rules', i], true);
    const offset = (key?: string): number | undefined => {
      const own = isMap(node) && key !== undefined ? (node as YAMLMap).get(key, true) : node;
      const range =
        isScalar(own) || own === node
          ? (own as { range?: readonly number[] | null } | undefined)?.range
          : (own as { range?: readonly number[] } | undefined)?.range;
      return range?.[0];
    };
    const wrong = (message: string, key?: string): never => fail(`rule ${i + 1}: ${message}`, offset(key) ?? offset());
    const checked = checkRule(rule, wrong);
    if (ids.has(checked.id)) wrong(`a second rule ${checked.id}`, 'id');
    ids.add(checked.id);
    return checked;
  });
}

type Wrong = (message: string, key?: string) => never;

function checkRule(value: unknown, wrong: Wrong): AttributionRule {
  const rule = record(value, RULE_KEYS, 'a rule', wrong);
  const word = (key: string): string => {
    const text = rule[key];
    return typeof text === 'string' && text !== '' ? text : wrong(`${key} must be a text`, key);
  };
  const optional = (key: string) => (rule[key] === undefined ? {} : { [key]: patterns(rule[key], key, wrong) });
  const samples = rule['samples'] ?? [];
  if (!Array.isArray(samples)) wrong('samples must be a list', 'samples');
  return {
    id: word('id'),
    component: choice(word('component'), COMPONENTS, 'component', wrong),
    sub_component: rule['sub_component'] === undefined ? 'user' : word('sub_component'),
    at: rule['at'] === undefined ? wrong('it matches nothing: at is missing') : patterns(rule['at'], 'at', wrong),
    ...optional('within'),
    ...optional('through'),
    ...optional('without'),
    ...(rule['when'] === undefined ? {} : { when: conditions(rule['when'], wrong) }),
    ...(rule['phase'] === undefined ? {} : { phase: choice(word('phase'), PHASES, 'phase', wrong) as Phase }),
    source: rule['source'] === undefined ? 'rules file' : word('source'),
    samples: (samples as unknown[]).map((sample) => checkSample(sample, wrong)),
  };
}

function patterns(value: unknown, key: string, wrong: Wrong): FramePattern[] {
  return listOf(value).map((item) => {
    const pattern = record(item, ['file', 'function'], key, wrong);
    for (const part of Object.values(pattern))
      for (const text of listOf(part)) if (typeof text !== 'string') wrong(`${key}: a pattern must be a text`, key);
    try {
      compilePatterns(pattern as FramePattern);
    } catch (error) {
      wrong(`${key}: ${(error as Error).message}`, key);
    }
    return pattern as FramePattern;
  });
}

function conditions(value: unknown, wrong: Wrong): BlockConditions {
  const when = record(value, CONDITION_KEYS, 'when', wrong);
  if (when['pool'] !== undefined) choice(when['pool'], ['default', 'private'], 'when: pool', wrong);
  if (when['lifetime'] !== undefined) choice(when['lifetime'], ['resident', 'transient'], 'when: lifetime', wrong);
  const sizes = when['bytes'] === undefined ? [] : listOf(when['bytes']);
  for (const size of [...sizes, when['min_bytes'] ?? 0, when['max_bytes'] ?? 0])
    if (!Number.isSafeInteger(size) || (size as number) < 0) wrong('when: sizes are whole numbers of bytes', 'when');
  return { ...when, ...(sizes.length === 0 ? {} : { bytes: sizes as number[] }) };
}

function checkSample(value: unknown, wrong: Wrong): RuleSample {
  const sample = record(value, SAMPLE_KEYS, 'samples', wrong);
  const frames = sample['frames'];
  if (!Array.isArray(frames) || frames.length === 0 || frames.some((frame) => typeof frame !== 'string'))
    wrong('samples: frames must be a list of texts like "forward mymodel/vision/encoder.py"', 'samples');
  return { from: '', ...sample } as unknown as RuleSample;
}

function record(value: unknown, keys: readonly string[], what: string, wrong: Wrong): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(`${what} must be a map`);
  for (const key of Object.keys(value))
    if (!keys.includes(key)) wrong(`${what} has no key ${key}; it may have ${keys.join(', ')}`, key);
  return value as Record<string, unknown>;
}

function choice<Word extends string>(value: unknown, words: readonly Word[], key: string, wrong: Wrong): Word {
  const word = words.find((candidate) => candidate === value);
  return word ?? wrong(`${key} is none of ${words.join(', ')}`, key.split(':')[0]);
}
