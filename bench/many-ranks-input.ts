/** A run of many ranks: a snapshot of each, and the log that all of them print into. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oomMessage } from '../samples/generate/write/oom-message.js';
import { GIB } from '../src/model/units.js';
import { packageRoot } from '../src/store/load-queries.js';
import type { BenchContext } from './case.js';

const RECORD_CHILD = join(packageRoot(), 'dist', 'bench', 'record-child.js');

/** Trace entries of a rank: about 8,700 lifetimes. */
export const ENTRIES_PER_RANK = 24_000;
/**
 * Different recordings; to make one takes a third of a second. A file that repeats the content of another in its run is
 * not read again, so each rank's ends in bytes of its own, behind the pickle.
 */
const RECORDINGS = 16;
const ITERATIONS = 40;
/** Memory lines of every rank. */
const MEMORY_ITERATIONS: readonly number[] = [2, 20, 40];

export interface ManyRanks {
  readonly ranks: number;
  readonly directory: string;
  readonly bytes: number;
}

export async function manyRanksInput(context: BenchContext, ranks: number): Promise<ManyRanks> {
  const directory = join(context.directory, `many-ranks-${ranks}`);
  if (!existsSync(directory)) {
    const partial = `${directory}.${process.pid}.tmp`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    context.progress(`  recording ${Math.min(ranks, RECORDINGS)} ranks of ${ranks}`);
    const recordings: Buffer[] = [];
    for (let i = 0; i < Math.min(ranks, RECORDINGS); i += 1) {
      const file = join(partial, 'recording');
      await context.timer.run(process.execPath, [RECORD_CHILD, String(ENTRIES_PER_RANK), file, String(i + 1)]);
      recordings.push(await readFile(file));
      await rm(file);
    }
    for (let rank = 0; rank < ranks; rank += 1) {
      const file = join(partial, `snapshot_${rank}.pickle`);
      await writeFile(file, Buffer.concat([recordings[rank % RECORDINGS]!, Buffer.from(String(rank))]));
    }
    await writeFile(join(partial, 'train.log'), trainingLog(ranks));
    await rename(partial, directory);
  }
  const first = await stat(join(directory, 'snapshot_0.pickle'));
  const log = await stat(join(directory, 'train.log'));
  return { ranks, directory, bytes: ranks * first.size + log.size };
}

/** Iterations, memory lines of all ranks, and at the end the messages of every hundredth rank. */
function trainingLog(ranks: number): string {
  const lines = [
    `[rank0]: using world size: ${ranks}, data-parallel size: ${ranks / 8}, tensor-model-parallel size: 8, pipeline-model-parallel size: 1`,
  ];
  for (let iteration = 1; iteration <= ITERATIONS; iteration += 1) {
    const second = String(iteration).padStart(2, '0');
    lines.push(
      ` [2025-11-18 09:12:${second}] iteration ${String(iteration).padStart(8)}/  500000 | consumed samples: ${String(iteration * 512).padStart(12)} | ` +
        `elapsed time per iteration (ms): 1${iteration}.1 | throughput per GPU (TFLOP/s/GPU): 612.4 | learning rate: 3.000000E-05 | ` +
        `global batch size:   512 | lm loss: 1.7${iteration}215E+00 | loss scale: 1.0 | grad norm: 2.189 | ` +
        'number of skipped iterations:   0 | number of nan iterations:   0 |',
    );
    if (!MEMORY_ITERATIONS.includes(iteration)) continue;
    for (let rank = 0; rank < ranks; rank += 1) {
      lines.push(
        `[Rank ${rank}] (after ${iteration} iterations) memory (GB) | mem-allocated-gigabytes: 41.${100 + (rank % 97)} | ` +
          `mem-reserved-gigabytes: 71.303 | mem-max-allocated-gigabytes: 68.${100 + (rank % 89)} | ` +
          'mem-max-reserved-gigabytes: 71.303 | mem-alloc-retires: 0',
      );
    }
  }
  for (let rank = 17; rank < ranks; rank += 100) {
    const requestedBytes = (1 + (rank % 7)) * GIB;
    const message = oomMessage(
      {
        requestedBytes,
        roundedBytes: requestedBytes,
        segmentBytes: requestedBytes,
        stream: 0,
        deviceTotalBytes: 79.1 * GIB,
        deviceFreeBytes: 0.25 * GIB,
        processBytes: 78.75 * GIB,
        allowedBytes: null,
        allocatedBytes: 71.5 * GIB,
        reservedBytes: 77.2 * GIB,
        privatePoolFreeBytes: 0,
      },
      rank % 8,
    );
    lines.push(...tracebackLines(rank, message));
  }
  return `${lines.join('\n')}\n`;
}

/** The end of a rank of Megatron-LM that ran out of memory. */
export const tracebackLines = (rank: number, message: string): string[] => [
  `[rank${rank}]: Traceback (most recent call last):`,
  `[rank${rank}]:   File "/opt/megatron/training/training.py", line 812, in train_step`,
  `[rank${rank}]:     losses = forward_backward_func(forward_step_func=forward_step_func)`,
  `[rank${rank}]: torch.OutOfMemoryError: ${message}`,
];
