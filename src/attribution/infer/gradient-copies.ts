/** Gradients that a program copies for its optimizer: fp32 copies for master weights. */
import { type Attribution, infer, labelAt } from '../blocks/attribution.js';
import { backwardPasses, PARAMETER_GRADIENT } from '../blocks/backward-passes.js';
import { equalSet } from '../blocks/equal-sets.js';
import { NEVER, sizeOf } from '../blocks/lives.js';
import { SizeCounts } from '../blocks/size-counts.js';

export const GRADIENT_COPY = 'inference.gradient-copy';

const RATIOS = [2, 1, 0.5] as const;

/**
 * Blocks that no rule knows, made between a pass and the optimizer's step, still there when it begins, and with the
 * sizes of the pass's gradients at the bytes of one element type.
 */
export function inferGradientCopies(of: Attribution): void {
  const { lives, phases } = of;
  for (const { rows, lastSeq } of backwardPasses(of)) {
    const sizes = new SizeCounts();
    for (const row of rows) if (labelAt(of, row).rules[0] === PARAMETER_GRADIENT) sizes.add(sizeOf(lives, row));
    if (sizes.bytes === 0) continue;
    const step = phases.nextStart('optimizer_step', rows.at(-1)!);
    const end = step === NEVER ? lives.events : step;
    const open: number[] = [];
    for (let row = rows.at(-1)! + 1; row < lives.count && lives.allocSeq[row]! < end; row += 1)
      if (lives.allocSeq[row]! > lastSeq && lives.freedSeq[row]! >= end && labelAt(of, row).by === 'none')
        open.push(row);
    for (const row of equalSet(lives, open, sizes, RATIOS)?.rows ?? [])
      infer(of, row, GRADIENT_COPY, { component: 'gradient', sub_component: 'gradient_copy', confidence: 'medium' });
  }
}
