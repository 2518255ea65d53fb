import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

const REQ = 'slurm src/slurmd/slurmstepd/req.c, src/srun/libsrun/launch.c';

/** Messages of Slurm and similar schedulers when they end a job, and when its tasks end. */
export const SCHEDULER_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'slurm.cancelled',
    title: 'a job or step was cancelled, and why',
    producer: 'Slurm',
    versions: 'any',
    source: REQ,
    anchors: ['CANCELLED AT'],
    kind: (groups) => {
      if (groups['why'] === undefined) return 'other';
      if (/TIME LIMIT/.test(groups['why'])) return 'time_limit';
      return /NODE FAILURE/.test(groups['why']) ? 'hardware' : 'other';
    },
    pattern:
      /(?<text>\*{3} (?:JOB|STEP) [\w.+]{1,40} ON (?<host>[\w.-]{1,64}) CANCELLED AT [\dT:-]{10,25}(?: (?<why>DUE TO [A-Za-z ,]{2,60}[A-Za-z]))?)/g,
  }),
  failureLine({
    id: 'slurm.task_end',
    title: 'tasks of a step ended: exit code, signal',
    producer: 'Slurm',
    versions: 'any; without --label the task number is the rank only where srun starts one task per rank',
    source: REQ,
    anchors: ['Exited with exit code', ': Killed', ': Terminated', ': Aborted', ': Segmentation fault', ': Bus error'],
    kind: 'other',
    pattern:
      /(?<text>srun: error: (?<host>[\w.-]{1,64}): tasks? [\d,\s-]{1,200}: (?:Exited with exit code (?<exitcode>\d{1,3})|Killed|Terminated|Aborted|Segmentation fault|Bus error)(?: \(core dumped\))?)/g,
  }),
  failureLine({
    id: 'slurm.step_end',
    title: 'a step is torn down',
    producer: 'Slurm',
    versions: 'any',
    source: REQ,
    anchors: ['Job step aborted', 'Force Terminated', 'Node failure on', 'Timed out waiting for job step'],
    kind: (groups) => ((groups['text'] ?? '').includes('Node failure') ? 'hardware' : 'other'),
    pattern:
      /(?<text>srun: (?:error: |launch\/slurm: )?(?:_?\w{0,24}: )?(?:Job step aborted|Force Terminated (?:job|Step)[^\n]{0,40}|Node failure on (?<host>[\w.-]{1,64})|Timed out waiting for job step to complete))/g,
  }),
  failureLine({
    id: 'scheduler.time_limit',
    title: 'the time of the job was up, by schedulers other than Slurm',
    producer: 'LSF, PBS, Kubernetes',
    versions: 'any [mem]',
    source: 'LSF bjobs(1) TERM_RUNLIMIT; OpenPBS src/resmom; Kubernetes Job DeadlineExceeded',
    anchors: ['TERM_RUNLIMIT', 'PBS: job killed: walltime', 'DeadlineExceeded'],
    kind: 'time_limit',
    pattern:
      /(?<text>TERM_RUNLIMIT[^\n]{0,80}|PBS: job killed: walltime \d{1,9} exceeded limit \d{1,9}|DeadlineExceeded)/g,
  }),
];
