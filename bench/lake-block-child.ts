/**
 * Writes the files of some ranks as a node has them: a snapshot of each, of its own seed, and a log in which each
 * fails. Arguments: directory, first rank, ranks, entries.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { oomMessage } from '../samples/generate/write/oom-message.js';
import { GIB, MIB } from '../src/model/units.js';
import { tracebackLines } from './many-ranks-input.js';
import { recordTraining } from './recorded-training.js';

const [, , directory, first, ranks, entries] = process.argv;
const lines: string[] = [];
for (let rank = Number(first); rank < Number(first) + Number(ranks); rank += 1) {
  writeFileSync(join(directory!, `snapshot_rank-${rank}.pickle`), recordTraining(Number(entries), 1000 + 7919 * rank));
  // Figures that do not repeat: between 400 and 900 MiB.
  const extraBytes = MIB * (400 + ((rank * 7919) % 500));
  for (const iteration of [2, 20, 40])
    lines.push(
      `[Rank ${rank}] (after ${iteration} iterations) memory (GB) | mem-allocated-gigabytes: 41.${100 + ((rank * 31 + iteration) % 900)} | ` +
        `mem-reserved-gigabytes: 71.${100 + ((rank * 17) % 900)} | mem-max-allocated-gigabytes: 68.${100 + ((rank * 13) % 900)} | ` +
        `mem-max-reserved-gigabytes: 71.${100 + ((rank * 11) % 900)} | mem-alloc-retires: ${rank % 3}`,
    );
  const message = oomMessage(
    {
      requestedBytes: GIB + extraBytes,
      roundedBytes: GIB + extraBytes,
      segmentBytes: GIB + extraBytes,
      stream: 0,
      deviceTotalBytes: 79.1 * GIB,
      deviceFreeBytes: extraBytes / 2,
      processBytes: 79.1 * GIB - extraBytes / 2,
      allowedBytes: null,
      allocatedBytes: 71.5 * GIB - extraBytes,
      reservedBytes: 77.2 * GIB - extraBytes / 2,
      privatePoolFreeBytes: 0,
    },
    rank % 8,
  );
  lines.push(...tracebackLines(rank, message));
}
writeFileSync(join(directory!, `train_${first}.log`), `${lines.join('\n')}\n`);
