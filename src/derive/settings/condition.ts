/**
 * Conditions over a configuration, the language of the lint rules. A condition holds, does not hold, or is unknown
 * because a fact it needs is unknown and no other fact decides it (Kleene's three-valued logic). The outcome lists the
 * facts that were read; the condition has a readable text.
 */
import { pushAll } from '../../model/lists.js';
import type { VersionName } from '../../model/results/log.js';
import type { FactsView, Looked } from './facts.js';
import { asNumber } from './values.js';
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
