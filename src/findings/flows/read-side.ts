/** Reads the two runs that `verify-fix` compares, and the advice on the first. */

import { readSettings } from '../../derive/run/config.js';
import { readEnvironment } from '../../derive/run/env.js';
import { readLogFacts } from '../../derive/run/log-facts.js';
import { factsOfRun } from '../../derive/settings/facts-of-run.js';
import { View } from '../../derive/settings/view.js';
import { maxOf } from '../../model/lists.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { advise } from '../advice/advise.js';
import { candidatesToMeasure, MOST_PEAKS } from '../measure/candidates.js';
import { readProgramUse } from '../verify/program-use.js';
import type { AdviceBefore, RankSnapshot, Side } from '../verify/side.js';
import { diagnose } from './diagnose.js';
import { measureRun } from './measure-run.js';
import { readSituation } from './read-situation.js';

export async function readSide(
  store: Store,
  runId: number,
  run: string,
  summaryOf: (verdict: Verdict) => string,
  capacityBytes: number | null = null,
): Promise<Side> {
  const facts = await factsOfRun(store, runId);
  const { facts: about, values } = await readLogFacts(store, runId);
  const phases = await store.all('log.phases', { run_id: runId });
  const diagnosis = await diagnose(store, runId, run, capacityBytes === null ? {} : { capacityBytes });
  const newest = Math.max(0, maxOf(phases.map(({ attempt }) => attempt)));
  return {
    run,
    place: `${store.file} ${runId}`,
    measurement: await measureRun(store, runId, run, { verdicts: diagnosis.verdicts, summaryOf }),
    facts,
    view: new View(facts),
    found: await readSettings(store, runId),
    environment: await readEnvironment(store, runId),
    snapshots: await readSnapshots(store, runId),
    diagnosis,
    about,
    values,
    phases: phases
      .filter(({ attempt }) => attempt === newest)
      .map(({ phase, display_path: file, line }) => ({ phase, file, line })),
  };
}

async function readSnapshots(store: Store, runId: number): Promise<RankSnapshot[]> {
  const snapshots: RankSnapshot[] = [];
  for (const candidate of await candidatesToMeasure(store, runId, MOST_PEAKS)) {
    const { snapshotId, handle, rank } = candidate;
    const device = candidate.devices[0]!.device;
    const pools = (await store.all('snapshot.pools', { snapshot_id: snapshotId })).filter(
      (pool) => pool.device === device,
    );
    const count = (wanted: readonly (typeof pools)[number][]): number =>
      wanted.reduce((sum, { segments }) => sum + segments, 0);
    const settings = await store.all('snapshot.settings', { snapshot_id: snapshotId });
    snapshots.push({
      handle,
      rank,
      settings: new Map(settings.map(({ key, value }) => [key, value])),
      segments: count(pools),
      expandableSegments: count(pools.filter(({ is_expandable }) => is_expandable === 1)),
      program: await readProgramUse(store, snapshotId, device),
    });
  }
  return snapshots;
}

/** The advice on the run before: what its changes were expected to save and to cost. */
export async function readAdviceBefore(
  store: Store,
  runId: number,
  { diagnosis }: Pick<Side, 'diagnosis'>,
  capacityBytes: number | null = null,
): Promise<AdviceBefore> {
  if (diagnosis.verdicts.length === 0) return { fixes: [], nonFixes: [] };
  const { fixes, non_fixes: nonFixes } = advise(await readSituation(store, runId, diagnosis, capacityBytes));
  return { fixes, nonFixes };
}
