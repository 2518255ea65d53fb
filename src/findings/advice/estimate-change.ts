/** What a change does to the estimate: bytes of the fullest stage before and after. */
import { findInput, type GivenInputs, type InputName } from '../../estimate/input-keys.js';
import { changeInputs, completeInputs, type EstimateInputs } from '../../estimate/inputs.js';
import { readInputs } from '../../estimate/read-inputs.js';
import { estimateStages, type StageEstimate, type StagesEstimate } from '../../estimate/stages/estimate-stages.js';
import { refuseHybrid } from '../../estimate/stages/forbidden.js';
import { MbfError } from '../../model/errors.js';
import { maxOf } from '../../model/lists.js';
import type { AdviceChange } from '../../model/results/advise.js';

/** Allocated bytes, at the peak of a step. */
export interface EstimatedChange {
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly saving_bytes: number;
  /** Bounds of the fullest stage after the change. */
  readonly after_low_bytes: number;
  readonly after_high_bytes: number;
}

/** Estimates of one configuration and of changes to it. */
export class ChangeEstimator {
  private readonly given: GivenInputs;
  readonly inputs: EstimateInputs;
  private readonly base: StagesEstimate;

  /** @throws MBF1001 for configurations that cannot be estimated. */
  constructor(given: GivenInputs) {
    this.given = given;
    this.inputs = completeInputs(given);
    refuseHybrid(this.inputs);
    this.base = estimateStages(this.inputs);
  }

  /** The fullest stage as configured. */
  hottest(): StageEstimate {
    return this.base.stages[this.base.hottest]!;
  }

  /** Bytes of these components on a stage at its peak. */
  peakBytes(components: ReadonlySet<string>, stage: number | null): number {
    return this.stage(stage).parts.reduce(
      (sum, { component, bytes }) => sum + (components.has(component) ? bytes : 0),
      0,
    );
  }

  /** Of one rank of a stage; null: of the fullest. */
  stage(stage: number | null): StageEstimate {
    return this.base.stages[stage ?? this.base.hottest] ?? this.hottest();
  }

  /** Null where the estimator does not know the change, or refuses it. */
  change({ settings }: AdviceChange): EstimatedChange | null {
    const pairs = Object.entries(settings).filter(([key]) => findInput(key) !== undefined);
    if (pairs.length === 0) return null;
    const { given, cleared, faults } = readInputs(pairs);
    if (faults.length > 0) return null;
    // "None" of a named thing counts as absent, and is stored as null.
    const inputsBefore = Object.fromEntries(Object.entries(given)) as GivenInputs;
    try {
      const inputs = completeInputs(changeInputs(this.given, inputsBefore, cleared as ReadonlySet<InputName>));
      const changed = estimateStages(inputs);
      const before = this.hottest().allocated.bytes;
      const all = changed.stages.map(({ allocated }) => allocated);
      const after = changed.stages[changed.hottest]!.allocated.bytes;
      return {
        before_bytes: before,
        after_bytes: after,
        saving_bytes: before - after,
        after_low_bytes: maxOf(all.map(({ low }) => low)),
        after_high_bytes: maxOf(all.map(({ high }) => high)),
      };
    } catch (error) {
      if (error instanceof MbfError) return null;
      throw error;
    }
  }
}
