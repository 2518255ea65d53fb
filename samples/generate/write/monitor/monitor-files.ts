/**
 * What is next to the log of a watched run, by name. One node: the batch script starts the monitors on
 * its own.
 */
import { lastRank } from '../iteration-line.js';
import { milestones } from '../milestones.js';
import { jobOf, type RunFacts } from '../run-facts.js';
import { eventFile } from './event-file.js';
import { nodeSamples, watchedRun } from './node-samples.js';
import { deviceTable, processTable } from './nvidia-smi.js';
import { accounting } from './sacct.js';
import { argumentTexts, scalars } from './scalars.js';

const MINUTE_US = 60_000_000;
/** The writer is made while Megatron initialises. */
const WRITER_BEFORE_BUILD_US = 4_000_000;

export interface MonitorNames {
  readonly devices: string;
  readonly processes: string;
  readonly scalars: string;
  readonly accounting: string;
}

/** The printed clock less UTC. */
export function utcOffsetUs(facts: RunFacts): number {
  return watchedRun(facts.run).monitors.utcOffsetMinutes * MINUTE_US;
}

function writerUs(facts: RunFacts): number {
  return milestones(watchedRun(facts.run).attempt).buildUs - WRITER_BEFORE_BUILD_US - utcOffsetUs(facts);
}

export function monitorNames(facts: RunFacts): MonitorNames {
  const { rank } = watchedRun(facts.run);
  const host = facts.host(rank.node);
  const index = facts.run.attempts.length - 1;
  return {
    devices: `gpu-memory_${host}.csv`,
    processes: `gpu-processes_${host}.csv`,
    // torch's writer names its file by second, host, pid and a count.
    scalars: `events.out.tfevents.${Math.floor(writerUs(facts) / 1e6)}.${host}.${facts.pid(index, lastRank(facts))}.0`,
    accounting: `sacct_${jobOf(facts, index)}.txt`,
  };
}

export function monitorFiles(facts: RunFacts): Map<string, Buffer> {
  if (facts.nodes > 1) throw new Error('monitors of several nodes are not started by these scripts');
  const { attempt } = watchedRun(facts.run);
  const names = monitorNames(facts);
  const samples = nodeSamples(facts);
  return new Map([
    [names.devices, Buffer.from(deviceTable(samples, attempt.plan.gpu))],
    [names.processes, Buffer.from(processTable(samples))],
    [
      names.scalars,
      eventFile(writerUs(facts), argumentTexts(facts, writerUs(facts)), scalars(facts, utcOffsetUs(facts))),
    ],
    [names.accounting, Buffer.from(accounting(facts, attempt))],
  ]);
}
