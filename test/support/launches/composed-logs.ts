/**
 * Training logs composed of real ones: launches of one file, one after another, each ended in a known way, with lines
 * of ranks interleaved. The expected reading follows from the composition, not from the reader.
 */

/** How a launch ended. `stopped`: its text breaks off; `signalled`: a signal from outside, of whom is unknown. */
export type ComposedEnding =
  | 'finished'
  | 'cancelled'
  | 'time_limit'
  | 'preempted'
  | 'signalled'
  | 'killed'
  | 'host_oom'
  | 'oom'
  | 'failed'
  | 'stopped';

/** One launch of a real log without its end. */
export interface LaunchBody {
  readonly name: string;
  readonly lines: readonly string[];
  /** Whether ranks may print it all, which needs a text without their marks. */
  readonly repeatable: boolean;
}

export interface ComposedLaunch {
  readonly ending: ComposedEnding;
  /** As the last progress line of its text prints; null without one. */
  readonly lastIteration: number | null;
  readonly body: string;
}

export interface ComposedLog {
  readonly name: string;
  readonly text: string;
  readonly launches: readonly ComposedLaunch[];
}

export type Draw = (below: number) => number;

/** Numbers of a linear congruence, equal on every machine. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const PROGRESS = /(?:\biteration\s+(\d+)\/\s*\d+ \||\bstep:\s+(\d+)\s+loss:)/;
const END =
  /Killing subprocess|CANCELLED AT|slurmstepd|Job step aborted|received SIG|Traceback|ENDING TIMING|^\s*\d*:?\s*RESULT,|run_stop|Training completed|train_runtime|after training is done|saving checkpoint|UCC {2}WARN|\*\*\*\*\* train metrics|Saving model checkpoint/;

/**
 * The launch that a log of one launch holds, without its end; null if it is shorter than a launch.
 *
 * @param mostLines NCCL's own lines are thinned out beyond that.
 */
export function bodyOf(name: string, text: string, mostLines: number): LaunchBody | null {
  const all = text.replaceAll('\r', '').split('\n');
  const end = all.findIndex((line) => END.test(line));
  const body = end < 0 ? all : all.slice(0, end);
  let spare = body.length - mostLines;
  const lines = body.filter((line) => {
    if (spare <= 0 || !line.includes('NCCL INFO')) return true;
    spare -= 1;
    return false;
  });
  if (lines.length < 4) return null;
  const marked = lines.some((line) => /^\s*(?:\[default\d+\]|\[rank\d+\]|\d+):/i.test(line));
  return { name, lines, repeatable: !marked };
}

export const lastIterationOf = (lines: readonly string[]): number | null => {
  const line = lines.findLast((text) => PROGRESS.test(text));
  const match = line === undefined ? null : PROGRESS.exec(line);
  return match === null ? null : Number(match[1] ?? match[2]);
};

