/** `mbforensics log`: the run at a glance. */

import { effectiveConfig, readSettings } from '../../derive/run/config.js';
import { readFirstFailure } from '../../derive/run/first-failure-result.js';
import { countDropped } from '../../derive/run/incidents.js';
import { summariseIterations } from '../../derive/run/iterations.js';
import { readLogFacts } from '../../derive/run/log-facts.js';
import { doubtfulReadings, memoryGroups, memoryRanks, memoryRecords, positionsOf } from '../../derive/run/memory.js';
import { deriveStep, readRates } from '../../derive/run/pace.js';
import type { Failure } from '../../model/results/common.js';
import type { LogResult, LogRun } from '../../model/results/log.js';
import type { Store } from '../../store/store.js';
import { bridgeEvaluator } from './bridge-evaluator.js';
import { launchSettings } from './launch-settings.js';

export interface DescribeLogOptions {
  /** Memory records to list; undefined: all. */
  readonly mostMemoryRecords?: number | undefined;
  readonly failedSources?: readonly { readonly path: string; readonly error: Failure }[] | undefined;
}

export async function describeLog(
  store: Store,
  runId: number,
  run: string,
  options: DescribeLogOptions = {},
): Promise<LogResult> {
  return {
    schema: 'mbforensics/log@1',
    runs: [await describeRun(store, runId, run, options)],
    failed_sources: options.failedSources ?? [],
  };
}

async function describeRun(store: Store, runId: number, name: string, options: DescribeLogOptions): Promise<LogRun> {
  const { facts, layout, layoutOrigin, incidents, values, ends, judged } = await readLogFacts(store, runId);
  const iterations = (await summariseIterations(store, runId)).summary;
  const rates = await readRates(store, runId);
  const presence = await store.all('log.presence', { run_id: runId });
  const seen = presence.flatMap(({ rank }) => rank ?? []);
  const ranks = await memoryRanks(store, runId, layout, { attempt: judged });
  const sources = await store.all('store.sources', { run_id: runId });
  const attempts = await store.all('log.attempts', { run_id: runId });
  const settings = attempts.length < 2 ? undefined : await launchSettings(store, runId);
  return {
    name,
    attempts: attempts.map((row, i) => ({ ...row, ...ends[i]!, settings: settings?.get(row.attempt) ?? {} })),
    judged_attempt: judged,
    files: sources.filter(({ format }) => format !== null).length,
    ranks_seen: seen.length,
    hosts: presence.flatMap(({ host }) => host ?? []),
    ...facts,
    iterations,
    rates,
    derived_step:
      iterations.timed > 0
        ? null
        : await deriveStep(store, runId, rates, effectiveConfig(await readSettings(store, runId)), facts.world_size),
    memory: await memoryRecords(store, runId, { most: options.mostMemoryRecords }),
    memory_records: (await store.one('log.memory_count', { run_id: runId }))?.figures ?? 0,
    memory_doubtful: await doubtfulReadings(store, runId),
    memory_groups: ranks.length === 0 ? [] : memoryGroups(ranks),
    layout: positionsOf(layout, seen),
    layout_origin: layoutOrigin,
    phases: (await store.all('log.phases', { run_id: runId })).map(({ display_path: file, ...row }) => ({
      ...row,
      file,
    })),
    values,
    incidents,
    incidents_dropped: await countDropped(store, runId),
    first_failure: readFirstFailure(incidents, judged),
    bridge_evaluator: await bridgeEvaluator(store, runId),
  };
}
