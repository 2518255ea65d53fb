/** What rules about recompute, offload and CUDA graphs say again and again. */
import {
  above,
  all,
  any,
  type Condition,
  emptyList,
  envHas,
  envNot,
  framework,
  has,
  is,
  isNot,
  missing,
  on,
  type Tri,
  where,
} from '../../settings/condition.js';
import { asList, asNumber } from '../../settings/values.js';
import type { View } from '../../settings/view.js';

export const SELECTIVE = is('recompute_granularity', 'selective');
export const FULL = is('recompute_granularity', 'full');

/** Selective recompute of one of these modules. */
export const recomputes = (...modules: string[]): Condition => all(SELECTIVE, has('recompute_modules', ...modules));

/** Megatron-LM switches it on itself where a number of layers is told (`validate_args`). */
export const OFFLOADING = any(
  on('cpu_offloading'),
  all(framework('megatron-lm'), above('cpu_offloading_num_layers', 0)),
);

export const FINE = on('fine_grained_activation_offloading');

/** Modules inside a mixture-of-experts layer that can be offloaded one by one. */
export const IN_MOE = ['expert_fc1', 'moe_act', 'fused_group_mlp'] as const;

export const GRAPHS = isNot('cuda_graph_impl', 'none');
export const graphsOf = (...impls: string[]): Condition => is('cuda_graph_impl', ...impls);
export const LAYER_GRAPHS = graphsOf('local', 'transformer_engine');

/** No modules named, or the older word `full`: graphs of whole layers. */
export const WHOLE_LAYER = any(
  missing('cuda_graph_modules'),
  emptyList('cuda_graph_modules'),
  has('cuda_graph_modules', 'full'),
);

/** A module is captured: by name, with its whole layer, or with the whole iteration. */
export const captured = (module: string): Condition =>
  all(GRAPHS, any(has('cuda_graph_modules', module), graphsOf('full_iteration'), WHOLE_LAYER));

/** As Megatron-Core looks for it: in this variable only, and these very letters. */
export const EXPANDABLE = envHas('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True');
export const REGISTERS = envNot('NCCL_GRAPH_REGISTER', '0');

/** `moe_layer_freq`: 1, every n-th, a pattern of zeros and ones, or Python that makes one. */
function everyLayer(freq: string | null): Tri {
  const items = asList(freq) ?? ['1'];
  const [only = '1'] = items;
  if (items.every((item) => /^\d+$/.test(item))) {
    return items.length === 1 ? only === '1' : !items.includes('0');
  }
  const text = items.join(',');
  if (/\[0\]|\b0\b/.test(text)) return false;
  return /^\(?\[1\]\*\d+\)?$/.test(text) ? true : null;
}

function layersOf(view: View): { readonly experts: Tri; readonly every: Tri } {
  const experts = view.setting('num_moe_experts');
  const freq = view.setting('moe_layer_freq');
  return {
    experts: experts.by === 'unknown' ? null : (asNumber(experts.value) ?? 0) > 1,
    every: freq.by === 'unknown' ? null : everyLayer(freq.value),
  };
}

export const EXPERTS = above('num_moe_experts', 1);

/** The model has experts in every layer, so that no dense MLP is left. */
export const ONLY_EXPERTS = all(
  EXPERTS,
  where('every layer has experts', (view) => [layersOf(view).every, view.setting('moe_layer_freq')]),
);

/** Some layers have experts, some are dense. */
export const MIXED_LAYERS = all(
  EXPERTS,
  where('some layers are dense', (view) => {
    const { every } = layersOf(view);
    return [every === null ? null : !every, view.setting('moe_layer_freq')];
  }),
);

export const DENSE = where('no experts', (view) => {
  const { experts } = layersOf(view);
  return [experts === null ? null : !experts, view.setting('num_moe_experts')];
});
