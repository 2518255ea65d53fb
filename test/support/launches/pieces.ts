/** Pieces of real logs, from which logs of several launches are composed: their truth follows from the composition. */
import { readLogBytes } from '../../../parsers/log/read-log.js';
import type { AttemptRow } from '../../../src/model/log-rows.js';
import type { IncidentRow, Note } from '../../../src/model/tables.js';
import { type LogRow, placedRow } from './log-row.js';

export const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);

export const iteration = (i: number, target = 5000): string =>
  ` [2026-02-03 04:05:06] iteration ${String(i).padStart(8)}/${String(target).padStart(8)} | consumed samples: ${i * 256} | elapsed time per iteration (ms): 4210.5 | learning rate: 3.0E-04 | global batch size:   256 | lm loss: 9.1E+00 | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |`;

/** What a framework prints before its first step. */
export const STARTS = {
  megatron: [
    'using world size: 8, data-parallel size: 2, tensor-model-parallel size: 2, pipeline-model-parallel size: 2',
    '------------------------ arguments ------------------------',
    '  hidden_size ..................................... 4096',
    '-------------------- end of arguments ---------------------',
    '> initializing torch distributed ...',
    'time to initialize megatron (seconds): 10.123',
    '[after megatron is initialized] datetime: 2026-02-03 04:05:06',
    'building GPT model ...',
    '[after dataloaders are built] datetime: 2026-02-03 04:05:07',
    'training ...',
  ],
  deepspeed: [
    '[2026-02-03 04:05:06,100] [INFO] [runner.py:571:main] cmd = /usr/bin/python -u -m deepspeed.launcher.launch train.py',
    "[2026-02-03 04:05:06,101] [INFO] [launch.py:145:main] WORLD INFO DICT: {'localhost': [0, 1]}",
    '[2026-02-03 04:05:06,900] [INFO] [config.py:996:print] DeepSpeedEngine configuration:',
    '[2026-02-03 04:05:06,900] [INFO] [config.py:1000:print]   train_batch_size ............. 32',
  ],
  nemo: [
    '    ************** Experiment configuration ***********',
    'GPU available: True (cuda), used: True',
    ...range(0, 7).map((rank) => `Initializing distributed: GLOBAL_RANK: ${rank}, MEMBER: ${rank + 1}/8`),
    'Sanity Checking DataLoader 0:   0%|          | 0/2 [00:00<?, ?it/s]',
  ],
  torchtitan: [
    '[rank0]:[titan] 2026-02-03 04:05:06,123 - root - INFO - Starting job: Llama 3 8B training',
    '[rank0]:[titan] 2026-02-03 04:05:06,500 - root - INFO - Training starts at step 1',
  ],
  transformers: [
    '02/03/2026 04:05:06 - INFO - __main__ - Training/evaluation parameters TrainingArguments(',
    'bf16=True,',
    ')',
    '***** Running training *****',
    '  Num examples = 52,002',
  ],
} as const;
export type Framework = keyof typeof STARTS;

export const STEPS: Readonly<Record<Framework, (i: number) => string>> = {
  megatron: iteration,
  deepspeed: (i) =>
    `[2026-02-03 04:05:07,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=${i}, skipped=0, lr=[0.0001], mom=[]`,
  nemo: (i) =>
    `Training epoch 0, iteration ${i - 1}/999 | lr: 0.0001 | global_step: ${i - 1} | reduced_train_loss: 10.1 | train_step_timing in s: 2.5`,
  torchtitan: (i) =>
    `[rank0]:[titan] 2026-02-03 04:05:07,600 - root - INFO - step: ${i}  loss: 11.1234  memory: 42.88GiB(54.20%)  tps: 2,345  mfu: 13.73%`,
  transformers: (i) => `{'loss': 1.5, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': ${i / 100}}`,
};

export const FINISHED: Readonly<Record<Framework, string>> = {
  megatron: '[after training is done] datetime: 2026-02-03 05:05:06',
  deepspeed: '[2026-02-03 05:05:06,100] [INFO] [launch.py:347:main] Process 4711 exits successfully.',
  nemo: '`Trainer.fit` stopped: `max_steps=8` reached.',
  torchtitan: '[rank0]:[titan] 2026-02-03 05:05:06,800 - root - INFO - Training completed',
  transformers: "{'train_runtime': 919.09, 'train_loss': 1.1, 'epoch': 3.0}",
};

const traceback = (exception: string): string[] => [
  'Traceback (most recent call last):',
  '  File "/opt/run/train.py", line 240, in main',
  '    step()',
  exception,
];

