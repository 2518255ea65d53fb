/** One of the two runs, read: everything that tells what was in force, what it needed, and how it ended. Plain data. */
import type { EnvResult, RunFacts } from '../../model/log-results.js';
import type { Measurement } from '../../model/measurement.js';
import type { DiagnoseResult } from '../../model/results.js';
import type { Store } from '../../store/store.js';
import { chooseDevices } from '../compare/diff/choose-pair.js';
import { measureRun } from '../compare/measure/measure-run.js';
import { candidatesToMeasure, MOST_PEAKS } from '../compare/measure/peaks-to-measure.js';
import { effectiveConfig, type FoundSetting, readSettings } from '../run/config.js';
import { readEnvironment } from '../run/env.js';
import { type LogFacts, readLogFacts } from '../run/log-facts.js';
import type { RawFacts } from '../settings/facts.js';
import { factsOfRun } from '../settings/facts-of-run.js';
import { View } from '../settings/view.js';
import { diagnose } from '../verdict/diagnose.js';
import { type ProgramUse, readProgramUse } from './program-use.js';

/** What a snapshot of one rank tells of settings in force. */
export interface RankSnapshot {
  readonly handle: string;
  readonly rank: number | null;
  /** As the allocator recorded them; empty where the torch that wrote it records none. */
  readonly settings: ReadonlyMap<string, string>;
  readonly segments: number;
  readonly expandableSegments: number;
  readonly program: ProgramUse;
}

export interface Side {
  readonly run: string;
  /** Store and run: the same place is the same run. */
  readonly place: string;
  readonly measurement: Measurement;
  readonly facts: RawFacts;
  readonly view: View;
  readonly found: readonly FoundSetting[];
  readonly environment: Pick<EnvResult, 'variables' | 'captured_ranks'>;
  readonly snapshots: readonly RankSnapshot[];
  readonly diagnosis: DiagnoseResult;
  readonly about: RunFacts;
  readonly values: LogFacts['values'];
  readonly phases: readonly { readonly phase: string; readonly place: string }[];
}

export async function readSide(
  store: Store,
  runId: number,
  run: string,
  capacityBytes: number | null = null,
): Promise<Side> {
  const facts = await factsOfRun(store, runId);
  const { facts: about, values } = await readLogFacts(store, runId);
  const phases = await store.all('log.phases', { run_id: runId });
  const diagnosis = await diagnose(store, runId, run, capacityBytes === null ? {} : { capacityBytes });
  const newest = Math.max(0, ...phases.map(({ attempt }) => attempt));
  return {
    run,
    place: `${store.file} ${runId}`,
    measurement: await measureRun(store, runId, run, { verdicts: diagnosis.verdicts }),
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
      .map(({ phase, display_path, line }) => ({ phase, place: `${display_path} line ${line}` })),
  };
}

async function readSnapshots(store: Store, runId: number): Promise<RankSnapshot[]> {
  const snapshots: RankSnapshot[] = [];
  for (const candidate of await candidatesToMeasure(store, runId, MOST_PEAKS)) {
    const { snapshotId, handle, rank } = candidate;
    const device = chooseDevices({ a: candidate, b: candidate })[0]!.a;
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

/** The settings in force, as `config` shows them. */
export function effectiveOf({ found }: Pick<Side, 'found'>): ReturnType<typeof effectiveConfig> {
  return effectiveConfig(found);
}

/** In the order a launch goes through them. */
export const SETUP: readonly string[] = [
  'launch',
  'model_build',
  'optimizer_build',
  'checkpoint_load',
  'data_build',
  'training',
];

/** How far the launch came, by what it announced. */
export function furthestPhase({ phases }: Pick<Side, 'phases'>): number {
  return Math.max(-1, ...phases.map(({ phase }) => SETUP.indexOf(phase)));
}
