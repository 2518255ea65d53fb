/**
 * What the last rank of Megatron-LM sends to TensorBoard: arguments as texts (`write_args_to_tensorboard` in
 * `megatron/training/initialize.py`, of which the few that tell whose file it is), then figures of its own, in the
 * order of `training_log` in `megatron/training/training.py`.
 */
import { lastRank, lossRecord } from '../iteration-line.js';
import { completedIterations, type RunFacts } from '../run-facts.js';
import type { Scalar, Text } from './event-file.js';

/** One call of the writer after the other, before the iteration's line is printed. */
const CALL_US = 40;
const BEFORE_LINE_US = 1_500;

/** Times are UTC. Throws for other frameworks, whose names are others. */
export function scalars(facts: RunFacts, utcOffsetUs: number): Scalar[] {
  const { plan } = facts;
  if (plan.framework !== 'megatron-lm')
    throw new Error(`what ${plan.framework} sends to TensorBoard is not written yet`);
  const attempt = facts.run.attempts.at(-1)!;
  const rank = attempt.ranks.find((candidate) => candidate.rank === lastRank(facts))!;
  return rank.iterations.slice(0, completedIterations(attempt)).flatMap((record, i) => {
    const iteration = attempt.firstIteration + i + 1;
    const { learningRate, loss, gradNorm } = lossRecord(facts, iteration);
    const { memory } = record;
    const both = (tag: string, value: number): [string, number, number][] => [
      [tag, value, iteration],
      [`${tag} vs samples`, value, iteration * plan.globalBatchSize],
    ];
    const rows: [tag: string, value: number, step: number][] = [
      ...both('learning-rate', learningRate),
      ...both('batch-size', plan.globalBatchSize),
      ...both('lm loss', loss),
      ...both('loss-scale', 1),
      ...both('grad-norm', gradNorm),
      ['mem-reserved-bytes', memory.reservedBytes.current, iteration],
      ['mem-allocated-bytes', memory.allocatedBytes.current, iteration],
      // Since core 0.12.
      ...(plan.torch === '2.8' || plan.torch === '2.12'
        ? [['mem-max-allocated-bytes', memory.allocatedBytes.peak, iteration] satisfies [string, number, number]]
        : []),
      ['mem-allocated-count', memory.allocation.current, iteration],
      ['iteration-time', (record.endUs - record.startUs) / 1e6, iteration],
      ...(facts.logThroughput
        ? [['throughput', record.teraflopsPerGpu, iteration] satisfies [string, number, number]]
        : []),
    ];
    return rows.map(([tag, value, step], call) => ({
      tag,
      value,
      step,
      timeUs: record.endUs - utcOffsetUs - BEFORE_LINE_US + call * CALL_US,
    }));
  });
}

/** As the process knows itself, `createdUs` (UTC) being when its writer was made. */
export function argumentTexts(facts: RunFacts, createdUs: number): Text[] {
  const { plan } = facts;
  const attempt = facts.run.attempts.at(-1)!;
  const rank = attempt.ranks.find((candidate) => candidate.rank === lastRank(facts))!;
  const given: readonly (readonly [name: string, value: number])[] = [
    ['rank', rank.rank],
    ['local_rank', rank.device],
    ['world_size', attempt.ranks.length],
    ['tensor_model_parallel_size', plan.parallelism.tensor],
    ['pipeline_model_parallel_size', plan.parallelism.pipeline],
    ['micro_batch_size', plan.microBatchSize],
    ['global_batch_size', plan.globalBatchSize],
  ];
  return given.map(([name, value], call) => ({ name, text: String(value), timeUs: createdUs + (call + 1) * CALL_US }));
}
