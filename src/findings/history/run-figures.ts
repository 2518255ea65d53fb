/**
 * One figure of every run of a store, and how each run ended. One query for each kind of figure, over all runs at once.
 */

import { roleOf } from '../../derive/run/first-failure.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import type { HistoryEnding, HistoryMetricName } from '../../model/results/history.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { IncidentKind } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

export interface RunFigure {
  readonly run: string;
  readonly label: string | null;
  /** As given when it was ingested. */
  readonly commit: string | null;
  readonly ending: HistoryEnding;
  /** Null if `missing` gives the reason. */
  readonly value: number | null;
  readonly missing: Text | null;
  readonly approximate: boolean;
  readonly isLowerBound: boolean;
  /** Its source. */
  readonly source: 'log' | 'snapshot';
  readonly lastIteration: number | null;
}

type Figure = Pick<RunFigure, 'value' | 'missing' | 'approximate' | 'isLowerBound' | 'source' | 'lastIteration'>;
type Run = QueryRow<'trend.runs'>;
type Failure = QueryRow<'trend.failures'>;
type Read = (run: Run, ending: HistoryEnding, failures: readonly Failure[]) => Figure;

const LEAST_STEPS_OF_DEAD = threshold('history.least_steps_of_dead');

/** In the order of the first ingestion. */
export async function readRunFigures(store: Store, metric: HistoryMetricName): Promise<RunFigure[]> {
  const read = await readerOf(store, metric);
  const failures = groupBy(await store.all('trend.failures', {}), (row) => row.run_id);
  return (await store.all('trend.runs', {})).map((run) => {
    const ownFailures = failures.get(run.run_id) ?? [];
    const ending = endingOf(run, ownFailures);
    const { name, label, commit_sha } = run;
    return { run: name, label, commit: commit_sha, ending, ...read(run, ending, ownFailures) };
  });
}

/**
 * Of the last launch. After a line that reports the end, broken connections and launchers' reports are not a failure.
 */
export function endingOf(
  run: Pick<Run, 'last_attempt' | 'finished' | 'oom_snapshots'>,
  failures: readonly Failure[],
): HistoryEnding {
  const roles = failures
    .filter((row) => row.attempt === run.last_attempt && !row.survived)
    .map((row) => ({ row, role: roleOf({ ...row, kind: row.kind as IncidentKind }) }))
    .filter(({ role }) => role !== 'mention' && (!run.finished || role === 'primary'));
  if (roles.some(({ row }) => row.is_oom)) return 'oom';
  if (roles.length > 0) return 'failed';
  return run.oom_snapshots > 0 && !run.finished ? 'oom' : 'ok';
}

const MISSING: Omit<Figure, 'missing'> = {
  value: null,
  approximate: false,
  isLowerBound: false,
  source: 'log',
  lastIteration: null,
};
export const reasonOf = sentencesOf('history', 'missing');
const missing = (code: string, figures: object = {}): Figure => ({ ...MISSING, missing: reasonOf(code, figures) });
const figure = (value: number, rest: Partial<Figure> = {}): Figure => ({ ...MISSING, value, missing: null, ...rest });

const PEAKS = {
  peak_allocated_bytes: 'allocated',
  peak_active_bytes: 'active',
  peak_reserved_bytes: 'reserved',
} as const;

async function readerOf(store: Store, metric: HistoryMetricName): Promise<Read> {
  switch (metric) {
    case 'step_ms':
    case 'tflops_per_gpu':
    case 'loss':
      return steps(store, metric);
    case 'alloc_retries':
      return retries(store);
    case 'ooms':
      return ooms(store);
    default:
      return peaks(store, PEAKS[metric]);
  }
}

/**
 * Memory lines print the peak since the launch, a trace has that of its ring; active memory is rarely printed, and
 * traces have it.
 */
async function peaks(store: Store, name: (typeof PEAKS)[keyof typeof PEAKS]): Promise<Read> {
  const lines = byRun(await store.all('trend.memory', { metric: `max_${name}` }));
  const snapshots = byRun(await store.all('trend.snapshots'));
  return (run, ending) => {
    const line = lines.get(run.run_id)?.bytes ?? null;
    const snapshot = snapshots.get(run.run_id);
    const died = ending !== 'ok';
    if (line !== null && (name !== 'active' || snapshot === undefined)) return figure(line, { isLowerBound: died });
    if (snapshot === undefined) return missing('memory', { metric: `max_${name}` });
    const basis = snapshot[`${name}_basis`];
    return figure(snapshot[`${name}_bytes`], {
      source: 'snapshot',
      approximate: basis === 'approximate',
      isLowerBound: died || basis === 'dump',
    });
  };
}

async function steps(store: Store, metric: 'step_ms' | 'tflops_per_gpu' | 'loss'): Promise<Read> {
  const rows = byRun(await store.all('trend.steps', {}));
  return (run, ending) => {
    const row = rows.get(run.run_id);
    if (row === undefined) return missing('iterations');
    const { [metric]: value, last_iteration: lastIteration } = row;
    if (metric === 'loss') {
      if (ending !== 'ok') return missing('loss_of_dead');
      if (value === null) return missing('loss');
      return Number.isFinite(value) ? figure(value, { lastIteration }) : missing('loss_broken');
    }
    const count = metric === 'step_ms' ? row.steady : row.steady_tflops;
    if (value === null || count === 0) return missing(metric);
    if (ending !== 'ok' && count < LEAST_STEPS_OF_DEAD) return missing('few_steps', { count });
    return figure(value, { lastIteration });
  };
}

async function retries(store: Store): Promise<Read> {
  const rows = byRun(await store.all('trend.memory', { metric: 'alloc_retries' }));
  return (run, ending) => {
    const row = rows.get(run.run_id);
    return row === undefined ? missing('retries') : figure(row.value, { isLowerBound: ending !== 'ok' });
  };
}

async function ooms(store: Store): Promise<Read> {
  const snapshots = byRun(await store.all('trend.snapshots'));
  return (run, _ending, failures) => {
    if (run.logs > 0) return figure(sumOf(failures.map(({ is_oom: isOom, count }) => (isOom ? count : 0))));
    const snapshot = snapshots.get(run.run_id);
    // A ring of entries loses the oldest failures, and only ranks with a dump have one.
    return snapshot === undefined
      ? missing('evidence')
      : figure(snapshot.oom_entries, { source: 'snapshot', isLowerBound: true });
  };
}

const byRun = <Row extends { readonly run_id: number }>(rows: readonly Row[]): Map<number, Row> =>
  new Map(rows.map((row) => [row.run_id, row]));
