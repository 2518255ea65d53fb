/**
 * The samples of the log formats: `test/parsers/log-samples/<family>.yaml`, by id of the format. A sample without text
 * (or lines) has the example of its format, `src/knowledge/log-examples.yaml`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { LogFormat } from '../../parsers/log/formats/contract.js';
import { loadData } from '../../src/knowledge/load-data.js';
import type { LogFinding } from '../../src/model/log-rows.js';
import type { IncidentByteField } from '../../src/model/tables.js';

/** A record of a format, and the rows that must be read from it. */
export interface LogSample {
  readonly lines: readonly string[];
  readonly rows: readonly LogFinding[];
}

/** What one message must yield. Absent fields must be absent; null: no incident at all. */
export interface ExpectedIncident {
  readonly device?: number;
  readonly pid?: number;
  readonly exception?: string;
  /** As printed: value and unit. */
  readonly bytes?: Readonly<Partial<Record<IncidentByteField, string>>>;
  readonly processes?: readonly { readonly pid: number; readonly text: string }[];
}

/** Columns of a row that is written as a list: its kind, these, and a record of what else it has. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  value: ['name', 'value', 'unit'],
  memory: ['metric', 'bytes', 'value', 'unit', 'precisionBytes'],
  config: ['key', 'rawKey', 'value', 'origin'],
  env: ['key', 'value', 'origin'],
  failure: ['kind', 'text'],
  phase: ['phase', 'label'],
  launch: ['label'],
  iteration: ['iteration', 'target'],
};

function rowOf(stored: LogFinding | readonly unknown[]): LogFinding {
  if (!Array.isArray(stored)) return stored as LogFinding;
  const [row, ...cells] = stored as unknown as readonly [string, ...unknown[]];
  const columns = COLUMNS[row]!;
  const named = columns.map((name, at) => [name, cells[at]] as const);
  return { row, ...Object.fromEntries(named), ...(cells[columns.length] as object) } as LogFinding;
}

interface StoredSample {
  readonly text?: string;
  readonly lines?: readonly string[];
  readonly rows?: readonly (LogFinding | readonly unknown[])[];
  readonly expected?: ExpectedIncident | null;
}

const FOLDER = fileURLToPath(new URL('../parsers/log-samples/', import.meta.url));
const EXAMPLES = loadData('log-examples') as Readonly<Record<string, string>>;
export const STORED_SAMPLES: ReadonlyMap<string, readonly StoredSample[]> = new Map(
  readdirSync(FOLDER).flatMap((file) =>
    Object.entries(parse(readFileSync(`${FOLDER}${file}`, 'utf8')) as Record<string, StoredSample[]>),
  ),
);

const stored = (id: string): readonly StoredSample[] => STORED_SAMPLES.get(id) ?? [];

/** Samples of a format. The text of a line format is one item of `lines`, whatever line feeds it has. */
export const samplesOf = ({ id, form }: LogFormat): LogSample[] =>
  stored(id).map(({ text = EXAMPLES[id]!, lines, rows = [] }) => ({
    lines: lines ?? (form === 'block' ? text.split('\n') : [text]),
    rows: rows.map(rowOf),
  }));

/** Samples of a wording of `src/knowledge/oom-messages`. */
export const messageSamples = (id: string): { readonly text: string; readonly expected: ExpectedIncident | null }[] =>
  stored(id).map(({ text = EXAMPLES[id]!, expected = {} }) => ({ text, expected }));
