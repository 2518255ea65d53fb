/**
 * What torch's elastic launcher prints. Upstream: torch `distributed/run.py`, `distributed/elastic/multiprocessing/`.
 */
import type { SimulatedRank, TorchRelease } from '../run.js';
import type { LogBook } from './log-book.js';
import { clock, microseconds } from './python-text.js';
import type { RunFacts } from './run-facts.js';

interface AgentLine {
  readonly index: number;
  readonly node: number;
  readonly timeUs: number;
  readonly level: 'W' | 'E' | 'I';
  readonly module: 'run' | 'closing' | 'failed' | 'agent';
  readonly text: string;
}

/** The file of the logging call, below torch/distributed. */
const MODULES: Readonly<Record<AgentLine['module'], string>> = {
  run: 'run.py',
  closing: 'elastic/multiprocessing/api.py',
  failed: 'elastic/multiprocessing/api.py',
  agent: 'elastic/agent/server/api.py',
};

/** Where the logging call is in each release; for releases not seen, the last one known. */
const LINE_NUMBERS: Readonly<Record<Exclude<TorchRelease, '2.0'>, Readonly<Record<AgentLine['module'], number>>>> = {
  '2.3': { run: 757, closing: 851, failed: 826, agent: 741 },
  '2.6': { run: 792, closing: 897, failed: 869, agent: 719 },
  '2.8': { run: 774, closing: 900, failed: 874, agent: 719 },
  '2.12': { run: 774, closing: 900, failed: 874, agent: 719 },
};

const LEVELS: Readonly<Record<AgentLine['level'], string>> = { W: 'WARNING', E: 'ERROR', I: 'INFO' };

/**
 * `W1118 09:12:04.318000 1204 torch/distributed/run.py:774] <text>`; up to 2.0 `WARNING:torch.distributed.run:<text>`,
 * without a time.
 */
export function agentLine(facts: RunFacts, { index, node, timeUs, level, module, text }: AgentLine): string {
  const { torch } = facts.plan;
  if (torch === '2.0') {
    return `${LEVELS[level]}:torch.distributed.${MODULES[module].replace(/\.py$/, '').replaceAll('/', '.')}:${text}`;
  }
  const stamp = `${clock(timeUs).slice(5, 10).replace('-', '')} ${clock(timeUs).slice(11)}.${microseconds(timeUs).slice(0, 3)}000`;
  const pid = facts.launcherPid(index, node);
  // 2.3 prints the thread's id instead of the process's, 2.6 the path from site-packages on.
  const writer = torch === '2.3' ? 139_600_000_000_000 + pid * 4096 : pid;
  const root = torch === '2.6' ? 'site-packages/torch' : 'torch';
  return `${level}${stamp} ${writer} ${root}/distributed/${MODULES[module]}:${LINE_NUMBERS[torch][module]}] ${text}`;
}

/** As the launcher saw a rank end. */
export function exitCode({ ending }: SimulatedRank): number {
  if (ending.kind === 'signalled') return { SIGKILL: -9, SIGABRT: -6, SIGSEGV: -11 }[ending.signal];
  return ending.kind === 'oom' || ending.kind === 'raised' ? 1 : 0;
}

const RULE_WIDTH = 60;

/**
 * The launcher of one node finds workers dead, stops the others and gives up. `failed`: in the order of their ends,
 * never empty.
 */
