/**
 * In which order a pipeline stage runs forward and backward passes, and when, so that every receive follows its send.
 */
import type { Parallelism } from '../run.js';
import { chunksPerStage } from './model-parameters.js';

export interface PipelineStep {
  readonly kind: 'forward' | 'backward';
  /** Model chunk of the stage, 0 without the interleaved schedule. */
  readonly chunk: number;
  readonly microBatch: number;
}

/**
 * 1F1B, or interleaved 1F1B with virtual stages. Upstream: Megatron-LM `pipeline_parallel/schedules.py`,
 * `get_schedule_table` and `get_pp_rank_microbatches`; the group size is the pipeline size.
 */
export function pipelineOrder(parallelism: Parallelism, stage: number, microBatches: number): PipelineStep[] {
  const { pipeline } = parallelism;
  const chunks = chunksPerStage(parallelism);
  const total = microBatches * chunks;
  const warmUp =
    chunks === 1
      ? Math.min(pipeline - stage - 1, total)
      : Math.min((pipeline - stage - 1) * 2 + (chunks - 1) * pipeline, total);
  const steps: PipelineStep[] = [];
  const virtual = (kind: PipelineStep['kind'], index: number): PipelineStep => {
    if (chunks === 1) return { kind, chunk: 0, microBatch: index };
    const group = Math.floor(index / (pipeline * chunks));
    const within = index % (pipeline * chunks);
    const chunk = Math.floor(within / pipeline);
    return {
      kind,
      chunk: kind === 'forward' ? chunk : chunks - chunk - 1,
      microBatch: group * pipeline + (within % pipeline),
    };
  };
  for (let i = 0; i < warmUp; i += 1) steps.push(virtual('forward', i));
  for (let i = 0; i + warmUp < total; i += 1) {
    steps.push(virtual('forward', i + warmUp), virtual('backward', i));
  }
  for (let i = total - warmUp; i < total; i += 1) steps.push(virtual('backward', i));
  return steps;
}

/** Forward passes only, as evaluation runs them: chunk by chunk for every group of micro-batches. */
export function forwardOrder(parallelism: Parallelism, microBatches: number): PipelineStep[] {
  const { pipeline } = parallelism;
  const chunks = chunksPerStage(parallelism);
  const group = chunks === 1 ? 1 : pipeline;
  return Array.from({ length: chunks * microBatches }, (_, i) => ({
    kind: 'forward',
    chunk: Math.floor((i % (group * chunks)) / group),
    microBatch: Math.floor(i / (group * chunks)) * group + (i % group),
  }));
}

export interface StepDurations {
  readonly forwardUs: (stage: number, chunk: number, microBatch: number) => number;
  readonly backwardUs: (stage: number, chunk: number, microBatch: number) => number;
}

/** When each step of each stage begins, in µs after the iteration's start, and when the last one is over. */
export interface PipelineTimeline {
  /** `beginUs[stage][i]` belongs to step i of {@link pipelineOrder}. */
  readonly beginUs: readonly (readonly number[])[];
  readonly endUs: number;
}

export function pipelineTimeline(
  parallelism: Parallelism,
  orders: readonly (readonly PipelineStep[])[],
  durations: StepDurations,
): PipelineTimeline {
  const stages = parallelism.pipeline;
  const chunks = chunksPerStage(parallelism);
  const doneUs = new Map<string, number>();
  const key = (kind: string, stage: number, chunk: number, microBatch: number): string =>
    `${kind} ${stage} ${chunk} ${microBatch}`;
  /** What a step has to wait for; null at the two ends of the model. */
  const before = (step: PipelineStep, stage: number): string | null => {
    const { kind, chunk, microBatch } = step;
    const place = chunk * stages + stage;
    if (kind === 'forward') {
      if (place === 0) return null;
      return key(kind, (place - 1) % stages, Math.floor((place - 1) / stages), microBatch);
    }
    if (place === chunks * stages - 1) return key('forward', stage, chunk, microBatch);
    return key(kind, (place + 1) % stages, Math.floor((place + 1) / stages), microBatch);
  };
  const beginUs: number[][] = orders.map(() => []);
  const freeUs = orders.map(() => 0);
  let left = orders.reduce((sum, order) => sum + order.length, 0);
  while (left > 0) {
    let moved = false;
    for (const [stage, order] of orders.entries()) {
      for (let next = order[beginUs[stage]!.length]; next !== undefined; next = order[beginUs[stage]!.length]) {
        const awaited = before(next, stage);
        const readyUs = awaited === null ? 0 : doneUs.get(awaited);
        if (readyUs === undefined) break;
        const begin = Math.max(freeUs[stage]!, readyUs);
        const duration = next.kind === 'forward' ? durations.forwardUs : durations.backwardUs;
        freeUs[stage] = begin + duration(stage, next.chunk, next.microBatch);
        doneUs.set(key(next.kind, stage, next.chunk, next.microBatch), freeUs[stage]);
        beginUs[stage]!.push(begin);
        left -= 1;
        moved = true;
      }
    }
    if (!moved) throw new Error('the pipeline schedule waits for itself');
  }
  return { beginUs, endUs: Math.max(...freeUs) };
}
