/** Checks the values of a rule, of a rules file or built in, key by key. */
import { PHASES, type Phase } from '../../model/log-rows.js';
import { COMPONENTS } from '../../model/vocabulary.js';
import type { Wrong } from '../../text/user-list.js';
import { compilePatterns, listOf } from './frame-pattern.js';
import type { AttributionRule, BlockConditions, FramePattern, RuleSample } from './rule.js';

export const RULE_KEYS = [
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

/** A rule without its samples; `keys`: those it may have. */
export function checkRule(value: unknown, keys: readonly string[], wrong: Wrong): AttributionRule {
  const rule = record(value, keys, 'a rule', wrong);
  const word = (key: string): string => {
    const text = rule[key];
    return typeof text === 'string' && text !== '' ? text : wrong(`${key} must be a text`, key);
  };
  if (!Array.isArray(rule['samples'] ?? [])) wrong('samples must be a list', 'samples');
  const optional = (key: string) => (rule[key] === undefined ? {} : { [key]: patterns(rule[key], key, wrong) });
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

/** The samples of a rule that was checked. */
export function checkSamples(rule: unknown, wrong: Wrong): RuleSample[] {
  const samples = (rule as { readonly samples?: readonly unknown[] | null }).samples ?? [];
  return samples.map((sample) => checkSample(sample, wrong));
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
  return word ?? wrong(`invalid ${key}; expected one of ${words.join(', ')}`, key.split(':')[0]);
}
