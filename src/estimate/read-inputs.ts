/**
 * From user text (JSON, `KEY=VALUE`, rows of a configuration) to typed inputs; what does not fit its key is reported,
 * never guessed.
 */
import { MbfError } from '../model/errors.js';
import { findInput, type GivenInputs, INPUT_NAMES, type InputKind, type InputName, inputKey } from './input-keys.js';
import { readLayerPattern } from './layer-pattern.js';
import { readLayout } from './pipeline-split.js';

const EXPECTED: Readonly<Record<InputKind, string>> = {
  count: 'a whole number from 1',
  size: 'a whole number from 0',
  fraction: 'a number from 0 to 1',
  factor: 'a number above 0',
  flag: 'true or false',
  word: 'a word',
  words: 'a list of words',
  layers: 'a whole number from 1, or a list of 0 and 1 for each layer',
  layout: 'a layout of pipeline stages',
};

/** Nothing: Python, YAML and JSON have a word each for it. */
function isNothing(value: unknown): boolean {
  return (
    value === null || value === undefined || (typeof value === 'string' && /^(?:none|null|~)?$/i.test(value.trim()))
  );
}

function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !/^\s*[+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(value))
    return undefined;
  return Number(value.replaceAll('_', ''));
}

function asInteger(value: unknown, least: number): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= least ? number : undefined;
}

function asFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const text = String(value).trim().toLowerCase();
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : undefined;
}

/** A list as JSON has it, or as text: `["a", "b"]`, `a,b`. */
function asList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (!text.startsWith('[')) return text.split(/[,\s]+/).filter((word) => word !== '');
  try {
    const parsed: unknown = JSON.parse(text.replaceAll("'", '"'));
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function asWords(value: unknown): readonly string[] | undefined {
  const items = asList(value);
  return items?.every((item) => typeof item === 'string') ? items : undefined;
}

function asLayers(value: unknown): number | readonly number[] | undefined {
  const every = asInteger(value, 1);
  if (every !== undefined) return every;
  if (typeof value === 'string' && !value.trim().startsWith('["')) {
    const pattern = readLayerPattern(value);
    // The dictionary of settings writes the lone number of a list as a list of one.
    return pattern?.length === 1 && pattern[0] === 1 ? 1 : (pattern ?? asInteger(value.replace(/^\[|\]$/g, ''), 1));
  }
  const items = asList(value);
  if (items?.length === 1 && typeof items[0] === 'string') return asLayers(items[0]);
  const isPattern = items?.every((item) => item === 0 || item === 1 || typeof item === 'boolean');
  return items?.length === 0 || isPattern !== true ? undefined : items?.map(Number);
}

/** `Et|(tt|)*2L` or a list of lists of words, as text. */
function asLayout(value: unknown): string | undefined {
  const text = Array.isArray(value) ? JSON.stringify(value) : typeof value === 'string' ? value.trim() : '';
  return readLayout(text) === null ? undefined : text;
}

function asFigure(value: unknown, isValid: (number: number) => boolean): number | undefined {
  const number = asNumber(value);
  return number !== undefined && isValid(number) ? number : undefined;
}

/** Undefined where the value is none of that kind. */
const READERS: Readonly<
  Record<InputKind, (value: unknown) => number | boolean | string | readonly (string | number)[] | undefined>
> = {
  count: (value) => asInteger(value, 1),
  size: (value) => asInteger(value, 0),
  fraction: (value) => asFigure(value, (number) => number >= 0 && number <= 1),
  factor: (value) => asFigure(value, (number) => number > 0),
  flag: asFlag,
  word: (value) => (typeof value === 'string' || typeof value === 'number' ? String(value).trim() : undefined),
  words: asWords,
  layers: asLayers,
  layout: asLayout,
};

/** Why a pair of key and value is not a valid input. */
export interface InputFault {
  readonly key: string;
  readonly fact: string;
}

export interface ReadInputs {
  readonly given: GivenInputs;
  /** Names that were set to null (`null`, `None`), which differs from absent names. */
  readonly cleared: ReadonlySet<InputName>;
  readonly faults: readonly InputFault[];
}

/** Reads pairs in their order; a later one of the same key wins. */
export function readInputs(pairs: Iterable<readonly [key: string, value: unknown]>): ReadInputs {
  const given: Partial<Record<InputName, unknown>> = {};
  const cleared = new Set<InputName>();
  const faults: InputFault[] = [];
  for (const [key, value] of pairs) {
    const found = findInput(key);
    if (found === undefined) {
      faults.push({ key, fact: `${JSON.stringify(key)} is not an input of an estimate${suggestion(key)}` });
      continue;
    }
    const { name, inverted } = found;
    const { kind, most, none } = inputKey(name);
    if (isNothing(value) && none !== undefined) given[name] = none;
    else if (isNothing(value)) {
      delete given[name];
      cleared.add(name);
    } else {
      const read = READERS[kind](value);
      if (read === undefined) faults.push({ key, fact: `${key} = ${shown(value)} is not ${EXPECTED[kind]}` });
      else if (most !== undefined && Number(read) > most)
        faults.push({ key, fact: `${key} = ${shown(value)} is more than ${most}` });
      else {
        given[name] = inverted ? !read : read;
        cleared.delete(name);
      }
    }
  }
  return { given: given as GivenInputs, cleared, faults };
}

/** Anything unread in what a user wrote for this purpose is an error; `code` is its error code. */
export function demandInputs(
  pairs: Iterable<readonly [key: string, value: unknown]>,
  code: 'MBF1001' | 'MBF2202',
  place: { readonly file?: string } = {},
): ReadInputs {
  const read = readInputs(pairs);
  if (read.faults.length > 0) throw new MbfError(code, read.faults.map(({ fact }) => fact).join('; '), place);
  return read;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** The inputs that share most of their words with an unknown key. */
function suggestion(key: string): string {
  const words = new Set(key.toLowerCase().split(/[^a-z0-9]+/));
  const close = INPUT_NAMES.map((name) => ({
    name,
    shared: name.split('_').filter((word) => word.length > 2 && words.has(word)).length,
  }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, 3);
  return close.length === 0 ? '' : `; near it: ${close.map(({ name }) => name).join(', ')}`;
}
