import { describe, expect, it } from 'vitest';
import { IncidentJoiner } from '../../parsers/log/join-incidents.js';
import { plainIncident } from '../../src/model/plain-incident.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { readIncidents } from '../support/join-incidents.js';

const FRAMES = [
  'Traceback (most recent call last):',
  '  File "/opt/run/pretrain.py", line 12, in <module>',
  '    main()',
  '  File "/opt/run/megatron/training/training.py", line 340, in train_step',
  '    forward_backward_func()',
];
const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of 79.10 GiB of which 611.50 MiB is free.';
const behind = (prefix: string, lines: readonly string[]): string[] => lines.map((line) => prefix + line);
const kinds = (text: string): string[] => readIncidents(text).incidents.map(({ kind, line }) => `${kind}@${line}`);
const read = (lines: readonly string[]): readonly IncidentRow[] => readIncidents(lines.join('\n')).incidents;

describe('one incident', () => {
  it('is a traceback and the memory message on its exception line', () => {
    const rows = read(behind('[rank2]: ', [...FRAMES, OOM]));
    expect(rows).toMatchObject([
      {
        kind: 'cuda_oom',
        rank: 2,
        line: 6,
        tracebackLine: 1,
        exception: 'torch.OutOfMemoryError',
        frame: { file: '/opt/run/megatron/training/training.py', line: 340, function: 'train_step' },
        bytes: { requested: { text: '1.50 GiB' } },
      },
    ]);
  });

  it('a traceback without a message becomes one, by its exception', () => {
    const rows = read([
      ...FRAMES,
      'ValueError: Currently there is no support for Pipeline parallelism with CPU offloading',
    ]);
    expect(rows).toMatchObject([
      { kind: 'config_error', exception: 'ValueError', line: 6, tracebackLine: 1, frame: { function: 'train_step' } },
    ]);
    expect(rows[0]!.text).toContain('no support for Pipeline parallelism');
    expect(read([...FRAMES, 'KeyError: 3'])).toMatchObject([
      { kind: 'other', exception: 'KeyError', tracebackLine: 1 },
    ]);
    expect(read([...FRAMES, 'KeyboardInterrupt'])).toMatchObject([{ kind: 'cancelled', line: 6, tracebackLine: 1 }]);
    expect(read([...FRAMES, 'MemoryError'])).toMatchObject([{ kind: 'host_oom', tracebackLine: 1 }]);
  });

  it('of a configuration that mentions memory is the configuration', () => {
    const text =
      'AssertionError: Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.';
    expect(read([...FRAMES, text])).toMatchObject([{ kind: 'config_error', tracebackLine: 1 }]);
    expect(read([text])).toMatchObject([{ kind: 'config_error' }]);
  });

  it('of words about memory in an exception stays words', () => {
    expect(read([...FRAMES, 'RuntimeError: the cache is out of memory slots'])).toMatchObject([
      { kind: 'negative_text', tracebackLine: 1 },
    ]);
  });

  it('is a message, whatever source lines of the traceback spell', () => {
    const lines = [
      ...FRAMES,
      '  File "/opt/run/x.py", line 9, in check',
      '    raise RuntimeError("CUDA out of memory.")',
    ];
    expect(read([...lines, OOM])).toMatchObject([{ kind: 'cuda_oom', line: 8, frame: { function: 'check' } }]);
    expect(read([...lines, 'KeyError: 3'])).toMatchObject([{ kind: 'other' }]);
  });

  it('is a chain of exceptions: the one whose cause is known', () => {
    const chain = [
      ...FRAMES,
      OOM,
      '',
      'During handling of the above exception, another exception occurred:',
      '',
      ...FRAMES,
      'RuntimeError: Attempted to exit without saving',
    ];
    expect(read(behind('[rank1]: ', chain))).toMatchObject([{ kind: 'cuda_oom', line: 6, tracebackLine: 1, rank: 1 }]);
    const wrapped = [
      ...FRAMES,
      'KeyError: 3',
      '',
      'The above exception was the direct cause of the following exception:',
      '',
      ...FRAMES,
      'TypeError: no such key',
    ];
    expect(read(wrapped)).toMatchObject([{ kind: 'other', exception: 'TypeError' }]);
  });

  it('per rank is one, however their lines interleave', () => {
    const ranks = [0, 1, 2, 3];
    const lines = [...FRAMES, OOM].flatMap((line) => ranks.map((rank) => `[rank${rank}]: ${line}`));
    const rows = read(lines);
    expect(rows.map(({ rank, kind, tracebackLine }) => [rank, kind, tracebackLine])).toEqual(
      ranks.map((rank) => [rank, 'cuda_oom', rank + 1]),
    );
    // A traceback printed twice is two places.
    expect(kinds([...FRAMES, OOM, '', ...FRAMES, OOM].join('\n'))).toEqual(['cuda_oom@6', 'cuda_oom@13']);
  });

  it('is a watchdog in all its lines, one per rank', () => {
    const of = (rank: number): string[] => [
      `[rank${rank}]:[E1121 02:00:23.123456789 ProcessGroupNCCL.cpp:629] [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.`,
      `[rank${rank}]:[E1121 02:00:23.223456789 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank ${rank}]  failure detected by watchdog at work sequence id: 12 PG status: last enqueued work: 14, last completed work: 11`,
      `[rank${rank}]:[E1121 02:00:23.323456789 ProcessGroupNCCL.cpp:681] [Rank ${rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.`,
      `[rank${rank}]:[E1121 02:00:23.423456789 ProcessGroupNCCL.cpp:695] [Rank ${rank}] To avoid data inconsistency, we are taking the entire process down.`,
      `[rank${rank}]:terminate called after throwing an instance of 'c10::DistBackendError'`,
      `[rank${rank}]:  what():  [PG ID 0 PG GUID 0(default_pg) Rank ${rank}] Process group watchdog thread terminated with exception: [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.`,
    ];
    const [a, b] = [of(3), of(4)];
    const rows = read(a.flatMap((line, i) => [line, b[i]!]));
    expect(rows).toMatchObject([
      { kind: 'timeout', rank: 3, line: 1, lastLine: 11 },
      { kind: 'timeout', rank: 4, line: 2, lastLine: 12 },
    ]);
    const many = a
      .slice(0, 3)
      .flatMap((line) =>
        Array.from({ length: 600 }, (_, rank) =>
          line.replaceAll('ank3', `ank${rank}`).replaceAll('ank 3', `ank ${rank}`),
        ),
      );
    expect(read(many).map(({ rank }) => rank)).toEqual(Array.from({ length: 600 }, (_, rank) => rank));
  });

  it('is what NCCL warns of and torch raises, with the cause it names', () => {
    const rows = read([
      "node7:1201:1388 [5] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'",
      'node7:1201:1388 [5] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 4194304 bytes',
      ...behind('[rank5]: ', [
        ...FRAMES,
        'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled cuda error, NCCL version 2.27.3',
        'ncclUnhandledCudaError: Call to CUDA function failed.',
      ]),
    ]);
    expect(rows).toMatchObject([
      {
        kind: 'nccl_oom',
        rank: 5,
        device: 5,
        pid: 1201,
        tracebackLine: 3,
        exception: 'torch.distributed.DistBackendError',
      },
    ]);
  });

  it('is a launcher ending its processes, whichever they are', () => {
    const lines = Array.from({ length: 40 }, (_, i) => `Killing subprocess ${4000 + i}`);
    const result = readIncidents(
      [
        'srun: Job step aborted: Waiting up to 62 seconds for job step to finish.',
        ...lines,
        'Main process received SIGTERM, exiting',
      ].join('\n'),
    );
    expect(result.incidents).toMatchObject([{ kind: 'cancelled', line: 42, lastLine: 42 }]);
    expect(result.rows.filter((row) => row.row === 'value' && row.name === 'launcher.killed_subprocess').length).toBe(
      40,
    );
  });

  it('is a line that several formats know', () => {
    expect(
      read(['slurmstepd: error: *** JOB 77 ON node3 CANCELLED AT 2025-02-03T04:05:06 DUE TO TIME LIMIT ***']),
    ).toMatchObject([{ kind: 'time_limit', host: 'node3' }]);
    expect(
      read([
        'RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.9.8.7]:28123',
      ]),
    ).toMatchObject([{ kind: 'connection_lost', exception: 'RuntimeError' }]);
    expect(
      read(['[rank6]: AssertionError: Rank 6: found NaN in local forward loss calculation. Device: 6, node: node4']),
    ).toHaveLength(1);
  });
});

