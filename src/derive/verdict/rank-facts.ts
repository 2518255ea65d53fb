/**
 * What needs code to be found out about a rank of a run: variables that torch or NCCL parse, the function that failed,
 * a profile of the driver, monitors. The SQL of the facts reads it as rows of `judged_rank`.
 */
import { readAllocConf } from '../../allocator/settings.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { groupBy } from '../../model/group-by.js';
import type { Place } from '../../model/place.js';
import type { LogIncident } from '../../model/results/log.js';
import { known, named, statement } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type DriverMemory, driverMemoryOf, readDriverMemory } from '../nsys/run-memory.js';
import { type MonitorFacts, readMonitored } from '../outside/monitor-facts.js';
import { type RunTexts, readRunTexts } from '../run/run-texts.js';
import { type Activity, activityOf, type WeightsActivity } from '../stacks/activity.js';
import { type CodeFrame, weightsActivity } from '../stacks/failing-activity.js';
import type { OomFacts } from './facts.js';
import { readFrames } from './failing-site.js';

type EnvRow = QueryRow<'log.env_in_force'>;

interface AllocatorSetting {
  readonly expandableSegments: boolean;
  readonly maxSplitBytes: number;
  readonly source: Place;
  readonly names: Readonly<Record<string, string>>;
}

export interface RankFacts {
  /** Set by the environment, and the evidence of it. */
  readonly allocator: AllocatorSetting | null;
  readonly activity: LoggedActivity | null;
  readonly nccl: OomFacts['nccl'];
  readonly driver: DriverMemory | null;
  /** What was sampled of the device of this rank. */
  readonly monitor: MonitorFacts | null;
}

export interface RanksFacts {
  /** Of null, what applies to every rank. */
  of(rank: number | null): RankFacts;
  /** An environment was read. */
  readonly hasEnvironment: boolean;
}

export async function readRankFacts(store: Store, runId: number): Promise<RanksFacts> {
  const env = await store.all('log.env_in_force', { run_id: runId });
  const texts = await readRunTexts(store, runId);
  const profiled = await readDriverMemory(store, runId);
  const monitored = await readMonitored(store, runId);
  const framesAt = await readTracebacks(store, runId);
  const activityOfRank = activityInLog(texts, framesAt);
  const ncclFailed = ncclFailures(texts);
  return {
    hasEnvironment: env.length > 0,
    of: (rank) => ({
      allocator: allocatorOf(env, rank),
      activity: activityOfRank(rank),
      nccl: [...ncclSettings(env, rank), ...ncclFailed],
      driver: driverMemoryOf(profiled, rank),
      monitor: (rank === null ? soleValue(monitored) : monitored.get(rank)) ?? null,
    }),
  };
}

function soleValue<Value>(values: ReadonlyMap<unknown, Value>): Value | undefined {
  return values.size === 1 ? [...values.values()][0] : undefined;
}

/**
 * Of the values in force, the strongest origin that applies to this rank, or to all; within one origin, the variable
 * that torch reads first.
 */
function allocatorOf(rows: readonly EnvRow[], rank: number | null): AllocatorSetting | null {
  const order = (row: EnvRow): number => ALLOCATOR_VARIABLES.indexOf(row.key);
  const isOwn = ({ ranks }: EnvRow): boolean => rank !== null && ranks.includes(rank);
  const [found] = rows
    .filter((row) => order(row) >= 0 && (row.ranks.length === 0 || isOwn(row)))
    .sort(
      (a, b) =>
        Number(isOwn(b)) - Number(isOwn(a)) ||
        a.precedence - b.precedence ||
        b.attempt - a.attempt ||
        order(a) - order(b),
    );
  if (found === undefined) return null;
  const { settings, problems } = readAllocConf(found.value ?? '');
  return {
    expandableSegments: settings.expandableSegments,
    maxSplitBytes: settings.maxSplitBytes,
    source: { path: found.file, line: found.line },
    names: named({
      variable: found.key,
      value: found.value,
      origin: found.origin,
      setting: settings.expandableSegments ? 'on' : 'off',
      problem: problems[0],
    }),
  };
}

