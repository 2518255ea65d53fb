/**
 * Sentences of statements: templates of `src/knowledge/words`, filled with figures.
 *
 * - `{request_bytes}` is a figure: a number in bytes where its name has `bytes`, else a count; or a name, as it is.
 *   `{a_bytes-b_bytes}`, `{ranks+1}` are sums. `{pid:raw}` has a form (`FORMS`), or a list of `words/phrases.yaml`.
 *   Lists of texts have `:list`, `:lines` or `:and`; `{steps:counted:step}` is `1 step`, `3 steps`.
 * - `[ in {site}]` is printed where its figures exist. Of `[a|b|c]` the first such is printed, else the last.
 * - Conditions print nothing and decide instead of the figures: `{site?}` exists, `{moment=peak}`, `{moment!peak}`,
 *   `{exit_code<0}`, `{blocks>0}`.
 * - Where a screen is made of them (`fill-pieces.ts`), `{@live_bytes}` is a field of JSON, `{@live_bytes=active_bytes}`
 *   of another name, a form may be `code` or a unit of `document/values.ts`, and `{peak.live_bytes}` is of a record.
 */

import { loadData } from '../../knowledge/load-data.js';
import type { Figures, Part, Sentence } from '../../model/statement.js';
import { counted, formatBytes, formatCount } from '../../model/units.js';
import type { Text as Words } from '../document/document.js';

/** A figure; undefined where the statement lacks it. `items` is their count. */
type Value = string | number | readonly string[] | Words | undefined;

/** Lists of texts, and texts of pieces, besides the figures of a statement. */
export interface Filling extends Figures {
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  readonly texts?: Readonly<Record<string, Words>>;
}

const plain = (code: string): string => code.replaceAll('_', ' ');

type Table = Readonly<Record<string, string>>;

interface Phrases {
  readonly phrases: Table;
  readonly items: Readonly<Record<string, readonly [template: string, separator: string]>>;
}

export const figureOf = ({ numbers, names, items = [], lists, texts }: Filling, name: string): Value =>
  name === 'items' ? items.length || undefined : (names[name] ?? numbers[name] ?? lists?.[name] ?? texts?.[name]);

/** The fields of a record as figures, sentences among them as names; null and false are not there. */
export function figuresOf(record: object): Filling {
  const entries = Object.entries(record).map(([key, part]) => [key, isSentence(part) ? sentenceText(part) : part]);
  const of = <Value>(isIt: (value: unknown) => boolean): Record<string, Value> =>
    Object.fromEntries(entries.filter(([, value]) => isIt(value)));
  const lists = Object.entries(
    of<readonly Part[]>((value) => Array.isArray(value) && value.length > 0 && !hasPieces(value)),
  );
  return {
    numbers: of((value) => typeof value === 'number'),
    names: of((value) => typeof value === 'string' || value === true),
    lists: Object.fromEntries(lists.map(([key, parts]) => [key, parts.map(partText)])),
    texts: of((value) => hasPieces([value].flat())),
  };
}

const hasPieces = (values: readonly unknown[]): boolean =>
  values.some((one) => typeof one === 'object' && one !== null && PIECE.some((field) => field in one));
const PIECE = ['value', 'code', 'mark', 'word', 'handle'] as const;

const isSentence = (part: unknown): part is Sentence => typeof part === 'object' && part !== null && 'sentence' in part;

const partText = (part: Part): string => (isSentence(part) ? sentenceText(part) : String(part));

/** Throws for an unknown code. */
export function sentenceText({ sentence, of }: Sentence): string {
  const [topic, table, code] = sentence.split('.');
  return textsOf(topic!, table!)(code!, of);
}

/** Texts by code, of a topic of `src/knowledge/words`. */
export const wordTable = <Entry = string>(topic: string, table: string): Readonly<Record<string, Entry>> =>
  (loadData(`words/${topic}`) as Readonly<Record<string, Readonly<Record<string, Entry>>>>)[table] ?? {};

const inUnit = (value: number, name: string): string =>
  name.includes('bytes') ? formatBytes(value) : formatCount(value);