export function nodeFailureLines(
  book: LogBook,
  facts: RunFacts,
  index: number,
  node: number,
  failed: readonly SimulatedRank[],
  alive: readonly SimulatedRank[],
  foundUs: number,
): void {
  const random = facts.random(`root cause ${index} ${node}`);
  // The launcher polls its workers: of those that ended between two polls any may be called the first.
  const root = random() < 0.75 ? failed[0]! : failed[Math.floor(random() * failed.length)]!;
  const print = (timeUs: number, text: string): void => book.system(timeUs, node, text);
  for (const { rank } of alive) {
    const text = `Sending process ${facts.pid(index, rank)} closing signal SIGTERM`;
    print(foundUs, agentLine(facts, { index, node, timeUs: foundUs, level: 'W', module: 'closing', text }));
  }
  const reportUs = foundUs + 1_700_000;
  const pid = facts.pid(index, root.rank);
  const text = `failed (exitcode: ${exitCode(root)}) local_rank: ${root.device} (pid: ${pid}) of binary: ${facts.python}`;
  print(reportUs, agentLine(facts, { index, node, timeUs: reportUs, level: 'E', module: 'failed', text }));
  const entry = (rank: SimulatedRank, number: number): string[] => failureEntry(facts, index, rank, number, foundUs);
  const others = failed.filter((rank) => rank !== root).sort((a, b) => a.device - b.device);
  const lines = [
    ...launcherTraceback(facts),
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    '='.repeat(RULE_WIDTH),
    `${facts.scriptPath} FAILED`,
    '-'.repeat(RULE_WIDTH),
    'Failures:',
    ...(others.length === 0 ? ['  <NO_OTHER_FAILURES>'] : others.flatMap((rank, i) => entry(rank, i + 1))),
    '-'.repeat(RULE_WIDTH),
    'Root Cause (first observed failure):',
    ...entry(root, 0),
    '='.repeat(RULE_WIDTH),
  ];
  print(reportUs + 4_000, lines.join('\n'));
}

/** A launcher whose workers are healthy when Slurm ends the step. */
export function nodeStopLines(
  book: LogBook,
  facts: RunFacts,
  index: number,
  node: number,
  alive: readonly SimulatedRank[],
  stopUs: number,
): void {
  const line = (module: AgentLine['module'], text: string): void =>
    book.system(stopUs, node, agentLine(facts, { index, node, timeUs: stopUs, level: 'W', module, text }));
  line('agent', 'Received 15 death signal, shutting down workers');
  for (const { rank } of alive) {
    line('closing', `Sending process ${facts.pid(index, rank)} closing signal SIGTERM`);
  }
}

function failureEntry(facts: RunFacts, index: number, rank: SimulatedRank, number: number, foundUs: number): string[] {
  const pid = facts.pid(index, rank.rank);
  const { ending } = rank;
  return [
    `[${number}]:`,
    `  time      : ${clock(foundUs).replace(' ', '_')}`,
    `  host      : ${facts.host(rank.node)}`,
    `  rank      : ${rank.rank} (local_rank: ${rank.device})`,
    `  exitcode  : ${exitCode(rank)} (pid: ${pid})`,
    '  error_file: <N/A>',
    ending.kind === 'signalled'
      ? `  traceback : Signal ${-exitCode(rank)} (${ending.signal}) received by PID ${pid}`
      : '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
  ];
}

/** Lines of the frames of {@link launcherTraceback}: 2.0's, and one of the later releases' for all of them. */
const OLD_FRAMES = { script: 33, wrapper: 346, main: 794, run: 785, call: 134, launch: 250 } as const;
const NEW_FRAMES = { script: 10, wrapper: 357, main: 901, run: 892, call: 143, launch: 277 } as const;

function launcherTraceback(facts: RunFacts): string[] {
  const isOld = facts.plan.torch === '2.0';
  const line = isOld ? OLD_FRAMES : NEW_FRAMES;
  const bin = facts.python.slice(0, facts.python.lastIndexOf('/'));
  const torch = `${bin.slice(0, bin.lastIndexOf('/'))}/lib/python3.12/site-packages/torch/distributed`;
  const start = isOld
    ? "sys.exit(load_entry_point('torch==2.1.0a0+fe05266', 'console_scripts', 'torchrun')())"
    : 'sys.exit(main())';
  const frame = (file: string, line: number, name: string, source: string): string[] => [
    `  File "${file}", line ${line}, in ${name}`,
    `    ${source}`,
  ];
  return [
    'Traceback (most recent call last):',
    ...frame(`${bin}/torchrun`, line.script, '<module>', start),
    ...frame(
      `${torch}/elastic/multiprocessing/errors/__init__.py`,
      line.wrapper,
      'wrapper',
      'return f(*args, **kwargs)',
    ),
    ...frame(`${torch}/run.py`, line.main, 'main', 'run(args)'),
    ...frame(`${torch}/run.py`, line.run, 'run', 'elastic_launch('),
    ...frame(
      `${torch}/launcher/api.py`,
      line.call,
      '__call__',
      'return launch_agent(self._config, self._entrypoint, list(args))',
    ),
    ...frame(`${torch}/launcher/api.py`, line.launch, 'launch_agent', 'raise ChildFailedError('),
  ];
}
