/** A lake of generated runs: the samples, with as many ranks that dumped a snapshot as is asked for. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Cli } from '../cli.js';
import { samplePath } from '../stores.js';

/** A run that ran out of memory, the next of its recipe that did not, and others with other causes. */
const RUNS = ['llama3-70b-fragmentation', 'llama3-70b-expandable', 'leak', 'nccl-outside'] as const;

/** Lines of a launch: what an answer about versions is of. */
const VERSIONS = `PyTorch version: 2.8.0a0+nv25.06\nsrun --container-image=nvcr.io/nvidia/nemo:25.06 bash run.sh\n`;

export interface LakeSize {
  /** Ranks of each of the first three runs. */
  readonly ranks: number;
  /** Tasks that add them. */
  readonly blocks: number;
}

/** Adds all runs to `lake`; the last one is left without its last block. */
export function lakeOfSamples(cli: Cli, directory: string, lake: string, { ranks, blocks }: LakeSize): void {
  for (const [i, name] of RUNS.entries()) {
    const run = join(directory, name);
    const isLast = i === RUNS.length - 1;
    copySample(name, run, isLast ? 1 : ranks);
    if (i === 1) writeFileSync(join(run, 'launch.log'), VERSIONS);
    for (let block = 0; block < (isLast ? 1 : blocks); block += 1)
      cli.expect(0, [
        ...['lake', 'add', run, '--to', lake, '--events', '--quiet'],
        ...['--block', `${block}/${isLast ? 2 : blocks}`, '--commit', `c0ffee${i % 2}`],
      ]);
    rmSync(run, { recursive: true });
  }
}

/** Each rank's snapshot ends in bytes of its own, behind the pickle: a file that repeats another is read once. */
function copySample(name: string, run: string, ranks: number): void {
  mkdirSync(run, { recursive: true });
  for (const file of readdirSync(samplePath(name))) {
    const path = join(samplePath(name), file);
    const [, before, after] = /^(snapshot_(?:oom_rank-)?)\d+(\.pickle)\.gz$/.exec(file) ?? [];
    if (before === undefined) {
      cpSync(path, join(run, file));
      continue;
    }
    const pickle = gunzipSync(readFileSync(path));
    for (let rank = 0; rank < ranks; rank += 1)
      writeFileSync(join(run, `${before}${rank}${after}`), Buffer.concat([pickle, Buffer.from(String(rank))]));
  }
}
