/** All files of the sample, as text or bytes by name. */

import { type FailedRank, GPUS, holes, runScenario, type Scenario } from './scenario.js';
import { runConfig } from './write/run-config.js';
import { oomSnapshotName, runLog } from './write/run-log.js';
import { snapshotPickle } from './write/snapshot-pickle.js';

export const LOG_NAME = 'log-account_llama3-8b-sft_48213_0.out';
export const CONFIG_NAME = 'run_config.yaml';
export const TRUTH_NAME = 'truth.json';

/** Deterministic: the same seed gives the same bytes. Throws for a seed that does not make this sample. */
export function buildSample(seed: number): Map<string, Buffer> {
  const scenario = runScenario(seed);
  const files = new Map<string, Buffer>();
  files.set(LOG_NAME, Buffer.from(runLog(scenario)));
  files.set(CONFIG_NAME, Buffer.from(runConfig(scenario)));
  for (const run of scenario.failed) files.set(oomSnapshotName(run.process.rank), snapshotPickle(run.process, GPUS));
  files.set(TRUTH_NAME, Buffer.from(`${JSON.stringify(truth(scenario), null, 2)}\n`));
  return files;
}

/** What is true by construction. Written from the simulated allocators, so that verdicts can be held against it. */
function truth(scenario: Scenario) {
  return {
    seed: scenario.seed,
    cause: 'fragmentation',
    failedIteration: scenario.failedIteration + 1,
    ranks: scenario.failed.map((run) => rankTruth(run)),
  };
}

function rankTruth(run: FailedRank) {
  const { process, oom } = run;
  const { report } = oom;
  const free = holes(run);
  return {
    rank: process.rank,
    device: process.device,
    snapshot: oomSnapshotName(process.rank),
    traceEntries: process.trace.length,
    requestedBytes: report.requestedBytes,
    roundedBytes: report.roundedBytes,
    segmentBytes: report.segmentBytes,
    deviceTotalBytes: report.deviceTotalBytes,
    deviceFreeBytes: report.deviceFreeBytes,
    nonTorchBytes: report.processBytes - report.reservedBytes,
    reservedBytes: report.reservedBytes,
    allocatedBytes: report.allocatedBytes,
    reservedUnallocatedBytes: report.reservedBytes - report.allocatedBytes,
    holes: free.count,
    largestHoleBytes: free.largestBytes,
    /** Positive: live bytes plus the request fit into what the process could hold. */
    spareWithoutFragmentationBytes:
      report.reservedBytes + report.deviceFreeBytes - report.allocatedBytes - report.segmentBytes,
    allocRetries: process.allocator.statistics.numAllocRetries,
    failingFunction: oom.path[0]?.name ?? null,
  };
}