const FORMS: Readonly<Record<string, (value: never, name: string) => string>> = {
  raw: String,
  bracketed: (text: string) => `[${text}]`,
  json: (text: string) => JSON.stringify(text),
  plain,
  count: formatCount,
  times: (count: number) => (count === 1 ? 'once' : `${formatCount(count)} times`),
  change: (value: number) => (value < 0 ? `−${-value}` : `+${value}`),
  percent: (share: number) => `${Math.floor(100 * share)}`,
  share: (share: number) => `${(100 * share).toFixed(Math.abs(100 * share) < 10 ? 1 : 0)} %`,
  short_percent: (share: number) => `${Number((100 * share).toFixed(4))} %`,
  ms: (ns: number) => `${(ns / 1e6).toFixed(1)} ms`,
  round: (bytes: number) => formatBytes(Math.round(bytes)),
  positive: (bytes: number) => formatBytes(Math.max(0, bytes)),
  signed: (bytes: number) => `${bytes < 0 ? '−' : '+'}${formatBytes(Math.abs(bytes))}`,
  abs: (value: number, name) => inUnit(Math.abs(value), name),
  list: (texts: readonly string[]) => texts.join(', '),
  lines: (texts: readonly string[]) => texts.join('; '),
  and: (texts: readonly string[]) =>
    texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`,
};

const OPTION = /\[([^[\]]*)\]/;
export const FIGURE = /\{(?:@(?:(\w+)=)?)?(\w[\w.+-]*)(?::(\w+))?(?::([\w /-]+))?\}/g;
const CONDITION = /\{([\w.]+)([?=!<>])(\w*)\}/g;
const TERM = /([+-]?)([\w.]+)/g;

/** Throws for a figure that the statement lacks. */
export const fill = (template: string, figures: Filling): string =>
  resolved(template, figures).replace(FIGURE, (_, _field, name: string, form?: string, option?: string) =>
    figureText(name, form, option, figures),
  );

/** Its options chosen. */
export function resolved(template: string, figures: Filling): string {
  let text = withPhrases(template);
  for (let option = OPTION.exec(text); option !== null; option = OPTION.exec(text)) {
    const choices = option[1]!.split('|');
    const choice = choices.find((one) => holds(one, figures)) ?? (choices.length > 1 ? choices.at(-1)! : '');
    text = text.replace(option[0], () => choice.replace(CONDITION, ''));
  }
  return text;
}

function withPhrases(template: string): string {
  const { phrases } = loadData('words/phrases') as Phrases;
  return template.replace(/\{(\w+)\}/g, (figure, name: string) =>
    phrases[name] === undefined ? figure : withPhrases(phrases[name]),
  );
}

function holds(text: string, figures: Filling): boolean {
  const conditions = [...text.matchAll(CONDITION)];
  if (conditions.length === 0)
    return [...text.matchAll(FIGURE)].every(([, , sum]) =>
      [...sum!.matchAll(TERM)].every(([, , name]) => /^\d/.test(name!) || figureOf(figures, name!) !== undefined),
    );
  return conditions.every(([, name, sign, other]) => {
    const value = figureOf(figures, name!);
    if (sign === '?') return value !== undefined;
    if (sign === '=' || sign === '!') return (String(value) === other) === (sign === '=');
    return sign === '<' ? Number(value) < Number(other) : Number(value) > Number(other);
  });
}

/** Of a name, or a sum of several. */
export function figureValue(sum: string, figures: Filling): NonNullable<Value> {
  const terms = [...sum.matchAll(TERM)].map(([, sign, name]) => {
    const value = /^\d/.test(name!) ? Number(name) : demand(figures, name!);
    return sign === '-' ? -Number(value) : value;
  });
  return terms.length === 1 ? terms[0]! : terms.reduce<number>((all, term) => all + Number(term), 0);
}

export function figureText(
  sum: string,
  form: string | undefined,
  option: string | undefined,
  figures: Filling,
): string {
  if (sum === 'items' && form !== undefined)
    return listed(form, option === undefined ? Infinity : Number(option), figures);
  if (form === 'range') {
    const [least, high] = ['least', 'most'].map((end) => formatBytes(Number(demand(figures, `${end}_${sum}_bytes`))));
    return least === high ? least! : `${least} to ${high}`;
  }
  const value = figureValue(sum, figures);
  if (form === 'counted') return counted(Number(value), ...(option!.split('/') as [string]));
  if (form === undefined) return typeof value === 'number' ? inUnit(value, sum) : [value].flat().join(', ');
  if (/^\d$/.test(form)) return Number(value).toFixed(Number(form));
  if (form === 'owners') return driverOwner(String(value));
  const words = FORMS[form];
  return words === undefined
    ? fill(wordsOf(wordTable('phrases', form), String(value)), figures)
    : words(value as never, sum);
}

/** `NCCL 3.12 GiB, cuBLAS workspaces 32.00 MiB and 2 more`. */
function listed(kind: string, most: number, { items = [] }: Figures): string {
  if (kind === 'sum') return formatBytes(items.reduce((bytes, item) => bytes + item.numbers['bytes']!, 0));
  const [template, separator] = wordsOf((loadData('words/phrases') as Phrases).items, kind);
  const shown = kind === 'first' ? items.slice(0, 1) : items.slice(0, most);
  const texts = shown.map(({ name, numbers }) => fill(template, { numbers, names: name === null ? {} : { name } }));
  return `${texts.join(separator)}${items.length > most ? ` and ${items.length - most} more` : ''}`;
}

function demand(figures: Filling, name: string): NonNullable<Value> {
  const value = figureOf(figures, name);
  if (value === undefined) throw new Error(`a statement has no ${name}`);
  return value;
}

/** Throws for a code without words: the tables and the views of the store change together. */
export function wordsOf<Entry>(table: Readonly<Record<string, Entry>>, code: string): Entry {
  const entry = table[code];
  if (entry === undefined) throw new Error(`no words for ${code}`);
  return entry;
}

/** The words of codes of one table. */
export const wordOf =
  (topic: string, table: string) =>
  (code: string): string =>
    wordsOf(wordTable(topic, table), code);

/** Owners of memory of the driver, for a reader. */
export const driverOwner = wordOf('codes', 'driver_owners');

/** A cause, or the detail of one: `not an OOM`, `host OOM`, `external pressure`, `NCCL`. */
export const causeName = (code: string): string => wordTable('phrases', 'causes')[code] ?? plain(code);

/** The sentence of a code; null and false are not there. One may begin with a separator, which is dropped. */
export const textsOf =
  (topic: string, table: string) =>
  (code: string, record: object = {}): string =>
    fill(wordsOf(wordTable(topic, table), code), figuresOf(record)).replace(/^; /, '');

/** The sentences of a table that have words, in its order. */
export const textsAll = (topic: string, table: string, record: object): string[] =>
  Object.keys(wordTable(topic, table))
    .map((code) => textsOf(topic, table)(code, record))
    .filter((text) => text !== '');
