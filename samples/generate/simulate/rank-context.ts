/** Everything one rank's simulation, and the hooks into it, work with. */

import type { RunPlan } from '../run.js';
import type { CallSites } from './call-sites/index.js';
import type { CallPath } from './code-line.js';
import type { OtherProcess } from './device-moment.js';
import type { IterationPoint, LayerModule, LayerPoint, PassPoint } from './hooks.js';
import type { Random } from './random.js';
import type { RankProcess, Tensor } from './rank-process.js';
import type { TensorSizes } from './tensor-sizes.js';

export interface RankPosition {
  readonly rank: number;
  readonly tensorRank: number;
  readonly dataRank: number;
  readonly stage: number;
  readonly node: number;
  /** Ordinal on its node. */
  readonly device: number;
}

export interface RankContext {
  readonly plan: RunPlan;
  readonly position: RankPosition;
  readonly process: RankProcess;
  readonly sites: CallSites;
  readonly sizes: TensorSizes;
  readonly hooks: RankHooks;
  /** This rank's own stream of chance, for hooks. */
  readonly random: Random;
  /** Adds a line to the story, `afterUs` from now: this rank's output, or its node's system log. */
  addLine(text: string, from?: 'rank' | 'system', afterUs?: number): void;
  /** What the main thread is in while another thread allocates: the rest of a traceback from there. */
  outerTraceback: CallPath;
  /** This process's memory outside the allocator. Changed by {@link growOutside} only. */
  outsideBytes: number;
  /** Processes of others on this device. Changed by {@link setOtherProcesses} only. */
  otherProcesses: readonly OtherProcess[];
  /** Tensors that live as long as the process: workspaces and shared buffers, by name. */
  readonly persistent: Map<string, Tensor>;
}

/**
 * Context, NCCL or a library takes memory with cudaMalloc, past the allocator, until this process holds `toBytes`
 * outside it; what it has already, it keeps. False (and no change) if the device lacks the rest.
 */
export function growOutside(rank: RankContext, toBytes: number): boolean {
  if (toBytes <= rank.outsideBytes) return true;
  if (!rank.process.driver.setNonTorchBytes(toBytes)) return false;
  rank.outsideBytes = toBytes;
  return true;
}

/** Other processes take and give memory on this rank's device; false (and no change) if the device lacks it. */
export function setOtherProcesses(rank: RankContext, processes: readonly OtherProcess[]): boolean {
  if (!rank.process.setOtherProcesses(processes)) return false;
  rank.otherProcesses = processes;
  return true;
}

/** Megatron's default order: tensor, then data, then pipeline. */
export function positionOf(plan: RunPlan, rank: number): RankPosition {
  const { tensor, data } = plan.parallelism;
  return {
    rank,
    tensorRank: rank % tensor,
    dataRank: Math.floor(rank / tensor) % data,
    stage: Math.floor(rank / (tensor * data)),
    node: Math.floor(rank / plan.gpu.perNode),
    device: rank % plan.gpu.perNode,
  };
}

export function worldSize({ parallelism }: RunPlan): number {
  return parallelism.tensor * parallelism.pipeline * parallelism.data;
}

/** Micro-batches per data-parallel rank and iteration. */
export function microBatchCount(plan: RunPlan): number {
  return plan.globalBatchSize / (plan.microBatchSize * plan.parallelism.data);
}

/** Each may allocate, free, change the device, or throw what the training script would be hit by. */
export interface RankHooks {
  readonly afterBuild?: (rank: RankContext) => void;
  readonly beforeIteration?: (rank: RankContext, at: IterationPoint) => void;
  /**
   * In place of the forward and backward passes of an iteration, which `run` runs: it may run inside something, or not
   * at all.
   */
  readonly aroundPasses?: (rank: RankContext, at: IterationPoint, run: () => void) => void;
  readonly beforeForward?: (rank: RankContext, at: PassPoint) => void;
  /**
   * After each submodule of a layer in a training forward pass, its output still allocated; not when a layer is
   * recomputed.
   */
  readonly afterModule?: (rank: RankContext, at: LayerPoint, module: LayerModule) => void;
  /** After each layer of a training forward pass; not in evaluation. */
  readonly afterForwardLayer?: (rank: RankContext, at: LayerPoint) => void;
  readonly afterForward?: (rank: RankContext, at: PassPoint) => void;
  readonly beforeBackward?: (rank: RankContext, at: PassPoint) => void;
  /** After each layer of a backward pass, the last layer first. */
  readonly afterBackwardLayer?: (rank: RankContext, at: LayerPoint) => void;
  readonly afterBackward?: (rank: RankContext, at: PassPoint) => void;
  readonly beforeOptimizer?: (rank: RankContext, at: IterationPoint) => void;
  readonly afterIteration?: (rank: RankContext, at: IterationPoint) => void;
  readonly atCheckpoint?: (rank: RankContext, at: IterationPoint) => void;
  readonly atEvaluation?: (rank: RankContext, at: IterationPoint) => void;
}
