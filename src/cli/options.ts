/** How verbs declare operands and options, and the parsers of their values. Every parser throws MBF1001. */
import { MbfError } from '../model/errors.js';
import { parseSize } from '../model/units.js';
import { didYouMean } from './nearest.js';

/** An operand (`<run>`, `[run]`, `<run...>`) or an option (`--limit <n>`), and the value a verb gets of it. */
export interface Spec<Value> {
  readonly flags: string;
  readonly help: string;
  /** What is parsed where the option is not given; part of the help. */
  readonly initial?: string | readonly string[];
  readonly isRequired?: boolean;
  /** `given` is what commander has; `name` is the option's long name. */
  read(given: unknown, name: string): Value;
}
export type Specs = Readonly<Record<string, Spec<unknown>>>;
export type Values<All extends Specs> = {
  readonly [Key in keyof All]: All[Key] extends Spec<infer Value> ? Value : never;
};

type Parse<Value> = (text: string, name: string) => Value;
type Operand<Flags extends string> = Flags extends `${string}...${string}`
  ? readonly string[]
  : Flags extends `<${string}`
    ? string
    : string | undefined;

export const text: Parse<string> = (given) => given;

export function operand<const Flags extends string>(flags: Flags, help: string): Spec<Operand<Flags>>;
export function operand<Value>(flags: `<${string}>`, help: string, parse: Parse<Value>): Spec<Value>;
export function operand(flags: string, help: string, parse: Parse<unknown> = text): Spec<unknown> {
  return { flags, help, read: (given, name) => (typeof given === 'string' ? parse(given, name) : given) };
}

export function flag(flags: string, help: string): Spec<boolean> {
  return { flags, help, read: (given) => given === true };
}

/** An option with a value; `initial` is its default. */
export function option(flags: string, help: string): Spec<string | undefined>;
export function option<Value>(flags: string, help: string, parse: Parse<Value>): Spec<Value | undefined>;
export function option<Value>(flags: string, help: string, parse: Parse<Value>, initial: string): Spec<Value>;
export function option(flags: string, help: string, parse: Parse<unknown> = text, initial?: string): Spec<unknown> {
  const read = (given: unknown, name: string) => (typeof given === 'string' ? parse(given, name) : undefined);
  return { flags, help, read, ...(initial === undefined ? {} : { initial }) };
}

/** An option whose value may be left out, `--curve [slices]`: then it is `bare`. */
export function optional<Value>(
  flags: string,
  help: string,
  parse: Parse<Value>,
  bare: Value,
): Spec<Value | undefined> {
  return {
    ...option(flags, help),
    read: (given, name) => (typeof given === 'string' ? parse(given, name) : given === true ? bare : undefined),
  };
}

/** An option that may be repeated. */
export function repeated(flags: string, help: string): Spec<readonly string[]>;
export function repeated<Value>(flags: string, help: string, parse: Parse<Value>): Spec<readonly Value[]>;
export function repeated(flags: string, help: string, parse: Parse<unknown> = text): Spec<readonly unknown[]> {
  return { flags, help, initial: [], read: (given, name) => (given as string[]).map((one) => parse(one, name)) };
}

/** An option whose value is one of the words, which the help lists. */
export function choice<const Word extends string>(
  flags: string,
  help: string,
  words: readonly Word[],
): Spec<Word | undefined>;
export function choice<const Word extends string>(
  flags: string,
  help: string,
  words: readonly Word[],
  initial: Word,
): Spec<Word>;
export function choice(flags: string, help: string, words: readonly string[], initial?: string): Spec<unknown> {
  return { ...option(flags, `${help}: ${words.join(', ')}`, oneOf(words), initial!) };
}

/** An option that has to be given; `missing` is the error without it, else commander's. */
export function required(flags: string, help: string, missing?: string): Spec<string> {
  const read = (given: unknown): string => {
    if (typeof given !== 'string') throw new MbfError('MBF1001', missing ?? `${flags} is missing`);
    return given;
  };
  return { flags, help, isRequired: missing === undefined, read };
}

/** What the caller has to correct. */
export const misuse = (fact: string): MbfError => new MbfError('MBF1001', fact);

/** A value of an operand or option that is none. */
export const wrong = (name: string, given: string, expected: string): MbfError =>
  misuse(`invalid ${name} ${JSON.stringify(given)}; expected ${expected}`);

/** A whole number in any spelling of JavaScript's; `what` is what the error expects. */
function wholeNumber(least: number, what: string): Parse<number> {
  return (given, name) => {
    const value = Number(given);
    if (given.trim() === '' || !Number.isSafeInteger(value) || value < least) throw wrong(name, given, what);
    return value;
  };
}

export const count = wholeNumber(0, 'a whole number');
export const countFromOne = wholeNumber(1, 'a whole number from 1');

/** A count of which 0 means all, which is undefined. */
export const countOrAll: Parse<number | undefined> = (given, name) => count(given, name) || undefined;

export function between(least: number, most: number): Parse<number> {
  return (given, name) => {
    const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
    if (!(value >= least && value <= most)) throw wrong(name, given, `a number from ${least} to ${most}`);
    return value;
  };
}

