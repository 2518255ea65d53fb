/** How an attempt ends in the log: tracebacks of the ranks, the launcher's summary, Slurm's last words. */

import type { Attempt, RankEnding, SimulatedRank, TorchRelease } from '../run.js';
import type { LogBook } from './log-book.js';
import { type OomWording, oomMessage } from './oom-message.js';
import { clock, microseconds } from './python-text.js';
import { jobOf, type RunFacts } from './run-facts.js';
import { snapshotPath } from './snapshot-names.js';
import { exitCode, nodeFailureLines, nodeStopLines } from './torchrun-lines.js';

/** The exception's class moved in 2.4. Other processes are named from 2.1 on. */
const OOM_FORMS: Readonly<Record<TorchRelease, { readonly exception: string; readonly wording: OomWording }>> = {
  '2.0': { exception: 'torch.cuda.OutOfMemoryError', wording: '1.10' },
  '2.3': { exception: 'torch.cuda.OutOfMemoryError', wording: '2.2' },
  '2.6': { exception: 'torch.OutOfMemoryError', wording: '2.5' },
  '2.8': { exception: 'torch.OutOfMemoryError', wording: '2.5' },
  '2.12': { exception: 'torch.OutOfMemoryError', wording: '2.11' },
};

/** A launcher polls its workers this often. */
const POLL_US = 2_400_000;
/**
 * Writes of one traceback follow each other this closely, so that ranks failing together interleave, as they do in
 * life.
 */
const WRITE_US = 35;
/** A dump takes a while; the traceback comes after it. */
const DUMP_US = 90_000;

export function failed({ ending }: SimulatedRank): boolean {
  return ending.kind === 'oom' || ending.kind === 'raised' || ending.kind === 'signalled';
}

/** The message of an OOM in the wording of the run's torch. */
function oomText(
  facts: RunFacts,
  index: number,
  rank: SimulatedRank,
  ending: Extract<RankEnding, { kind: 'oom' }>,
): string {
  const { exception, wording } = OOM_FORMS[facts.plan.torch];
  const { otherProcesses, report } = ending;
  const options = {
    wording,
    otherProcesses,
    ...(facts.ownPidHidden ? { listedAsPid: hostPid(facts, index, rank) } : {}),
  };
  return `${exception}: ${oomMessage(report, rank.device, options)}`;
}

/** The number the host knows a container's process by. */
function hostPid(facts: RunFacts, index: number, { rank }: SimulatedRank): number {
  return 1_048_576 + (facts.pid(index, rank) % 900_000);
}

export function failureLines(book: LogBook, facts: RunFacts, index: number): void {
  const attempt = facts.run.attempts[index]!;
  for (const rank of attempt.ranks) rankLines(book, facts, index, rank);
  for (const { timeUs, rank, node = 0, text } of attempt.storyLines) {
    const filled = fillIn(facts, index, text, { rank, node });
    if (rank === null) book.system(timeUs, node, filled);
    else book.print(timeUs, rank, filled);
  }
  const dead = attempt.ranks.filter(failed).sort((a, b) => a.endUs - b.endUs);
  if (dead.length > 0) launcherEnd(book, facts, index, attempt, dead);
}

function rankLines(book: LogBook, facts: RunFacts, index: number, rank: SimulatedRank): void {
  const { ending } = rank;
  if (ending.kind !== 'oom' && ending.kind !== 'raised') return;
  let timeUs = rank.endUs;
  const dump = facts.run.snapshots.find(
    (snapshot) => snapshot.attempt === index && snapshot.rank === rank.rank && snapshot.trigger === 'oom',
  );
  if (dump !== undefined) {
    book.print(timeUs, rank.rank, dumpText(facts, rank.rank));
    timeUs += DUMP_US;
  }
  const text =
    ending.kind === 'oom' ? oomText(facts, index, rank, ending) : fillIn(facts, index, ending.exception, rank);
  const lines = [
    'Traceback (most recent call last):',
    ...ending.path
      .toReversed()
      .flatMap((line) => [`  File "${line.filename}", line ${line.line}, in ${line.name}`, `    ${line.source}`]),
    ...text.split('\n'),
  ];
  // torch puts the rank before the lines of a traceback since 2.3.
  const prefix = facts.plan.torch === '2.0' ? '' : `[rank${rank.rank}]: `;
  for (const [i, line] of lines.entries()) {
    const pieceUs = timeUs + Math.floor(i / facts.linesPerWrite) * WRITE_US;
    book.print(pieceUs, rank.rank, `${prefix}${line}`);
  }
  if (facts.plan.torch !== '2.0' && facts.plan.torch !== '2.3') {
    const lateUs = timeUs + 800_000;
    const stamp = `${clock(lateUs).slice(5, 10).replace('-', '')} ${clock(lateUs).slice(11)}.${microseconds(lateUs)}417`;
    book.print(
      lateUs,
      rank.rank,
      `[rank${rank.rank}]:[W${stamp} ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not called before ` +
        'program exit, which can leak resources. For more info, please see ' +
        'https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())',
    );
  }
}

