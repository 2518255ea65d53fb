/** The shape of `src/knowledge/log-formats/*.yaml` and of a user's file: what TypeScript checks of code. */
import { CONFIG_ORIGINS, ENV_ORIGINS, LAUNCH_STAGES, PHASES } from '../../../src/model/log-rows.js';
import { INCIDENT_KINDS } from '../../../src/model/vocabulary.js';
import { anyOf, byKey, oneOf, type Shape } from '../../../src/text/check-shape.js';

/** Of values; what is printed of memory is a unit of its own. */
const UNITS = [
  ...['%', 's', 'ms', 'bytes', 'elements', 'tokens', 'count', 'ratio', 'ranks', 'iteration', 'pid', 'loss scale'],
  ...['samples/s', 'steps/s', 'FLOP', 'FLOP/s', 'TFLOP/s', 'TFLOP/s/GPU', 'W'],
];
const MEMORY_UNITS = /bytes|count|[KMG]i?B|GiB or GB|\{[\w|]+\}/;
const TEXT = 'string';
const CONDITION = anyOf(TEXT, [TEXT], { '*': anyOf('string|number', ['string|number']) });
const CONDITIONS = { 'when?': CONDITION, 'unless?': CONDITION };
const COLUMNS = { 'iteration?': TEXT, 'rank?': TEXT, 'device?': TEXT, ...CONDITIONS };
const LIST = { of: TEXT, match: TEXT, 'as?': TEXT, columns: { '*': TEXT }, 'skip?': TEXT };
const EXPRESSION = (value: unknown): string | undefined =>
  typeof value === 'string' && value.includes('{') ? undefined : 'expected a text with an expression in braces';
const PRECISION = anyOf('number', {
  'most?': 'number',
  'whole?': 'number',
  'significant?': 'number',
  'printed?': 'boolean',
  'share?': 'number',
});
/** `inside`: how deep rows of rows go. */
const rowShape = (inside: number): Shape => {
  const deeper = inside === 0 ? [] : [rowShape(inside - 1)];
  return byKey({
    value: {
      ...{ value: TEXT, 'of?': TEXT, 'unit?': anyOf(oneOf(...UNITS), /\{.*/), 'text?': TEXT, 'means?': TEXT },
      ...{ 'times?': 'string|number', ...COLUMNS },
    },
    memory: {
      ...{ memory: TEXT, of: TEXT, unit: MEMORY_UNITS, 'means?': TEXT, 'moment?': TEXT, ...COLUMNS },
      'precision?': PRECISION,
    },
    phase: { phase: oneOf(...PHASES), label: TEXT, 'time?': TEXT, ...COLUMNS },
    setting: { setting: TEXT, 'raw?': TEXT, to: TEXT, 'origin?': oneOf(...CONFIG_ORIGINS), ...CONDITIONS },
    env: { env: TEXT, to: TEXT, origin: oneOf(...ENV_ORIGINS), ...CONDITIONS },
    layout: { layout: TEXT, raw: TEXT, of: TEXT, ...CONDITIONS },
    launch: { launch: TEXT, 'stage?': oneOf(...LAUNCH_STAGES, 'loop'), 'writer?': TEXT, ...CONDITIONS },
    failure: { failure: anyOf(oneOf(...INCIDENT_KINDS), EXPRESSION), 'pid?': TEXT, ...CONDITIONS },
    ...(inside === 0
      ? {}
      : { each: { each: TEXT, match: TEXT, rows: deeper, ...CONDITIONS }, first: { first: deeper, ...CONDITIONS } }),
    iteration: {
      ...{ iteration: TEXT, 'target?': TEXT, 'columns?': { '*': TEXT }, 'others?': { '*': TEXT }, 'list?': LIST },
      ...{ 'rank?': TEXT, 'device?': TEXT, ...CONDITIONS },
    },
  });
};
const ROW = rowShape(3);
const FACTS = { id: TEXT, title: TEXT, 'producer?': TEXT, versions: TEXT, source: TEXT } as const;
const TABLES = { '*': { '*': 'string|number' } } as const;
/** Where a format's rows are data. */
export const LINE_SHAPE = {
  ...{ anchors: [TEXT], pattern: anyOf(TEXT, [TEXT]), rows: [ROW] },
  ...{ 'flags?': oneOf('i'), 'fields?': { '*': TEXT }, 'unused?': [TEXT], 'tables?': TABLES },
  'replace?': { '*': [[TEXT, TEXT]] },
} as const satisfies Shape;
const SIZE = { mostForeign: 'integer', mostLines: 'integer' } as const;
export const BLOCK_SHAPE = {
  ...{ anchors: [TEXT], opens: TEXT, 'tables?': TABLES },
  lines: [{ match: TEXT, 'rows?': [ROW], 'then?': oneOf('last', 'over', 'foreign'), ...CONDITIONS }],
  'start?': [ROW],
  'end?': [ROW],
} as const satisfies Shape;
/** Where code makes them. */
const CODE = { ...FACTS, anchors: [anyOf(TEXT, [TEXT])], fields: { '*': TEXT }, 'tables?': { '*': { '*': TEXT } } };
const ENTRY: Shape = (value) =>
  byKey({
    rows: { ...FACTS, ...LINE_SHAPE },
    lines: { ...FACTS, ...SIZE, ...BLOCK_SHAPE, fields: { '*': TEXT } },
    mostLines: { ...CODE, ...SIZE, 'opens?': TEXT },
    id: { ...CODE, 'pattern?': TEXT },
  })(value);
export const FILE_SHAPE: Shape = {
  ...{ producer: TEXT, 'fields?': { '*': TEXT }, 'parts?': { '*': TEXT }, 'unused?': [TEXT] },
  formats: [ENTRY],
};
