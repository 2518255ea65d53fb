/** A run in one object: see `src/model/measurement.ts`. */

import { effectiveConfig, plainValue, readSettings } from '../../derive/run/config.js';
import { readEnvironment } from '../../derive/run/env.js';
import { readFirstFailure } from '../../derive/run/first-failure-result.js';
import { iterationSummaries } from '../../derive/run/iterations.js';
import { type LogFacts, readLogFacts } from '../../derive/run/log-facts.js';
import { readRunEnding } from '../../derive/verdict/run-ending.js';
import { maxOf } from '../../model/lists.js';
import {
  type Ending,
  type MeasuredFailure,
  type MeasuredPeak,
  type MeasuredRank,
  type MeasuredSeries,
  type MeasuredStatus,
  type MeasuredVerdict,
  type Measurement,
  MOST_POINTS,
} from '../../model/measurement.js';
import { pick } from '../../model/pick.js';
import type { LogIncident } from '../../model/results/log.js';
import type { Verdict } from '../../model/verdict.js';
import { isOomKind } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { candidatesToMeasure, MOST_PEAKS } from '../measure/candidates.js';
import { disturbanceOf } from '../measure/disturbances.js';
import { measurePeak } from '../measure/measure-peak.js';
import { measureBridge } from '../run/bridge-evaluator.js';
import { diagnose } from './diagnose.js';

export interface MeasureOptions {
  /** Snapshots of so many ranks are looked into, the lowest ranks first; 0: none. */
  readonly mostPeaks?: number;
  /** Words the verdict on a failed run. Without it the failure is not explained, which takes as long as `diagnose`. */
  readonly summaryOf?: ((verdict: Verdict) => string) | undefined;
  /** Output of `diagnose`, if it ran already. */
  readonly verdicts?: readonly Verdict[];
}

/** Longer values are lists of files and the like; they are not compared. */
const MOST_VALUE_CHARS = 300;

export async function measureRun(
  store: Store,
  runId: number,
  run: string,
  options: MeasureOptions = {},
): Promise<Measurement> {
  const { mostPeaks = MOST_PEAKS, summaryOf, verdicts } = options;
  const log = await readLogFacts(store, runId);
  const { facts, layout } = log;
  const row = await store.one('store.runs', { run_id: runId });
  const steps = (await store.one('measure.steady_steps', { run_id: runId })) ?? null;
  const ranks = (await store.all('measure.memory_ranks', { run_id: runId })).map(
    ({ rank, ...line }): MeasuredRank => ({
      rank,
      stage: rank === null ? null : (layout?.position(rank)?.pp ?? null),
      ...line,
    }),
  );
  const peaks: MeasuredPeak[] = [];
  for (const candidate of await candidatesToMeasure(store, runId, mostPeaks))
    peaks.push(await measurePeak(store, candidate, candidate.devices[0]!.device));
  const { variables } = await readEnvironment(store, runId);
  const config = effectiveConfig(await readSettings(store, runId));
  const bridge = await measureBridge(store, runId);
  return {
    run,
    label: row?.label ?? null,
    commit: row?.commit_sha ?? null,
    status: await readStatus(store, runId, run, log, summaryOf, verdicts),
    world_size: facts.world_size,
    parallel: facts.parallel,
    gpu: { name: facts.gpu.name, total_bytes: facts.gpu.total_bytes },
    versions: Object.fromEntries(
      Object.entries(facts.versions).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    ),
    commits: facts.commits,
    allocator_conf: facts.allocator_conf,
    ranks,
    peaks,
    steps,
    series: {
      ...(await readSeries(store, runId)),
      ...(bridge === undefined ? {} : { bridge }),
    },
    config: Object.fromEntries(
      config.settings
        .filter(({ value }) => (value?.length ?? 0) <= MOST_VALUE_CHARS)
        .map(({ key, value }) => [key, plainValue(value)]),
    ),
    env: Object.fromEntries(variables.map(({ key, value }) => [key, value])),
    disturbances: (
      await store.all('measure.disturbances', {
        run_id: runId,
        prefix: 'straggler.',
        ...(steps === null ? {} : pick(steps, ['median_ms', 'spread_ms'])),
        retries: Math.max(0, maxOf(ranks.map((rank) => rank.alloc_retries ?? 0))),
      })
    ).map(disturbanceOf),
  };
}

/** What the upstream presets judge, and what shows whether the loss diverged. */
async function readSeries(store: Store, runId: number): Promise<MeasuredSeries> {
  const rows = await store.all('measure.series', { run_id: runId, most: MOST_POINTS });
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name]);
  const recorded = (name: 'allocated_bytes' | 'max_allocated_bytes' | 'num_zeros') =>
    rows.some((row) => row[name] !== null) ? { [name]: column(name) } : {};
  return {
    iteration: column('iteration'),
    loss: column('loss'),
    step_ms: column('step_ms'),
    tflops: column('tflops'),
    grad_norm: column('grad_norm'),
    ...recorded('allocated_bytes'),
    ...recorded('max_allocated_bytes'),
    ...recorded('num_zeros'),
  };
}

async function readStatus(
  store: Store,
  runId: number,
  run: string,
  { incidents, layout, judged }: LogFacts,
  summaryOf: MeasureOptions['summaryOf'],
  verdicts: readonly Verdict[] | undefined,
): Promise<MeasuredStatus> {
  const launches = (await iterationSummaries(store, runId)).filter(({ attempt }) => attempt !== null);
  const newest = launches.at(-1);
  const progress = {
    attempts: Math.max(1, newest?.attempt ?? 1, maxOf(incidents.map(({ attempt }) => attempt ?? 1))),
    first_iteration: newest?.lowest ?? null,
    last_iteration: newest?.highest ?? null,
    target_iterations: newest?.target ?? null,
  };
  const first = readFirstFailure(incidents, judged);
  const incident = first === null ? undefined : incidents[first.incident];
  const traced = (await store.all('measure.oom_snapshots', { run_id: runId })).length > 0;
  if (incident === undefined && !traced) {
    const ending = await readRunEnding(store, runId);
    const kind: Ending =
      ending === null
        ? newest === undefined
          ? 'no_training'
          : 'stopped'
        : ending.kind === 'finished'
          ? 'completed'
          : 'stopped';
    return { ending: kind, failure: null, verdict: null, ...progress };
  }
  const verdict = summaryOf === undefined ? undefined : (verdicts ?? (await diagnose(store, runId, run)).verdicts)[0];
  const isOom =
    verdict === undefined
      ? incident === undefined || isOomKind(incident.kind)
      : verdict.cause !== 'not_oom' &&
        (verdict.cause !== 'undecided' || incident === undefined || isOomKind(incident.kind));
  return {
    ending: isOom ? 'oom' : 'failed',
    failure: incident === undefined ? null : failureOf(incident, layout?.position(incident.rank ?? -1)?.pp ?? null),
    verdict: verdict === undefined ? null : measuredVerdict(verdict, summaryOf!(verdict)),
    ...progress,
  };
}

function failureOf(incident: LogIncident, stage: number | null): MeasuredFailure {
  const { kind, rank, iteration, text, file, line } = incident;
  return { kind, rank, stage, iteration, text: text.split('\n')[0]!.slice(0, 400), file, line };
}

function measuredVerdict(verdict: Verdict, summary: string): MeasuredVerdict {
  const { cause, detail, confidence } = verdict;
  const live = verdict.accounting.find(({ part }) => part === 'allocated');
  return {
    cause,
    detail,
    confidence,
    summary,
    requested_bytes: verdict.request?.bytes ?? null,
    live_bytes: live?.bytes ?? null,
  };
}
