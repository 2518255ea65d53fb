/**
 * What is true of the device of the rank that failed, to the byte, and what its monitors rounded and missed. Times
 * are as printed.
 */
import { MIB } from '../../../../src/model/units.js';
import type { SimulatedRank } from '../../run.js';
import type { DeviceMoment } from '../../simulate/device-moment.js';
import { clock } from '../python-text.js';
import { completedIterations, type RunFacts } from '../run-facts.js';
import { monitorNames, utcOffsetUs } from './monitor-files.js';
import { gpuId, jobEndUs, momentAt, nodeSamples, watchedRun } from './node-samples.js';
import { smiTime, solderedMib } from './nvidia-smi.js';

/** Iterations after which Megatron prints the line: the first two. */
const MEMORY_LINES = 2;

export function monitorTruth(facts: RunFacts) {
  const { attempt, rank } = watchedRun(facts.run);
  const { plan } = attempt;
  const samples = nodeSamples(facts).map((devices) => devices[rank.device]!);
  const nearest = samples.reduce((best, sample) =>
    Math.abs(sample.timeUs - rank.endUs) < Math.abs(best.timeUs - rank.endUs) ? sample : best,
  );
  const seen = samples.filter(({ processes }) => processes.some(isOther(facts, rank)));
  const atEnd = momentAt(rank, rank.endUs)!;
  return {
    files: monitorNames(facts),
    host: facts.host(rank.node),
    printed_less_utc_us: utcOffsetUs(facts),
    rank: rank.rank,
    device: rank.device,
    gpu: gpuId(facts, rank.node, rank.device),
    pid: facts.pid(facts.run.attempts.length - 1, rank.rank),
    device_total_bytes: plan.gpu.totalBytes,
    monitor_total_bytes: solderedMib(plan.gpu) * MIB,
    samples_per_device: samples.length,
    other_processes: atEnd.otherProcesses.map(({ pid, name, bytes }) => ({
      pid,
      name,
      bytes_at_oom: bytes,
      first_sample: seen[0] === undefined ? null : smiTime(seen[0].timeUs),
    })),
    iterations: rank.iterations.slice(0, completedIterations(attempt)).map(({ endUs }, i) => ({
      iteration: attempt.firstIteration + i + 1,
      printed_at: clock(endUs, true),
      has_memory_line: i < MEMORY_LINES && rank.dataRank === 0,
      ...shares(momentAt(rank, endUs)!),
    })),
    oom: { at: clock(rank.endUs, true), ...shares(atEnd) },
    nearest_sample: {
      at: smiTime(nearest.timeUs),
      used_bytes: nearest.usedBytes,
      other_process_bytes: nearest.processes.filter(isOther(facts, rank)).reduce((sum, { bytes }) => sum + bytes, 0),
    },
    job_end: clock(jobEndUs(attempt)),
  };
}

function isOther(facts: RunFacts, rank: SimulatedRank): (process: { readonly pid: number }) => boolean {
  const own = facts.pid(facts.run.attempts.length - 1, rank.rank);
  return ({ pid }) => pid !== own;
}

/** `outside_bytes`: all that the device holds and the rank's allocator does not. */
function shares({ reservedBytes, processBytes, otherProcesses }: DeviceMoment) {
  const others = otherProcesses.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    reserved_bytes: reservedBytes,
    own_outside_bytes: processBytes - reservedBytes,
    other_process_bytes: others,
    outside_bytes: processBytes - reservedBytes + others,
    used_bytes: processBytes + others,
  };
}
