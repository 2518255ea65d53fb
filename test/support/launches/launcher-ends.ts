/**
 * Ends of launches that only a launcher reports: torchrun's table, lines of Slurm, Ray, MPI and DeepSpeed. Which rank
 * and host failed first follows from the numbers that were put into them.
 */
import type { Draw, EndingOf, FirstFailing, LaunchEndLines } from './end-lines.js';

const RANKS_OF_A_NODE = 8;

interface Failing {
  readonly rank: number;
  readonly local: number;
  readonly node: number;
  readonly host: string;
  readonly pid: number;
}

function drawFailing(draw: Draw): Failing {
  const node = draw(4);
  const local = draw(RANKS_OF_A_NODE);
  const prefix = ['node', 'gpu-a-', 'r6i4n', 'nid00'][draw(4)]!;
  return { rank: node * RANKS_OF_A_NODE + local, local, node, host: `${prefix}${12 + node}`, pid: 20_000 + draw(9000) };
}

const first = ({ rank, host }: Failing): FirstFailing => ({ rank, host });
const otherLocals = ({ local }: Failing): number[] =>
  Array.from({ length: RANKS_OF_A_NODE }, (_, i) => i).filter((i) => i !== local);

/** Prefixes of torchrun's own lines by version: up to 2.0, 2.1 and 2.2, from 2.3 on. */
const LOGGERS = [
  (level: string, text: string) => `${level}:torch.distributed.elastic.multiprocessing.api:${text}`,
  (level: string, text: string) =>
    `[2026-03-02 11:07:41,544] torch.distributed.elastic.multiprocessing.api: [${level}] ${text}`,
  (level: string, text: string) =>
    `${level[0]}0302 11:07:41.544000 140231 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] ${text}`,
] as const;

const NO_ERROR = 'To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html';

function entry(
  index: number,
  failing: Failing,
  local: number,
  code: number,
  message: string,
  isOld: boolean,
): string[] {
  const rank = failing.node * RANKS_OF_A_NODE + local;
  const pid = failing.pid + local - failing.local;
  if (isOld)
    return [
      `[${index}]:`,
      '  time: 2026-03-02_11:07:41',
      `  host: ${failing.host}`,
      `  rank: ${rank} (local_rank: ${local})`,
      `  exitcode: ${code} (pid: ${pid})`,
      '  error_file: <N/A>',
      `  msg: "${message}"`,
    ];
  return [
    `[${index}]:`,
    '  time      : 2026-03-02_11:07:41',
    `  host      : ${failing.host}`,
    `  rank      : ${rank} (local_rank: ${local})`,
    `  exitcode  : ${code} (pid: ${pid})`,
    '  error_file: <N/A>',
    `  traceback : ${message}`,
  ];
}

/** torchrun's lines about its workers, then its table; the ranks it ended are in it, or not. */
export function torchrunTable(draw: Draw, failing: Failing, code: number): string[] {
  const log = LOGGERS[draw(LOGGERS.length)]!;
  const isOld = draw(5) === 0;
  const listed = draw(2) === 0 ? [] : otherLocals(failing).slice(0, 1 + draw(7));
  const message = code === -9 ? `Signal 9 (SIGKILL) received by PID ${failing.pid}` : NO_ERROR;
  const lines = otherLocals(failing).map((local) =>
    log('WARNING', `Sending process ${failing.pid + local - failing.local} closing signal SIGTERM`),
  );
  lines.push(
    log(
      'ERROR',
      `failed (exitcode: ${code}) local_rank: ${failing.local} (pid: ${failing.pid}) of binary: /opt/venv/bin/python3`,
    ),
    'Traceback (most recent call last):',
    '  File "/opt/venv/bin/torchrun", line 8, in <module>',
    '    sys.exit(main())',
    '  File "/opt/venv/lib/python3.10/site-packages/torch/distributed/launcher/api.py", line 269, in launch_agent',
    '    raise ChildFailedError(',
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
  );
  const entries = listed.flatMap((local, i) =>
    entry(
      i + 1,
      failing,
      local,
      -15,
      `Signal 15 (SIGTERM) received by PID ${failing.pid + local - failing.local}`,
      isOld,
    ),
  );
  const root = entry(0, failing, failing.local, code, message, isOld);
  const none = ['  <NO_OTHER_FAILURES>'];
  if (isOld)
    return [
      ...lines,
      '*'.repeat(50),
      '            pretrain_gpt.py FAILED            ',
      '='.repeat(50),
      'Root Cause:',
      ...root,
      '='.repeat(50),
      'Other Failures:',
      ...(entries.length > 0 ? entries : none),
      '*'.repeat(50),
    ];
  return [
    ...lines,
    '='.repeat(60),
    'pretrain_gpt.py FAILED',
    '-'.repeat(60),
    'Failures:',
    ...(entries.length > 0 ? entries : none),
    '-'.repeat(60),
    'Root Cause (first observed failure):',
    ...root,
    '='.repeat(60),
  ];
}

