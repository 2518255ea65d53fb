/** Statements as codes with figures. `src/report` makes their sentences; no code reads a sentence. */

/** What a sentence is made of besides its kind. */
export interface Figures {
  /** Names end in their unit (`_bytes`, `_ms`); ranks, stages, iterations and plain counts have none. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Data and codes: a call site, a process, a setting, the moment of a figure. */
  readonly names: Readonly<Record<string, string>>;
  /** A list in its order, e.g. the owners of memory; absent where the statement has none. */
  readonly items?: readonly Item[];
}

export interface Item {
  /** Null where it is not known. */
  readonly name: string | null;
  readonly numbers: Readonly<Record<string, number>>;
}

export interface Statement<Kind extends string> extends Figures {
  readonly kind: Kind;
}

export function statement<Kind extends string>(kind: Kind, figures: Partial<Figures> = {}): Statement<Kind> {
  return { kind, numbers: {}, names: {}, ...figures };
}

/** The numbers that are known. */
export function known(numbers: Readonly<Record<string, number | null | undefined>>): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] != null));
}

/** The names that are known. */
export function named(names: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).filter((entry): entry is [string, string] => entry[1] != null));
}

/** A sentence that is not made yet: `topic.table.code` of `src/knowledge/words`, and its figures. */
export interface Sentence {
  readonly sentence: string;
  readonly of: Readonly<Record<string, Part>>;
}

/** Null, undefined and false: the sentence lacks the figure. */
export type Part = string | number | boolean | null | undefined | Sentence | readonly Part[];

/** What a result has before `worded` of `src/report/words` makes its sentences. */
export type Text = string | Sentence;

/** Sentences of one table, by code: `sentencesOf('advice', 'limits')('no_snapshot')`. */
export const sentencesOf =
  (topic: string, table = 'sentences') =>
  (code: string, figures: object = {}): Sentence => ({
    sentence: `${topic}.${table}.${code}`,
    of: figures as Sentence['of'],
  });

type Leaf = string | number | bigint | boolean | null | undefined | Figures | ((...values: never) => unknown);

/** A result in which the texts of some fields are sentences that are not made yet. */
export type Unworded<Value, Fields extends string> = Value extends Leaf | Sentence | ReadonlyMap<unknown, unknown>
  ? Value
  : { [Key in keyof Value]: Key extends Fields ? Texts<Value[Key]> : Unworded<Value[Key], Fields> };

type Texts<Value> = Value extends string
  ? Value | Sentence
  : Value extends readonly unknown[] | object
    ? { [Key in keyof Value]: Texts<Value[Key]> }
    : Value;

/** The same with its sentences. */
export type Worded<Value> = Value extends Sentence
  ? string
  : Value extends Leaf | ReadonlyMap<unknown, unknown>
    ? Value
    : { [Key in keyof Value]: Worded<Value[Key]> };
