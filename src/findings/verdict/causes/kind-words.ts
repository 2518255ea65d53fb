/**
 * Words for verdicts without a test that holds: by the kind of the failure line (`kind_verdict`), by the tuning guides'
 * rule, or undecided. Such lines report that memory ran out, not whose or how much.
 */
import { formatBytes, formatCount } from '../../../model/units.js';
import type { OomFacts } from '../facts.js';
import type { Step } from './words.js';

export interface KindWords {
  readonly summary: string;
  readonly missing: readonly string[];
  readonly next: readonly (string | Step)[];
}

const WHOLE_DEVICE = {
  missing: ['the memory use of the whole device at that moment (nvidia-smi), or a full OOM message of another rank'],
  next: ['look for an earlier OOM message of any rank on that host; check for other processes with nvidia-smi'],
};
const WHO_GREW = ['which process grew (dmesg, cgroup statistics, per-process RSS over time)'];
const OTHER_LOGS = ['the logs of all ranks: the one that failed first names its cause, the others only waited for it'];

/** By the reason of the verdict. */
const WORDS: Readonly<Record<string, KindWords>> = {
  driver: {
    ...WHOLE_DEVICE,
    summary: 'an allocation outside the caching allocator failed; such a line carries no figures and decides nothing',
  },
  library: {
    ...WHOLE_DEVICE,
    summary: 'a CUDA library failed to set itself up: often, but not always, because the device is full',
  },
  figures_lost: {
    ...WHOLE_DEVICE,
    summary:
      'an assertion failed while an OOM message was being written: the device was out of memory, the figures are lost',
  },
  other_framework: {
    summary: "another framework's allocator ran out; this version does not read its figures",
    missing: ['the figures of that allocator'],
    next: [],
  },
  nccl: {
    summary: "NCCL's own buffers did not fit beside PyTorch's reserve",
    missing: ['how much PyTorch had reserved then (a snapshot, or a memory line of that rank)'],
    next: ['leave NCCL headroom: fewer communicators or channels, or a memory fraction below 1 for PyTorch'],
  },
  kv_cache: {
    summary: 'weights and activations leave nothing of the memory budget for the KV cache',
    missing: [],
    next: ['raise the engine’s memory utilization setting, or shorten the context'],
  },
  graph_capture: {
    summary: 'memory ran out while a CUDA graph was captured; the message does not say how much its pool holds',
    missing: ['what the graph pools hold: a memory snapshot'],
    next: ['capture fewer or smaller graphs, or leave them more headroom'],
  },
  shared_memory: {
    summary: 'shared memory (/dev/shm) ran out, not the device',
    missing: [],
    next: ['enlarge /dev/shm (docker --shm-size, an emptyDir of medium Memory), or lower data-loader workers'],
  },
  dataloader_worker: {
    summary: 'a data-loader worker was killed for want of host memory, not of device memory',
    missing: WHO_GREW,
    next: [
      'lower num_workers and prefetch_factor, or keep less of the data set in each worker; else raise the job’s memory request',
    ],
  },
  control_group: {
    summary: "the job's own memory limit on the host (its control group) was reached, not the device's",
    missing: WHO_GREW,
    next: [
      'raise the job’s memory request; or lower what it keeps on the host: offloaded optimizer states, checkpoint staging, pinned buffers, workers',
    ],
  },
  host: {
    summary: 'host memory ran out, not the device',
    missing: WHO_GREW,
    next: ['raise the job’s memory request, or lower data-loader workers, pinned buffers and checkpoint staging'],
  },
  configuration: {
    summary: 'the configuration was refused: not a memory failure',
    missing: [],
    next: ['change the setting that the message names'],
  },
  timeout: {
    summary: 'a collective timed out: some rank did not come, and nothing read here says why',
    missing: OTHER_LOGS,
    next: ['look for the rank that printed last, and for what it printed'],
  },
  connection: {
    summary: 'a connection to another rank was lost: that rank had ended, and nothing read here says why',
    missing: OTHER_LOGS,
    next: ['look for the rank that ended first'],
  },
  hardware: {
    summary: 'the device, its memory or its link failed',
    missing: [],
    next: ['take the node out and run its diagnostics (nvidia-smi -q, dcgmi diag)'],
  },
  time_limit: {
    summary: 'the job reached its time limit: it was ended, it did not fail',
    missing: [],
    next: ['resume from the last checkpoint'],
  },
  not_memory: { summary: 'the run failed, but not for want of memory', missing: [], next: [] },
  expandable_on: {
    summary: 'the figures are missing; with expandable segments on, what fails is mostly a full device',
    missing: [],
    next: ['ingest the whole message, or a snapshot dumped at the OOM: the figures decide it'],
  },
  no_test_holds: {
    summary: 'the evidence does not decide it',
    missing: [],
    next: ['capture what is listed as not tested, and ingest it into the same run'],
  },
};

/** Throws for a reason that it does not know. */
export function kindWords(reason: string, { bystanders }: Pick<OomFacts, 'bystanders'>): KindWords {
  if (reason === 'failed_alone') {
    const { ranks, mostReservedBytes: most } = bystanders!;
    const reserved = most === null ? '' : ` (they reserved at most ${formatBytes(most)})`;
    return {
      summary: `the figures are missing; of ${formatCount(ranks + 1)} ranks only this one failed${reserved}, and expandable segments are not set: mostly fragmentation`,
      missing: [],
      next: [
        {
          text: 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True on every rank costs no throughput: try it first',
          isExpandable: true,
        },
      ],
    };
  }
  const words = WORDS[reason];
  if (words === undefined) throw new Error(`no words for ${reason}`);
  return words;
}
