/**
 * What the frameworks name the snapshots of a rank. Upstream: `train_utils.py` of Megatron Bridge, `training.py` and
 * `pretrain_gpt.py` of Megatron-LM.
 */
import type { DumpedSnapshot } from '../run.js';
import type { RunFacts } from './run-facts.js';

/** The path the run writes to. */
export function snapshotPath(facts: RunFacts, { rank, trigger }: Pick<DumpedSnapshot, 'rank' | 'trigger'>): string {
  const slash = facts.snapshotPath.lastIndexOf('/') + 1;
  const directory = facts.snapshotPath.slice(0, slash);
  const file = facts.snapshotPath.slice(slash);
  const dot = file.lastIndexOf('.');
  const [base, extension] = [file.slice(0, dot), file.slice(dot)];
  if (trigger === 'step') return `${directory}${base}_${rank}${extension}`;
  // Megatron-LM's observer puts its words before the configured name.
  if (facts.plan.framework === 'megatron-lm') return `${directory}oom_rank-${rank}_${file}`;
  return `${directory}${base}_oom_rank-${rank}${extension}`;
}

/** The file's name in the run directory. */
export function snapshotName(facts: RunFacts, snapshot: Pick<DumpedSnapshot, 'rank' | 'trigger'>): string {
  return snapshotPath(facts, snapshot).split('/').at(-1)!;
}

/**
 * The iteration (1-based) after which a step dump was written: the first to end at or after the last thing recorded in
 * it.
 */
export function dumpIteration(facts: RunFacts, snapshot: DumpedSnapshot): number {
  const attempt = facts.run.attempts[snapshot.attempt]!;
  const rank = attempt.ranks.find((candidate) => candidate.rank === snapshot.rank)!;
  const entries = snapshot.state?.traceEntries ?? rank.process.trace.length;
  const lastUs = rank.process.trace[entries - 1]?.timeUs ?? 0;
  const index = rank.iterations.findIndex(({ endUs }) => endUs >= lastUs);
  return attempt.firstIteration + (index < 0 ? rank.iterations.length : index + 1);
}
