/** The pipeline: which layers each stage has, and how many passes through them are under way when most are. */
import { MbfError } from '../../model/errors.js';
import type { EstimateInputs } from '../inputs.js';
import {
  accountedStages,
  dealLayers,
  type LayoutSplit,
  layoutStages,
  type StageSplit,
  unevenStages,
} from '../pipeline-split.js';

export interface Stage {
  readonly index: number;
  /** Chunk → layers of the model, counted from 0. */
  readonly chunks: readonly (readonly number[])[];
  /** Chunk → micro-batches whose forward pass is done and whose backward is not, when most are. */
  readonly inFlight: readonly number[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** The MTP depths are here, in the last chunk. */
  readonly hasMtp: boolean;
}

export interface PipelineLayout {
  readonly stages: readonly Stage[];
  readonly assumed: readonly string[];
}

export function pipelineLayout(inputs: EstimateInputs): PipelineLayout {
  const assumed: string[] = [];
  const { split, mtpStage } = stageSplit(inputs, assumed);
  if (inputs.microBatches === null && inputs.pp > 1)
    assumed.push(
      'Enough micro-batches to fill the pipeline are assumed: num_microbatches and global_batch_size are unknown.',
    );
  const last = split.length - 1;
  const stages = split.map((chunks, index) => ({
    index,
    chunks,
    inFlight: chunksInFlight(inputs, index),
    isFirst: index === 0,
    isLast: index === last,
    hasMtp: inputs.mtpLayers > 0 && index === mtpStage,
  }));
  return { stages, assumed };
}

function stageSplit(inputs: EstimateInputs, assumed: string[]): LayoutSplit {
  const { layers, pp, mtpLayers, given } = inputs;
  const layout = given.pipeline_model_parallel_layout;
  if (layout !== undefined) return layoutStages({ layout, layers, pp, mtpLayers });
  return { split: dealtStages(inputs, assumed), mtpStage: pp - 1 };
}

function dealtStages({ layers, pp, vpp, given }: EstimateInputs, assumed: string[]): StageSplit {
  const { num_layers_in_first_pipeline_stage: first, num_layers_in_last_pipeline_stage: last } = given;
  if (first !== undefined || last !== undefined) return unevenStages({ layers, pp, vpp, first, last });
  // Embedding and loss each take the place of a layer: Megatron-Core `get_num_layers_to_build`.
  const hasEmbedding = given.account_for_embedding_in_pipeline_split === true;
  const hasLoss = given.account_for_loss_in_pipeline_split === true;
  if (vpp !== null && (hasEmbedding || hasLoss))
    return accountedStages({ layers, pp, vpp, embedding: hasEmbedding, loss: hasLoss });
  const embedding = hasEmbedding ? 1 : 0;
  const loss = hasLoss ? 1 : 0;
  const slots = layers + embedding + loss;
  const each = Math.floor(slots / pp);
  const counts = Array.from({ length: pp }, (_, stage) => each + (stage < slots % pp ? 1 : 0));
  if (slots % pp !== 0) {
    if (vpp !== null)
      throw new MbfError(
        'MBF1001',
        `${slots} layers are not a multiple of pp ${pp}, and virtual stages need equal stages (pp-div)`,
      );
    assumed.push(
      `${slots} layers over ${pp} stages leave ${slots % pp} over, which Megatron refuses without a layout: the first ${slots % pp} stages are given one more.`,
    );
  }
  counts[0]! -= embedding;
  counts[pp - 1]! -= loss;
  return dealLayers(counts, vpp);
}

/**
 * Passes under way by chunk. One forward, one backward: stage r of p holds p − r micro-batches. Interleaved: 2 (p − r −
 * 1) + (v − 1) g chunk passes warm up, in groups of g micro-batches a chunk, and one more is under way before the first
 *    backward.
 * Upstream: Megatron-Core `pipeline_parallel/schedules.py`, `get_pp_rank_microbatches` and `get_schedule_table`.
 */
function chunksInFlight({ pp, vpp, microBatches, given }: EstimateInputs, stage: number): readonly number[] {
  const most = microBatches ?? Number.POSITIVE_INFINITY;
  if (vpp === null) return [Math.min(most, pp - stage)];
  const group = given.microbatch_group_size_per_vp_stage ?? pp;
  const passes = Math.min(2 * (pp - stage - 1) + (vpp - 1) * group + 1, most * vpp);
  const rounds = Math.floor(passes / (group * vpp));
  const rest = passes - rounds * group * vpp;
  return Array.from({ length: vpp }, (_, chunk) => rounds * group + Math.min(group, Math.max(0, rest - chunk * group)));
}
