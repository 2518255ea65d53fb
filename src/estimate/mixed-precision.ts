/**
 * What the named precision recipes of Megatron Bridge set. A recipe is applied when training starts and overwrites the
 * fields of the model, optimizer and DDP sections, so a written-out configuration that names one does not show what is
 * in force. Upstream: Megatron Bridge `training/mixed_precision.py`, the functions marked `@register`; NeMo has the
 * same names.
 */
import type { GivenInputs } from './input-keys.js';

/** The inputs that a recipe of this name sets; nothing for names that are none. */
export function recipeInputs(recipe: string | undefined): GivenInputs {
  const name = recipe?.replaceAll('-', '_').toLowerCase() ?? '';
  const half = /(?:^|_)(bf16|fp16)_(?:with_(\w{1,40})_)?mixed$/.exec(name);
  if (half === null) return {};
  const [, base, eight] = half;
  return {
    bf16: base === 'bf16',
    fp16: base === 'fp16',
    // Gradients are reduced in fp32 only by the bf16 recipes.
    grad_reduce_in_fp32: base === 'bf16',
    accumulate_allreduce_grads_in_fp32: base === 'bf16',
    ...(eight === undefined ? {} : EIGHT_BIT[eight]),
  };
}

const EIGHT_BIT: Readonly<Record<string, GivenInputs>> = {
  fp8_delayed_scaling: { fp8: 'hybrid', fp8_recipe: 'delayed', fp8_param_gather: true },
  fp8_current_scaling: { fp8: 'hybrid', fp8_recipe: 'tensorwise', fp8_param_gather: true },
  fp8_subchannel_scaling: { fp8: 'hybrid', fp8_recipe: 'blockwise', fp8_param_gather: false },
  mxfp8: { fp8: 'e4m3', fp8_recipe: 'mxfp8', fp8_param_gather: true },
};
