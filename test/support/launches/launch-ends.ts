/** How launches of composed logs end: the lines, by whom they are printed, and which rank failed first. */
import type { ComposedEnding, Draw, EndingOf } from './end-lines.js';
import { LAUNCHER_ENDS, markedOom } from './launcher-ends.js';

/** Lines that end a launch, by ending: real lines with other numbers. */
export const ENDINGS: Readonly<Record<ComposedEnding, readonly EndingOf[]>> = {
  stopped: [() => []],
  finished: [
    (_, last) => ({
      out: [
        '[after training is done] datetime: 2026-03-02 11:07:41 ',
        `saving checkpoint at iteration ${String(last ?? 20).padStart(7)} to /ckpt/run in torch_dist format`,
        `  successfully saved checkpoint from iteration ${String(last ?? 20).padStart(7)} to /ckpt/run`,
      ],
    }),
    () => ({
      out: [
        "{'train_runtime': 919.0933, 'train_samples_per_second': 1.088, 'train_steps_per_second': 0.017, 'train_loss': 2.31, 'epoch': 1.0}",
      ],
    }),
    () => ({
      out: [
        '[titan] 2026-03-02 11:07:41,012 - root - INFO - Training completed',
        '[titan] 2026-03-02 11:07:41,013 - root - INFO - Process group destroyed',
      ],
    }),
    () => ({ out: ['`Trainer.fit` stopped: `max_steps=20` reached.'] }),
    () => ({
      out: ['ENDING TIMING RUN AT 2026-03-02 11:07:41 AM', 'RESULT,LLM_FINETUNING,,1963,nvidia,2026-03-02 10:30:26 AM'],
    }),
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
    ...LAUNCHER_ENDS.killed,
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
    ...LAUNCHER_ENDS.host_oom,
    (draw) => [
      `slurmstepd: error: Detected 1 oom_kill event in StepId=${100_000 + draw(900_000)}.0. Some of the step tasks have been OOM Killed.`,
      'srun: error: node07: task 3: Out Of Memory',
    ],
    (draw) => [
      `[Tue Mar  2 11:07:41 2026] Out of memory: Killed process ${2000 + draw(900)} (python3) total-vm:812340000kB, anon-rss:798120000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0`,
    ],
  ],
  oom: [
    (draw) => ({ err: oomTraceback(draw), launcher: killed(draw) }),
    (draw) => ({ err: oomTraceback(draw), launcher: stepEnd(draw) }),
    (draw) => markedOom(draw, oomTraceback(draw)),
  ],
  failed: [
    ...LAUNCHER_ENDS.failed,
    (draw) => ({
      err: [
        'Traceback (most recent call last):',
        '  File "/opt/train/pretrain_gpt.py", line 181, in <module>',
        '    pretrain(train_valid_test_datasets_provider, model_provider)',
        `  File "/opt/megatron/core/models/gpt/gpt_model.py", line ${100 + draw(100)}, in forward`,
        '    hidden_states = self.decoder(hidden_states=decoder_input)',
        'RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x8192 and 4096x8192)',
      ],
      launcher: stepEnd(draw),
    }),
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

export function oomTraceback(draw: Draw): string[] {
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