interface LoggedActivity {
  readonly activity: Activity | WeightsActivity;
  readonly source: Place;
}

type Tracebacks = (incident: LogIncident) => readonly CodeFrame[];

async function readTracebacks(store: Store, runId: number): Promise<Tracebacks> {
  const rows = await store.all('incident.frames', { run_id: runId });
  const frames = new Map(rows.map((row) => [`${row.line} ${row.display_path}`, row.frames]));
  return ({ file, line }) => readFrames(frames.get(`${line} ${file}`) ?? null);
}

/** By the innermost frame outside libraries; whether weights are made shows in any frame. */
export function activityOfTraceback(
  frame: LogIncident['frame'],
  frames: readonly CodeFrame[],
): Activity | WeightsActivity | null {
  const known = frame === null ? null : activityOf([{ name: frame.function, filename: frame.file }]);
  return known ?? weightsActivity(frames);
}

/** From the rank's own traceback. */
function activityInLog(texts: RunTexts, framesAt: Tracebacks): (rank: number | null) => LoggedActivity | null {
  const { incidents, attempt } = texts;
  const failures = incidents.filter((one) => one.attempt === attempt && one.is_oom && one.frame !== null);
  const ofRank = groupBy(failures, (one) => one.rank);
  return (rank) => activityAt(texts, ofRank.get(rank)?.[0] ?? (rank === null ? failures[0] : undefined), framesAt);
}

function activityAt(
  { attempt, phases }: RunTexts,
  incident: LogIncident | undefined,
  framesAt: Tracebacks,
): LoggedActivity | null {
  const announcedLoad = phases.find((one) => one.attempt === attempt && one.phase === 'checkpoint_load');
  if (incident?.frame == null) {
    // Without a traceback, the last announced phase is used; `no checkpoint to load` is announced in the same place.
    const isLoading =
      announcedLoad !== undefined &&
      !/^no /.test(announcedLoad.label) &&
      !phases.some((one) => one.attempt === attempt && (one.phase === 'training' || one.phase === 'data_build'));
    if (!isLoading) return null;
    const { display_path: path, line } = announcedLoad;
    return { activity: 'checkpoint_load', source: { path: path, line: line } };
  }
  let activity = activityOfTraceback(incident.frame, framesAt(incident));
  if (activity === null) return null;
  const trains = phases.some((one) => one.attempt === attempt && one.phase === 'training');
  // The functions that gather a state dict are the same; before training begins there is nothing to save.
  if (activity === 'checkpoint_save' && announcedLoad !== undefined && !trains) activity = 'checkpoint_load';
  return { activity, source: { path: incident.file, line: incident.line } };
}

function ncclSettings(env: readonly EnvRow[], rank: number | null): OomFacts['nccl'][number][] {
  return env
    .filter((row) => row.is_nccl_demand && (row.ranks.length === 0 || rank === null || row.ranks.includes(rank)))
    .map(({ key, value, origin, file, line }) => ({
      ...statement('nccl_setting', { names: named({ variable: key, value, origin }) }),
      source: { path: file, line },
    }));
}

function ncclFailures({ incidents, attempt }: RunTexts): OomFacts['nccl'][number][] {
  const failed = incidents.find((one) => one.attempt === attempt && one.kind === 'nccl_oom');
  if (failed === undefined) return [];
  const numbers = known({ requested_bytes: failed.requested_bytes });
  return [{ ...statement('nccl_failure', { numbers }), source: { path: failed.file, line: failed.line } }];
}

/**
 * A checkpoint that was being saved, by the phase lines: announced after the last printed iteration. An asynchronous
 * save may have freed its memory by then.
 */
export function savingSince({
  attempt,
  phases,
  iterations,
}: RunTexts): { readonly iteration: number; readonly source: Place } | null {
  const save = phases.find((one) => one.attempt === attempt && one.phase === 'checkpoint_save');
  const last = iterations.find((one) => one.attempt === attempt)?.highest ?? null;
  if (save?.iteration == null || last === null || save.iteration < last) return null;
  return { iteration: save.iteration, source: { path: save.display_path } };
}
