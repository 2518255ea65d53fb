/**
 * Conditions over a configuration, the language of the lint rules. A condition holds, does not hold, or is unknown
 * because a fact it needs is unknown and no other fact decides it (Kleene's three-valued logic). The outcome lists the
 * facts that were read; the condition has a readable text.
 */
import { pushAll } from '../../model/lists.js';
import type { VersionName } from '../../model/results/log.js';
import type { FactsView, Looked } from './facts.js';
import { asList, asNumber, isOn, plainWord } from './values.js';
import { compareVersions } from './versions.js';

/** true: holds; null: unknown. */
export type Tri = boolean | null;

export interface Outcome {
  readonly value: Tri;
  /** The facts that decide the outcome. If it is unknown: the missing facts, and the parts that hold. */
  readonly looked: readonly Looked[];
  /** Of alternatives: the texts of those that hold. Missing where nothing is chosen. */
  readonly clauses?: readonly string[];
}

export interface Condition {
  /** For documentation: `cpu_offloading and pipeline_model_parallel_size > 1`. */
  readonly text: string;
  test(view: FactsView): Outcome;
}

const inner = ({ text }: Condition): string => (/ (?:and|or) /.test(text) ? `(${text})` : text);

/** Every one of them. */
export function all(...parts: readonly Condition[]): Condition {
  return {
    text: parts.map(inner).join(' and '),
    test(view) {
      const looked: Looked[] = [];
      const clauses: string[] = [];
      let value: Tri = true;
      for (const part of parts) {
        const outcome = part.test(view);
        // What comes after the first that is false changes nothing, and most rules are refuted by their first part.
        if (outcome.value === false) return outcome;
        if (outcome.value === null) value = null;
        pushAll(looked, outcome.looked);
        pushAll(clauses, outcome.clauses ?? []);
      }
      return { value, looked, clauses };
    },
  };
}

/** One of them at least. */
export function any(...parts: readonly Condition[]): Condition {
  return {
    text: parts.map(inner).join(' or '),
    test(view) {
      const outcomes = parts.map((part) => part.test(view));
      const value = outcomes.some((one) => one.value === true)
        ? true
        : outcomes.some((one) => one.value === null)
          ? null
          : false;
      const clauses = parts.filter((_, index) => outcomes[index]!.value === true).map(({ text }) => text);
      return { value, looked: outcomes.filter((one) => one.value === value).flatMap(({ looked }) => looked), clauses };
    },
  };
}

/** The same, as one clause without alternatives. */
export function oneClause(part: Condition): Condition {
  return {
    text: part.text,
    test(view) {
      const { value, looked } = part.test(view);
      return { value, looked };
    },
  };
}

export function not(part: Condition): Condition {
  return {
    text: `not ${inner(part)}`,
    test(view) {
      const { value, looked } = part.test(view);
      return { value: value === null ? null : !value, looked };
    },
  };
}

/** A condition on single facts, as text and as a function of their values; unknown where `look` returns null. */
export function where(text: string, look: (view: FactsView) => readonly [Tri, ...Looked[]]): Condition {
  return {
    text,
    test(view) {
      const [value, ...looked] = look(view);
      return { value, looked };
    },
  };
}

/** What holds or not without a fact that is unknown. */
export const unlessUnknown = ({ by }: Looked, value: () => Tri): Tri => (by === 'unknown' ? null : value());

/** A condition on one setting that is known. */
export function onSetting(key: string, text: string, test: (fact: Looked) => Tri): Condition {
  return where(text, (view) => {
    const fact = view.setting(key);
    return [unlessUnknown(fact, () => test(fact)), fact];
  });
}

/** A condition on a variable that is known; null: it is not set. */
export function onVariable(name: string, text: string, test: (value: string | null) => boolean): Condition {
  return where(text, (view) => {
    const fact = view.env(name);
    return [unlessUnknown(fact, () => test(fact.value)), fact];
  });
}

const negated = (condition: Condition, text: string): Condition => ({ ...not(condition), text });

/** A flag is on. A setting that is not a flag is on if its value is not empty, `none`, `false` or `0`. */
export function on(key: string): Condition {
  return onSetting(key, key, ({ value }) => isOn(value));
}

export function off(key: string): Condition {
  return negated(on(key), `${key} off`);
}

/** Set to anything but None. */
export function isSet(key: string): Condition {
  return onSetting(key, `${key} set`, ({ value }) => value !== null);
}

export function missing(key: string): Condition {
  return negated(isSet(key), `${key} not set`);
}

/** One of these values; compared without case, `null` means None. */
export function is(key: string, ...values: readonly (string | number | boolean | null)[]): Condition {
  const expected = values.map((value) => plainWord(value === null ? null : String(value)));
  const text = `${key} = ${values.map(String).join(' or ')}`;
  return onSetting(key, text, ({ value }) => expected.includes(plainWord(value)));
}

