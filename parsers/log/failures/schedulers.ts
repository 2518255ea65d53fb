import type { LogFormat } from '../formats/contract.js';
import { failureLine, kindOfExit } from './failure-line.js';

const REQ = 'slurm src/slurmd/slurmstepd/req.c, src/srun/libsrun/launch.c';

/** Messages of Slurm and similar schedulers when they end a job, and when its tasks end. */
export const SCHEDULER_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'slurm.cancelled',
    title: 'a job or step was cancelled, and why',
    producer: 'Slurm',
    versions: 'any',
    source: REQ,
    anchors: ['CANCELLED AT', ' KILLED AT '],
    kind: ({ text = '', why = '' }) => {
      if (/TIME LIMIT/i.test(why)) return 'time_limit';
      if (/PREEMPT|REQUEUE/i.test(why)) return 'preempted';
      if (/NODE FAIL/i.test(why)) return 'hardware';
      if (/FAILURE/i.test(why)) return 'other';
      return / KILLED AT /.test(text) ? 'killed' : 'cancelled';
    },
    pattern:
      /(?<text>\*{3} (?:JOB|STEP) [\w.+]{1,40} (?:ON (?<host>[\w.-]{1,64}) )?(?:CANCELLED|KILLED) AT [\dT:-]{10,25}(?: (?<why>(?:DUE TO|WITH SIGNAL) [\w ,]{1,60}\w))?)/gi,
  }),
  failureLine({
    id: 'slurm.task_end',
    title: 'tasks of a step ended: exit code, signal',
    producer: 'Slurm',
    versions: 'any; without --label the task number is the rank only where srun starts one task per rank',
    source: REQ,
    anchors: ['Exited with exit code', ': Killed', ': Terminated', ': Aborted', ': Segmentation fault', ': Bus error'],
    kind: ({ text = '', exitcode }) => (/: Killed/.test(text) ? 'killed' : kindOfExit(exitcode)),
    pattern:
      /(?<text>srun: error: (?<host>[\w.-]{1,64}): task(?: (?<rank>\d{1,6})|s? [\d,\s-]{1,200}): (?:Exited with exit code (?<exitcode>\d{1,3})|Killed|Terminated|Aborted|Segmentation fault|Bus error)(?: \(core dumped\))?)/g,
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
    id: 'slurm.interrupt',
    title: 'a user interrupts srun, or gives the allocation back',
    producer: 'Slurm',
    versions: 'any',
    source: 'slurm src/srun/libsrun/allocate.c, src/srun/libsrun/launch.c, src/salloc/salloc.c',
    anchors: ['srun: interrupt (', 'srun: sending Ctrl-C', 'srun: forcing job termination', ' has been revoked'],
    kind: 'cancelled',
    pattern:
      /(?<text>srun: (?:interrupt \([^\n)]{1,60}\)|sending Ctrl-C[^\n]{0,60}|forcing job termination)|[Jj]ob allocation \d{1,12} has been revoked)/g,
  }),
  failureLine({
    id: 'scheduler.ended',
    title: 'a job was ended for its time, for another job, or by its user, by schedulers other than Slurm',
    producer: 'LSF, PBS, Kubernetes',
    versions: 'any [mem]',
    source:
      'LSF "Termination reasons displayed by bacct, bhist and bjobs"; OpenPBS src/resmom; Kubernetes Job DeadlineExceeded, PriorityClass preemption',
    anchors: [
      'TERM_RUNLIMIT',
      'TERM_CPULIMIT',
      'TERM_DEADLINE',
      'TERM_WINDOW',
      'TERM_PREEMPT',
      'TERM_REQUEUE_',
      'TERM_OWNER',
      'TERM_ADMIN',
      'TERM_FORCE_',
      'TERM_REMOVE_HUNG_JOB',
      'PBS: job killed: walltime',
      'job deleted at request of',
      'DeadlineExceeded',
      'Preempted by ',
    ],
    kind: ({ text = '' }) => {
      if (/PREEMPT|REQUEUE|Preempted/.test(text)) return 'preempted';
      return /OWNER|ADMIN|HUNG|deleted/.test(text) ? 'cancelled' : 'time_limit';
    },
    pattern:
      /(?<text>\bTERM_(?:RUNLIMIT|CPULIMIT|DEADLINE|WINDOW|PREEMPT|REQUEUE_\w{1,8}|OWNER|ADMIN|FORCE_\w{1,8}|REMOVE_HUNG_JOB)\b[^\n]{0,80}|PBS: job killed: walltime \d{1,9} exceeded limit \d{1,9}|[Jj]ob deleted at request of [\w.@-]{1,80}|DeadlineExceeded|Preempted by (?:a )?(?:pod|node|higher)[^\n]{0,80})/g,
  }),
];
