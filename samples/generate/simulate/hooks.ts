/** Where behaviour beyond an ordinary training run enters the simulation. */

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
