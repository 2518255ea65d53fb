/**
 * What every verb over text rows needs to know of a run first: its settings, environment, failures, facts and layout.
 */
import type { LaunchEnd } from '../../model/launch-end.js';
import type { LogIncident, LogRun, RunFacts } from '../../model/results/log.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, readSettings } from './config.js';
import { readEnvironment } from './env.js';
import { readIncidents } from './incidents.js';
import { judgedAttempt, launchEnds } from './launch-ends.js';
import { type RankLayout, rankLayout } from './rank-layout.js';
import { rankOrderOf, runFacts } from './run-facts.js';

/** Names of figures kept; a hostile log can print any number of them. */
const MOST_VALUES = 20_000;

export interface LogFacts {
  readonly facts: RunFacts;
  readonly layout: RankLayout | null;
  readonly layoutOrigin: string | null;
  readonly incidents: readonly LogIncident[];
  readonly ends: readonly LaunchEnd[];
  /** The launch that is judged. */
  readonly judged: number;
  readonly values: LogRun['values'];
}

export function readLogFacts(store: Store, runId: number): Promise<LogFacts> {
  return onceLogFacts(store, runId);
}

const onceLogFacts = readOnce(
  async (store: Store, runId: number): Promise<LogFacts> => {
    const config = effectiveConfig(await readSettings(store, runId));
    const environment = await readEnvironment(store, runId);
    const incidents = await readIncidents(store, runId);
    const values = await store.all('log.values', { run_id: runId, most: MOST_VALUES });
    const launches = await store.all('log.attempts', { run_id: runId });
    const ends = launchEnds(launches.length, incidents, await store.all('log.launch_ends', { run_id: runId }));
    const judged = judgedAttempt(ends);
    // Versions and commits of one launch are not those of another.
    const valuesOfLaunch =
      launches.length < 2
        ? values
        : await store.all('log.values', { run_id: runId, most: MOST_VALUES, attempt: judged });
    const run = await store.one('store.runs', { run_id: runId });
    const total = await store.one('log.device_total', { run_id: runId });
    const facts = runFacts({
      config,
      environment,
      incidents,
      values: valuesOfLaunch,
      snapshotSettings: await store.all('log.snapshot_settings', { run_id: runId }),
      deviceTotalBytes: total?.bytes ?? null,
      runCommit: run?.commit_sha ?? null,
    });
    const order = rankOrderOf(config);
    const layout = rankLayout(facts.world_size, facts.parallel, order.order);
    const sizes = facts.origins['parallel.tp'];
    return {
      facts,
      layout,
      layoutOrigin:
        layout === null ? null : `sizes from ${sizes ?? 'the configuration'}; ${order.origin} (${order.order})`,
      incidents,
      ends,
      judged,
      values,
    };
  },
  (store) => store.sourceRevision,
);
