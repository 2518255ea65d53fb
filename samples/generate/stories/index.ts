/** The committed samples, in the order `samples/README.md` tells them. */
import { capacity } from '../causes/capacity.js';
import { hostOom } from '../causes/host-oom.js';
import { leak } from '../causes/leak.js';
import type { GeneratedRun } from '../run.js';
import type { RunDirectoryOptions } from '../write/run-directory.js';
import { buildLlama70b, type Llama70bRun, PUBLISHED } from './llama3-70b.js';
import { buildNcclOutside } from './nccl-outside.js';
import { buildOtherProcess } from './other-process.js';

export interface Sample {
  /** Its directory under `samples/`. */
  readonly name: string;
  build(): GeneratedRun;
  readonly options: RunDirectoryOptions;
}

/** Whose documents make the published runs end as they did. */
const LLAMA_70B_SEED = 63;
/** About a third of an iteration of rank 0: enough to see how it came to the end, and small. */
const LLAMA_70B_ENTRIES = 24_000;

/** Launched by srun, one task a rank: each of them has a report of its own. */
const NCCL_OUTSIDE_SEED = 13;

/** Launched by torchrun, which names the pid of the rank that failed; the message does not. */
const OTHER_PROCESS_SEED = 3;

export const SAMPLES: readonly Sample[] = [
  ...(Object.keys(PUBLISHED) as Llama70bRun[]).map((name) => ({
    name,
    build: () => buildLlama70b(name, LLAMA_70B_SEED),
    options: { gzip: true, maxEntries: LLAMA_70B_ENTRIES },
  })),
  { name: 'capacity', build: () => capacity.build(118), options: { gzip: true } },
  { name: 'leak', build: () => leak.build(46), options: { gzip: true } },
  { name: 'nccl-outside', build: () => buildNcclOutside(NCCL_OUTSIDE_SEED), options: { gzip: true } },
  { name: 'other-process', build: () => buildOtherProcess(OTHER_PROCESS_SEED), options: {} },
  { name: 'host-oom', build: () => hostOom.build(70), options: { gzip: true } },
];
