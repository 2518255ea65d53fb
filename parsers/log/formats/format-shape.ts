/**
 * The shape of `src/knowledge/log-formats/*.yaml` and of a user's file: what TypeScript checks of code. Types of their
 * content follow from it. `parsers/log/FORMAT.md` describes the keys.
 */
import { CONFIG_ORIGINS, ENV_ORIGINS, LAUNCH_STAGES, PHASES } from '../../../src/model/log-rows.js';
import { INCIDENT_KINDS } from '../../../src/model/vocabulary.js';
import { anyOf, byKey, type Check, oneOf, type Shape, type ValueOf } from '../../../src/text/check-shape.js';

/** Of values; what is printed of memory is a unit of its own. */
const UNITS = [
  ...['%', 's', 'ms', 'bytes', 'elements', 'tokens', 'count', 'ratio', 'ranks', 'iteration', 'pid', 'loss scale'],
  ...['samples/s', 'steps/s', 'FLOP', 'FLOP/s', 'TFLOP/s', 'TFLOP/s/GPU', 'W'],
];
const MEMORY_UNITS = /bytes|count|[KMG]i?B|GiB or GB|\{[\w|]+\}/;
const TEXT = 'string' as const;
/**
 * Group names, of which the first that matched counts, a default behind `?`, a number that is added, and conversions:
 * `first,second?none|snake`, `step + 1`. Of several with ` ?? ` between them, the first that has a value. In a text,
 * expressions are in braces: `checkpoint.{what|lower}_bytes`.
 */
const EXPRESSION = TEXT;
const IN_BRACES: Check<string> = (value) =>
  typeof value === 'string' && value.includes('{') ? undefined : 'expected a text with an expression in braces';
/** A text, `/pattern/flags`, or several texts. */
const CONDITION = anyOf(TEXT, [TEXT], { '*': anyOf('string|number', ['string|number']) });
/** When a row is emitted: the groups that it names must have matched, and what `when` names. */
const CONDITIONS = { 'when?': CONDITION, 'unless?': CONDITION } as const;
/** Left out where the group did not match. */
const WRITER = { 'rank?': EXPRESSION, 'device?': EXPRESSION } as const;
const COLUMNS = { 'iteration?': EXPRESSION, ...WRITER, ...CONDITIONS } as const;
/** Half a unit of the last digit; default that of the digits printed. A number: in units of the figure. */
const PRECISION = anyOf('number', {
  /** No more than this, for zeros may be dropped. */
  'most?': 'number',
  /** Of figures without a decimal point. */
  'whole?': 'number',
  /** Of the last of so many digits; with `printed` no less than that of the digits printed. */
  ...({ 'significant?': 'number', 'printed?': 'boolean' } as const),
  /** Of the figure. */
  'share?': 'number',
});
export type Precision = ValueOf<typeof PRECISION>;