/** A line about memory of a rank that did not fail. */
const memoryOfAnother = ({ rank }: Failing): string =>
  `[Rank ${rank === 0 ? 1 : 0}] (after 12 iterations) memory (MB) | allocated: 41210.44 | max allocated: 70233.2 | reserved: 71802.0 | max reserved: 71802.0`;

const byTable =
  (code: number): EndingOf =>
  (draw) => {
    const failing = drawFailing(draw);
    return {
      out: draw(2) === 0 ? [memoryOfAnother(failing)] : [],
      launcher: torchrunTable(draw, failing, code),
      first: first(failing),
    };
  };

/** `srun` with a task for each rank. */
function bySrun(draw: Draw, what: string): LaunchEndLines {
  const failing = drawFailing(draw);
  const job = 100_000 + draw(900_000);
  return {
    launcher: [
      `srun: error: ${failing.host}: task ${failing.rank}: ${what}`,
      `srun: Terminating StepId=${job}.0`,
      `slurmstepd: error: *** STEP ${job}.0 ON ${failing.host} CANCELLED AT 2026-03-02T11:07:44 ***`,
      `srun: error: ${failing.host}a: tasks 40-47: Terminated`,
      `srun: Force Terminated StepId=${job}.0`,
    ],
    first: { ...first(failing), isTask: true },
  };
}

function byOomKill(draw: Draw): LaunchEndLines {
  const failing = drawFailing(draw);
  const job = 100_000 + draw(900_000);
  const events = [
    `slurmstepd: error: Detected 1 oom_kill event in StepId=${job}.0. Some of the step tasks have been OOM Killed.`,
    `slurmstepd: error: Detected 1 oom-kill event(s) in StepId=${job}.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.`,
  ];
  const event = events[draw(events.length)]!;
  const task = `srun: error: ${failing.host}: task ${failing.rank}: Out Of Memory`;
  return {
    launcher: [
      ...(draw(2) === 0 ? [event, task] : [task, event]),
      `srun: Terminating StepId=${job}.0`,
      `slurmstepd: error: *** STEP ${job}.0 ON ${failing.host} CANCELLED AT 2026-03-02T11:07:44 ***`,
    ],
    first: { ...first(failing), isTask: true },
  };
}

/** DeepSpeed's launcher prints the command of the process that it started last, whichever failed. */
function byDeepSpeed(draw: Draw, code: number): LaunchEndLines {
  const { pid } = drawFailing(draw);
  const at = '[2026-03-02 11:07:41,544]';
  return {
    launcher: [
      ...Array.from(
        { length: 4 },
        (_, i) => `${at} [INFO] [launch.py:315:sigkill_handler] Killing subprocess ${pid + i}`,
      ),
      `${at} [ERROR] [launch.py:321:sigkill_handler] ['/opt/venv/bin/python', '-u', 'train.py', '--local_rank=7', '--deepspeed'] exits with return code = ${code}`,
    ],
    first: { rank: null, host: null },
  };
}

