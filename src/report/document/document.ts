/**
 * What a screen, a report in Markdown, a part of the page and the short JSON are made of. A verb builds one document;
 * the four renderers in `render/` print it and know no topic. Parts that are null or false are left out. Pure.
 */
import type { SafeHtml } from '../html/html.js';
import { titleOf, type Unit, unitOf } from './values.js';

/** What a word means to its reader; renderers choose colours. */
export type Tone = 'good' | 'bad' | 'unsure' | 'plain';

/** Its name in JSON, as a field of the object that the text belongs to. */
interface Named {
  readonly key?: string;
}

export interface Figure extends Named {
  readonly value: number | null;
  readonly unit: Unit | null;
  /** Of a cell of the page: its place on a scale from 0 to 1. */
  readonly shade?: number;
  /** How it prints, where that is not the form of its unit. */
  readonly text?: string;
}

/** A name of the program or the input: a call site, a key, a command. Never cut. */
export interface Code extends Named {
  readonly code: string;
}

/** A word with a tone, such as a status. */
export interface Mark extends Named {
  readonly mark: string;
  readonly tone: Tone;
}

/** Plain words that are a field of their own. */
export interface Word extends Named {
  readonly word: string;
}

/** A handle of evidence: `show E3` has its details. */
export interface Handle extends Named {
  readonly handle: string;
}

export type Piece = string | Figure | Code | Mark | Word | Handle;
export type Text = Piece | readonly Piece[];
/** A cell of a table: a bare number prints in the unit of its column. */
export type Cell = number | boolean | null | Text;

// ---- pieces

export const bytes = (value: number | null): Figure => ({ value, unit: 'bytes' });
export const changeBytes = (value: number | null): Figure => ({ value, unit: 'change_bytes' });
export const count = (value: number | null): Figure => ({ value, unit: 'count' });
export const share = (value: number | null): Figure => ({ value, unit: 'share' });
export const ms = (value: number | null): Figure => ({ value, unit: 'ms' });
export const us = (value: number | null): Figure => ({ value, unit: 'us' });
/** A figure with a form of its own; null is what is not there. */
export const shownAs = (value: number | null, text: string, unit: Unit | null = null): Figure => ({
  value,
  unit,
  text,
});
export const code = (name: string): Code => ({ code: name });
export const mark = (word: string, tone: Tone): Mark => ({ mark: word, tone });
export const handle = (name: string): Handle => ({ handle: name });

/** The same piece as a field of JSON: `` t`${as('live_bytes', bytes(live))} live` ``. */
export const as = (key: string, piece: Piece): Piece =>
  typeof piece === 'string' ? { word: piece, key } : { ...piece, key };

/** `1 block`, `1,024 blocks`, the number as a figure, with a `key` as a field. */
export const counted = (value: number, word: string, plural = `${word}s`, key?: string): Text => [
  key === undefined ? count(value) : as(key, count(value)),
  ` ${value === 1 ? word : plural}`,
];

/** A sentence with figures and names: `` t`${bytes(live)} live in ${code(site)}` ``. Numbers are counts. */
export function t(words: TemplateStringsArray, ...values: readonly (Text | number)[]): Text {
  return words.flatMap((word, i): Piece[] => {
    const value = values[i];
    if (value === undefined) return [word];
    return [word, ...piecesOf(typeof value === 'number' ? count(value) : value)];
  });
}

export const piecesOf = (text: Text): readonly Piece[] => (Array.isArray(text) ? text : [text as Piece]);

/** Texts in one, with `separator` between them; empty ones are left out. */
export function joined(texts: readonly (Text | null | false)[], separator: string): Text {
  const shown = texts.filter(
    (text): text is Text => text !== null && text !== false && piecesOf(text).some((piece) => piece !== ''),
  );
  return shown.flatMap((text, i) => (i === 0 ? piecesOf(text) : [separator, ...piecesOf(text)]));
}

// ---- parts

/**
 * Which part stays where a screen has a height: those of the greatest number are left out first; 0 always stays. Items
 * and rows are left out one by one, each {@link NEXT_ITEM} more than the one before.
 */
interface Kept {
  readonly keep?: number;
}
export const NEXT_ITEM = 12;

/** Its name in JSON. Without one it is for people only; the fields of such a section join those of its parent. */
interface Keyed {
  readonly key?: string | undefined;
}

export type Fields = Readonly<Record<string, string | number | boolean | null | readonly string[] | readonly number[]>>;

export interface Paragraph extends Keyed, Kept {
  readonly type: 'paragraph';
  readonly text: Text;
  /** `lead`: the answer itself. `note`: what limits it. */
  readonly style?: 'lead' | 'note';
  readonly tone?: Tone;
}

export interface Items extends Keyed, Kept {
  readonly type: 'items';
  readonly items: readonly Text[];
  readonly isOrdered?: boolean;
}

export interface Fact {
  readonly key: string;
  readonly title: string;
  readonly value: Cell;
  readonly unit: Unit | null;
}

