/** How the lines of a run's attempts become files: prefixes, one file or one a node, one file or one an attempt. */
import type { Attempt } from '../run.js';
import { bridgeLog } from './bridge-log.js';
import type { LogLine } from './log-book.js';
import { megatronLmLog } from './megatron-lm-log.js';
import { clock } from './python-text.js';
import { jobOf, type RunFacts, worldSize } from './run-facts.js';

/** Log files by name. */
export function runLogs(run: RunFacts): Map<string, string> {
  const files = new Map<string, string>();
  run.run.attempts.forEach((attempt, index) => {
    // A restart may have been launched with other settings.
    const facts: RunFacts = { ...run, plan: attempt.plan };
    const lines = facts.plan.framework === 'megatron-bridge' ? bridgeLog(facts, index) : megatronLmLog(facts, index);
    const prefix = linePrefix(facts, attempt);
    for (let node = 0; node < (facts.filePerNode ? facts.nodes : 1); node += 1) {
      const own = facts.filePerNode ? lines.filter((line) => line.node === node) : lines;
      const name = logName(facts, index, node);
      const stamp = ({ timeUs }: LogLine): string => (facts.run.monitors?.stampsLines ? `${clock(timeUs)} ` : '');
      const text = own.map((line) => `${stamp(line)}${prefix(line)}${line.text}\n`).join('');
      files.set(name, (files.get(name) ?? '') + text);
    }
  });
  return files;
}

function linePrefix(facts: RunFacts, attempt: Attempt): (line: LogLine) => string {
  const byRank = new Map(attempt.ranks.map((rank) => [rank.rank, rank]));
  // srun pads the task number to the width of the largest.
  const width = String(worldSize(attempt.plan) - 1).length;
  return ({ rank }) => {
    if (rank === null) return '';
    if (facts.launcher === 'srun') return `${String(rank).padStart(width)}: `;
    return `[default${byRank.get(rank)?.device ?? rank}]:`;
  };
}

/** Slurm appends to one file when a job is requeued; nemo-run counts the restarts in the name. */
export function logName(facts: RunFacts, attempt: number, node: number): string {
  const { account, plan, filePerNode, attemptsInOneFile } = facts;
  const host = filePerNode ? `_${facts.host(node)}` : '';
  const job = jobOf(facts, attempt);
  if (plan.framework === 'megatron-bridge') {
    return `log-${account}-${account}.${plan.name}_${job}${host}_${attemptsInOneFile ? 0 : attempt}.out`;
  }
  return filePerNode ? `${plan.name}_${job}${host}.log` : `slurm-${job}.out`;
}
