/** Files of Transformer Engine that several of its rules name. */
export const TE = 'transformer_engine/pytorch';
export const FUSED_ADAM = `${TE}/optimizers/fused_adam.py`;
export const LINEARS: readonly string[] = [
  `${TE}/module/linear.py`,
  `${TE}/module/layernorm_linear.py`,
  `${TE}/module/batched_linear.py`,
];
/** Whatever holds weights. */
export const MODULES: readonly string[] = [
  ...LINEARS,
  `${TE}/module/layernorm_mlp.py`,
  `${TE}/module/grouped_linear.py`,
  `${TE}/module/layernorm.py`,
  `${TE}/module/rmsnorm.py`,
  `${TE}/module/base.py`,
  `${TE}/module/_common.py`,
  `${TE}/ops/**`,
];