export interface Facts extends Keyed, Kept {
  readonly type: 'facts';
  readonly facts: readonly Fact[];
}

/** Lines to paste or to quote, as they are. */
export interface Lines extends Keyed, Kept {
  readonly type: 'lines';
  readonly lines: readonly string[];
  readonly language: string;
  /** To be pasted by the reader. */
  readonly isPasted: boolean;
}

export interface TableColumn {
  readonly key: string;
  readonly title: string;
  readonly unit: Unit | null;
  readonly align: 'left' | 'right';
  /** Cells are names. */
  readonly isCode: boolean;
}

export interface TableRow {
  readonly cells: readonly Cell[];
  /** Below the row's last column of words: callers, remarks. */
  readonly under: readonly Text[];
  /** `sum` adds up the others, `group` the rows that follow it; `others` are what a limit leaves out. */
  readonly kind?: 'sum' | 'group' | 'others' | undefined;
  /** Of JSON alone. */
  readonly fields?: Fields | undefined;
}

export interface Table extends Keyed, Kept {
  readonly type: 'table';
  readonly caption: string | null;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  /** Below it: what is left out, and the command that shows it. */
  readonly notes: readonly Text[];
  /** Columns that need no titles on a terminal. */
  readonly isBare?: boolean;
}

export interface BarPart {
  /** `outside_pytorch`: chooses its colour. */
  readonly part: string;
  readonly name: string;
  readonly bytes: number;
}

/** Parts that add up to the total, to scale. */
export interface Bar extends Keyed, Kept {
  readonly type: 'bar';
  readonly total: number;
  readonly parts: readonly BarPart[];
  /** `at the peak`. */
  readonly when: string;
  /** What was refused, to the same scale. */
  readonly request?: { readonly bytes: number; readonly site: string | null } | null;
}

/** A picture of other kinds: each form draws it or leaves it out. */
export interface Drawing extends Keyed, Kept {
  readonly type: 'drawing';
  readonly lines?: (width: number) => readonly string[];
  readonly html?: () => SafeHtml;
}

export interface Section extends Keyed, Kept {
  readonly type: 'section';
  readonly title: Text;
  /** One sentence of what it shows. */
  readonly about?: string | null | undefined;
  /** Of JSON alone: codes and handles whose words are in the title. */
  readonly fields?: Fields;
  /** Closed in Markdown and on the page until a reader opens it. */
  readonly isFolded?: boolean;
  /** One of several in a list: JSON has an array under `key`. */
  readonly isOneOf?: boolean;
  /** Of a document with labels: all details, below the screen and without its limit. */
  readonly isBelow?: boolean;
  readonly parts: readonly Part[];
}

export type Part = Paragraph | Items | Facts | Lines | Table | Bar | Drawing | Section;
export type MaybePart = Part | null | false | undefined;

export interface Document {
  /** `mbforensics/peak@1`. */
  readonly schema: string;
  /** On a terminal without Unicode: signs are replaced by similar ones of ASCII. */
  readonly isAscii?: boolean;
  /** Empty where the titles of its sections are enough. */
  readonly title: Text;
  /** Of JSON alone. */
  readonly fields?: Fields;
  readonly parts: readonly Part[];
  /** Several documents in one, such as a diagnosis for each path: JSON has them under `key`. */
  readonly each?: { readonly key: string; readonly documents: readonly Document[] };
  /**
   * On a terminal, titles of sections are labels in a column of this width, and at most `height` lines are shown: parts
   * are left out whole, those of the greatest `keep` first. `isRunIn`: what follows a lead goes on in its line.
   */
  readonly labels?: { readonly width: number; readonly height: number; readonly isRunIn?: boolean };
}

// ---- builders

export const parts = (list: readonly MaybePart[]): Part[] =>
  list.filter((part): part is Part => part !== null && part !== false && part !== undefined);

export function document(schema: string, title: Text, ...list: readonly MaybePart[]): Document {
  return { schema, title, parts: parts(list) };
}

type Look<Of extends Part> = Partial<Omit<Of, 'type' | 'parts' | 'title' | 'rows' | 'columns' | 'lines' | 'facts'>>;

/** Nothing without parts. */
export function section(title: Text, look: Look<Section>, ...list: readonly MaybePart[]): Section | null {
  const shown = parts(list);
  return shown.length === 0 ? null : { type: 'section', title, ...look, parts: shown };
}

export const paragraph = (text: Text, look: Look<Paragraph> = {}): Paragraph => ({ type: 'paragraph', text, ...look });

export const note = (text: Text, look: Look<Paragraph> = {}): Paragraph => paragraph(text, { style: 'note', ...look });

export const items = (texts: readonly Text[], look: Look<Items> = {}): Items | null =>
  texts.length === 0 ? null : { type: 'items', ...look, items: texts };

