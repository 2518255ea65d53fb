/**
 * Llama 3 8B fine-tuning on four H100s (PP 2 × DP 2), full recomputation, sequences of 2 to 32 Ki tokens: the large logits buffers of
 * the first iterations stay cached, the optimizer's moments are born inside them in the first step, and a later, longer sequence finds
 * no hole large enough although far more than it needs is reserved and free.
 */

import { GIB, MIB } from '../../src/model/units.js';
import { createRandom } from './simulate/random.js';
import type { RankOutOfMemory } from './simulate/rank-process.js';
import { createRankProcess } from './simulate/rank-process.js';
import { type RankRun, runRank, type TrainingPlan } from './simulate/training-run.js';

export const GPUS = 4;
export const MICRO_BATCHES = 2;
export const MAX_TOKENS = 32_768;
/** cudaMemGetInfo's total of an H100 80GB HBM3; prints as 79.11 GiB. */
const DEVICE_BYTES = 84_942_979_072;
const CONTEXT_BYTES = 530 * MIB;
/** 2025-11-18 09:12:04 UTC, when the processes start. */
export const START_US = 1_763_457_124_000_000;
const PIPELINE_STAGES = 2;
const DATA_PARALLEL = GPUS / PIPELINE_STAGES;
/** The run dies in the third. */
const ITERATIONS = 3;

export interface Scenario {
  readonly seed: number;
  readonly plan: TrainingPlan;
  /** All ranks, in order. Rank = stage × data-parallel size + data-parallel rank (TP 1, CP 1). */
  readonly ranks: readonly RankRun[];
  /** The ranks that ran out of memory and dumped a snapshot: the last pipeline stage. */
  readonly failed: readonly FailedRank[];
  /** 0-based iteration in which they did. */
  readonly failedIteration: number;
}

export interface FailedRank extends RankRun {
  readonly oom: RankOutOfMemory;
}

/** Throws if this seed's sequence lengths do not end in a fragmentation OOM of both last-stage ranks. */
export function runScenario(seed: number): Scenario {
  const random = createRandom(seed);
  const microBatch = (): number => {
    // Few long documents, many short ones; padded to multiples of 64.
    const tokens = 2048 + (MAX_TOKENS - 2048) * random() ** 1.5;
    return Math.ceil(tokens / 64) * 64;
  };
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const plan: TrainingPlan = {
    shape: { layers: 32, hidden: 4096, feedForward: 14_336, heads: 32, queryGroups: 8, vocabulary: 128_256 },
    pipelineStages: PIPELINE_STAGES,
    dataParallel: DATA_PARALLEL,
    lengths: times(ITERATIONS, () => times(DATA_PARALLEL, () => times(MICRO_BATCHES, microBatch))),
    builtNonTorchBytes: 1418 * MIB,
    trainingNonTorchBytes: 3106 * MIB,
  };
  const ranks = Array.from({ length: GPUS }, (_, rank) => {
    const process = createRankProcess({
      rank,
      device: rank,
      totalBytes: DEVICE_BYTES,
      contextBytes: CONTEXT_BYTES,
      startUs: START_US + 21_000_000 + rank * 1733,
      seed: seed * 1000 + rank,
    });
    return runRank(process, plan, Math.floor(rank / DATA_PARALLEL), rank % DATA_PARALLEL);
  });
  const failed = ranks.filter((run): run is FailedRank => run.oom !== null);
  const lastStage = ranks.filter((run) => run.stage === PIPELINE_STAGES - 1);
  const failedIteration = failed[0]?.iterations.length ?? 0;
  const wrong =
    failed.length !== lastStage.length || failed.some((run) => run.stage !== PIPELINE_STAGES - 1)
      ? 'the ranks that run out of memory are not exactly those of the last stage'
      : failed.some((run) => run.iterations.length !== failedIteration)
        ? 'the ranks run out of memory in different iterations'
        : failedIteration !== ITERATIONS - 1
          ? 'they do so before the last iteration'
          : failed.map((run) => whyNotFragmentation(run)).find((reason) => reason !== undefined);
  if (wrong !== undefined) throw new Error(`seed ${seed} does not make this sample: ${wrong}; try another seed`);
  return { seed, plan, ranks, failed, failedIteration };
}

/** Σ and maximum of the free blocks inside reserved segments at the end of a run. */
export function holes(run: RankRun): {
  readonly totalBytes: number;
  readonly largestBytes: number;
  readonly count: number;
} {
  const sizes = run.process.allocator
    .snapshot()
    .flatMap((segment) => segment.blocks.filter((block) => block.state === 'inactive').map((block) => block.sizeBytes));
  return {
    totalBytes: sizes.reduce((sum, size) => sum + size, 0),
    largestBytes: Math.max(0, ...sizes),
    count: sizes.length,
  };
}

/** What makes the cause fragmentation beyond argument: much memory in holes, none large enough, and enough for the request in sum. */
function whyNotFragmentation(run: FailedRank): string | undefined {
  const { report } = run.oom;
  const free = holes(run);
  const rank = `rank ${run.process.rank}`;
  if (free.totalBytes < 10 * GIB) return `${rank} has less than 10 GiB in holes`;
  if (free.totalBytes < report.segmentBytes) return `${rank} has less in holes than it asks for`;
  if (free.largestBytes >= report.roundedBytes) return `${rank} has a hole large enough`;
  const spare = report.reservedBytes + report.deviceFreeBytes - report.allocatedBytes - report.segmentBytes;
  return spare < 4 * GIB ? `${rank} has less than 4 GiB to spare` : undefined;
}
