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

/** Of DeepSpeed: as set, or by the name of its settings, `zero2` or `ds_z3_config.json`; null where unknown. */
export function zeroStage(view: View): number | null {
  const set = asNumber(view.setting('zero_stage').value);
  if (set !== null) return set;
  const names = ['deepspeed', 'deepspeed_config'].map((key) => view.setting(key).value ?? '').join(' ');
  const named = /(?:zero|stage|(?:^|[^a-z])z)[_-]?(?:stage[_-]?)?([0-3])(?!\d)/i.exec(names)?.[1];
  return named === undefined ? null : Number(named);
}

/** Each data-parallel rank keeps a share of parameters, gradients and optimizer states. */
export function isFullySharded(view: View): boolean {
  return (
    zeroStage(view) === 3 ||
    isConfigured(view.setting('use_torch_fsdp2')) ||
    isMegatronFsdp(view) ||
    isTorchFsdp(view) ||
    // Of Accelerate's configuration.
    /^FSDP$/i.test(view.setting('distributed_type').value ?? '')
  );
}

/** One process trains, as its launch shows. */
export function isOneProcess(view: View): boolean {
  const nodes = asNumber(view.setting('nnodes').value ?? view.env('NNODES').value);
  const processes = asNumber(view.setting('nproc_per_node').value ?? view.env('NPROC_PER_NODE').value);
  const devices = view.env('CUDA_VISIBLE_DEVICES');
  // Where a process has printed its environment, each may have a device of its own.
  const hasOneDevice = devices.explicit?.origin === 'script' && /^\d+$/.test(devices.value ?? '');
  return (nodes ?? 1) === 1 && (processes === 1 || (processes === null && hasOneDevice));
}

const MODEL_PARALLEL = ['tensor', 'pipeline', 'expert'].map((name) => `${name}_model_parallel_size`);

/** By data parallelism or model parallelism. */
export function isSharded(view: View): boolean {
  return isFullySharded(view) || MODEL_PARALLEL.some((key) => (asNumber(view.setting(key).value) ?? 1) > 1);
}
