/** What the texts of a run show of its launches as a whole: failures, phases, and how far they came. */
import type { LogIncident } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';
import { iterationSummaries } from './iterations.js';
import { readLogFacts } from './log-facts.js';
import type { RankLayout } from './rank-layout.js';

type PhaseRow = QueryRow<'log.phases'>;
type IterationRow = QueryRow<'log.iteration_summary'>;

/** Read once for a run. */
export interface RunTexts {
  readonly layout: RankLayout | null;
  readonly stages: number | null;
  readonly incidents: readonly LogIncident[];
  /** The last launch that failed, or the last one at all. */
  readonly attempt: number;
  readonly iterations: readonly IterationRow[];
  readonly phases: readonly PhaseRow[];
  readonly logInterval: number | null;
}

export function readRunTexts(store: Store, runId: number): Promise<RunTexts> {
  return onceRunTexts(store, runId);
}

const onceRunTexts = readOnce(async (store: Store, runId: number): Promise<RunTexts> => {
  const { facts, layout, incidents, judged } = await readLogFacts(store, runId);
  const phases = await store.all('log.phases', { run_id: runId });
  const iterations = await iterationSummaries(store, runId);
  const [interval] = (await store.all('log.config', { run_id: runId })).filter((row) => row.key === 'log_interval');
  return {
    layout,
    stages: facts.parallel.pp,
    incidents,
    attempt: judged,
    iterations,
    phases,
    logInterval: interval?.value == null || !/^\d+$/.test(interval.value) ? null : Number(interval.value),
  };
});

/**
 * Iterations completed in the failing launch. Lines may be printed every so many iterations only, so their number is no
 * evidence; the first iteration of the launch is what its loop announces, or 0 if iteration 1 is printed, or one
 * interval before the first line.
 */
export function completedIterations({ attempt, iterations, phases, logInterval }: RunTexts): number | null {
  const row = iterations.find((one) => one.attempt === attempt);
  const started = phases.find((one) => one.attempt === attempt && one.phase === 'training');
  // Silence proves nothing: where each node has a file, the launches of the node that prints iterations may be
  // indistinguishable.
  if (row === undefined) return null;
  const { lowest, highest, distinct_iterations: lines } = row;
  if (lowest === null || highest === null) return null;
  const announced = started?.iteration ?? null;
  const interval = lines > 1 ? Math.round((highest - lowest) / (lines - 1)) : logInterval;
  const first = announced !== null && announced <= lowest ? announced : lowest === 1 ? 0 : null;
  if (first !== null) return highest - first;
  return interval === null ? null : highest - lowest + interval;
}