/** Lines that end a launch, by ending: real lines with other numbers. */
const ENDINGS: Readonly<Record<ComposedEnding, readonly ((draw: Draw, last: number | null) => readonly string[])[]>> = {
  stopped: [() => []],
  finished: [
    (_, last) => [
      '[after training is done] datetime: 2026-03-02 11:07:41 ',
      `saving checkpoint at iteration ${String(last ?? 20).padStart(7)} to /ckpt/run in torch_dist format`,
      `  successfully saved checkpoint from iteration ${String(last ?? 20).padStart(7)} to /ckpt/run`,
    ],
    () => [
      "{'train_runtime': 919.0933, 'train_samples_per_second': 1.088, 'train_steps_per_second': 0.017, 'train_loss': 2.31, 'epoch': 1.0}",
    ],
    () => [
      '[titan] 2026-03-02 11:07:41,012 - root - INFO - Training completed',
      '[titan] 2026-03-02 11:07:41,013 - root - INFO - Process group destroyed',
    ],
    () => ['`Trainer.fit` stopped: `max_steps=20` reached.'],
    () => ['ENDING TIMING RUN AT 2026-03-02 11:07:41 AM', 'RESULT,LLM_FINETUNING,,1963,nvidia,2026-03-02 10:30:26 AM'],
  ],
  cancelled: [
    (draw) => {
      const job = 100_000 + draw(900_000);
      return [
        'srun: Job step aborted: Waiting up to 62 seconds for job step to finish.',
        `slurmstepd: error: *** STEP ${job}.0 ON r8i3n${draw(9)} CANCELLED AT 2026-03-02T11:07:41 ***`,
        `slurmstepd: error: *** JOB ${job} ON r8i3n1 CANCELLED AT 2026-03-02T11:07:41 ***`,
      ];
    },
    (draw) => [`slurmstepd: error: *** JOB ${100_000 + draw(900_000)} ON node07 CANCELLED AT 2026-03-02T11:07:41 ***`],
    (draw) => [
      'Traceback (most recent call last):',
      `  File "/opt/train/pretrain_gpt.py", line ${100 + draw(200)}, in <module>`,
      '    pretrain(train_valid_test_datasets_provider, model_provider, ModelType.encoder_or_decoder, forward_step)',
      '  File "/opt/megatron/training/training.py", line 733, in train_step',
      '    losses_reduced = forward_backward_func(',
      'KeyboardInterrupt',
    ],
    (draw) => [
      `W0302 11:07:41.102000 ${1000 + draw(9000)} torch/distributed/elastic/agent/server/api.py:704] Received 2 death signal, shutting down workers`,
      `W0302 11:07:41.103000 ${1000 + draw(9000)} torch/distributed/elastic/multiprocessing/api.py:900] Sending process 4711 closing signal SIGINT`,
      'torch.distributed.elastic.multiprocessing.api.SignalException: Process 4700 got signal: 2',
    ],
  ],
  time_limit: [
    (draw) => {
      const job = 100_000 + draw(900_000);
      return [
        `slurmstepd: error: *** STEP ${job}.0 ON r6i4n5 CANCELLED AT 2026-03-02T11:07:41 DUE TO TIME LIMIT ***`,
        `slurmstepd: error: *** JOB ${job} ON r6i4n5 CANCELLED AT 2026-03-02T11:07:41 DUE TO TIME LIMIT ***`,
        'srun: Job step aborted: Waiting up to 32 seconds for job step to finish.',
        ...killed(draw),
        'Main process received SIGTERM, exiting',
      ];
    },
    (draw) => [
      `slurmstepd: error: *** JOB ${100_000 + draw(900_000)} ON gpu-a-12 CANCELLED AT 2026-03-02T11:07:41 DUE TO TIME LIMIT ***`,
    ],
    () => ['TERM_RUNLIMIT: job killed after reaching LSF run time limit.', 'Exited with exit code 140.'],
    (draw) => [`=>> PBS: job killed: walltime ${3600 + draw(40)} exceeded limit 3600`],
  ],
  preempted: [
    (draw) => {
      const job = 100_000 + draw(900_000);
      return [
        `slurmstepd: error: *** JOB ${job} ON cnode-3 CANCELLED AT 2026-03-02T11:07:41 DUE TO PREEMPTION ***`,
        `slurmstepd: error: *** STEP ${job}.0 ON cnode-3 CANCELLED AT 2026-03-02T11:07:41 DUE TO PREEMPTION ***`,
        'srun: Job step aborted: Waiting up to 32 seconds for job step to finish.',
      ];
    },
    (draw) => [
      `slurmstepd: error: *** JOB ${100_000 + draw(900_000)} ON cnode-3 CANCELLED AT 2026-03-02T11:07:41 DUE TO PREEMPTION ***`,
    ],
  ],
  signalled: [
    (draw) => [...killed(draw), 'Main process received SIGTERM, exiting'],
    () => ['exiting program after receiving SIGTERM.'],
    (draw) => [
      `W0302 11:07:41.102000 ${1000 + draw(9000)} torch/distributed/elastic/agent/server/api.py:704] Received 15 death signal, shutting down workers`,
      'torch.distributed.elastic.multiprocessing.api.SignalException: Process 4700 got signal: 15',
    ],
  ],
  killed: [
    () => ['Killed'],
    (draw) => [
      `/var/spool/slurmd/job188/slurm_script: line 46: ${2_000_000 + draw(99_999)} Killed                  python3 train.py`,
    ],
    (draw) => [
      `E0302 11:07:41.102000 ${1000 + draw(9000)} torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 4711) of binary: /usr/bin/python3`,
      'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
      '============================================================',
      'pretrain_gpt.py FAILED',
      '------------------------------------------------------------',
      'Failures:',
      '  <NO_OTHER_FAILURES>',
      '------------------------------------------------------------',
      'Root Cause (first observed failure):',
      '[0]:',
      '  time      : 2026-03-02_11:07:41',
      '  host      : node07',
      '  rank      : 3 (local_rank: 3)',
      '  exitcode  : -9 (pid: 4711)',
      '  error_file: <N/A>',
      '  traceback : Signal 9 (SIGKILL) received by PID 4711',
      '============================================================',
    ],
  ],
  host_oom: [
    (draw) => [
      `slurmstepd: error: Detected 1 oom_kill event in StepId=${100_000 + draw(900_000)}.0. Some of the step tasks have been OOM Killed.`,
      'srun: error: node07: task 3: Out Of Memory',
    ],
    (draw) => [
      `[Tue Mar  2 11:07:41 2026] Out of memory: Killed process ${2000 + draw(900)} (python3) total-vm:812340000kB, anon-rss:798120000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0`,
    ],
  ],
  oom: [(draw) => [...oomTraceback(draw), ...killed(draw)], (draw) => [...oomTraceback(draw), ...stepEnd(draw)]],
  failed: [
    (draw) => [
      'Traceback (most recent call last):',
      '  File "/opt/train/pretrain_gpt.py", line 181, in <module>',
      '    pretrain(train_valid_test_datasets_provider, model_provider)',
      `  File "/opt/megatron/core/models/gpt/gpt_model.py", line ${100 + draw(100)}, in forward`,
      '    hidden_states = self.decoder(hidden_states=decoder_input)',
      'RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x8192 and 4096x8192)',
      ...stepEnd(draw),
    ],
    (draw) => [
      `[rank${draw(8)}]:[E302 11:07:41.514 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1471, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600030 milliseconds before timing out.`,
      ...killed(draw),
    ],
    () => ["FileNotFoundError: [Errno 2] No such file or directory: '/data/openwebtext_text_document.idx'"],
  ],
};