/** Puts in what only the writer knows: `{host}`, `{job}`, `{pid}` of the speaker and `{pid:3}` of another rank. */
function fillIn(
  facts: RunFacts,
  index: number,
  text: string,
  speaker: { readonly rank: number | null; readonly node: number },
): string {
  const nodeOf = (rank: number): number | undefined =>
    facts.run.attempts[index]!.ranks.find((candidate) => candidate.rank === rank)?.node;
  return text.replaceAll(/\{(host|job|pid)(?::(\d+))?\}/g, (_, what: string, other: string | undefined) => {
    const rank = other === undefined ? speaker.rank : Number(other);
    const node = rank === null ? speaker.node : (nodeOf(rank) ?? speaker.node);
    if (what === 'host') return facts.host(node);
    if (what === 'job') return String(jobOf(facts, index));
    return String(rank === null ? facts.launcherPid(index, node) : facts.pid(index, rank));
  });
}

/** What the observer of a framework prints when it has written its file. */
function dumpText(facts: RunFacts, rank: number): string {
  if (facts.plan.framework === 'megatron-lm') return 'saving allocated state during OOM';
  const path = snapshotPath(facts, { rank, trigger: 'oom' });
  return `INFO:megatron.bridge.training.utils.train_utils:[OOM] rank ${rank} saved memory snapshot to ${path}`;
}

/** When the launcher sees dead ranks, in the order of their ends, and stops the others. */
export function launcherFoundUs({ endUs }: Attempt, dead: readonly SimulatedRank[]): number {
  return Math.max(endUs, (dead.at(-1)?.endUs ?? endUs) + POLL_US);
}

function launcherEnd(
  book: LogBook,
  facts: RunFacts,
  index: number,
  attempt: Attempt,
  dead: readonly SimulatedRank[],
): void {
  const told = attempt.storyLines.map(({ text }) => text).join('\n');
  const foundUs = launcherFoundUs(attempt, dead);
  let endUs = foundUs + 1_000_000;
  if (facts.launcher === 'torchrun' && !told.includes('ChildFailedError')) {
    for (let node = 0; node < facts.nodes; node += 1) {
      const here = attempt.ranks.filter((rank) => rank.node === node);
      const failedHere = dead.filter((rank) => rank.node === node);
      const alive = here.filter((rank) => !failed(rank));
      if (failedHere.length > 0) nodeFailureLines(book, facts, index, node, failedHere, alive, foundUs);
      else nodeStopLines(book, facts, index, node, alive, foundUs + 2_600_000);
    }
    endUs = foundUs + 2_500_000;
  }
  if (!told.includes('srun: error')) slurmLines(book, facts, index, attempt, dead, endUs);
}

const SIGNAL_WORDS = {
  SIGKILL: 'Killed',
  SIGABRT: 'Aborted (core dumped)',
  SIGSEGV: 'Segmentation fault (core dumped)',
};

/** srun reports its tasks: a launcher per node, or the ranks themselves. */
function slurmLines(
  book: LogBook,
  facts: RunFacts,
  index: number,
  attempt: Attempt,
  dead: readonly SimulatedRank[],
  endUs: number,
): void {
  const job = jobOf(facts, index);
  const task = (rank: SimulatedRank): number => (facts.launcher === 'srun' ? rank.rank : rank.node);
  const fate = (rank: SimulatedRank): string =>
    facts.launcher === 'srun' && rank.ending.kind === 'signalled'
      ? SIGNAL_WORDS[rank.ending.signal]
      : `Exited with exit code ${Math.abs(facts.launcher === 'srun' ? exitCode(rank) : 1)}`;
  const gone = new Set(dead.map(task));
  report(book, facts, dead, task, fate, endUs);
  const rest = attempt.ranks.filter((rank) => !gone.has(task(rank)));
  if (rest.length === 0) return;
  const at = clock(endUs + 60_000).replace(' ', 'T');
  book.system(endUs + 40_000, 0, `srun: Terminating StepId=${job}.0`);
  book.system(endUs + 60_000, 0, `slurmstepd: error: *** STEP ${job}.0 ON ${facts.host(0)} CANCELLED AT ${at} ***`);
  report(book, facts, rest, task, () => 'Terminated', endUs + 900_000);
}

/** `srun: error: host: tasks 0-1,3: Terminated`, one line a host and fate. */
function report(
  book: LogBook,
  facts: RunFacts,
  ranks: readonly SimulatedRank[],
  task: (rank: SimulatedRank) => number,
  fate: (rank: SimulatedRank) => string,
  timeUs: number,
): void {
  const groups = new Map<string, { readonly node: number; readonly tasks: Set<number>; readonly word: string }>();
  for (const rank of ranks) {
    const word = fate(rank);
    const key = `${rank.node}:${word}`;
    const group = groups.get(key) ?? { node: rank.node, tasks: new Set<number>(), word };
    group.tasks.add(task(rank));
    groups.set(key, group);
  }
  for (const { node, tasks, word } of groups.values()) {
    const noun = tasks.size === 1 ? 'task' : 'tasks';
    book.system(timeUs, node, `srun: error: ${facts.host(node)}: ${noun} ${ranges([...tasks])}: ${word}`);
  }
}

/** `0-2,5`. */
function ranges(numbers: readonly number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; i += 1) {
    const from = sorted[i]!;
    while (sorted[i + 1] === sorted[i]! + 1) i += 1;
    parts.push(sorted[i] === from ? String(from) : `${from}-${sorted[i]}`);
  }
  return parts.join(',');
}