/** By the key that distinguishes them. */
const ROWS = {
  value: {
    ...{ value: EXPRESSION, 'unit?': anyOf(oneOf(...UNITS), /\{.*/), 'text?': EXPRESSION, ...COLUMNS },
    /** Nothing for a row of words. */
    'of?': EXPRESSION,
    /** A size, as that of a memory row; the unit is bytes then. */
    'means?': EXPRESSION,
    /** A factor; the product is rounded. */
    'times?': 'string|number',
  },
  memory: {
    ...{ memory: EXPRESSION, of: EXPRESSION, 'moment?': EXPRESSION, 'precision?': PRECISION, ...COLUMNS },
    /** As printed; `count` of what is none of bytes. */
    unit: MEMORY_UNITS,
    /** What the producer means by it, one of `SIZES` or a factor; default its own name. */
    'means?': EXPRESSION,
  },
  phase: { phase: oneOf(...PHASES), label: EXPRESSION, 'time?': EXPRESSION, ...COLUMNS },
  setting: {
    ...{ setting: EXPRESSION, to: EXPRESSION, 'origin?': oneOf(...CONFIG_ORIGINS), ...CONDITIONS },
    /** As printed; without it the key is looked up in the dictionary, or is a variable of a section of variables. */
    'raw?': EXPRESSION,
  },
  /** Left out where the variable is not kept. */
  env: { env: EXPRESSION, to: EXPRESSION, origin: oneOf(...ENV_ORIGINS), ...CONDITIONS },
  /** A size of the parallel layout: figure and setting. */
  layout: { layout: EXPRESSION, raw: EXPRESSION, of: EXPRESSION, ...CONDITIONS },
  launch: { launch: EXPRESSION, 'stage?': oneOf(...LAUNCH_STAGES, 'loop'), 'writer?': EXPRESSION, ...CONDITIONS },
  /** Groups `text`, `rank`, `local`, `host`, `pid` and `exitcode` are its columns. */
  failure: { failure: anyOf(oneOf(...INCIDENT_KINDS), IN_BRACES), 'pid?': EXPRESSION, ...CONDITIONS },
  iteration: {
    ...{ iteration: EXPRESSION, 'target?': EXPRESSION, 'columns?': { '*': EXPRESSION }, ...WRITER, ...CONDITIONS },
    /** Figures without a column, by name. */
    'others?': { '*': EXPRESSION },
    /**
     * The items of a list: groups `name`, `text`, and `figure` where the number is but a part of the text, read by the
     * conversion `as`, default `python`, or those behind the column. Those without a column are `others`, unless `name
     * text` matches `skip`.
     */
    'list?': { of: EXPRESSION, match: TEXT, 'as?': TEXT, columns: { '*': TEXT }, 'skip?': TEXT },
  },
} as const;
type Rows = { readonly [Key in keyof typeof ROWS]: ValueOf<(typeof ROWS)[Key]> };
export type Conditions = ValueOf<typeof CONDITIONS>;
export type Columns = ValueOf<typeof COLUMNS>;
/** Rows of each match inside a group; `position` counts the matches. */
interface EachRow extends Conditions {
  readonly each: string;
  readonly match: string;
  readonly rows: readonly Row[];
}
/** The first of them whose conditions hold. */
interface FirstRow extends Conditions {
  readonly first: readonly Row[];
}
export interface RowOf extends Rows {
  readonly each: EachRow;
  readonly first: FirstRow;
}
export type Row = RowOf[keyof RowOf];

/** `inside`: how deep rows of rows go. */
const rowShape = (inside: number): Check<Row> => {
  const deeper = inside === 0 ? [] : [rowShape(inside - 1)];
  const nested = {
    each: { each: EXPRESSION, match: TEXT, rows: deeper, ...CONDITIONS },
    first: { first: deeper, ...CONDITIONS },
  };
  return byKey({ ...ROWS, ...(inside === 0 ? {} : nested) }) as Check<Row>;
};
const ROW = rowShape(3);
const FACTS = { id: TEXT, title: TEXT, 'producer?': TEXT, versions: TEXT, source: TEXT } as const;
const TABLES = { '*': { '*': 'string|number' } } as const;
/** Where a format's rows are data. */
export const LINE_SHAPE = {
  ...{ anchors: [TEXT], rows: [ROW], 'flags?': oneOf('i') },
  /** Several are alternatives. `%{NAME}` is one of the file's `parts`. */
  pattern: anyOf(TEXT, [TEXT]),
  /** Default: those of the file. */
  'fields?': { '*': TEXT },
  /** Groups whose text is in no row; default: those of the file. */
  'unused?': [TEXT],
  /** Text for text, used like a conversion; `'*': '*'` keeps what is not listed. */
  'tables?': TABLES,
  /** Pattern and replacement, by group. */
  'replace?': { '*': [[TEXT, TEXT]] },
} as const satisfies Shape;
const SIZE = { mostForeign: 'integer', mostLines: 'integer' } as const;
/** A block, each line of which is read by itself: the first of `lines` that matches makes its rows. */
export const BLOCK_SHAPE = {
  ...{ anchors: [TEXT], opens: TEXT, 'tables?': TABLES },
  /** Rows and conditions of a line see the groups of the first line and of all lines before too. */
  lines: [{ match: TEXT, 'rows?': [ROW], 'then?': oneOf('last', 'over', 'foreign'), ...CONDITIONS }],
  /** Rows of the first line. */
  'start?': [ROW],
  /** Rows of the whole block. They see the groups of all lines, and `lines`: all that were taken, with line feeds. */
  'end?': [ROW],
} as const satisfies Shape;
/** Where code makes them (`index.ts`): a line's, or a block's. */
const CODE = {
  ...{ ...FACTS, fields: { '*': TEXT }, 'tables?': { '*': { '*': TEXT } } },
  /** Lists in it are shared by formats, and `%{CODE}` is replaced by the anchors that its code computes. */
  anchors: [anyOf(TEXT, [TEXT])],
} as const;
const LINE_ENTRY = { ...FACTS, ...LINE_SHAPE } as const;
const BLOCK_ENTRY = { ...FACTS, ...SIZE, ...BLOCK_SHAPE, fields: { '*': TEXT } } as const;
const BLOCK_CODE = { ...CODE, ...SIZE, 'opens?': TEXT } as const;
const LINE_CODE = { ...CODE, 'pattern?': TEXT } as const;
export type FormatEntry = ValueOf<typeof LINE_ENTRY>;
export type BlockEntry = ValueOf<typeof BLOCK_ENTRY>;
export type CodeEntry = ValueOf<typeof LINE_CODE> & Partial<ValueOf<typeof BLOCK_CODE>>;
export const FILE_SHAPE = {
  ...{ producer: TEXT, 'fields?': { '*': TEXT }, 'parts?': { '*': TEXT }, 'unused?': [TEXT] },
  formats: [byKey({ lines: BLOCK_ENTRY, rows: LINE_ENTRY, mostLines: BLOCK_CODE, id: LINE_CODE })],
} as const satisfies Shape;
/** What the formats of a file share. */
export type Shared = Partial<Omit<ValueOf<typeof FILE_SHAPE>, 'formats'>>;
export interface FormatFile extends Shared {
  readonly formats: readonly (FormatEntry | BlockEntry | CodeEntry)[];
}