export function oneOf<const Word extends string>(words: readonly Word[]): Parse<Word> {
  return (given, name) => {
    const word = words.find((candidate) => candidate === given);
    if (word === undefined) throw wrong(name, given, `one of ${words.join(', ')}${didYouMean(given, words)}`);
    return word;
  };
}

/** `80GiB` in bytes. */
export const size: Parse<number> = (given, name) => {
  const bytes = parseSize(given);
  if (bytes === undefined || !Number.isSafeInteger(bytes)) throw wrong(name, given, 'a size such as 80GiB');
  return bytes;
};

export const sizeAboveZero: Parse<number> = (given, name) => {
  const bytes = size(given, name);
  if (bytes === 0) throw wrong(name, given, 'a size above 0 such as 80GiB');
  return bytes;
};

/** `KEY=VALUE`; `expected` is what the error expects. */
export function pair(expected: string): Parse<readonly [key: string, value: string]> {
  return (given, name) => {
    const at = given.indexOf('=');
    const key = given.slice(0, Math.max(0, at)).trim();
    if (key === '') throw wrong(name, given, expected);
    return [key, given.slice(at + 1)];
  };
}

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600 };

/** `90`, `90s`, `30m`, `2h` in milliseconds. */
export const duration: Parse<number> = (given, name) => {
  const match = /^(\d{1,7}(?:\.\d{1,3})?)([smh]?)$/.exec(given);
  const seconds = match === null ? 0 : Number(match[1]) * SECONDS[match[2]!]!;
  // Beyond this a timer of Node ends at once.
  if (seconds <= 0 || seconds > 2_000_000) throw wrong(name, given, 'a time such as 30m');
  return 1000 * seconds;
};

/** `2%`, `0.5 %` or `0.02`; a bare number of 1 or more is refused, for it could be either. */
export const share: Parse<number> = (given, name) => {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(%?)$/.exec(given.trim());
  const value = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (!(value >= 0 && (value < 1 || match?.[2] === '%'))) throw wrong(name, given, 'a share such as 2% or 0.02');
  return value;
};

/** `50` (percent) as a share. */
export const percentage: Parse<number> = (given, name) => {
  const percent = Number(given);
  if (!/^\d{1,3}(?:\.\d+)?$/.test(given) || !(percent > 0 && percent <= 100))
    throw wrong(name, given, 'a percentage above 0, up to 100');
  return percent / 100;
};

const MINUTE_US = 60_000_000;

/** `+02:00`, `-0330`, `+9`: how far printed clocks are ahead of UTC, as the microseconds to add to them. */
export const utcOffset: Parse<number> = (given, name) => {
  const match = /^([+-])(\d{1,2})(?::?([0-5]\d))?$/.exec(given.replace('−', '-'));
  const minutes = match === null ? Number.NaN : Number(match[2]) * 60 + Number(match[3] ?? 0);
  if (match === null || minutes > 14 * 60) throw wrong(name, given, 'an offset such as +02:00');
  return (match[1] === '-' ? minutes : -minutes) * MINUTE_US;
};

/** What several verbs declare alike. */
export const RUN = operand(
  '[run...]',
  'paths of one run, - for standard input, or a run of the store; default: the last',
);
export const SNAPSHOT = operand('[snapshot...]', 'a path, a handle, or a run of the store; default: the last run');
export const ONE_DEVICE = option(
  '--device <n>',
  'device ordinal; default: the one that ran out, else the one with the longest trace',
  count,
);
export const ONLY_DEVICE = option('--device <n>', 'only this device', count);
export const CAPACITY = capacity('total memory of the device, e.g. 80GiB, where no message prints it');
export const MARKDOWN = option(
  '--markdown <file>',
  'also write it as Markdown, for an issue or the summary of a job; - is standard output',
);

export const CSV_RAW = flag(
  '--csv-raw',
  "csv: exact cells, without a ' in front of what a spreadsheet takes for a formula, and with invisible characters",
);
/** Of rows that a statement gives. */
export const ROW_LIMIT = option(
  '--limit <n>',
  'rows of a table or JSON document; 0 = all (jsonl and csv always print all)',
  countOrAll,
  '1000',
);
export const KEY = option(
  '--key <file>',
  'names file of an earlier `redact`, or any secret file: the same names again',
);
/** Verbs with these options read a copy without names; see `Session`. */
export const REDACT = {
  redact: flag('--redact', 'without names of users, hosts, paths, projects and private code, for sharing'),
  key: KEY,
};

export const HTML = option(
  '--html <file>',
  'also write it as one page that opens without a network; - is standard output',
);

export const STEP_RANGE = option(
  '--step-range <name>',
  'the NVTX range that is a training step of Nsight Systems reports, or a candidate that `nsys` lists',
);
export const TOLERANCE = option('--tolerance <list>', 'least relative changes that count, such as memory=1%,time=3%');

/** `--capacity`, also as it was written: commands that a screen suggests repeat it. */
export function capacity(help: string): Spec<{ readonly bytes: number; readonly text: string } | undefined> {
  return option('--capacity <size>', help, (given, name) => ({ bytes: size(given, name), text: given }));
}
export const ALLOW_CHANGE = option(
  '--allow-change <keys>',
  'settings that may differ from the golden run, such as seq_length,layout',
);