const footer = (code: number, message: string): string[] => [
  `E0203 04:06:00.000000 140 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: ${code}) local_rank: 0 (pid: 1234) of binary: /usr/bin/python`,
  ...traceback('torch.distributed.elastic.multiprocessing.errors.ChildFailedError: '),
  '============================================================',
  'train.py FAILED',
  'Root Cause (first observed failure):',
  '[0]:',
  '  time      : 2026-02-03_04:06:00',
  '  host      : node1',
  '  rank      : 0 (local_rank: 0)',
  `  exitcode  : ${code} (pid: 1234)`,
  '  error_file: <N/A>',
  `  traceback : ${message}`,
  '============================================================',
];

const closing =
  'W0203 04:06:00.000000 140 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 1235 closing signal SIGTERM';
const deathSignal = (signal: number): string[] => [
  `W0203 04:06:00.000000 140 torch/distributed/elastic/agent/server/api.py:723] Received ${signal} death signal, shutting down workers`,
  closing,
  ...traceback(`torch.distributed.elastic.multiprocessing.api.SignalException: Process 1234 got signal: ${signal}`),
];
const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.31 GiB is free. Including non-PyTorch memory, this process has 77.80 GiB memory in use. Of the allocated memory 70.11 GiB is allocated by PyTorch, and 5.50 GiB is reserved by PyTorch but unallocated.';
const HELP = 'To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html';
const cancelled = (what: string, why = ''): string =>
  `slurmstepd: error: *** ${what} ON node1 CANCELLED AT 2026-02-03T04:06:00${why} ***`;
const ABORTED = 'srun: Job step aborted: Waiting up to 32 seconds for job step to finish.';

/** How launches end: the lines, and what they show. */
export const ENDS: readonly (readonly [name: string, ending: string, lines: readonly string[]])[] = [
  ['an OOM', 'oom', [...traceback(OOM), closing, ...footer(1, HELP)]],
  [
    'a host OOM',
    'oom',
    ['slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.'],
  ],
  ['an exception', 'failed', [...traceback('RuntimeError: shape mismatch'), closing, ...footer(1, HELP)]],
  [
    'a failed task, whose step is cancelled then',
    'failed',
    [
      ...traceback('RuntimeError: shape mismatch'),
      'srun: error: node1: task 0: Exited with exit code 1',
      cancelled('STEP 12.0'),
      'srun: error: node2: task 1: Terminated',
    ],
  ],
  ['a cancelled job', 'cancelled', [cancelled('JOB 12'), ABORTED, ...deathSignal(15)]],
  ['SIGTERM at the launcher', 'cancelled', deathSignal(15)],
  ['an interrupt', 'cancelled', traceback('KeyboardInterrupt')],
  [
    'an interrupt of srun',
    'cancelled',
    ['srun: interrupt (one more within 1 sec to abort)', ABORTED, cancelled('STEP 12.0')],
  ],
  [
    'a time limit, behind the signals it sends',
    'time_limit',
    ['Killing subprocess 4711', 'Main process received SIGTERM, exiting', cancelled('JOB 12', ' DUE TO TIME LIMIT')],
  ],
  ['a time limit of LSF', 'time_limit', ['TERM_RUNLIMIT: job killed after reaching LSF run time limit.']],
  ['preemption', 'preempted', [cancelled('JOB 12', ' DUE TO PREEMPTION'), ABORTED]],
  ['a node that failed', 'node_failure', [cancelled('JOB 12', ' DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS')]],
  ['the word Killed', 'killed', ['Killed']],
  ['SIGKILL in a footer', 'killed', [closing, ...footer(-9, 'Signal 9 (SIGKILL) received by PID 1234')]],
  ['a launcher that kills its children', 'unknown', ['Killing subprocess 4711', 'Killing subprocess 4712']],
];

export interface ReadLog {
  readonly rows: readonly LogRow[];
  readonly incidents: readonly IncidentRow[];
  readonly attempts: readonly AttemptRow[];
  readonly notes: readonly Note[];
}

export function readComposed(lines: readonly (string | readonly string[])[]): ReadLog {
  const rows: LogRow[] = [];
  const incidents: IncidentRow[] = [];
  const attempts: AttemptRow[] = [];
  const notes: Note[] = [];
  readLogBytes(Buffer.from(`${lines.flat().join('\n')}\n`), {
    incident: (row) => incidents.push(row),
    note: (note) => notes.push(note),
    attempt: (row) => attempts.push(row),
    logRow: (finding, place) => rows.push(placedRow(finding, place)),
  });
  return { rows, incidents, attempts, notes };
}

/** First lines of launches; the first launch begins with the file. */
export const startsOf = ({ attempts }: ReadLog): number[] =>
  attempts.filter(({ attempt }) => attempt > 1).map(({ line }) => line);
