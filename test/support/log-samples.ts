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

interface StoredSample {
  readonly text?: string;
  readonly lines?: readonly string[];
  readonly rows?: readonly LogFinding[];
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
    rows,
  }));

/** Samples of a wording of `src/knowledge/oom-messages`. */
export const messageSamples = (id: string): { readonly text: string; readonly expected: ExpectedIncident | null }[] =>
  stored(id).map(({ text = EXAMPLES[id]!, expected = {} }) => ({ text, expected }));
