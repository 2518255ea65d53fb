/**
 * Bytes of optimizer state and gradients per parameter of a rank: as settings mean them, and as measured. Adam with
 * mixed precision has a master copy and two moments.
 */
import { isOn } from '../../../derive/settings/values.js';
import type { Side } from '../side.js';

export interface StateSize {
  readonly parameter: number;
  readonly gradient: number;
  readonly optimizer: number;
}

const widthOf = (dtype: string | null, standard: number): number => {
  const word = dtype?.toLowerCase() ?? '';
  if (/8/.test(word)) return 1;
  if (/16/.test(word)) return 2;
  return /32/.test(word) ? 4 : standard;
};

/**
 * `overrides`: values instead of those in force. Null where the optimizer is not Adam, or the precision is not known.
 */
export function stateSize(side: Side, overrides: ReadonlyMap<string, string | null> = new Map()): StateSize | null {
  const value = (key: string): string | null =>
    overrides.has(key) ? overrides.get(key)! : side.view.setting(key).value;
  const is = (key: string): boolean => isOn(value(key));
  if (
    !/adam/i.test(value('optimizer') ?? 'adam') ||
    is('fp8_param_gather') ||
    is('use_megatron_fsdp') ||
    is('use_torch_fsdp2')
  )
    return null;
  const half = is('bf16') || is('fp16');
  const parameter = half ? 2 : 4;
  const isAware = is('use_precision_aware_optimizer');
  // The remainder of a bf16 weight against its fp32 master takes two bytes.
  const remainder = isAware && is('bf16') && (value('store_param_remainders') === null || is('store_param_remainders'));
  const master = half ? (remainder ? 2 : widthOf(value('main_params_dtype'), 4)) : 0;
  const first = isAware ? widthOf(value('exp_avg_dtype'), 4) : 4;
  const second = isAware ? widthOf(value('exp_avg_sq_dtype'), 4) : 4;
  const fraction = is('optimizer_cpu_offload') ? Math.min(1, Number(value('optimizer_offload_fraction') ?? 1)) : 0;
  const { dp, cp } = side.about.parallel;
  if (is('use_distributed_optimizer') && dp === null) return null;
  const shards = is('use_distributed_optimizer') ? (dp ?? 1) * (cp ?? 1) : 1;
  // Megatron-LM writes its argument into the field of the DDP configuration: where that field is known, it is the
  // outcome.
  const field = overrides.has('grad_reduce_in_fp32') || side.view.setting('grad_reduce_in_fp32').by === 'told';
  const wide = is(field ? 'grad_reduce_in_fp32' : 'accumulate_allreduce_grads_in_fp32');
  return {
    parameter,
    gradient: half && !wide ? 2 : 4,
    optimizer: ((master + first + second) * (1 - fraction)) / shards,
  };
}
