/**
 * The log formats of a user (`--formats`): a YAML file of entries like those of `src/knowledge/log-formats/`, with
 * samples instead of an upstream source.
 */
import { checkShape, type Shape } from '../../src/text/check-shape.js';
import { readUserList, type Wrong } from '../../src/text/user-list.js';
import { applyBlock, applyLine } from './formats/apply.js';
import type { LogFormat } from './formats/contract.js';
import { compileBlock, compileFormat } from './formats/data-format.js';
import { groupNames } from './formats/digit-blind.js';
import { BLOCK_SHAPE, type BlockEntry, type FormatEntry, LINE_SHAPE } from './formats/format-shape.js';
import { LOG_FORMATS } from './formats/index.js';
import { type LogVocabulary, logVocabulary } from './read-log.js';

/** See `EXAMPLE_FORMATS`. Of a line format, a sample is a line; of a block, the lines of one. */
interface UserFormat {
  readonly id: string;
  readonly sample: string | readonly string[];
}
type UserEntry = (FormatEntry | BlockEntry) & UserFormat;

const USER_KEYS = { id: 'string', 'title?': 'string', sample: (value: unknown) => sampleProblem(value) } as const;
const SHAPES: Readonly<Record<'line' | 'block', Shape>> = {
  line: { ...USER_KEYS, ...LINE_SHAPE },
  block: { ...USER_KEYS, ...BLOCK_SHAPE, 'mostForeign?': 'integer', 'mostLines?': 'integer' },
};
/** Shorter literals slow down every line. */
const LEAST_ANCHOR = 8;
const MOST_BLOCK = { mostForeign: 8, mostLines: 1000 } as const;
/** Of a failure, read where a pattern has them. */
const FAILURE_GROUPS = ['text', 'host', 'rank', 'local', 'pid', 'exitcode'];
const USER_FACTS = { producer: 'Own formats', versions: 'any', source: '--formats' } as const;

const sampleProblem = (value: unknown): string | undefined =>
  typeof value === 'string' ||
  (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string'))
    ? undefined
    : 'expected a line as it is printed, or a list of lines';

/** The entries, checked with their samples, as JSON. Throws MBF2602 with the line of the first thing that is wrong. */
export function parseFormats(text: string, file: string): string {
  const taken = new Set(LOG_FORMATS.map(({ id }) => id));
  const entries = readUserList(text, file, { key: 'formats', item: 'format', code: 'MBF2602' }, (value, wrong) => {
    const entry = checkEntry(value, wrong);
    if (taken.has(entry.id)) wrong(`${entry.id} is built in; choose another id`, 'id');
    checkSamples(entry, wrong);
    return entry;
  });
  return JSON.stringify(entries);
}

function checkEntry(value: unknown, wrong: Wrong): UserEntry {
  const isBlock = typeof value === 'object' && value !== null && 'opens' in value;
  const [problem] = checkShape(value, SHAPES[isBlock ? 'block' : 'line'], '');
  if (problem !== undefined) wrong(problem.replace(/^[.:] ?/, ''), /^\.(\w+)/.exec(problem)?.[1]);
  const entry = value as UserEntry;
  const short = entry.anchors.find((anchor) => anchor.length < LEAST_ANCHOR);
  if (short !== undefined) wrong(`anchor "${short}" is shorter than ${LEAST_ANCHOR} characters`, 'anchors');
  if (entry.anchors.length === 0) wrong('anchors: a text that every such line contains is missing', 'anchors');
  return entry;
}

function checkSamples(entry: UserEntry, wrong: Wrong): void {
  const format = compiled(entry, wrong);
  const samples = samplesOf(entry);
  for (const lines of format.form === 'block' ? [samples] : samples.map((line) => [line])) {
    const [first = ''] = lines;
    const shown = JSON.stringify(first.slice(0, 60));
    if (!entry.anchors.some((anchor) => first.includes(anchor))) wrong(`no anchor is in ${shown}`, 'sample');
    let rows = 0;
    const emit = (): void => {
      rows += 1;
    };
    const read = format.form === 'block' ? applyBlock(format, lines, emit) : applyLine(format, first, emit);
    if (read === 0) wrong(`the pattern does not match ${shown}`, 'sample');
    if (rows === 0) wrong(`${shown} makes no row: of each, a group that it names did not match`, 'sample');
  }
}

const samplesOf = ({ sample }: UserFormat): readonly string[] => (typeof sample === 'string' ? [sample] : sample);

function compiled(entry: UserEntry, wrong: Wrong): LogFormat {
  const used = new Set<string>();
  let format: LogFormat;
  try {
    format = compile(entry, used);
  } catch (error) {
    // Of a pattern, or a conversion that does not exist.
    return wrong((error as Error).message);
  }
  const named = groupNames({ source: JSON.stringify(entry) });
  const unknown = [...used].find((group) => !named.includes(group) && !FAILURE_GROUPS.includes(group));
  return unknown === undefined ? format : wrong(`a row uses ${unknown}, which no pattern has as a group`);
}

/** @param used gets the groups that rows use */
function compile({ sample: _, ...entry }: UserEntry, used?: Set<string>): LogFormat {
  const facts = { ...USER_FACTS, ...entry, title: entry.title ?? entry.id };
  return 'opens' in facts
    ? compileBlock({ ...MOST_BLOCK, ...facts, fields: {} }, {}, used)
    : { ...compileFormat(facts, {}, used), byShape: undefined, isExclusive: true };
}

/** The formats of {@link parseFormats}. */
export const userFormats = (json = '[]'): readonly (LogFormat & { readonly sample: string })[] =>
  (JSON.parse(json) as readonly UserEntry[]).map((entry) => ({
    ...compile(entry),
    sample: samplesOf(entry).join('\n'),
  }));

/** What {@link parseFormats} gave last: all files of an ingest are read with the same formats. */
let last: { readonly json: string; readonly vocabulary: LogVocabulary } | undefined;

/** Of the built-in formats and those of {@link parseFormats}; undefined without any. */
export function vocabularyWith(json: string | undefined): LogVocabulary | undefined {
  if (json === undefined) return undefined;
  if (last?.json !== json) {
    last = { json, vocabulary: logVocabulary([...userFormats(json), ...LOG_FORMATS]) };
  }
  return last.vocabulary;
}
