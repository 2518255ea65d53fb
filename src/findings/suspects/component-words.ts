/** Where code for a component stands, by the words in its path. For growth that no stack leads to. */
import type { Component } from '../../model/vocabulary.js';
import type { Growth } from './growth.js';

/** Paths of Megatron-LM, Megatron Bridge and NeMo. */
const WORDS: Readonly<Partial<Record<Component, RegExp>>> = {
  parameter: /embedding|linear|layers|model_provider|module\.py/i,
  gradient: /param_and_grad_buffer|distributed_data_parallel|finalize_model_grads|grad/i,
  optimizer_state: /optim/i,
  activation: /transformer|attention|mlp|layer|block|model/i,
  logits_loss: /cross_entropy|loss|logits|output_layer|vocab/i,
  recompute: /checkpoint|recompute|random\.py/i,
  communication: /param_and_grad_buffer|ddp|fsdp|comm|parallel_state|p2p|collective|nccl/i,
  moe_dispatch: /moe|expert|dispatch|router/i,
  workspace: /transformer_engine|extensions|attention|gemm|workspace/i,
  graph_pool: /cuda_?graph/i,
  fp8_buffer: /fp8|float8|quant/i,
  offload_buffer: /offload/i,
  checkpoint: /checkpoint|serialization|save/i,
  kv_cache: /inference|kv_?cache/i,
  input: /data|batch|dataset|dataloader/i,
};

/** How much of what grew is of components that a text names; the largest of them. */
export function componentWords(
  text: string,
  growth: Growth,
): { readonly share: number; readonly component: Component | undefined } {
  let bytes = 0;
  let component: Component | undefined;
  let largest = 0;
  for (const [one, { delta_bytes }] of growth.components) {
    if (delta_bytes <= 0 || WORDS[one]?.test(text) !== true) continue;
    bytes += delta_bytes;
    if (delta_bytes > largest) [component, largest] = [one, delta_bytes];
  }
  return { share: growth.component_bytes === 0 ? 0 : bytes / growth.component_bytes, component };
}
