/** Host memory ran out, not the device; the words of the line show which limit was reached. */
import type { KindVerdict } from './kind-verdict.js';

const HOST: KindVerdict = {
  cause: 'host_oom',
  detail: null,
  confidence: 'high',
  summary: 'host memory ran out, not the device',
  missing: ['which process grew (dmesg, cgroup statistics, per-process RSS over time)'],
  next: ['raise the job’s memory request, or lower data-loader workers, pinned buffers and checkpoint staging'],
  capture: 'host_memory',
};

const CGROUP: KindVerdict = {
  ...HOST,
  detail: 'cgroup',
  summary: "the job's own memory limit on the host (its control group) was reached, not the device's",
  next: [
    'raise the job’s memory request; or lower what it keeps on the host: offloaded optimizer states, checkpoint staging, pinned buffers, workers',
  ],
};

const WORKERS: KindVerdict = {
  ...HOST,
  detail: 'dataloader',
  summary: 'a data-loader worker was killed for want of host memory, not of device memory',
  next: [
    'lower num_workers and prefetch_factor, or keep less of the data set in each worker; else raise the job’s memory request',
  ],
};

export const SHARED_MEMORY: KindVerdict = {
  ...HOST,
  detail: 'shm',
  summary: 'shared memory (/dev/shm) ran out, not the device',
  missing: [],
  next: ['enlarge /dev/shm (docker --shm-size, an emptyDir of medium Memory), or lower data-loader workers'],
};

const WORKER_WORDS = /DataLoader worker/i;
/**
 * The kernel names the limit (`Memory cgroup out of memory`, `CONSTRAINT_MEMCG`). Slurm and container runtimes kill
 * only at their own limits, and each of those is a control group. A bare kernel line (`Out of memory: Killed process`)
 * means the whole host.
 */
const CGROUP_WORDS =
  /cgroup|CONSTRAINT_MEMCG|oom[_-]kill event|exceeded (?:job |step )?memory limit|OOMKilled|TERM_MEMLIMIT|job killed: mem|Out Of Memory$/;

/** `text` is the failure line. */
export function hostVerdict(text: string): KindVerdict {
  if (WORKER_WORDS.test(text)) return WORKERS;
  return CGROUP_WORDS.test(text) ? CGROUP : HOST;
}