function killed(draw: Draw): string[] {
  return Array.from({ length: 2 + draw(6) }, () => `Killing subprocess ${10_000 + draw(60_000)}`);
}

/** A step that ends because one of its tasks did: its CANCELLED is a consequence. */
function stepEnd(draw: Draw): string[] {
  const job = 100_000 + draw(900_000);
  return [
    `srun: error: node0${draw(9)}: task ${draw(8)}: Exited with exit code 1`,
    `srun: launch/slurm: _step_signal: Terminating StepId=${job}.0`,
    `slurmstepd: error: *** STEP ${job}.0 ON node01 CANCELLED AT 2026-03-02T11:07:44 ***`,
    `srun: error: node0${draw(9)}: tasks 0-2: Terminated`,
  ];
}

function oomTraceback(draw: Draw): string[] {
  const asked = (1 + draw(900)) * 2;
  const messages = [
    `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${asked}.00 MiB. GPU 3 has a total capacity of 79.11 GiB of which 120.25 MiB is free. Including non-PyTorch memory, this process has 78.98 GiB memory in use. Of the allocated memory 76.02 GiB is allocated by PyTorch, and 1.21 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)`,
    `RuntimeError: CUDA out of memory. Tried to allocate ${asked}.00 MiB (GPU 3; 31.75 GiB total capacity; 29.02 GiB already allocated; 104.19 MiB free; 30.11 GiB reserved in total by PyTorch)`,
    `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate ${asked}.00 MiB. GPU 3 has a total capacty of 79.33 GiB of which 6.19 MiB is free. Process 3258 has 79.31 GiB memory in use. Of the allocated memory 74.13 GiB is allocated by PyTorch, and 3.50 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF`,
  ];
  return [
    'Traceback (most recent call last):',
    '  File "/opt/train/pretrain_gpt.py", line 181, in <module>',
    '    pretrain(train_valid_test_datasets_provider, model_provider)',
    `  File "/opt/megatron/core/transformer/mlp.py", line ${80 + draw(60)}, in forward`,
    '    intermediate_parallel = self.activation_func(intermediate_parallel)',
    messages[draw(messages.length)]!,
  ];
}

