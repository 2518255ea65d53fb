/** Where behaviour beyond an ordinary training run enters the simulation. */
import type { RankContext } from './rank-context.js';

export interface IterationPoint {
  /** 0-based and absolute: the iteration after a restart from checkpoint 500 is 500. */
  readonly iteration: number;
  /** 0-based, counted from the start of this attempt. */
  readonly step: number;
}

export interface PassPoint extends IterationPoint {
  readonly chunk: number;
  readonly microBatch: number;
  readonly tokens: number;
}

export interface LayerPoint extends PassPoint {
  /** Within the chunk. */
  readonly layer: number;
}

/** Submodules of a layer, in the order they run. */
export type LayerModule =
  | 'linear_qkv'
  | 'core_attention'
  | 'linear_proj'
  | 'linear_fc1'
  | 'activation_func'
  | 'linear_fc2';

/** Each may allocate, free, change the device, or throw what the training script would be hit by. */
export interface RankHooks {
  readonly afterBuild?: (rank: RankContext) => void;
  readonly beforeIteration?: (rank: RankContext, at: IterationPoint) => void;
  /** In place of the forward and backward passes of an iteration, which `run` runs: it may run inside something, or not at all. */
  readonly aroundPasses?: (rank: RankContext, at: IterationPoint, run: () => void) => void;
  readonly beforeForward?: (rank: RankContext, at: PassPoint) => void;
  /** After each submodule of a layer in a training forward pass, its output still allocated; not when a layer is recomputed. */
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
