/**
 * Workspaces of cuBLAS where no C++ frame names them: they are allocated inside the first matrix product of a stream,
 * and look like its output.
 */

import type { LabelledBlocks } from '../blocks/attribution.js';
import { labelAt, relabelling } from '../blocks/labels.js';
import { NEVER } from '../blocks/lives.js';
import { countUpTo } from '../count-up-to.js';

export const CUBLAS_WORKSPACE = 'inference.cublas-workspace';

/**
 * `:4096:2:16:8` KiB, what torch takes unless CUBLAS_WORKSPACE_CONFIG says otherwise, and 32 MiB on Hopper and newer.
 * Upstream: aten `cuda/CublasHandlePool.cpp`, `parseChosenWorkspaceSize`.
 */
const ODD_SIZE = 8_519_680;
const HOPPER_SIZE = 33_554_432;
export const WORKSPACE_SIZES: ReadonlySet<number> = new Set([ODD_SIZE, HOPPER_SIZE]);

/**
 * The odd size is nothing else's. 32 MiB is a usual size of tensors: such a block is a workspace only if it is never
 * freed in a trace that goes on to free others of its stack, or that outlives a training step, and if it is requested
 * right behind another block by the same line: the product's output. Of one that is older than the trace nothing shows
 * what was requested before. A line that keeps several of them makes tensors.
 */
export function inferWorkspaces(of: LabelledBlocks): void {
  const { lives, phases } = of;
  const kept: number[] = [];
  const keptBy = new Map<number, number>();
  for (let row = 0; row < lives.count; row += 1) {
    const bytes = lives.requested[row]!;
    if ((bytes !== ODD_SIZE && bytes !== HOPPER_SIZE) || lives.freedSeq[row] !== NEVER) continue;
    kept.push(row);
    if (bytes === HOPPER_SIZE) keptBy.set(lives.stackId[row]!, (keptBy.get(lives.stackId[row]!) ?? 0) + 1);
  }
  const workspace = ['workspace', 'cublas'] as const;
  const isCertain = relabelling(of, CUBLAS_WORKSPACE, [...workspace, 'high']);
  const isLikely = relabelling(of, CUBLAS_WORKSPACE, [...workspace, 'medium']);
  for (const row of kept) {
    const { component, by } = labelAt(of, row);
    if (component === 'workspace' || component === 'graph_pool') continue;
    if (by === 'rule' && component !== 'activation' && component !== 'logits_loss' && component !== 'recompute')
      continue;
    if (lives.requested[row] === ODD_SIZE) isCertain(row);
    else if (
      keptBy.get(lives.stackId[row]!) === 1 &&
      phases.phaseOf(row) !== 'model_build' &&
      (row < lives.starts || (row > lives.starts && lives.stackId[row - 1] === lives.stackId[row])) &&
      (outlivesAStep(of, row) || siblingsAreFreed(of, row))
    )
      isLikely(row);
  }
}

function outlivesAStep({ life, lives }: LabelledBlocks, row: number): boolean {
  return countUpTo(life.boundaries, lives.allocSeq[row]! - 1) < life.boundaries.length;
}

function siblingsAreFreed({ lives }: LabelledBlocks, row: number): boolean {
  for (let other = lives.starts; other < lives.count; other += 1)
    if (lives.stackId[other] === lives.stackId[row] && lives.freedSeq[other] !== NEVER) return true;
  return false;
}
