/**
 * What a reader wants to know of a run from its texts: how far it came, its fullest rank, its pace, what grows. The
 * figures are those of `log`, and of the library's `memory_of_ranks` and `steady_steps`.
 */

import type { LaunchOoms, RunPeak, RunState, RunStateName, RunStep } from '../../model/run-state.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, readSettings } from '../run/config.js';
import { iterationSummaries } from '../run/iterations.js';
import { type LogFacts, readLogFacts } from '../run/log-facts.js';
import { deriveStep, readRates } from '../run/pace.js';

/** Iterations that are named, at which memory rose. */
const MOST_RISES = 3;

/** Null where no text is about training. `totalBytes`: of the device; where a line or an option gives it. */
export async function readRunState(store: Store, runId: number, totalBytes: number | null): Promise<RunState | null> {
  const { facts, ends, judged, incidents } = await readLogFacts(store, runId);
  const launches = await iterationSummaries(store, runId);
  const lines = launches.find(({ attempt }) => attempt === judged);
  const launch = {
    run_ids: String(runId),
    attempts: String(judged),
    total_bytes: totalBytes ?? facts.gpu.total_bytes,
  };
  const peak = ((await store.one('measure.run_peak', launch)) ?? null) as RunPeak | null;
  const isLast = launches.every(({ attempt }) => attempt === null || attempt <= judged);
  const step = lines === undefined || isLast ? await stepOf(store, runId, facts.world_size) : null;
  const ending = ends[judged - 1]?.ending ?? 'unknown';
  if (lines === undefined && peak === null && step === null) return null;
  // Without an iteration, texts that report no end are of anything.
  if (ending === 'unknown' && lines === undefined && step === null) return null;
  const isEnded = incidents.some(({ attempt, survived }) => (attempt ?? 1) === judged && !survived);
  const state: RunStateName = ending !== 'unknown' ? ending : isEnded ? 'ended_by_launcher' : 'running_or_cut';
  return {
    state,
    last_iteration: lines?.highest ?? null,
    target_iteration: lines?.target ?? null,
    peak,
    step,
    growth: (await store.one('measure.run_growth', { ...launch, most: MOST_RISES })) ?? null,
  };
}

// ---- pace

async function stepOf(store: Store, runId: number, worldSize: number | null): Promise<RunStep | null> {
  const [steady] = await store.all('measure.steady_steps', { run_id: runId });
  if (steady?.median_ms != null)
    return {
      ms: steady.median_ms,
      from_iteration: steady.from,
      to_iteration: steady.to,
      iterations: steady.count,
      derived_from: null,
      tflops_per_gpu: steady.median_tflops,
    };
  const rates = await readRates(store, runId);
  const derived = await deriveStep(store, runId, rates, effectiveConfig(await readSettings(store, runId)), worldSize);
  if (derived === null) return null;
  const { ms, from } = derived;
  const none = { from_iteration: null, to_iteration: null, iterations: null, tflops_per_gpu: null };
  return { ms, ...none, derived_from: from };
}

// ---- other launches

/** Launches other than the judged one that ran out of memory; those with the same figures together. */
export function launchOoms({ ends, judged, incidents }: Pick<LogFacts, 'ends' | 'judged' | 'incidents'>): LaunchOoms[] {
  const groups = new Map<string, LaunchOoms & { readonly attempts: number[] }>();
  for (const { attempt, ending, ending_file: file, ending_line: line } of ends) {
    if (ending !== 'oom' || attempt === judged || file === null || line === null) continue;
    const incident = incidents.find((one) => (one.attempt ?? 1) === attempt && one.file === file && one.line === line);
    const { frame } = incident ?? {};
    const figures = {
      rank: incident?.rank ?? null,
      device: incident?.device ?? null,
      requested_bytes: incident?.requested_bytes ?? null,
      free_bytes: incident?.free_bytes ?? null,
      total_bytes: incident?.total_bytes ?? null,
      frame: frame == null ? null : `${frame.function} at ${frame.file}:${frame.line}`,
      iteration: incident?.iteration_origin === 'same file' ? incident.iteration : null,
    };
    const key = JSON.stringify(figures);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { attempts: [attempt], ...figures, file, line });
    else known.attempts.push(attempt);
  }
  return [...groups.values()];
}
