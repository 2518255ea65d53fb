/** A store with one run whose text rows are written by hand, as the parsers would emit them. */
import { join } from 'node:path';
import { TEXT_LAYOUTS } from '../../src/ingest/derive/derive-text.js';
import { incidentRows } from '../../src/ingest/write/source-rows.js';
import type { TableLayout } from '../../src/model/columns.js';
import {
  type AttemptRow,
  type ClockName,
  CONFIG_ORIGINS,
  ENV_ORIGINS,
  type LogPlace,
} from '../../src/model/log-rows.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { GIB, MIB } from '../../src/model/units.js';
import type { Format } from '../../src/model/vocabulary.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import type { SqlValue } from '../../src/store/to-duckdb.js';
import { plainIncident } from '../../src/text/plain-incident.js';
import { scratchDirectory } from '../store/scratch.js';
import type { LogRow } from './launches/log-row.js';
import { newStore } from './new-store.js';

export type Row = DistributedPartial<LogRow>;
type DistributedPartial<Row> = Row extends unknown ? Partial<Row> & Pick<Row, Extract<'row', keyof Row>> : never;

export interface TextSource {
  readonly path: string;
  readonly rank?: number;
  /** `log` by default. */
  readonly format?: Format;
  readonly clock?: ClockName;
  /** Launch of the run that its first launch is; 1 by default. */
  readonly attempt?: number;
  /** Lines are numbered in order unless they have a number. In words: see {@link rowOf}. */
  readonly rows?: readonly (Row | string)[];
  readonly incidents?: readonly Partial<IncidentRow>[];
  readonly attempts?: readonly Partial<AttemptRow>[];
}

const PLACE: Omit<LogPlace, 'line'> = {
  ...{ offset: 0, attempt: 1, rank: null, rankOrigin: null, host: null, device: null, timeUs: null, format: 'test' },
};
const INCIDENT: IncidentRow = plainIncident({
  ...{ kind: 'cuda_oom', grammar: 'test', text: 'CUDA out of memory.', line: 1, offset: 0 },
});

export const RUN = 'by-hand';

/** Calls `work` with the store; several runs are numbered from 1 and named `by-hand`, `by-hand-2`, …. */
export async function withTextRuns<T>(
  runs: readonly (readonly TextSource[])[],
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openTextRuns(join(scratchDirectory(), 'store.duckdb'), runs);
  return work(store).finally(() => store.close());
}

/** The store at `file`, opened for reading, as verbs open it: much of a run is then read once. */
export async function openTextRuns(file: string, runs: readonly (readonly TextSource[])[]): Promise<Store> {
  const written = await newStore(file);
  await writeRuns(written, runs).finally(() => written.close());
  return openStore(file, { mode: 'read' });
}

export async function writeRuns(store: Store, runs: readonly (readonly TextSource[])[]): Promise<void> {
  const now = new Date('2026-01-02T03:04:05Z');
  const texts = new Map<string, number>();
  let sourceId = 0;
  for (const [i, sources] of runs.entries()) {
    await store.insertRows('run', [
      {
        ...{ run_id: i + 1, name: i === 0 ? RUN : `${RUN}-${i + 1}`, label: null, commit_sha: null },
        ...{ root_path: '/nowhere', created_at: now, touched_at: new Date(now.getTime() + i) },
      },
    ]);
    for (const source of sources) {
      sourceId += 1;
      await writeSource(store, texts, i + 1, sourceId, source, now);
    }
  }
  await store.insertRows(
    'text_value',
    [...texts].map(([text, id]) => ({ text_id: id, text })),
  );
}

async function writeSource(
  store: Store,
  texts: Map<string, number>,
  runId: number,
  sourceId: number,
  source: TextSource,
  now: Date,
): Promise<void> {
  await store.insertRows('source', [
    {
      ...{ source_id: sourceId, run_id: runId, attempt: source.attempt ?? 1, path: `/nowhere/${source.path}` },
      ...{ display_path: source.path, format: source.format ?? 'log', clock: source.clock ?? null },
      ...{ status: 'ingested', file_bytes: 1, sha256: 'x', parser_version: 1, ingested_at: now },
      ...{ rank: source.rank ?? null, rank_origin: source.rank === undefined ? null : 'file_name' },
      ...{ error_code: null, error_text: null, error_offset: null },
    },
  ]);
  const tables: Record<string, Record<string, SqlValue>[]> = {};
  for (const [i, row] of (source.rows ?? []).entries()) {
    const [table, fields] = tableRow(
      { ...PLACE, line: i + 1, ...(typeof row === 'string' ? rowOf(row) : row) } as LogRow,
      texts,
    );
    const rows = tables[table] ?? [];
    rows.push({ source_id: sourceId, ...fields });
    tables[table] = rows;
  }
  for (const [table, rows] of Object.entries(tables)) await store.insertRows(table, rows);
  await store.insertRows(
    'source_attempt',
    (source.attempts ?? []).map(({ attempt = 1, line = 1, origin = 'test', timeUs = null }) => ({
      ...{ source_id: sourceId, attempt, line, origin, time_us: timeUs },
    })),
  );
  const [last] = await store.select('SELECT coalesce(max(incident_id), 0) AS id FROM incident');
  const incidents = (source.incidents ?? []).map((incident) => ({ ...INCIDENT, ...incident }));
  for (const [table, rows] of Object.entries(incidentRows(Number(last!['id']) + 1, sourceId, incidents)))
    await store.insertRows(table, rows);
}

