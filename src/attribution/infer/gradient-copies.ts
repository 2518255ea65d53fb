/** Gradients that a program copies for its optimizer: fp32 copies for master weights. */
import type { Attribution } from '../blocks/attribution.js';
import { PARAMETER_GRADIENT } from '../blocks/backward-passes.js';
import { equalSet } from '../blocks/equal-sets.js';
import { byLabel, relabelling } from '../blocks/labels.js';
import { NEVER, sizeOf } from '../blocks/lives.js';
import { SizeCounts } from '../blocks/size-counts.js';

export const GRADIENT_COPY = 'inference.gradient-copy';

const RATIOS = [2, 1, 0.5] as const;

/**
 * Blocks that no rule knows, made between a pass and the optimizer's step, still there when it begins, and with the
 * sizes of the pass's gradients at the bytes of one element type.
 */
export function inferGradientCopies(of: Attribution): void {
  const { lives, phases, passes, label } = of;
  const isUnknown = byLabel(of, ({ by }) => by === 'none');
  if (!isUnknown.includes(1)) return;
  const isGradient = byLabel(of, ({ rules }) => rules[0] === PARAMETER_GRADIENT);
  const isCopy = relabelling(of, GRADIENT_COPY, ['gradient', 'gradient_copy', 'medium']);
  for (let pass = 0; pass < passes.count; pass += 1) {
    const sizes = new SizeCounts();
    for (let i = passes.starts[pass]!; i < passes.starts[pass + 1]!; i += 1)
      if (isGradient[label[passes.rows[i]!]!] === 1) sizes.add(sizeOf(lives, passes.rows[i]!));
    if (sizes.bytes === 0) continue;
    const last = passes.rows[passes.starts[pass + 1]! - 1]!;
    const step = phases.nextStart('optimizer_step', last);
    const end = step === NEVER ? lives.events : step;
    const open: number[] = [];
    for (let row = last + 1; row < lives.count && lives.allocSeq[row]! < end; row += 1)
      if (isUnknown[label[row]!] === 1 && lives.freedSeq[row]! >= end) open.push(row);
    if (open.length > 0) equalSet(lives, open, sizes, RATIOS)?.rows.forEach(isCopy);
  }
}
