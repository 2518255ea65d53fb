/**
 * The estimate of a stored run, stage by stage, for comparison with what was measured. Nothing is thrown for an
 * incomplete configuration or one that Megatron refuses: then the estimate is null and the reason is given with it.
 */
import { completeInputs, type EstimateInputs } from '../../estimate/inputs.js';
import { estimateStages } from '../../estimate/stages/estimate-stages.js';
import { refuseHybrid } from '../../estimate/stages/forbidden.js';
import { MbfError } from '../../model/errors.js';
import type { EstimateStage } from '../../model/results/estimate.js';
import type { Store } from '../../store/store.js';
import { describeStage } from './describe-stage.js';
import { type RunInputs, readRunInputs } from './run-inputs.js';

/** What is estimated of a whole run. */
export interface StagesOfRun {
  /** By pipeline stage, from 0; {@link RankPosition.pp} of a rank is the index. Bytes of one rank of the stage. */
  readonly stages: readonly EstimateStage[];
  /** Index of the stage with the largest total. */
  readonly hottest: number;
  readonly assumptions: readonly string[];
  readonly not_modelled: readonly string[];
  /** Every input with its default filled in. */
  readonly resolved: EstimateInputs;
}

export interface RunEstimate {
  readonly inputs: RunInputs;
  /** Null if `inputs.missing` is not empty, or the configuration is refused. */
  readonly estimate: StagesOfRun | null;
  /** Why a complete configuration is refused; null if it is not. */
  readonly refused: string | null;
}

export async function estimateRun(store: Store, runId: number): Promise<RunEstimate> {
  const inputs = await readRunInputs(store, runId);
  if (inputs.missing.length > 0) return { inputs, estimate: null, refused: null };
  try {
    const resolved = completeInputs(inputs.given);
    refuseHybrid(resolved);
    const { stages, hottest, assumptions, notModelled } = estimateStages(resolved);
    return {
      inputs,
      refused: null,
      estimate: {
        stages: stages.map((stage) => describeStage(stage, resolved)),
        hottest,
        assumptions: [...inputs.unread, ...assumptions],
        not_modelled: notModelled,
        resolved,
      },
    };
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    return { inputs, estimate: null, refused: error.message };
  }
}
