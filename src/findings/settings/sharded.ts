/** Whether settings split parameters over GPUs. */
import { asNumber } from './values.js';
import type { View } from './view.js';

const isConfigured = ({ value }: { readonly value: string | null }): boolean =>
  value !== null && !/^(?:0|False|None|none|)$/.test(value);

/** The other strategies of Megatron-FSDP keep parameters whole; megatron/core/distributed/fsdp/src/megatron_fsdp. */
function isMegatronFsdp(view: View): boolean {
  const strategy = view.setting('data_parallel_sharding_strategy');
  return (
    isConfigured(view.setting('use_megatron_fsdp')) &&
    (strategy.by !== 'told' || strategy.value === null || strategy.value === 'optim_grads_params')
  );
}

/** `no_shard` of transformers’ FSDPOption keeps all of them whole. */
function isTorchFsdp(view: View): boolean {
  const fsdp = view.setting('fsdp');
  return isConfigured(fsdp) && !/\bno_shard\b/i.test(fsdp.value ?? '');
}

/** Each data-parallel rank keeps a share of parameters, gradients and optimizer states. */
export function isFullySharded(view: View): boolean {
  return (
    view.setting('zero_stage').value === '3' ||
    // A file of DeepSpeed's settings, or the name that a trainer has for one: `zero3`, `ds_z3_config.json`.
    /z(?:ero)?[_-]?(?:stage[_-]?)?3/i.test(view.setting('deepspeed').value ?? '') ||
    isConfigured(view.setting('use_torch_fsdp2')) ||
    isMegatronFsdp(view) ||
    isTorchFsdp(view)
  );
}

const MODEL_PARALLEL = ['tensor', 'pipeline', 'expert'].map((name) => `${name}_model_parallel_size`);

/** By data parallelism or model parallelism. */
export function isSharded(view: View): boolean {
  return isFullySharded(view) || MODEL_PARALLEL.some((key) => (asNumber(view.setting(key).value) ?? 1) > 1);
}
