/** Which launch of its run every file belongs to: done once all files are known, since each may move the others. */
import { maxOf } from '../../model/lists.js';
import { METRICS_FORMATS } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { attemptsFromNames } from '../discover/names/attempt-from-name.js';
import { alignLaunches, type LaunchAlignment, type MetricsSpan } from './align-launches.js';

interface SourceOfRun {
  readonly sourceId: number;
  /** With directories, if they contain names of launches. */
  readonly path: string;
  /** As stored. */
  readonly attempt: number;
  readonly isMetrics: boolean;
}

const isMetricsFormat = (format: unknown): boolean => (METRICS_FORMATS as readonly string[]).includes(String(format));

/** Numbers launches by the names of files and the times of metrics, and stores the changes. */
export async function countAttempts(store: Store, runId: number): Promise<void> {
  const sources = await readSources(store, runId);
  const launches = sources.filter(({ isMetrics }) => !isMetrics);
  const named = attemptsFromNames(launches.map(({ path }) => path));
  const attempts = new Map(launches.map(({ sourceId }, i) => [sourceId, named[i]!]));
  if (launches.length < sources.length) {
    const { attempts: aligned, shift } = await alignMetrics(store, runId, attempts);
    for (const [sourceId, attempt] of attempts) attempts.set(sourceId, attempt + shift);
    for (const { sourceId, isMetrics } of sources) if (isMetrics) attempts.set(sourceId, aligned.get(sourceId) ?? 1);
  }
  const changed = sources.filter(({ sourceId, attempt }) => attempts.get(sourceId) !== attempt);
  if (changed.length === 0) return;
  await store.transaction(async () => {
    for (const { sourceId } of changed) {
      await store.run('UPDATE source SET attempt = $attempt WHERE source_id = $source_id', {
        attempt: attempts.get(sourceId)!,
        source_id: sourceId,
      });
    }
  });
}

async function readSources(store: Store, runId: number): Promise<SourceOfRun[]> {
  const rows = await store.select(
    'SELECT source_id, path, display_path, attempt, format FROM source WHERE run_id = $run_id',
    { run_id: runId },
  );
  return rows.map((row) => {
    const display = String(row['display_path']);
    return {
      sourceId: Number(row['source_id']),
      // A file named directly lacks directories in its display path, and torchrun's launch names are directories.
      path: display.includes('/') ? display : String(row['path']).split('/').slice(-3).join('/'),
      attempt: Number(row['attempt']),
      isMetrics: isMetricsFormat(row['format']),
    };
  });
}

/** `attempts`: those of all files but the metrics, by source. */
async function alignMetrics(
  store: Store,
  runId: number,
  attempts: ReadonlyMap<number, number>,
): Promise<LaunchAlignment> {
  const spans: MetricsSpan[] = [];
  const trained = new Set<number>();
  let newest = Math.max(1, maxOf(attempts.values()));
  const time = (value: unknown): number | null => (value === null ? null : Number(value));
  const iterations = await store.select(
    `SELECT log.source_id, log.attempt, source.format, min(log.time_us) AS first_us, max(log.time_us) AS last_us
     FROM log_iteration AS log JOIN source USING (source_id) WHERE source.run_id = $run_id GROUP BY ALL`,
    { run_id: runId },
  );
  for (const row of iterations) {
    const sourceId = Number(row['source_id']);
    if (isMetricsFormat(row['format']))
      spans.push({ sourceId, firstUs: time(row['first_us']), lastUs: time(row['last_us']) });
    else trained.add(attempts.get(sourceId)! + Number(row['attempt']) - 1);
  }
  const inside = await store.select(
    'SELECT source_id, max(log.attempt) AS launches FROM source_attempt AS log JOIN source USING (source_id) WHERE source.run_id = $run_id GROUP BY ALL',
    { run_id: runId },
  );
  for (const row of inside)
    newest = Math.max(newest, (attempts.get(Number(row['source_id'])) ?? 1) + Number(row['launches']) - 1);
  const ascending = [...trained].sort((a, b) => a - b);
  return alignLaunches(spans, ascending, Math.max(newest, maxOf(trained)));
}
