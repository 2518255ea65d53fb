/** The verdict where reports of launchers are all there is: which process ended first. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import { wordDiagnosis } from '../../../src/report/verdict/word-verdict.js';
import type { Store } from '../../../src/store/store.js';
import { range, readComposed } from '../../support/launches/pieces.js';
import { expectScreen } from '../../support/screen.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { openTextRuns, RUN } from '../../support/text-run.js';

const ELASTIC = 'W0508 02:14:02.158000 92001 torch/distributed/elastic/multiprocessing/api.py:1012]';
const closing = (pid: number): string => `${ELASTIC} Sending process ${pid} closing signal SIGTERM`;
const failed = (code: number, rank: number): string =>
  `E0508 02:14:03.020000 92001 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: ${code}) local_rank: ${rank} (pid: ${92115 + rank}) of binary: /opt/venv/bin/python3`;
const entry = (rank: number, code: number, message: string): string[] => [
  '[0]:',
  '  time      : 2026-05-08_02:14:02',
  '  host      : node12',
  `  rank      : ${rank} (local_rank: ${rank})`,
  `  exitcode  : ${code} (pid: ${92115 + rank})`,
  '  error_file: <N/A>',
  `  traceback : ${message}`,
];
const HELP = 'To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html';
const RULE = '-'.repeat(60);
const footer = (root: string[], others: readonly string[][]): string[] => [
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  '='.repeat(60),
  'pretrain.py FAILED',
  RULE,
  'Failures:',
  ...(others.length === 0 ? ['  <NO_OTHER_FAILURES>'] : others.flat()),
  RULE,
  'Root Cause (first observed failure):',
  ...root,
  '='.repeat(60),
];
const signalled = (rank: number): string[] => entry(rank, -15, `Signal 15 (SIGTERM) received by PID ${92115 + rank}`);
const STEP_END = [
  'srun: launch/slurm: _step_signal: Terminating StepId=7712.0',
  'slurmstepd: error: *** STEP 7712.0 ON node12 CANCELLED AT 2026-05-08T02:14:03 ***',
];

const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.';
const quoted = (message: string): string =>
  [
    'Traceback (most recent call last):',
    '    File "/w/pretrain.py", line 40, in main',
    '      loss = model(x)',
    `  ${message}`,
    '  ',
  ].join('\n');
const ACTOR = [
  'ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.',
  '\tclass_name: WorkerDict',
  '\tactor_id: 5b3f1c',
  '\tpid: 43211',
  '\tip: 10.0.0.7',
  'The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.',
];

interface Case {
  readonly lines: readonly string[];
  readonly rank: number | null;
  readonly title?: RegExp;
  readonly cause?: string;
  readonly shows: readonly RegExp[];
  readonly hides?: readonly RegExp[];
}

const CASES: Readonly<Record<string, Case>> = {
  'the table of torchrun': {
    lines: [
      ...range(0, 6).map((i) => closing(92115 + i)),
      failed(1, 7),
      ...footer(entry(7, 1, HELP), range(0, 6).map(signalled)),
    ],
    rank: 7,
    shows: [
      /rank 7 of 8 listed \(host node12, pid 92122\) ended first, with exit code 1; 7 others were ended after it/,
      /^FIX +name the output of rank 7 \(host node12, pid 92122\)/m,
      /^WHY +error: root cause/m,
    ],
    hides: [/all ranks/, /Sending process/],
  },
  'the table of torchrun without other failures': {
    lines: [closing(92116), ...footer(entry(0, -6, 'Signal 6 (SIGABRT) received by PID 92115'), [])],
    rank: 0,
    shows: [/rank 0 \(host node12, pid 92115\) ended first, by signal 6; its error/],
  },
  'torchrun, cut before the table': {
    lines: [closing(92115), failed(1, 6)],
    rank: null,
    shows: [/local rank 6 \(pid 92121\) ended first, with exit code 1/],
    hides: [/Sending process/],
  },
  'the tasks of Slurm': {
    lines: [
      'srun: error: node12: task 6: Exited with exit code 1',
      ...STEP_END,
      'srun: error: node12: tasks 0-5,7: Terminated',
    ],
    rank: 6,
    shows: [/rank 6 of 8 listed \(host node12\) ended first, with exit code 1/, /the output of rank 6/],
    hides: [/all ranks/, /cancelled/],
  },
  'the nodes of Slurm, which started torchrun': {
    lines: [failed(1, 6), 'srun: error: node12: task 1: Exited with exit code 1', ...STEP_END],
    rank: null,
    shows: [/local rank 6 \(pid 92121\) ended first/],
    hides: [/rank 1\b/],
  },
  'the launcher of DeepSpeed, whose command is that of the last rank': {
    lines: [
      ...range(1, 3).map(
        (i) => `[2026-05-08 02:14:02,100] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 9211${i}`,
      ),
      "[2026-05-08 02:14:02,400] [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'train.py', '--local_rank=7'] exits with return code = 1",
    ],
    rank: null,
    shows: [
      /a process ended first, with exit code 1/,
      /^WHY +error: exits with return code = 1/m,
      /the logs of all ranks/,
    ],
    hides: [/Killing/, /rank 7/, /9211/],
  },
  'a worker of Ray': {
    lines: [
      '(raylet, ip=10.0.0.5) A worker died or was killed while executing a task by an unexpected system error. Worker ID: 9f3a Node ID: 77ab Worker IP address: 10.0.0.5 Worker port: 10012 Worker PID: 92121 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.',
    ],
    rank: null,
    shows: [/the process \(host 10\.0\.0\.5, pid 92121\) ended first; its error/],
    hides: [/all ranks/, /OOM/],
  },
  'an actor of Ray, by its exception alone': {
    lines: ACTOR,
    rank: null,
    shows: [/the process \(host 10\.0\.0\.7, pid 43211\) ended first.*: it was killed \(by the kernel .* or crashed/],
    hides: [/NO OOM|connection lost/],
  },
  'an actor of Ray, behind a traceback': {
    lines: [
      'Traceback (most recent call last):',
      '  File "/w/main_ppo.py", line 120, in run',
      '    trainer.fit()',
      ...ACTOR,
    ],
    rank: null,
    shows: [/the process \(host 10\.0\.0\.7, pid 43211\) ended first/],
    hides: [/NO OOM|connection lost/],
  },
  ...Object.fromEntries(
    [
      'ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.',
      'ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task. Check python-core-worker-*.log files for more information.',
      '(raylet) node_manager.cc:3007: 0 Workers (tasks / actors) killed due to memory pressure (OOM), 1 Workers crashed due to other reasons at node (ID: ab, IP: 10.0.0.7) over the last time period.',
      'concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.',
    ].map((line): [string, Case] => [
      line.slice(0, 60),
      { lines: [line], rank: null, shows: [/memory may have run out/] },
    ]),
  ),
  'the memory monitor of Ray decides': {
    lines: [
      '(raylet) node_manager.cc:3007: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: ab, IP: 10.0.0.7) over the last time period.',
      ...ACTOR,
    ],
    rank: null,
    title: /^HOST OOM · /,
    cause: 'host_oom',
    shows: [/host memory ran out/],
  },
  'a rank that got SIGKILL, in the table of torchrun': {
    lines: [
      failed(-9, 7),
      ...footer(entry(7, -9, 'Signal 9 (SIGKILL) received by PID 92122'), range(0, 6).map(signalled)),
    ],
    rank: 7,
    title: /^KILLED · /,
    shows: [
      /rank 7 of 8 listed/,
      /received SIGKILL; 7 others were ended after it/,
      /the sender is unknown, the host may/,
    ],
  },
  ...Object.fromEntries(
    [
      'srun: error: node12: task 7: Killed',
      'prterun noticed that process rank 7 with PID 92122 on node node12 exited on signal 9 (Killed).',
    ].map((line): [string, Case] => [
      line.slice(0, 30),
      {
        lines: [line],
        rank: 7,
        title: /^KILLED · /,
        shows: [/rank 7 \(host node12.*\) received SIGKILL; the sender is/],
      },
    ]),
  ),
  'the box of Intel MPI': {
    lines: [
      '=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES',
      '=   RANK 7 PID 92122 RUNNING AT node12',
      '=   KILLED BY SIGNAL: 9 (Killed)',
    ],
    rank: 7,
    title: /^KILLED · /,
    shows: [/rank 7 \(host node12, pid 92122\) received SIGKILL/],
  },
  'an exception that the table of torchrun quotes': {
    lines: footer(entry(7, 1, quoted('RuntimeError: shape mismatch')), range(0, 6).map(signalled)),
    rank: 7,
    title: /^NO OOM · .*rank 7/,
    cause: 'not_oom',
    shows: [/rank 7 .*RuntimeError: shape mismatch/],
  },
  'an OOM that the table of torchrun quotes, behind the label of a node': {
    lines: footer(entry(7, 1, quoted(OOM)), range(0, 6).map(signalled))
      .flatMap((text) => text.split('\n'))
      .map((line) => `0: ${line}`),
    rank: 7,
    title: /^OOM · .*rank 7.* · device 3/,
    cause: 'capacity',
    shows: [/allocated 76\.00 GiB/],
  },
  'an OOM that a rank prints, and the table of torchrun quotes': {
    lines: [
      `[rank7]: ${OOM}`,
      ...range(1, 120).map((i) => `[rank0]: waiting ${i}`),
      ...footer(entry(7, 1, quoted(OOM)), range(0, 6).map(signalled)),
    ],
    rank: 7,
    title: /^OOM · (?!.*verdicts)/,
    cause: 'capacity',
    shows: [/allocated 76\.00 GiB/],
  },
};

let store: Store;
beforeAll(async () => {
  const runs = Object.values(CASES).map(({ lines }) => [{ path: 'node.log', ...readComposed(lines) }]);
  store = await openTextRuns(join(temporaryDirectory(), 'exits.duckdb'), runs);
});
afterAll(() => store.close());

describe('reports of launchers', () => {
  it.each(Object.entries(CASES))('%s', async (name, answer) => {
    const { rank, title = /^UNDECIDED · /, cause = 'undecided', shows, hides = [] } = answer;
    const id = Object.keys(CASES).indexOf(name) + 1;
    const result = wordDiagnosis(await diagnose(store, id, RUN, { advises: true }));
    const text = expectScreen({ ...result, run: RUN }).replaceAll(/\n {9}/g, ' ');
    expect(text).toMatch(title);
    expect(result.verdicts[0]).toMatchObject({ cause, rank });
    for (const pattern of shows) expect(text).toMatch(pattern);
    for (const pattern of hides) expect(text).not.toMatch(pattern);
  });
});
