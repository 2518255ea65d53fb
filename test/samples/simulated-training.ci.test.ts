/** The simulated training run against what Megatron-LM itself prints for the same configurations. */
import { describe, expect, it } from 'vitest';
import type { ModelShape, Parallelism, RunPlan } from '../../samples/generate/run.js';
import type { RankContext } from '../../samples/generate/simulate/rank-context.js';
import { simulateAttempt } from '../../samples/generate/simulate/simulate-attempt.js';
import { LLAMA3_8B } from '../../samples/generate/stories/llama3-8b.js';
import { MIB } from '../../src/model/units.js';

const LARGER = { name: 'llama3-70b', layers: 80, hidden: 8192, feedForward: 28_672, heads: 64 };
const LLAMA3_70B: ModelShape = { ...LLAMA3_8B, ...LARGER };

interface StageFigures {
  readonly parameters: number;
  /** Live between steps. */
  readonly restingMib: number;
  /** Live at the peak of a step, beyond that. */
  readonly stepMib: number;
  /** Micro-batches between forward and backward, over all chunks, at most. */
  readonly inFlight: number;
}

/** Tensor rank 0, data rank 0 of every stage, two steps, selective recomputation, a device without limit. */
function stageFigures(model: ModelShape, parallelism: Parallelism, sequenceLength: number): StageFigures[] {
  const microBatches = 8;
  const plan: RunPlan = {
    ...{ name: 'theory', seed: 1, framework: 'megatron-lm', torch: '2.8', recompute: 'selective' },
    ...{ model, parallelism, sequenceLength, microBatchSize: 1, globalBatchSize: microBatches * parallelism.data },
    gpu: { name: 'NVIDIA H100 80GB HBM3', totalBytes: 2 ** 42, perNode: 8 },
    ...{ trainIterations: 10, saveInterval: null, memoryFraction: null, startUs: 1_750_000_000_000_000 },
    ...{ environment: {}, configuration: {}, profiledRanks: [] },
  };
  const open = new Map<number, number>();
  const most = new Map<number, number>();
  const count = ({ position }: RankContext, by: number): void => {
    const now = (open.get(position.stage) ?? 0) + by;
    open.set(position.stage, now);
    most.set(position.stage, Math.max(most.get(position.stage) ?? 0, now));
  };
  const step = Array.from({ length: parallelism.data }, () => new Array<number>(microBatches).fill(sequenceLength));
  const attempt = simulateAttempt({
    plan,
    firstIteration: 0,
    workload: [step, step],
    conditions: () => ({ outside: { contextBytes: 0, builtBytes: 0, trainingBytes: 0 }, otherProcesses: [] }),
    ranks: Array.from({ length: parallelism.pipeline }, (_, stage) => parallelism.tensor * parallelism.data * stage),
    hooks: { beforeForward: (rank) => count(rank, 1), afterBackward: (rank) => count(rank, -1) },
  });
  return attempt.ranks.map(({ stage, parameterElements, process }) => {
    const { current, peak } = process.allocator.statistics.allocatedBytes;
    const [restingMib, stepMib] = [current / MIB, (peak - current) / MIB];
    return { parameters: parameterElements, restingMib, stepMib, inFlight: most.get(stage)! };
  });
}

function parallel(tensor: number, pipeline: number, virtualPipeline: number | null, data: number): Parallelism {
  return { tensor, pipeline, virtualPipeline, data, sequenceParallel: tensor > 1 };
}

describe('the simulated training run', () => {
  it('has the parameters of the model', () => {
    expect(stageFigures(LLAMA3_8B, parallel(1, 1, null, 4), 1024)[0]!.parameters).toBe(8_030_261_248);
    const halves = stageFigures(LLAMA3_8B, parallel(1, 2, null, 2), 1024);
    expect(halves.reduce((sum, { parameters }) => sum + parameters, 0)).toBe(8_030_261_248);
  });

  // The figures are what `report_theoretical_memory` prints, MiB: weights and optimizer, activations.
  it.each([
    ['8B, TP 2', LLAMA3_8B, parallel(2, 1, null, 4), 8192, 34_463.29, 18_468.03],
    ['8B, data parallel', LLAMA3_8B, parallel(1, 1, null, 8), 8192, 57_436.9, 36_936.06],
    ['70B, TP 4 PP 4', LLAMA3_70B, parallel(4, 4, null, 2), 4096, 51_975.77, 20_512.03],
    ['70B, TP 4 PP 4 VPP 5', LLAMA3_70B, parallel(4, 4, 5, 2), 4096, 51_975.77, 23_588.84],
  ] as const)(
    'needs on its first stage about what theory says: %s',
    (_, model, layout, sequence, state, activation) => {
      const { restingMib, stepMib } = stageFigures(model, layout, sequence)[0]!;
      // Theory leaves out the workspaces, 64 MiB of cuBLAS' and a shared gather buffer.
      expect(restingMib).toBeGreaterThan(0.999 * state);
      expect(restingMib).toBeLessThan(1.005 * state);
      // And transient tensors, the rotary embedding's copies and the fp32 logits' gradient.
      expect(stepMib).toBeGreaterThan(0.95 * activation);
      expect(stepMib).toBeLessThan(1.25 * activation);
    },
  );

  it('keeps as many micro-batches in flight as the schedules do', () => {
    const inFlight = (layout: Parallelism): number[] =>
      stageFigures(LLAMA3_70B, layout, 512).map((figures) => figures.inFlight);
    expect(inFlight(parallel(4, 4, null, 2))).toEqual([4, 3, 2, 1]);
    expect(inFlight(parallel(4, 4, 5, 2))).toEqual([23, 21, 19, 17]);
    expect(inFlight(parallel(8, 2, 2, 2))).toEqual([5, 3]);
  });
});
