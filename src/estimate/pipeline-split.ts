/**
 * Which layers a pipeline stage has. Virtual stages deal the layers in rounds: chunk 0 of every stage, then chunk 1 of
 * every stage. Upstream: Megatron-Core `transformer_block.get_num_layers_to_build` and
 * `transformer_layer.get_transformer_layer_offset`; Megatron Bridge `_uneven_pipeline_stage_layer_counts` and
 * `_uneven_pipeline_stage_layer_indices`.
 */
import { MbfError } from '../model/errors.js';

/** Stage → chunk → layers, counted from 0 over the whole model. One chunk where stages are not virtual. */
export type StageSplit = readonly (readonly (readonly number[])[])[];

export interface SplitOptions {
  readonly layers: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/**
 * With a number of its own for the first or last stage. Throws MBF1001 where the other stages cannot share the rest
 * evenly.
 */
export function unevenStages({ layers, pp, vpp, first, last }: SplitOptions): StageSplit {
  if (pp <= 1)
    throw new MbfError(
      'MBF1001',
      'num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage need pp > 1',
    );
  const fixedEnds = (first === undefined ? 0 : 1) + (last === undefined ? 0 : 1);
  const stages = pp - fixedEnds;
  const remainingLayers = layers - (first ?? 0) - (last ?? 0);
  if (stages === 0 ? remainingLayers !== 0 : remainingLayers <= 0 || remainingLayers % stages !== 0)
    throw new MbfError(
      'MBF1001',
      `${layers} layers less those of the first and last stage (${first ?? '–'}, ${last ?? '–'}) leave ${remainingLayers} for ${stages} stages`,
    );
  const counts = new Array<number>(pp).fill(stages === 0 ? 0 : remainingLayers / stages);
  if (first !== undefined) counts[0] = first;
  if (last !== undefined) counts[pp - 1] = last;
  return dealLayers(counts, vpp);
}

/** Layers counted by stage, dealt to chunks. Throws MBF1001 where a stage's layers are not a multiple of its chunks. */
export function dealLayers(counts: readonly number[], vpp: number | null): StageSplit {
  const chunks = vpp ?? 1;
  const uneven = counts.findIndex((count) => count % chunks !== 0);
  if (uneven >= 0)
    throw new MbfError('MBF1001', `the ${counts[uneven]} layers of stage ${uneven} are no multiple of vpp ${chunks}`);
  const split: number[][][] = counts.map(() => []);
  let layer = 0;
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    for (const [stage, count] of counts.entries()) {
      split[stage]!.push(Array.from({ length: count / chunks }, () => layer++));
    }
  }
  return split;
}
