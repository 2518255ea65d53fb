/**
 * Records of a bisection: their content, and how they are read. They are in a git directory, which others may have
 * written: only regular files of limited size and depth are read, and every field is checked before anything uses it.
 */
import { readSmallFile } from '../../../git/read-small-file.js';
import { MbfError } from '../../../model/errors.js';
import {
  type CompareCheck,
  JUDGEMENTS,
  type Judgement,
  type SettingChange,
  type TriageEvidence,
} from '../../../model/results/compare.js';
import { MIB } from '../../../model/units.js';

/** What all judgements of a bisection have in common. */
export interface SessionRecord {
  readonly schema: 'mbforensics/bisect-session@1';
  readonly criterion: string;
  readonly golden: string;
  readonly like: string | null;
  readonly tolerance: string | null;
  /** Of `--allow-change`; absent: nothing. */
  readonly allowed?: readonly string[];
  readonly command: readonly string[];
  /** ISO 8601, UTC. */
  readonly started_at: string;
}

/** One commit as it was judged; the last judgement counts. */
export interface JudgementRecord {
  readonly schema: 'mbforensics/bisect-judgement@1';
  readonly sha: string;
  readonly subject: string;
  readonly judgement: Judgement;
  readonly reason: string;
  readonly evidence: readonly TriageEvidence[];
  readonly checks: readonly CompareCheck[];
  /** What differs from the golden run's settings; absent in records of earlier versions. */
  readonly settings?: readonly SettingChange[];
  /** False: its runs differ from the golden run in the contract. */
  readonly is_comparable?: boolean;
  /** Names in the store of the runs it rests on. */
  readonly runs: readonly string[];
  readonly judged_at: string;
}

/** Those of a bisection with 32 ranks and many settings have some 100 KiB. */
const MOST_RECORD_BYTES = 4 * MIB;
/** `git bisect skip` of a range writes a line for each of its commits. */
const MOST_LOG_BYTES = 16 * MIB;
/** What walks through a value needs the stack. */
const MOST_DEPTH = 64;

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => typeof value === 'number';
const isOneOf =
  (...words: readonly unknown[]): Check =>
  (value) =>
    words.includes(value);
const or =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const isNull = isOneOf(null);
const optional = (check: Check): Check => or(isOneOf(undefined), check);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const wrongField = (value: unknown, fields: Fields): string | undefined =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? 'everything'
    : Object.keys(fields).find((name) => !fields[name]!(Reflect.get(value, name)));
const hasFields =
  (fields: Fields): Check =>
  (value) =>
    wrongField(value, fields) === undefined;

const SESSION: Fields = {
  criterion: isText,
  golden: isText,
  like: or(isText, isNull),
  tolerance: or(isText, isNull),
  allowed: optional(isListOf(isText)),
  command: isListOf(isText),
  started_at: isText,
};

/** Of the parts of a record, the fields that something reads again. */
const JUDGEMENT: Fields = {
  sha: isText,
  subject: isText,
  judgement: isOneOf(...JUDGEMENTS),
  reason: isText,
  checks: isListOf(
    hasFields({
      name: isText,
      current: or(isText, isNumber, isNull),
      unit: isText,
      status: isText,
      relative: or(isNumber, isNull),
      tolerance: or(isNumber, isNull),
    }),
  ),
  settings: optional(
    isListOf(
      hasFields({
        key: isText,
        golden: or(isText, isNull),
        current: or(isText, isNull),
        way: isOneOf('up', 'down', 'unknown'),
        is_contract: isFlag,
      }),
    ),
  ),
  is_comparable: optional(isFlag),
  runs: isListOf(isText),
  judged_at: isText,
};

/** Bytes of records that may still be read. */
export interface RecordBudget {
  bytes: number;
}

export const recordBudget = (): RecordBudget => ({ bytes: 256 * MIB });

/** Undefined: it is missing. Throws MBF2962. */
export function readSessionRecord(file: string, budget = recordBudget()): SessionRecord | undefined {
  return readRecord<SessionRecord>(file, 'mbforensics/bisect-session@1', SESSION, budget);
}

/** Of the folder of a commit. Undefined: it is missing. Throws MBF2962. */
export function readJudgementRecord(file: string, sha: string, budget: RecordBudget): JudgementRecord | undefined {
  const record = readRecord<JudgementRecord>(file, 'mbforensics/bisect-judgement@1', JUDGEMENT, budget);
  if (record !== undefined && record.sha !== sha) throw damaged(file, 'it is of another commit than its folder');
  return record;
}

/** A log of git. Empty: it is missing. Throws MBF2962. */
export const readLog = (file: string): string => readText(file, MOST_LOG_BYTES) ?? '';

function readRecord<Record>(file: string, schema: string, fields: Fields, budget: RecordBudget): Record | undefined {
  const text = readText(file, MOST_RECORD_BYTES);
  if (text === undefined) return undefined;
  budget.bytes -= text.length;
  if (budget.bytes < 0) throw new MbfError('MBF2962', 'the records before this one are too large together', { file });
  if (isDeep(text)) throw damaged(file, `nested more than ${MOST_DEPTH} deep`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(file, error instanceof Error ? error.message.slice(0, 80) : 'no JSON', error);
  }
  const wrong = wrongField(value, { schema: isOneOf(schema), ...fields });
  if (wrong !== undefined) throw damaged(file, `${wrong} is not as ${schema} has it`);
  return value as Record;
}

function readText(file: string, mostBytes: number): string | undefined {
  const read = readSmallFile(file, { mostBytes, noLink: true });
  if (read !== undefined && 'problem' in read) throw new MbfError('MBF2962', read.problem, { file });
  return read?.text;
}

function isDeep(json: string): boolean {
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth += 1;
    else if (token === ']' || token === '}') depth -= 1;
    if (depth > MOST_DEPTH) return true;
  }
  return false;
}

const damaged = (file: string, why: string, cause?: unknown): MbfError =>
  new MbfError('MBF2962', `damaged record of a bisection: ${why}`, { file }, cause);
