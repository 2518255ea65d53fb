/**
 * Variations of generated runs that no seed is needed for: other endings, launches and dumps of the same simulated
 * processes.
 */
import type { Attempt, GeneratedRun, RankEnding, SimulatedRank } from '../../samples/generate/run.js';

export function lastAttempt(run: GeneratedRun): Attempt {
  return run.attempts.at(-1)!;
}

function withLastAttempt(run: GeneratedRun, attempt: Attempt): GeneratedRun {
  return { ...run, attempts: [...run.attempts.slice(0, -1), attempt] };
}

/** The last attempt as if it had been the only one, and nothing had been dumped. */
export function lastAttemptOf(run: GeneratedRun): GeneratedRun {
  return { ...run, attempts: run.attempts.slice(-1), snapshots: [] };
}

/** Every rank of the last attempt ends by `ending`; null keeps its own. */
export function withEndings(run: GeneratedRun, ending: (rank: SimulatedRank) => RankEnding | null): GeneratedRun {
  const attempt = lastAttempt(run);
  const ranks = attempt.ranks.map((rank) => ({ ...rank, ending: ending(rank) ?? rank.ending }));
  return withLastAttempt(run, { ...attempt, ranks });
}

/**
 * The last attempt again, launched `laterUs` later from the checkpoint of `firstIteration`; all its clocks move along.
 */
export function withRestart(run: GeneratedRun, firstIteration: number, laterUs: number): GeneratedRun {
  const attempt = lastAttempt(run);
  const again: Attempt = {
    ...attempt,
    plan: { ...attempt.plan, startUs: attempt.plan.startUs + laterUs },
    firstIteration,
    ranks: attempt.ranks.map((rank) => ({
      ...rank,
      trainingStartUs: rank.trainingStartUs === null ? null : rank.trainingStartUs + laterUs,
      iterations: rank.iterations.map((record) => ({
        ...record,
        startUs: record.startUs + laterUs,
        endUs: record.endUs + laterUs,
      })),
      // The recorded times stay: nothing of them is printed.
      process: { ...rank.process, trace: [], annotations: [] },
      endUs: rank.endUs + laterUs,
    })),
    checkpoints: [],
    storyLines: [],
    endUs: attempt.endUs + laterUs,
  };
  return { ...run, attempts: [...run.attempts, again] };
}

/** The same ranks on nodes of `perNode` devices. */
export function onNodes(run: GeneratedRun, perNode: number): GeneratedRun {
  const attempts = run.attempts.map((attempt) => ({
    ...attempt,
    ranks: attempt.ranks.map((rank) => ({
      ...rank,
      node: Math.floor(rank.rank / perNode),
      device: rank.rank % perNode,
    })),
  }));
  return { ...run, attempts };
}
