/** The log of a run whose every rank runs out of memory: the screens and stores of large runs are measured with it. */
import { oomMessage } from '../samples/generate/write/oom-message.js';
import { GIB, MIB } from '../src/model/units.js';

const GPUS = 8;
const STAGES = 8;
const MEMORY_ITERATIONS: readonly number[] = [2, 20];

/**
 * Two memory lines and one message for every rank: 1.3 kB. Stages request different sizes; of one stage, ranks differ
 * in what they have allocated, and in what is free.
 */
export function failingRanksLog(ranks: number): string {
  const perStage = Math.max(1, Math.ceil(ranks / STAGES));
  const lines = [
    `[rank0]: using world size: ${ranks}, data-parallel size: ${perStage}, tensor-model-parallel size: 1, pipeline-model-parallel size: ${STAGES}`,
  ];
  for (const iteration of MEMORY_ITERATIONS)
    for (let rank = 0; rank < ranks; rank += 1)
      lines.push(
        `[Rank ${rank}] (after ${iteration} iterations) memory (GB) | mem-allocated-gigabytes: 41.${100 + (rank % 97)} | ` +
          `mem-active-gigabytes: 41.${100 + (rank % 97)} | mem-inactive-gigabytes: 1.${100 + (rank % 83)} | ` +
          `mem-reserved-gigabytes: 71.303 | mem-max-allocated-gigabytes: 68.${100 + (rank % 89)} | ` +
          `mem-max-active-gigabytes: 68.${100 + (rank % 89)} | mem-max-inactive-gigabytes: 2.417 | ` +
          'mem-max-reserved-gigabytes: 71.303 | mem-alloc-retires: 0 | mem-allocated-count: 4121',
      );
  for (let rank = 0; rank < ranks; rank += 1) {
    const requestedBytes = (1 + (Math.floor(rank / perStage) % 7)) * GIB;
    const report = {
      requestedBytes,
      roundedBytes: requestedBytes,
      segmentBytes: requestedBytes,
      stream: 0,
      deviceTotalBytes: 79.1 * GIB,
      deviceFreeBytes: 0.25 * GIB + (rank % 13) * 2 * MIB,
      processBytes: 78.75 * GIB - (rank % 13) * 2 * MIB,
      allowedBytes: null,
      allocatedBytes: 76.9 * GIB - (rank % 101) * MIB,
      reservedBytes: 77.2 * GIB,
      privatePoolFreeBytes: 0,
    };
    lines.push(`[rank${rank}]: torch.OutOfMemoryError: ${oomMessage(report, rank % GPUS)}`);
  }
  return `${lines.join('\n')}\n`;
}