/** Texts below a title; nothing without texts. */
export const itemSection = (
  title: Text,
  key: string,
  texts: readonly Text[],
  look: Look<Section> = {},
): Section | null => section(title, look, items(texts, { key }));

/** Lines for the reader to paste; nothing without lines. */
export const paste = (lines: readonly string[], look: Look<Lines> = {}): Lines | null =>
  lines.length === 0 ? null : { type: 'lines', language: '', isPasted: true, ...look, lines };

/** Lines of a file, a stack, a query. */
export const quote = (lines: readonly string[], look: Look<Lines> = {}): Lines | null =>
  lines.length === 0 ? null : { type: 'lines', language: 'text', isPasted: false, ...look, lines };

/** A fact with its name; one that is undefined is left out by {@link facts}. */
export function fact(key: string, value: Cell | undefined, look: { title?: string; unit?: Unit } = {}): Fact | null {
  return value === undefined ? null : { key, title: look.title ?? titleOf(key), value, unit: look.unit ?? unitOf(key) };
}

export function facts(list: readonly (Fact | null | false)[], look: Look<Facts> = {}): Facts | null {
  const shown = list.filter((one): one is Fact => one !== null && one !== false);
  return shown.length === 0 ? null : { type: 'facts', ...look, facts: shown };
}

export interface Column<Row> extends TableColumn {
  readonly cell: (row: Row, index: number) => Cell;
}

interface ColumnLook {
  readonly title?: string;
  readonly unit?: Unit;
  readonly align?: 'left' | 'right';
  readonly isCode?: boolean;
}

/** A column of words, or of figures where its name or `unit` has one. */
export function column<Row>(key: string, cell: Column<Row>['cell'], look: ColumnLook = {}): Column<Row> {
  const unit = look.unit ?? unitOf(key);
  const { title = titleOf(key), align = unit === null ? 'left' : 'right', isCode = false } = look;
  return { key, title, unit, align, isCode, cell };
}

/** A column of plain numbers. */
export const counts = <Row>(key: string, cell: Column<Row>['cell'], look: ColumnLook = {}): Column<Row> =>
  column(key, cell, { unit: 'count', ...look });

/** A column of names: call sites, keys, addresses. */
export const names = <Row>(key: string, cell: Column<Row>['cell'], look: ColumnLook = {}): Column<Row> =>
  column(key, cell, { isCode: true, ...look });

/** A field of rows, or a field and its title. */
type FieldName<Row> = (keyof Row & string) | readonly [name: keyof Row & string, title: string];

/** Columns of fields by their names; one that no row has is left out. Numbers without a unit are counts. */
export const fieldsOf = <Row extends object>(
  rows: readonly Row[],
  ...fields: readonly FieldName<Row>[]
): Column<Row>[] =>
  fields.flatMap((field) => {
    const [key, title] = (typeof field === 'string' ? [field, titleOf(field)] : field) as [keyof Row & string, string];
    const value = rows.map((row) => row[key]).find((one) => one !== null && one !== undefined);
    const unit = unitOf(key) ?? (typeof value === 'number' ? 'count' : null);
    if (value === undefined) return [];
    return [column<Row>(key, (row) => (row[key] ?? null) as Cell, { title, ...(unit === null ? {} : { unit }) })];
  });

interface TableLook<Row> extends Keyed, Kept {
  readonly caption?: string | undefined;
  readonly isBare?: boolean;
  readonly under?: (row: Row, index: number) => readonly Text[];
  readonly kind?: (row: Row, index: number) => TableRow['kind'];
  readonly fields?: (row: Row, index: number) => Fields | undefined;
  readonly notes?: readonly (Text | null | false)[];
}

/** A column that is a field as it is: its name. */
type AnyColumn<Row> = Column<Row> | (keyof Row & string) | false;

function fieldColumn<Row>(key: keyof Row & string, rows: readonly Row[]): Column<Row> {
  const values = rows.map((row) => row[key]).filter((value) => value !== null);
  const isNumeric = values.length > 0 && values.every((value) => typeof value === 'number');
  return column(key, (row) => row[key] as Cell, isNumeric ? { align: 'right' } : {});
}

/** Nothing without rows. A column that is false is left out. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly AnyColumn<Row>[],
  { caption, under, kind, fields, notes = [], ...look }: TableLook<Row> = {},
): Table | null {
  if (rows.length === 0) return null;
  const shown = columns
    .filter((one) => one !== false)
    .map((one) => (typeof one === 'string' ? fieldColumn(one, rows) : one));
  return {
    type: 'table',
    ...look,
    caption: caption ?? null,
    columns: shown.map(({ cell: _cell, ...rest }) => rest),
    rows: rows.map((row, i) => ({
      cells: shown.map(({ cell }) => cell(row, i)),
      under: under?.(row, i) ?? [],
      kind: kind?.(row, i),
      fields: fields?.(row, i),
    })),
    notes: notes.filter((text): text is Text => text !== null && text !== false),
  };
}