describe('footers', () => {
  const FOOTER = [
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    '============================================================',
    'pretrain.py FAILED',
    '------------------------------------------------------------',
    'Failures:',
    '[1]:',
    '  time      : 2025-05-06_07:08:10',
    '  host      : node4',
    '  rank      : 5 (local_rank: 5)',
    '  exitcode  : 1 (pid: 4713)',
    '  error_file: <N/A>',
    '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
    '------------------------------------------------------------',
    'Root Cause (first observed failure):',
    '[0]:',
    '  time      : 2025-05-06_07:08:09',
    '  host      : node4',
    '  rank      : 0 (local_rank: 0)',
    '  exitcode  : -6 (pid: 4709)',
    '  error_file: <N/A>',
    '  traceback : Signal 6 (SIGABRT) received by PID 4709',
    '============================================================',
  ];

  it('are rows of their own and change none', () => {
    const rows = read([...behind('[rank5]: ', [...FRAMES, OOM]), '', ...FRAMES, ...FOOTER]);
    expect(rows).toMatchObject([
      { kind: 'cuda_oom', rank: 5, exitCode: null, host: null },
      { kind: 'other', grammar: 'torchrun.footer', rank: 5, exitCode: 1, host: 'node4', pid: 4713, localRank: 5 },
      {
        kind: 'other',
        grammar: 'torchrun.footer',
        rank: 0,
        exitCode: -6,
        timeUs: Date.UTC(2025, 4, 6, 7, 8, 9) * 1000,
        text: 'root cause (torchrun): rank 0 (local_rank 0) exitcode -6 (pid 4709): Signal 6 (SIGABRT) received by PID 4709',
      },
    ]);
  });

  it('of Slurm contain host and exit code', () => {
    expect(read(['srun: error: node12: tasks 0-7: Exited with exit code 143'])).toMatchObject([
      { kind: 'other', host: 'node12', exitCode: 143, grammar: 'slurm.task_end' },
    ]);
  });

  it('of a launcher that starts again begin an attempt', () => {
    const { attempts, incidents } = readIncidents(
      [
        '  restart_count=0',
        '[rank0]: KeyError: 1',
        '  restart_count=1',
        'ERROR:__main__:Starting attempt 2 of 4 for x',
      ].join('\n'),
    );
    expect(attempts).toHaveLength(1);
    expect(incidents).toMatchObject([{ kind: 'other', exception: 'KeyError' }]);
  });
});

describe('the joiner', () => {
  const row = (line: number, more: Partial<IncidentRow> = {}): IncidentRow => ({
    ...plainIncident({ kind: 'cuda_oom', grammar: 'torch.cuda_oom', text: 'x'.repeat(2000), line, offset: line * 100 }),
    ...more,
  });

  it('loses and repeats nothing, whatever the order, and holds a bounded number', () => {
    const out: number[] = [];
    let most = 0;
    let fed = 0;
    const joiner = new IncidentJoiner(({ line }) => out.push(line));
    for (let i = 0; i < 120_000; i += 1) {
      // Windows of messages close late: neighbours arrive out of order.
      joiner.message(row((i ^ 7) + 1));
      fed += 1;
      most = Math.max(most, fed - out.length);
    }
    joiner.end();
    expect(most).toBeLessThan(40_000);
    expect(out.length).toBe(120_000);
    expect(new Set(out).size).toBe(120_000);
  });
});