function byRay(draw: Draw): LaunchEndLines {
  const ip = `10.44.${draw(200)}.${1 + draw(200)}`;
  const pid = 20_000 + draw(9000);
  return {
    launcher: [
      'Traceback (most recent call last):',
      '  File "/opt/venv/lib/python3.10/site-packages/ray/_private/worker.py", line 931, in get_objects',
      '    raise value',
      'ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.',
      '\tclass_name: WorkerDict',
      '\tactor_id: 8d1498767d305748d59d87da01000000',
      `\tpid: ${pid}`,
      '\tnamespace: 1109301e-e25e-4e12-9ae4-1dd5fc7468e4',
      `\tip: ${ip}`,
      'The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.',
    ],
    first: { rank: null, host: ip },
  };
}

function byRaylet(draw: Draw): LaunchEndLines {
  const ip = `10.44.${draw(200)}.${1 + draw(200)}`;
  const worker = (10_000 + draw(50_000)).toString();
  return {
    launcher: [
      `(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: ffffffffffffffff3fe85624f7ebc8f28d076a07 Worker ID: fead2dfe78eeee17dd8922f0569f798cf51660782f4222a9 Node ID: 201f2cc4bc593d830338a3ed774649489389d869 Worker IP address: ${ip} Worker port: 10046 Worker PID: ${worker} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.`,
    ],
    first: { rank: null, host: ip },
  };
}

function byMpiExit(draw: Draw): LaunchEndLines {
  const { rank } = drawFailing(draw);
  return {
    launcher: [
      '-'.repeat(74),
      'mpirun detected that one or more processes exited with non-zero status, thus causing',
      'the job to be terminated. The first process to do so was:',
      '',
      `  Process name: [[${1000 + draw(60_000)},1],${rank}]`,
      '  Exit code:    1',
      '-'.repeat(74),
    ],
    first: { rank, host: null },
  };
}

function byMpiSignal(draw: Draw): LaunchEndLines {
  const failing = drawFailing(draw);
  return {
    launcher: [
      '-'.repeat(74),
      `mpirun noticed that process rank ${failing.rank} with PID ${failing.pid} on node ${failing.host} exited on signal 9 (Killed).`,
      '-'.repeat(74),
    ],
    first: first(failing),
  };
}

/** The failing rank's own message, lines of ranks that waited for it, and a table that names one of those. */
export function markedOom(draw: Draw, traceback: readonly string[]): LaunchEndLines {
  const failing = drawFailing(draw);
  const victim: Failing = {
    ...failing,
    local: (failing.local + 1) % RANKS_OF_A_NODE,
    rank: failing.node * RANKS_OF_A_NODE + ((failing.local + 1) % RANKS_OF_A_NODE),
  };
  const watchdog = `[rank${victim.rank}]:[E302 11:17:41.514 ProcessGroupNCCL.cpp:629] [Rank ${victim.rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1471, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600030 milliseconds before timing out.`;
  return {
    out: draw(2) === 0 ? [memoryOfAnother(failing)] : [],
    err: [...traceback.map((line) => `[rank${failing.rank}]: ${line}`), ...(draw(2) === 0 ? [watchdog] : [])],
    launcher: torchrunTable(draw, draw(3) === 0 ? victim : failing, 1),
    first: { rank: failing.rank, host: null },
  };
}

export const LAUNCHER_ENDS: Readonly<Record<'failed' | 'killed' | 'host_oom', readonly EndingOf[]>> = {
  failed: [
    byTable(1),
    byTable(1),
    (draw) => bySrun(draw, 'Exited with exit code 1'),
    (draw) => byDeepSpeed(draw, 1),
    byRay,
    byRaylet,
    byMpiExit,
  ],
  killed: [byTable(-9), (draw) => bySrun(draw, 'Killed'), (draw) => byDeepSpeed(draw, -9), byMpiSignal],
  host_oom: [byOomKill, byOomKill],
};
