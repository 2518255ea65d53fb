/** What `estimate` returns. Bytes are of one GPU and may be fractions: upstream's are floats. */

export const ESTIMATE_MODELS = ['mbforensics', 'megatron-lm', 'megatron-bridge'] as const;
export type EstimateModel = (typeof ESTIMATE_MODELS)[number];

/** A piece of a component of our own model. */
export interface EstimatePart extends EstimateFigure {
  /** Held outside PyTorch's allocator: by the driver, or by NCCL. */
  readonly outside_pytorch: boolean;
  /** How the number came about, and what was assumed. */
  readonly basis: string;
}

interface EstimateFigure {
  /** A word of the closed list of components; for the upstream models, upstream's own name. */
  readonly name: string;
  readonly bytes: number;
  /** Equal to `bytes` for the upstream models, which know no doubt. */
  readonly low_bytes: number;
  readonly high_bytes: number;
}

export interface EstimateComponent extends EstimateFigure {
  /** Empty for the upstream models. */
  readonly parts: readonly EstimatePart[];
}

/** The loss on the last stage, with all activations held; a layer's backward pass; the optimizer's step. */
export type EstimateMoment = 'forward' | 'backward' | 'optimizer_step';

/** One stage of the pipeline, at the moment when it holds most. */
export interface EstimateStage {
  readonly stage: number;
  readonly layers: number;
  readonly moe_layers: number;
  /** Micro-batches whose activations are held then; of virtual stages a mean over chunks. */
  readonly in_flight: number;
  /** Parameters that one rank of the stage holds. */
  readonly parameters: number;
  readonly moment: EstimateMoment;
  /** Of that moment. */
  readonly components: readonly EstimateComponent[];
  /**
   * The same of every moment that the stage has, without their parts: for comparison with what was measured in another
   * than the peak's.
   */
  readonly moments: readonly {
    readonly moment: EstimateMoment;
    readonly components: readonly EstimateComponent[];
    readonly allocated_bytes: number;
    readonly total_bytes: number;
  }[];
  readonly total_bytes: number;
  readonly low_bytes: number;
  readonly high_bytes: number;
  /** What PyTorch's allocator holds of it: compare with a measured peak of allocated memory. */
  readonly allocated_bytes: number;
  readonly allocated_low_bytes: number;
  readonly allocated_high_bytes: number;
  /** What stays allocated between steps: compare with measured allocated memory after a step. */
  readonly resident_bytes: number;
  /**
   * Peak of allocated memory in the first step, before Adam's moments exist: compare with the first memory line of a
   * log.
   */
  readonly first_step_allocated_bytes: number;
}

export interface EstimateInputValue {
  readonly key: string;
  readonly value: number | boolean | string | readonly (number | string)[];
  /** The source: a file with its line, `--inputs`, `--set`. */
  readonly origin: string;
}

export interface EstimateChangedInput {
  readonly key: string;
  /** Null: not set. */
  readonly from: EstimateInputValue['value'] | null;
  readonly to: EstimateInputValue['value'] | null;
}

/** What a change of settings does, component by component, on the hottest stage of each. */
export interface EstimateChange {
  readonly set: readonly EstimateChangedInput[];
  /** Sizes that followed: replicas, micro-batches, the padded vocabulary. */
  readonly followed: readonly EstimateChangedInput[];
  readonly components: readonly {
    readonly name: string;
    readonly base_bytes: number;
    readonly bytes: number;
    readonly delta_bytes: number;
  }[];
  readonly base_total_bytes: number;
  readonly total_bytes: number;
  readonly delta_bytes: number;
  readonly base_hottest_stage: number | null;
  /**
   * When the hottest stage holds most, before and after: another moment has other components. Null for the upstream
   * models.
   */
  readonly base_moment: EstimateMoment | null;
  readonly moment: EstimateMoment | null;
}

export interface EstimateDevice {
  readonly total_bytes: number;
  readonly source: string;
  /**
   * `yes`: even the upper bound fits; `no`: not even the lower bound; `unsure`: between. Fragmentation comes on top.
   */
  readonly fits: 'yes' | 'no' | 'unsure';
  /** Total less estimate; negative where the estimate does not fit. */
  readonly headroom_bytes: number;
}

export interface EstimateResult {
  readonly schema: 'mbforensics/estimate@1';
  readonly model: EstimateModel;
  /** The run or file the inputs come from; null for `--inputs`. */
  readonly run: string | null;
  /**
   * Of the hottest stage for our own model. Of the upstream models their own components, and then `activation`; those
   * without that word in their name sum to upstream's weights and optimizer. All of them sum to `total_bytes`.
   */
  readonly components: readonly EstimateComponent[];
  /**
   * The component `activation`. Megatron-LM: by the formula it would print; Bridge: what its API returns, also where
   * its log line prints none.
   */
  readonly activation_bytes: number | null;
  readonly total_bytes: number;
  readonly low_bytes: number;
  readonly high_bytes: number;
  readonly assumptions: readonly string[];
  readonly not_modelled: readonly string[];
  readonly inputs: readonly EstimateInputValue[];
  /** Empty for the upstream models, which know one stage. */
  readonly stages: readonly EstimateStage[];
  readonly hottest_stage: number | null;
  readonly device: EstimateDevice | null;
  readonly change: EstimateChange | null;
  /** What the upstream project prints for this configuration; null for our own model. */
  readonly printed: { readonly log_lines: readonly string[]; readonly api_line: string | null } | null;
  /** Upstream's figures between: parameter counts, the formula it did not use. */
  readonly figures: Readonly<Record<string, number>>;
}
