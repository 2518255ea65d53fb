/** What comes between two training iterations: hooks, an evaluation, a checkpoint. */
import type { CheckpointSave, Evaluation, RunPlan } from '../run.js';
import type { AttemptOptions } from './attempt-options.js';
import type { IterationPoint } from './hooks.js';
import { guarded, type LiveRank } from './live-rank.js';
import { evaluateChunk } from './model-chunk.js';
import { forwardOrder } from './pipeline-order.js';
import { microBatchCount, type RankContext } from './rank-context.js';

/** What happened between iterations, besides training. */
export interface Between {
  readonly checkpoints: CheckpointSave[];
  readonly evaluations: Evaluation[];
}

/** `eval_interval` and `eval_iters` of the configuration; without an interval nothing is evaluated. */
function evaluationPlan({ configuration }: RunPlan): { readonly interval: number | null; readonly iterations: number } {
  const interval = configuration['train.eval_interval'];
  return {
    interval: typeof interval === 'number' ? interval : null,
    iterations: Number(configuration['train.eval_iters'] ?? 1),
  };
}

/** Stops at the first of them that a rank does not survive. */
export function betweenIterations(
  options: AttemptOptions,
  live: readonly LiveRank[],
  at: IterationPoint,
  between: Between,
): void {
  const { plan, hooks = {} } = options;
  const { checkpoints, evaluations } = between;
  const done = at.iteration + 1;
  for (const rank of live) guarded(rank, () => hooks.afterIteration?.(rank.context, at));
  if (live.some((rank) => rank.ending !== null)) return;
  const { interval, iterations } = evaluationPlan(plan);
  if (interval !== null && done % interval === 0) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
    for (const rank of live) guarded(rank, () => evaluate(rank.context, at, iterations));
    const failed = live.some((rank) => rank.ending !== null);
    if (!failed) meet(live);
    const endUs = failed ? null : live[0]!.context.process.now();
    evaluations.push({ iteration: done, evaluationIterations: iterations, startUs, endUs });
    if (failed) return;
  }
  if (plan.saveInterval !== null && (done % plan.saveInterval === 0 || done === plan.trainIterations)) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
    for (const rank of live) guarded(rank, () => saveCheckpoint(rank, at));
    const failed = live.some((rank) => rank.ending !== null);
    if (!failed) meet(live);
    checkpoints.push({ iteration: done, startUs, endUs: failed ? null : live[0]!.context.process.now() });
  }
}

function meet(live: readonly LiveRank[]): void {
  const nowUs = Math.max(...live.map((rank) => rank.context.process.now()));
  for (const rank of live) rank.context.process.waitUntil(nowUs);
}

function evaluate(rank: RankContext, at: IterationPoint, iterations: number): void {
  const { plan } = rank;
  rank.hooks.atEvaluation?.(rank, at);
  const tokens = plan.microBatchSize * plan.sequenceLength;
  for (let pass = 0; pass < iterations; pass += 1) {
    for (const { chunk, microBatch } of forwardOrder(plan.parallelism, microBatchCount(plan))) {
      evaluateChunk(rank, { ...at, chunk, microBatch, tokens });
    }
  }
}

/**
 * Sharded saving copies straight from the live tensors to pinned host memory: nothing of it is allocated on the device.
 */
function saveCheckpoint(rank: LiveRank, at: IterationPoint): void {
  const { context, state } = rank;
  context.hooks.atCheckpoint?.(context, at);
  const bytes = state!.parameters.reduce((sum, parameter) => sum + parameter.elements * 2, 0);
  context.process.pass(1_500_000 + bytes / 2_000);
}