const LAYOUTS: Readonly<Record<string, TableLayout>> = {
  ...{ iteration: TEXT_LAYOUTS.iterations, memory: TEXT_LAYOUTS.memory },
  ...{ gauge: TEXT_LAYOUTS.gauges, value: TEXT_LAYOUTS.figures },
};
const RENAMED: Readonly<Record<string, string>> = { byte_offset: 'offset', target_iterations: 'target' };
const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The table of a row and its columns. */
function tableRow(row: LogRow, texts: Map<string, number>): [table: string, fields: Record<string, SqlValue>] {
  const fields = row as unknown as Readonly<Record<string, SqlValue | undefined>>;
  const text = (words: string | null | undefined): number | null => {
    if (words === null || words === undefined) return null;
    const id = texts.get(words) ?? texts.size;
    texts.set(words, id);
    return id;
  };
  const layout = LAYOUTS[row.row];
  if (layout !== undefined) {
    const columns = layout.columns.filter(({ name }) => name !== 'source_id');
    const values = columns.map(({ name, refersTo }) => {
      if (refersTo !== 'text') return [name, fields[RENAMED[name] ?? camelCase(name)] ?? null];
      return [name, text(fields[camelCase(name in NAMED_IDS ? name : name.replace(/_id$/, ''))] as string)];
    });
    return [layout.table, Object.fromEntries(values)];
  }
  const { attempt, line, rank, format, host } = row;
  const place = { attempt, line, rank, format };
  if (row.row === 'phase') {
    const { offset, phase, label, iteration, timeUs } = row;
    return ['log_phase', { ...place, byte_offset: offset, phase, label, iteration, time_us: timeUs }];
  }
  const { key, value, origin } = row as Extract<LogRow, { row: 'config' | 'env' }>;
  const setting = { ...place, key, value, origin };
  return row.row === 'config'
    ? ['log_config', { ...setting, raw_key: row.rawKey, precedence: CONFIG_ORIGINS.indexOf(row.origin) }]
    : ['log_env', { ...setting, host, precedence: ENV_ORIGINS.indexOf(origin as (typeof ENV_ORIGINS)[number]) }];
}
/** Columns of texts whose field is named as they are. */
const NAMED_IDS: Readonly<Record<string, true>> = { gpu_id: true };

// ---- rows in words

/** `-`: nothing; `2GiB+10MiB`: bytes; else a number where it is one. */
function wordOf(word: string | undefined): string | number | null | undefined {
  if (word === undefined || word === '-') return undefined;
  if (word === 'null') return null;
  if (/^\d+[GM]iB/.test(word)) {
    return word.split('+').reduce((sum, size) => sum + Number.parseFloat(size) * (size.endsWith('GiB') ? GIB : MIB), 0);
  }
  return word !== '' && (word === 'NaN' || !Number.isNaN(Number(word))) ? Number(word) : word;
}

/**
 * A row in words: `iteration NUMBER STEP_MS`, `memory RANK ITERATION METRIC BYTES`, `config KEY VALUE ORIGIN`, `env KEY
 * VALUE ORIGIN`, `value NAME VALUE UNIT`, then `name=value` of further fields. Blanks of origins and texts are `_`.
 */
export function rowOf(text: string): Row {
  const words = text.split(' ');
  const fields = words.filter((word) => /^\w+=/.test(word)).map((word) => word.split('=') as [string, string]);
  const more = Object.fromEntries(
    fields.map(([name, value]) => [name, /^(?:text|moment)$/.test(name) ? value.replaceAll('_', ' ') : wordOf(value)]),
  );
  const [row, ...given] = words.filter((word) => !/^\w+=/.test(word));
  const [first, second, third, fourth] = given;
  const origin = (third ?? 'log dump').replaceAll('_', ' ');
  switch (row) {
    case 'iteration':
      return { row, iteration: Number(first), target: 100, stepMs: wordOf(second) as number, ...more };
    case 'memory': {
      const bytes = (wordOf(fourth) ?? null) as number | null;
      const value = bytes === null ? 0 : bytes / MIB;
      const place = { rank: Number(first), iteration: wordOf(second) as number };
      return { row, ...place, metric: third!, bytes, value, unit: 'MB', precisionBytes: 0, ...more };
    }
    case 'value': {
      const value = wordOf(second);
      const known =
        typeof value === 'number' ? { value, unit: third ?? null } : { value: null, unit: null, text: second };
      return { row, name: first!, ...known, ...more } as Row;
    }
    default: {
      const value = second === 'null' ? null : second!;
      return { row, key: first, ...(row === 'config' ? { rawKey: first } : {}), value, origin, ...more } as Row;
    }
  }
}