/** Lines that mention memory in a log without a failure. */
const DISTRACTIONS: readonly string[] = [
  '[2026-03-02 10:59:01,311] [WARNING] [stage3.py:1949:step] 1 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance.',
  '  exit_on_oom ..................................... False',
  'hint: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True if you run out of memory',
  'WARNING: evaluation reads 4 batches; reduce eval_batch_size to save memory',
];

/** Shorter bodies are excerpts that begin behind the banners of their launch. */
const EXCERPT_LINES = 40;

const ENDING_ORDER = Object.keys(ENDINGS) as ComposedEnding[];

/** Cut behind a progress line, never the first if there are several: a launch whose iterations are its own. */
function cutBody({ lines }: LaunchBody, draw: Draw): readonly string[] {
  const progress = lines.flatMap((line, i) => (PROGRESS.test(line) ? [i] : []));
  if (progress.length < 3) return lines;
  return lines.slice(0, progress[1 + draw(progress.length - 1)]! + 1);
}

/** First line of a training process, behind those of job scripts and launchers. */
const PROCESS = /using world size|:::MLLOG|\[titan\]|Initializing distributed|\[INFO\|/;

/** Every rank prints the lines of its process, marked with its rank; orders of ranks differ from line to line. */
function interleave(lines: readonly string[], ranks: number, style: number, draw: Draw): string[] {
  const mark = (rank: number): string =>
    [`[rank${rank}]: `, `${String(rank).padStart(String(ranks - 1).length)}: `, `[default${rank}]:`][style]!;
  const from = lines.findIndex((line) => PROCESS.test(line));
  if (from < 0) return [...lines];
  const next = Array.from({ length: ranks }, () => from);
  const merged = lines.slice(0, from);
  while (merged.length < from + ranks * (lines.length - from)) {
    const behind = Math.min(...next);
    const rank = draw(ranks);
    // Ranks of one program stay within a few lines of each other: collectives keep them together.
    if (next[rank]! >= lines.length || next[rank]! > behind + 6) continue;
    merged.push(mark(rank) + lines[next[rank]!]!);
    next[rank]! += 1;
  }
  return merged;
}

/** `count` logs of `bodies`, equal for equal seeds. */
export function composeLogs(bodies: readonly LaunchBody[], count: number, seed: number): ComposedLog[] {
  return Array.from({ length: count }, (_, i) => composeLog(bodies, i, drawFrom(seed * 65_537 + i * 7919 + 1)));
}

function composeLog(bodies: readonly LaunchBody[], index: number, draw: Draw): ComposedLog {
  for (let i = 0; i < 8; i += 1) draw(2);
  // A third have one launch, so that false launches show as well as missed ones.
  const launchCount = [1, 1, 2, 2, 3, 1, 4, 2][index % 8]!;
  const isAlike = draw(3) > 0;
  const first = bodies[draw(bodies.length)]!;
  const parts: string[] = [];
  const launches: ComposedLaunch[] = [];
  const chosen = Array.from({ length: launchCount }, (_, n) =>
    isAlike || n === 0 ? first : bodies[draw(bodies.length)]!,
  );
  for (const [n, body] of chosen.entries()) {
    const isLast = n === launchCount - 1;
    let ending = ENDING_ORDER[(index * 3 + n * 7 + draw(3)) % ENDING_ORDER.length]!;
    // Between an excerpt without a banner and text that breaks off before it, nothing shows a launch.
    if (ending === 'stopped' && !isLast && chosen[n + 1]!.lines.length < EXCERPT_LINES) ending = 'cancelled';
    let lines = [...cutBody(body, draw)];
    const last = lastIterationOf(lines);
    if (draw(4) === 0) lines.splice(Math.floor(lines.length / 2), 0, DISTRACTIONS[draw(DISTRACTIONS.length)]!);
    // Labels of `srun` are on all lines of a file or on none.
    const style = launchCount > 1 ? 2 * draw(2) : draw(3);
    if (body.repeatable && lines.length < 4000 && draw(4) === 0) lines = interleave(lines, 2 + draw(7), style, draw);
    const variants = ENDINGS[ending];
    parts.push(...lines, ...variants[draw(variants.length)]!(draw, last));
    launches.push({ ending, lastIteration: last, body: body.name });
    if (!isLast && draw(3) === 0) parts.push('', '');
  }
  return { name: `composed-${String(index).padStart(3, '0')}`, text: `${parts.join('\n')}\n`, launches };
}
