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
