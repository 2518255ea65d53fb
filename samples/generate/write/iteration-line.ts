/**
 * The line the last rank prints after an iteration. Upstream: `training_log` of Megatron-LM and Megatron Bridge, field
 * for field.
 */
import type { IterationRecord } from '../run.js';
import { clock, fixed, padded, scientific } from './python-text.js';
import { type RunFacts, worldSize } from './run-facts.js';

/** What training itself would report; the simulation knows no loss. */
export interface LossRecord {
  readonly learningRate: number;
  readonly loss: number;
  readonly gradNorm: number;
}

const WARM_UP_ITERATIONS = 50;

/** Peak learning rate of the configuration. */
export function learningRate(facts: RunFacts): number {
  return facts.isFinetuning ? 5e-6 : 3e-4;
}

export function minimumLearningRate(facts: RunFacts): number {
  return facts.isFinetuning ? 5e-7 : 3e-5;
}

/** A falling loss with some noise; the same for an iteration however often it is run, as restarts repeat it. */
export function lossRecord(facts: RunFacts, iteration: number): LossRecord {
  const random = facts.random(`loss ${iteration}`);
  const floor = facts.isFinetuning ? 1.2 : 2.1;
  const start = facts.isFinetuning ? 1.75 : 11.9;
  return {
    learningRate: learningRate(facts) * Math.min(1, iteration / WARM_UP_ITERATIONS),
    loss: floor + (start - floor) * Math.exp(-iteration / 180) + 0.06 * (random() - 0.5),
    gradNorm: (facts.isFinetuning ? 2.1 : 1.4) + random(),
  };
}

/** `iteration` is 1-based. Ends in ` |`, as printed. */
export function iterationLine(facts: RunFacts, iteration: number, record: IterationRecord): string {
  const { plan, form, logThroughput } = facts;
  const { learningRate: rate, loss, gradNorm } = lossRecord(facts, iteration);
  const milliseconds = (record.endUs - record.startUs) / 1000;
  const fraction = plan.framework === 'megatron-lm' && form.fractionalSeconds;
  const fields = [
    ` [${clock(record.endUs, fraction)}] iteration ${padded(iteration, 8)}/${padded(plan.trainIterations, 8)}`,
    `consumed samples: ${padded(iteration * plan.globalBatchSize, 12)}`,
    `elapsed time per iteration (ms): ${fixed(milliseconds, 1)}`,
    ...(logThroughput ? [`throughput per GPU (TFLOP/s/GPU): ${fixed(record.teraflopsPerGpu, 1)}`] : []),
    `learning rate: ${scientific(rate)}`,
    `global batch size: ${padded(plan.globalBatchSize, 5)}`,
    `lm loss: ${scientific(loss)}`,
    'loss scale: 1.0',
    `grad norm: ${fixed(gradNorm, 3)}`,
    `number of skipped iterations: ${padded(0, 3)}`,
    `number of nan iterations: ${padded(0, 3)} |`,
  ];
  return fields.join(' | ');
}

/** Rank 0 of Megatron Bridge, from 0.2 on. */
export function stepTimeLine(record: IterationRecord): string {
  const seconds = (record.endUs - record.startUs) / 1e6;
  return `Step Time : ${fixed(seconds, 2)}s GPU utilization: ${fixed(record.teraflopsPerGpu, 1)}MODEL_TFLOP/s/GPU`;
}

/** The rank that prints iteration lines and timers. */
export function lastRank(facts: RunFacts): number {
  return worldSize(facts.plan) - 1;
}
