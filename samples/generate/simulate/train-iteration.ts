/**
 * One training iteration of all ranks: passes in pipeline order, then the optimizer, where they wait for each other.
 */
import type { RunPlan } from '../run.js';
import type { AttemptOptions } from './attempt-options.js';
import { chunkTime, trainingFlops } from './compute-time.js';
import type { IterationPoint } from './hooks.js';
import { connect, guarded, type LiveRank } from './live-rank.js';
import { backwardChunk, forwardChunk, type InFlight } from './model-chunk.js';
import { optimizerStep } from './model-state.js';
import { type PipelineTimeline, pipelineOrder, pipelineTimeline } from './pipeline-order.js';
import { worldSize } from './rank-context.js';

/** Optimizer step, gradient and parameter communication that nothing hides, logging. */
const STEP_OVERHEAD_US = 180_000;

/** When the passes of one data-parallel replica run, with its own micro-batch lengths. */
function timeline(plan: RunPlan, tokens: readonly number[]): PipelineTimeline {
  const { pipeline } = plan.parallelism;
  const orders = Array.from({ length: pipeline }, (_, stage) => pipelineOrder(plan.parallelism, stage, tokens.length));
  return pipelineTimeline(plan.parallelism, orders, {
    forwardUs: (stage, chunk, microBatch) => chunkTime(plan, stage, chunk, tokens[microBatch]!).forwardUs,
    backwardUs: (stage, chunk, microBatch) => chunkTime(plan, stage, chunk, tokens[microBatch]!).backwardUs,
  });
}

/** Records the iteration on every rank if all of them got through it. */
export function trainIteration(
  options: AttemptOptions,
  live: readonly LiveRank[],
  at: IterationPoint,
  tokens: readonly (readonly number[])[],
): void {
  const { plan } = options;
  const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
  const timelines = tokens.map((microBatches) => timeline(plan, microBatches));
  for (const rank of live) {
    const { process, position } = rank.context;
    process.waitUntil(startUs);
    guarded(rank, () => trainStep(rank, at, tokens[position.dataRank]!, timelines[position.dataRank]!, startUs));
  }
  const healthy = live.filter((rank) => rank.ending === null);
  if (healthy.length < live.length) return;
  const endUs = Math.max(
    ...live.map((rank) => rank.context.process.now()),
    startUs + Math.ceil(Math.max(...timelines.map((line) => line.endUs))) + STEP_OVERHEAD_US,
  );
  const all = tokens.flat();
  const sequence = (count: number): number => count / plan.microBatchSize;
  const flops = all.reduce((sum, count) => sum + trainingFlops(plan, count, sequence(count)), 0);
  for (const rank of live) {
    rank.context.process.waitUntil(endUs);
    rank.iterations.push({
      startUs,
      endUs,
      tokens: all.reduce((sum, count) => sum + count, 0),
      teraflopsPerGpu: flops / (endUs - startUs) / 1e6 / worldSize(plan),
      memory: structuredClone(rank.context.process.allocator.statistics),
    });
  }
}

/** One iteration of one rank up to the optimizer step. */
function trainStep(
  rank: LiveRank,
  at: IterationPoint,
  tokens: readonly number[],
  times: PipelineTimeline,
  startUs: number,
): void {
  const { context } = rank;
  const { hooks } = context;
  hooks.beforeIteration?.(context, at);
  const passes = (): void => forwardAndBackward(rank, at, tokens, times, startUs);
  if (hooks.aroundPasses === undefined) passes();
  else hooks.aroundPasses(context, at, passes);
  hooks.beforeOptimizer?.(context, at);
  optimizerStep(context, rank.state!, !rank.optimizerReady);
  rank.optimizerReady = true;
}

/** The passes of all micro-batches in the schedule's order. */
function forwardAndBackward(
  { context, conditions }: LiveRank,
  at: IterationPoint,
  tokens: readonly number[],
  times: PipelineTimeline,
  startUs: number,
): void {
  const { process, plan, position } = context;
  const flights = new Map<string, InFlight>();
  for (const [i, { kind, chunk, microBatch }] of pipelineOrder(
    plan.parallelism,
    position.stage,
    tokens.length,
  ).entries()) {
    process.waitUntil(startUs + times.beginUs[position.stage]![i]!);
    const key = `${chunk} ${microBatch}`;
    if (kind === 'forward') {
      flights.set(key, forwardChunk(context, { ...at, chunk, microBatch, tokens: tokens[microBatch]! }));
      if (at.step === 0 && i === 0) connect(context, conditions.outside.trainingBytes);
    } else {
      backwardChunk(context, flights.get(key)!);
      flights.delete(key);
    }
  }
}