export function isNot(key: string, ...values: readonly (string | number | boolean | null)[]): Condition {
  return negated(is(key, ...values), `${key} ≠ ${values.map(String).join(', ')}`);
}

/** A number larger than this; None and words are not. */
export function above(key: string, limit: number): Condition {
  return compared(key, `${key} > ${limit}`, (value) => value > limit);
}

export function below(key: string, limit: number): Condition {
  return compared(key, `${key} < ${limit}`, (value) => value < limit);
}

function compared(key: string, text: string, test: (value: number) => boolean): Condition {
  return onSetting(key, text, (fact) => {
    const value = asNumber(fact.value);
    return value !== null && test(value);
  });
}

/** Numbers of several settings; unknown if one of them is unknown, false if one is None. */
export function numbers(
  text: string,
  keys: readonly string[],
  test: (...values: readonly number[]) => boolean,
): Condition {
  return arithmetic(text, new Map(keys.map((key) => [key, undefined])), (row) => test(...row.values()));
}

/**
 * Numbers of several settings, by key. A setting that is None or a word counts as the number given here with its key;
 * without such a number the condition does not hold. Unknown if one of the settings is unknown.
 */
export function arithmetic(
  text: string,
  keys: ReadonlyMap<string, number | undefined>,
  test: (row: ReadonlyMap<string, number>) => boolean,
): Condition {
  return where(text, (view) => {
    const fact = [...keys.keys()].map((key) => view.setting(key));
    if (fact.some(({ by }) => by === 'unknown')) return [null, ...fact];
    const row = new Map<string, number>();
    for (const { key, value } of fact) {
      const figure = asNumber(value) ?? keys.get(key);
      if (figure !== undefined) row.set(key, figure);
    }
    return [row.size === keys.size && test(row), ...fact];
  });
}

/** A list holds one of these words. */
export function has(key: string, ...words: readonly string[]): Condition {
  return listed(key, `${key} has ${words.join(' or ')}`, (items) => items.some((item) => words.includes(item)));
}

/** A list holds a word that is none of these. */
export function hasOther(key: string, words: readonly string[]): Condition {
  return listed(key, `${key} has others than ${words.join(', ')}`, (items) =>
    items.some((item) => !words.includes(item)),
  );
}

/** A list without entries; None is not a list. */
export function emptyList(key: string): Condition {
  return listed(key, `${key} empty`, (items) => items.length === 0);
}

function listed(key: string, text: string, test: (items: readonly string[]) => boolean): Condition {
  return onSetting(key, text, ({ value }) => {
    const items = asList(value);
    return items !== null && test(items);
  });
}

/** A variable has one of these values; `null`: it is not set. */
export function env(name: string, ...values: readonly (string | null)[]): Condition {
  const text = `${name} ${values.map((value) => (value === null ? 'not set' : `= ${value}`)).join(' or ')}`;
  return onVariable(name, text, (value) => values.includes(value));
}

export function envNot(name: string, ...values: readonly (string | null)[]): Condition {
  return negated(env(name, ...values), `${name} ≠ ${values.map((value) => value ?? 'not set').join(', ')}`);
}

export function envSet(name: string): Condition {
  return negated(env(name, null), `${name} set`);
}

/** A variable's text has this in it. */
export function envHas(name: string, part: string): Condition {
  return onVariable(name, `${name} has ${part}`, (value) => value?.includes(part) === true);
}

/** A package is older than this. */
export function before(name: VersionName, version: string): Condition {
  return where(`${name} < ${version}`, (view) => {
    const fact = view.version(name);
    return [fact.value === null ? null : compareVersions(fact.value, version) < 0, fact];
  });
}

/** A package is this or newer. */
export function since(name: VersionName, version: string): Condition {
  return negated(before(name, version), `${name} ≥ ${version}`);
}

/** Compute capability of the device is below this: 9 is Hopper, 10 Blackwell. */
export function capabilityBelow(limit: number): Condition {
  return where(`compute capability < ${limit}`, (view) => {
    const fact = view.device();
    const { capability } = view.facts.device;
    return [capability === null ? null : capability < limit, fact];
  });
}

/** The configuration is of one of these frameworks. */
export function framework(...names: readonly string[]): Condition {
  return where(names.join(' or '), (view) => {
    const fact = view.framework();
    return [fact.value === null ? null : names.includes(fact.value), fact];
  });
}

/** Not known to hold: for exceptions that require a known fact. Never unknown; lists known facts only. */
export function notKnown(part: Condition): Condition {
  return negated(known(part), `not ${inner(part)}, as far as known`);
}

/** Holds only if the facts it needs are known; for one branch of several. Never unknown. */
export function known(part: Condition): Condition {
  return {
    text: `${inner(part)}, if known`,
    test(view) {
      const { value, looked } = part.test(view);
      return { value: value === true, looked: looked.filter(({ by }) => by !== 'unknown') };
    },
  };
}
