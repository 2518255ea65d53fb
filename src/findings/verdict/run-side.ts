import { groupBy } from '../../model/group-by.js';
import type { Place } from '../../model/place.js';
import type { LogIncident } from '../../model/results/log.js';
import { known, named, statement } from '../../model/statement.js';
import { MIB } from '../../model/units.js';
import { isOomKind } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { RankLayout } from '../run/rank-layout.js';
import { completedIterations, type RunTexts } from '../run/run-texts.js';
import type { Activity } from '../stacks/activity.js';
import { activityOf } from '../stacks/activity.js';
import type { EarlyGrowth, RunSide, StageMemory } from './facts.js';
import type { MemoryLines, MemoryRow } from './memory-lines.js';

type EnvRow = QueryRow<'log.env'>;

/**
 * Of any rank. `memory`: the figures of the newest launch that printed any; `printed`: those of all launches, which
 * nodes may count differently.
 */
export function runSides(
  texts: RunTexts,
  memory: MemoryLines,
  printed: MemoryLines,
  env: readonly EnvRow[],
): (rank: number | null) => RunSide {
  const { layout, stages, incidents, attempt } = texts;
  const failed = incidents.filter((one) => one.attempt === attempt && isOomKind(one.kind) && one.rank !== null);
  const positions = failed.flatMap((one) => layout?.position(one.rank!) ?? []);
  const failedStages = new Set(positions.map((position) => position.pp));
  const severalReplicas = new Set(positions.map((position) => position.dp)).size > 1;
  const byStage = stageMemory(printed.rows, layout);
  const completed = completedIterations(texts);
  const activityOfRank = activityInLog(texts);
  const nccl = ncclFailures(texts);
  const row = memory.rows.find((one) => one.metric === 'max_allocated');
  return (rank) => {
    const stage = rank === null ? null : (layout?.position(rank)?.pp ?? null);
    const ownStage = byStage.find((one) => one.stage === stage) ?? null;
    const acting = activityOfRank(rank);
    return {
      completed,
      activity: acting?.activity ?? null,
      activitySource: acting?.source ?? null,
      highestBytes:
        highestOf(memory, rank) ?? (ownStage === null ? null : (highestOf(printed, ownStage.rank) ?? ownStage.bytes)),
      stage,
      stages,
      otherStages: stage === null ? [] : byStage.filter((one) => one.stage !== stage),
      ownStage,
      onlyThisStage: stage !== null && [...failedStages].every((failed) => failed === stage),
      severalReplicas,
      early: earlyGrowth(texts, memory, rank, ownStage?.rank ?? null),
      nccl: [...ncclSettings(env, rank), ...nccl],
      source: row === undefined ? null : { path: row.display_path, line: row.line },
    };
  };
}

interface LoggedActivity {
  readonly activity: Activity;
  readonly source: Place;
}

/** From the innermost frame of the rank's own traceback. */
function activityInLog(texts: RunTexts): (rank: number | null) => LoggedActivity | null {
  const { incidents, attempt } = texts;
  const failures = incidents.filter((one) => one.attempt === attempt && one.is_oom && one.frame !== null);
  const ofRank = groupBy(failures, (one) => one.rank);
  return (rank) => activityAt(texts, ofRank.get(rank)?.[0] ?? (rank === null ? failures[0] : undefined));
}

