/**
 * What somebody who asks the driver of a node once a second is told: of the node of the rank that failed, from the
 * batch script's start to its end.
 */
import type { Attempt, GeneratedRun, Monitors, SimulatedRank } from '../../run.js';
import type { DeviceMoment, OtherProcess } from '../../simulate/device-moment.js';
import { createRandom, deriveSeed, type Random, wholeBetween } from '../../simulate/random.js';
import { failed, launcherFoundUs } from '../failure-lines.js';
import { type RunFacts, worldSize } from '../run-facts.js';

/** The interval is slept between two questions, and a question takes its time. */
const INTERVAL_US = 1_000_000;
const QUESTION_US = [9_000, 24_000] as const;
/** From device to device within one answer. */
const ROW_US = [1_000, 4_000] as const;
/** A process that raised lives on while Python prints, shuts NCCL down and exits. */
const EXIT_US = 1_300_000;
/** One that is asked to stop ends sooner. */
const STOP_US = 600_000;
/** From the launcher's finding dead workers to the batch script's end, which takes the monitors with it. */
const JOB_END_US = 3_600_000;

export interface DeviceSample {
  /** Of the printed clock. */
  readonly timeUs: number;
  readonly device: number;
  readonly gpu: string;
  /** Of all processes on the device. */
  readonly usedBytes: number;
  /** Share of the last second in which a kernel ran, in percent. */
  readonly utilization: number;
  readonly processes: readonly OtherProcess[];
}

export interface WatchedRun {
  readonly monitors: Monitors;
  readonly attempt: Attempt;
  readonly rank: SimulatedRank;
}

/** The last attempt of a run that was watched, and the rank that failed in it. */
export function watchedRun({ monitors, attempts, truth }: GeneratedRun): WatchedRun {
  const attempt = attempts.at(-1)!;
  const rank = attempt.ranks.find((candidate) => candidate.rank === truth.firstFailingRank);
  if (monitors === undefined || rank === undefined) throw new Error('nobody watched this run, or it did not fail');
  if (attempt.ranks.some(({ process }) => process.moments.length === 0))
    throw new Error('a watched run is simulated with its moments');
  return { monitors, attempt, rank };
}

/** When the batch script ends, µs of the printed clock. */
export function jobEndUs(attempt: Attempt): number {
  return foundUs(attempt) + JOB_END_US;
}

function foundUs(attempt: Attempt): number {
  return launcherFoundUs(
    attempt,
    attempt.ranks.filter(failed).sort((a, b) => a.endUs - b.endUs),
  );
}

/** As the driver names a device: made up from the node's name, the same in every file. */
export function gpuId(facts: RunFacts, node: number, device: number): string {
  const random = createRandom(deriveSeed('gpu', facts.host(node), device));
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  return `GPU-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`;
}

/** What a rank's device held at a time. Before the first moment the process is not there yet. */
export function momentAt(rank: SimulatedRank, timeUs: number): DeviceMoment | undefined {
  // What the simulation went on with after the launcher had stopped the rank never happened.
  const lastUs = Math.min(timeUs, rank.endUs);
  return rank.process.moments.findLast((moment) => moment.timeUs <= lastUs);
}

/** In the order they are asked; one list a question, one entry a device. */
export function nodeSamples(facts: RunFacts): readonly (readonly DeviceSample[])[] {
  const { monitors, attempt, rank } = watchedRun(facts.run);
  const random = facts.random('monitors');
  const { startUs, gpu } = attempt.plan;
  const stopUs = jobEndUs(attempt);
  const here = new Map(attempt.ranks.filter(({ node }) => node === rank.node).map((own) => [own.device, own]));
  const devices = Math.min(gpu.perNode, Math.max(here.size, worldSize(attempt.plan)));
  const samples: DeviceSample[][] = [];
  for (let atUs = startUs + monitors.firstSampleUs; atUs < stopUs; ) {
    let rowUs = atUs;
    const rows: DeviceSample[] = [];
    for (let device = 0; device < devices; device += 1) {
      rows.push(
        sampleOf(facts, attempt, here.get(device), rowUs, { device, gpu: gpuId(facts, rank.node, device) }, random),
      );
      rowUs += wholeBetween(random, ...ROW_US);
    }
    samples.push(rows);
    atUs += INTERVAL_US + wholeBetween(random, ...QUESTION_US);
  }
  return samples;
}

function sampleOf(
  facts: RunFacts,
  attempt: Attempt,
  rank: SimulatedRank | undefined,
  timeUs: number,
  place: { readonly device: number; readonly gpu: string },
  random: Random,
): DeviceSample {
  const none = { ...place, timeUs, usedBytes: 0, utilization: 0, processes: [] };
  if (rank === undefined) return none;
  const others = (momentAt(rank, timeUs) ?? rank.process.moments[0])?.otherProcesses ?? [];
  const own = isAlive(attempt, rank, timeUs) ? momentAt(rank, timeUs) : undefined;
  const pid = facts.pid(facts.run.attempts.length - 1, rank.rank);
  const processes = [
    ...others,
    ...(own === undefined ? [] : [{ pid, name: facts.python, bytes: own.processBytes }]),
  ].sort((a, b) => a.pid - b.pid);
  const isTraining = own !== undefined && timeUs >= (rank.trainingStartUs ?? Number.POSITIVE_INFINITY);
  const hasFailed = failed(rank) && timeUs > rank.endUs;
  return {
    ...none,
    usedBytes: processes.reduce((sum, { bytes }) => sum + bytes, 0),
    // Who waits for a collective spins, and is busy by this measure.
    utilization:
      isTraining && !hasFailed ? wholeBetween(random, 96, 100) : own === undefined ? 0 : wholeBetween(random, 0, 9),
    processes,
  };
}

function isAlive(attempt: Attempt, rank: SimulatedRank, timeUs: number): boolean {
  return timeUs < (failed(rank) ? rank.endUs + EXIT_US : foundUs(attempt) + STOP_US);
}
