/** A store with one run whose text rows are written by hand, as the parsers would emit them. */
import { join } from 'node:path';
import { insertIncidents } from '../../src/ingest/source-rows.js';
import {
  type AttemptRow,
  type ClockName,
  CONFIG_ORIGINS,
  ENV_ORIGINS,
  type LogPlace,
  type LogRow,
} from '../../src/model/log-rows.js';
import { plainIncident } from '../../src/model/plain-incident.js';
import type { IncidentRow } from '../../src/model/tables.js';
import type { Format } from '../../src/model/vocabulary.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import type { SqlValue } from '../../src/store/to-duckdb.js';
import { scratchDirectory } from '../store/scratch.js';
import { newStore } from './new-store.js';

type DistributedPartial<Row> = Row extends unknown ? Partial<Row> & Pick<Row, Extract<'row', keyof Row>> : never;

export interface TextSource {
  readonly path: string;
  readonly rank?: number;
  /** `log` by default. */
  readonly format?: Format;
  readonly clock?: ClockName;
  /** Launch of the run that its first launch is; 1 by default. */
  readonly attempt?: number;
  /** Lines are numbered in order unless they have a number. */
  readonly rows?: readonly DistributedPartial<LogRow>[];
  readonly incidents?: readonly Partial<IncidentRow>[];
  readonly attempts?: readonly Partial<AttemptRow>[];
}

const PLACE: Omit<LogPlace, 'line'> = {
  offset: 0,
  attempt: 1,
  rank: null,
  rankOrigin: null,
  host: null,
  device: null,
  timeUs: null,
  format: 'test',
};

const INCIDENT: IncidentRow = plainIncident({
  kind: 'cuda_oom',
  grammar: 'test',
  text: 'CUDA out of memory.',
  line: 1,
  offset: 0,
});

export const RUN = 'by-hand';

/** Calls `work` with the store; several runs are numbered from 1 and named `by-hand`, `by-hand-2`, …. */
export async function withTextRuns<T>(
  runs: readonly (readonly TextSource[])[],
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const file = join(scratchDirectory(), 'store.duckdb');
  const written = await newStore(file);
  await writeRuns(written, runs).finally(() => written.close());
  // For reading, as verbs open it: much of a run is then read once.
  const store = await openStore(file, { mode: 'read' });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export async function writeRuns(store: Store, runs: readonly (readonly TextSource[])[]): Promise<void> {
  const now = new Date('2026-01-02T03:04:05Z');
  const texts = new Map<string, number>();
  let sourceId = 0;
  for (const [i, sources] of runs.entries()) {
    await store.insertRows('run', [
      {
        run_id: i + 1,
        name: i === 0 ? RUN : `${RUN}-${i + 1}`,
        label: null,
        commit_sha: null,
        root_path: '/nowhere',
        created_at: now,
        touched_at: new Date(now.getTime() + i),
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
      source_id: sourceId,
      run_id: runId,
      attempt: source.attempt ?? 1,
      path: `/nowhere/${source.path}`,
      display_path: source.path,
      format: source.format ?? 'log',
      clock: source.clock ?? null,
      status: 'ingested',
      file_bytes: 1,
      sha256: 'x',
      parser_version: 1,
      rank: source.rank ?? null,
      rank_origin: source.rank === undefined ? null : 'file_name',
      error_code: null,
      error_text: null,
      error_offset: null,
      ingested_at: now,
    },
  ]);
  const tables: Record<string, Record<string, SqlValue>[]> = {};
  for (const [i, row] of (source.rows ?? []).entries()) {
    const [table, fields] = tableRow({ ...PLACE, line: i + 1, ...row } as LogRow, texts);
    const rows = tables[table] ?? [];
    rows.push({ source_id: sourceId, ...fields });
    tables[table] = rows;
  }
  for (const [table, rows] of Object.entries(tables)) await store.insertRows(table, rows);
  await store.insertRows(
    'source_attempt',
    (source.attempts ?? []).map((attempt) => ({
      source_id: sourceId,
      attempt: attempt.attempt ?? 1,
      line: attempt.line ?? 1,
      origin: attempt.origin ?? 'test',
      time_us: attempt.timeUs ?? null,
    })),
  );
  await insertIncidents(
    store,
    sourceId,
    (source.incidents ?? []).map((incident) => ({ ...INCIDENT, ...incident })),
  );
}

/** The table of a row and its columns. */
function tableRow(row: LogRow, texts: Map<string, number>): [table: string, fields: Record<string, SqlValue>] {
  const text = (words: string | null | undefined): number | null => {
    if (words === null || words === undefined) return null;
    const id = texts.get(words) ?? texts.size;
    texts.set(words, id);
    return id;
  };
  const { attempt, line, rank, format } = row;
  const place = { attempt, line, rank };
  const columnar = { ...place, byte_offset: row.offset, format_id: text(format), time_us: row.timeUs };
  switch (row.row) {
    case 'iteration':
      return [
        'log_iteration',
        {
          ...columnar,
          iteration: row.iteration,
          target_iterations: row.target,
          step_ms: row.stepMs,
          consumed_samples: row.consumedSamples,
          global_batch_size: row.globalBatchSize,
          tflops_per_gpu: row.tflopsPerGpu,
          learning_rate: row.learningRate,
          loss: row.loss,
          loss_scale: row.lossScale,
          grad_norm: row.gradNorm,
          skipped_iterations: row.skippedIterations,
          nan_iterations: row.nanIterations,
        },
      ];
    case 'memory':
      return [
        'log_memory',
        {
          ...columnar,
          device: row.device,
          host_id: text(row.host),
          iteration: row.iteration,
          moment_id: text(row.moment),
          metric_id: text(row.metric),
          bytes: row.bytes,
          value: row.value,
          unit_id: text(row.unit),
          precision_bytes: row.precisionBytes,
        },
      ];
    case 'gauge':
      return [
        'log_gauge',
        {
          ...columnar,
          device: row.device,
          host_id: text(row.host),
          gpu_id: text(row.gpuId),
          pid: row.pid,
          process_id: text(row.process),
          metric_id: text(row.metric),
          bytes: row.bytes,
          value: row.value,
          unit_id: text(row.unit),
          precision_bytes: row.precisionBytes,
        },
      ];
    case 'value':
      return [
        'log_figure',
        {
          ...columnar,
          device: row.device,
          host_id: text(row.host),
          iteration: row.iteration,
          name_id: text(row.name),
          value: row.value,
          unit_id: text(row.unit),
          text_id: text(row.text),
        },
      ];
    case 'phase':
      return [
        'log_phase',
        {
          ...place,
          format,
          byte_offset: row.offset,
          phase: row.phase,
          label: row.label,
          iteration: row.iteration,
          time_us: row.timeUs,
        },
      ];
    case 'config':
      return [
        'log_config',
        {
          ...place,
          format,
          key: row.key,
          raw_key: row.rawKey,
          value: row.value,
          origin: row.origin,
          precedence: CONFIG_ORIGINS.indexOf(row.origin),
        },
      ];
    case 'env':
      return [
        'log_env',
        {
          ...place,
          format,
          host: row.host,
          key: row.key,
          value: row.value,
          origin: row.origin,
          precedence: ENV_ORIGINS.indexOf(row.origin),
        },
      ];
  }
}