function activityAt({ attempt, phases }: RunTexts, incident: LogIncident | undefined): LoggedActivity | null {
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
  const { function: name, file } = incident.frame;
  let activity = activityOf([{ name, filename: file }]);
  if (activity === null) return null;
  const trains = phases.some((one) => one.attempt === attempt && one.phase === 'training');
  // The functions that gather a state dict are the same; before training begins there is nothing to save.
  if (activity === 'checkpoint_save' && announcedLoad !== undefined && !trains) activity = 'checkpoint_load';
  return { activity, source: { path: incident.file, line: incident.line } };
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

function highestOf(memory: MemoryLines, rank: number | null): number | null {
  return memory.of(rank).find((one) => one.metric === 'max_allocated')?.max_bytes ?? null;
}

/** The fullest rank of each stage, by allocated rather than reserved memory: the cache does not show the need. */
function stageMemory(memory: readonly MemoryRow[], layout: RankLayout | null): StageMemory[] {
  if (layout === null) return [];
  const most = new Map<number, StageMemory>();
  for (const { metric, rank, max_bytes: bytes } of memory) {
    if (metric !== 'max_allocated' || rank === null || bytes === null) continue;
    const stage = layout.position(rank)?.pp;
    if (stage === undefined) continue;
    const known = most.get(stage);
    if (known === undefined || bytes > known.bytes) most.set(stage, { stage, rank, bytes });
  }
  return [...most.values()].sort((a, b) => a.stage - b.stage);
}

/**
 * Of the rank itself, otherwise of the fullest rank of its stage. Null unless exactly two iterations are printed: three
 * or more make a trend of their own.
 */
function earlyGrowth(
  { attempt, iterations }: RunTexts,
  memory: MemoryLines,
  rank: number | null,
  fullestOfStage: number | null,
): EarlyGrowth | null {
  const row = (metric: string): MemoryRow | undefined =>
    memory.of(rank).find((one) => one.metric === metric) ??
    memory.of(fullestOfStage).find((one) => one.metric === metric);
  const [allocated, most] = [row('allocated'), row('max_allocated')];
  const lastIteration = iterations.find((one) => one.attempt === attempt)?.highest ?? null;
  if (allocated?.first_bytes == null || allocated.last_bytes === null || most?.max_bytes == null) return null;
  const { first_iteration: first, last_iteration: second } = allocated;
  if (allocated.growth_samples !== 1 || first === null || second === null || lastIteration === null) return null;
  return {
    firstIteration: first,
    secondIteration: second,
    bytesPerIteration: (allocated.last_bytes - allocated.first_bytes) / (second - first),
    peakBytes: most.max_bytes,
    lastIteration,
    source: { path: allocated.display_path, line: allocated.line },
  };
}

/**
 * NCCL by itself makes at most 32 channels, on NVLink systems mostly 16 to 24; a minimum this large is paid in full.
 */
const GREEDY_NCCL_CHANNELS = 16;
/** NCCL's default buffer per channel and direction is 4 MiB; a larger one was set explicitly. */
const DEFAULT_NCCL_BUFFER_BYTES = 4 * MIB;

/** Settings that make NCCL hold more than it would by itself. */
const GREEDY: Readonly<Record<string, (value: string) => boolean>> = {
  NCCL_MIN_NCHANNELS: (value) => Number(value) >= GREEDY_NCCL_CHANNELS,
  NCCL_MIN_CTAS: (value) => Number(value) >= GREEDY_NCCL_CHANNELS,
  NCCL_BUFFSIZE: (value) => Number(value) > DEFAULT_NCCL_BUFFER_BYTES,
  NCCL_NVLS_ENABLE: (value) => Number(value) >= 1,
  NCCL_NCHANNELS_PER_NET_PEER: (value) => Number(value) >= GREEDY_NCCL_CHANNELS,
};

function ncclSettings(env: readonly EnvRow[], rank: number | null): RunSide['nccl'][number][] {
  return env
    .filter(({ key, value, ranks }) => {
      const ofRank = ranks === null || rank === null || ranks.includes(rank);
      return ofRank && value !== null && GREEDY[key]?.(value) === true;
    })
    .map(({ key, value, origin, display_path, line }) => ({
      ...statement('nccl_setting', { names: named({ variable: key, value, origin }) }),
      source: { path: display_path, line: line },
    }));
}

function ncclFailures({ incidents, attempt }: RunTexts): RunSide['nccl'][number][] {
  const failed = incidents.find((one) => one.attempt === attempt && one.kind === 'nccl_oom');
  if (failed === undefined) return [];
  const numbers = known({ requested_bytes: failed.requested_bytes });
  return [{ ...statement('nccl_failure', { numbers }), source: { path: failed.file, line: failed.line } }];
}
